#include "core/origin.h"

#include <unordered_map>
#include <vector>

#include "core/lock.h"
#include "core/source_line.h"

namespace adjoint {

thread_local constinit uint32_t running_op = 0;

namespace {

struct Entry {
  PyCodeObject* code;
  int instruction;
  uint32_t op;
  bool operator==(const Entry&) const = default;
};
struct Hash {
  size_t operator()(const Entry& entry) const {
    const auto place = reinterpret_cast<uintptr_t>(entry.code) / 16;
    return (place * 31 + static_cast<size_t>(entry.instruction)) * 31 + entry.op;
  }
};

/// Read and changed under the interpreter's lock. Numbers begin at 1.
struct Table {
  std::vector<Entry> entries{{}};
  std::unordered_map<Entry, Origin, Hash> numbers;
  std::vector<std::string> names{""};
  std::unordered_map<std::string, uint32_t> name_numbers;
};
Table& table() {
  static auto* made = new Table;  // threads may ask for it while the program ends
  return *made;
}

/// What ran when this thread gave up the lock.
thread_local constinit Origin left_with = 0;

Origin number_of(uint32_t op) {
  Entry entry{nullptr, 0, op};
  entry.code = adjoint_current_code(&entry.instruction);
  if (!entry.code) return 0;
  Table& all = table();
  const auto found = all.numbers.find(entry);
  if (found != all.numbers.end()) [[likely]]
    return found->second;
  if (all.entries.size() >= kMostOrigins) return 0;
  const auto number = static_cast<Origin>(all.entries.size());
  all.numbers.emplace(entry, number);
  all.entries.push_back(entry);
  Py_INCREF(reinterpret_cast<PyObject*>(entry.code));  // kept, as the entry is
  return number;
}

void leave_lock() { left_with = number_of(running_op); }

OriginFacts facts_under_lock(Origin origin) {
  const Table& all = table();
  if (origin == 0 || origin >= all.entries.size()) return {};
  const Entry& entry = all.entries[origin];
  const char* file = PyUnicode_AsUTF8(entry.code->co_filename);
  const char* function = PyUnicode_AsUTF8(entry.code->co_name);
  if (!file || !function) return PyErr_Clear(), OriginFacts();
  return {all.names[entry.op], file, function, PyCode_Addr2Line(entry.code, entry.instruction)};
}

}  // namespace

uint32_t name_number(const std::string& name) {
  Table& all = table();
  const auto [entry, added] = all.name_numbers.try_emplace(name, static_cast<uint32_t>(all.names.size()));
  if (added) all.names.push_back(name);
  return entry->second;
}

void note_origins() { leaving_lock = leave_lock; }

Origin origin() { return PyGILState_Check() ? number_of(running_op) : left_with; }
Origin origin_of_line() { return PyGILState_Check() ? number_of(0) : left_with; }

OriginFacts facts(Origin origin) {
  const PyGILState_STATE state = in_python(PyGILState_Ensure);
  OriginFacts found = facts_under_lock(origin);
  PyGILState_Release(state);
  return found;
}

std::string in_words(Origin origin) {
  const OriginFacts known = facts(origin);
  if (known.file.empty()) return "";
  std::string text = known.file + ":" + std::to_string(known.line) + " in " + known.function;
  return known.op.empty() ? text : known.op + ", called at " + text;
}

}  // namespace adjoint
