#include "tape/change.h"

#include <unordered_map>

#include "core/source_line.h"
#include "tape/node.h"

namespace adjoint {
namespace {

struct Change {
  std::string op;
  Object code;
  int instruction = 0;
};

/// Not destroyed at exit: storages that outlive the interpreter would look into it.
std::unordered_map<const Storage*, Change>& changes() {
  static auto* table = new std::unordered_map<const Storage*, Change>;
  return *table;
}

void forget(const Storage* storage) {
  auto found = changes().find(storage);
  if (found == changes().end()) return;
  // Taken out first: dropping the code may run anything.
  Change last = std::move(found->second);
  changes().erase(found);
}

}  // namespace

void note_change(Storage* storage, const char* op) {
  Change& change = changes()[storage];
  storage->noted = true;
  forget_change = forget;
  change.op = op;
  PyCodeObject* code = adjoint_current_code(&change.instruction);
  if (change.code.get() != reinterpret_cast<PyObject*>(code))
    change.code = Object::borrow(reinterpret_cast<PyObject*>(code));
}

std::string last_change(const Storage* storage) {
  auto found = storage->noted ? changes().find(storage) : changes().end();
  if (found == changes().end()) return "";
  const Change& change = found->second;
  std::string where = source_line(reinterpret_cast<PyCodeObject*>(change.code.get()), change.instruction);
  return change.op + (where.empty() ? "" : " (at " + where + ")");
}

}  // namespace adjoint
