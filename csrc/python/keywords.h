// Arguments of the functions that are written by hand: bound by position or keyword, then read with torch's messages.
#pragma once

#include <initializer_list>
#include <optional>
#include "core/warning.h"

#include "op/arg.h"
#include "types/formats.h"
#include "types/types.h"

namespace adjoint::python {

/// The keywords of functions that make tensors, in the order of their slots.
enum OptionSlot { kDTypeSlot, kLayoutSlot, kDeviceSlot, kPinMemorySlot, kRequiresGradSlot, kOptionSlots };
/// Which of them a function takes.
enum OptionSet : uint8_t { kNoOptions = 0, kTypeAndDevice = 0b00101, kDataOptions = 0b11101, kAllOptions = 0b11111 };

struct Options {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool requires_grad = false;

  /// Where a new tensor goes.
  Device place() const { return device ? *device : default_device(); }
  /// Where a tensor made after another one goes.
  Device place(const Tensor* model) const { return device.value_or(model->device); }
};

/// The parameters of one function; made once. Slots are numbered: positional, keyword-only, then the options.
class Signature {
 public:
  static constexpr int kMaxSlots = 14;

  /// A positional name "*size" takes all further positional arguments, or one tuple or list of them.
  Signature(const char* name, std::initializer_list<const char*> positional, int required,
            std::initializer_list<const char*> keyword_only = {}, OptionSet options = kNoOptions);

  const char* name() const { return name_; }
  /// The slot of a keyword, or -1.
  int find(PyObject* keyword) const;

 private:
  friend class Call;
  const char* name_;
  const char* texts_[kMaxSlots] = {};
  PyObject* keys_[kMaxSlots] = {};  ///< interned; null: not accepted
  int slots_ = 0;
  int positional_;
  int required_;
  int options_;  ///< the first option's slot
  int varargs_ = -1;
};

/// The arguments of one call, borrowed. Slots that were not given are null.
class Call {
 public:
  Call(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

  const char* name() const { return signature_.name_; }
  PyObject* operator[](int slot) const { return slots_[slot]; }
  /// Given, and not None.
  bool has(int slot) const { return slots_[slot] && slots_[slot] != Py_None; }
  /// Gives an argument another place: for functions whose first argument may be left out.
  void move(int from, int to) { slots_[to] = std::exchange(slots_[from], nullptr); }
  void require(int slot) const;

  Tensor* tensor(int slot) const;
  int64_t integer(int slot) const;
  bool flag(int slot, bool fallback) const;
  double real(int slot, double fallback) const;
  /// Numbers, NumPy scalars and 0-d tensors that do not require grad. Integers beyond 64 bits raise.
  Scalar number(int slot) const;
  /// Throws unless `number` would take the argument, whatever its size.
  void check_number(int slot) const;
  Ints sizes(int slot) const;
  std::optional<DType> dtype(int slot) const;
  std::optional<MemoryFormat> memory_format(int slot) const;
  Options options() const;

  [[noreturn]] void wrong_type(int slot, const char* expected) const;
  [[noreturn]] void wrong_type(int slot, const char* expected, PyObject* given) const;

 private:
  Ints read_sizes(int slot, PyObject* const* items, Py_ssize_t count) const;
  std::string describe(int slot) const;

  const Signature& signature_;
  PyObject* slots_[Signature::kMaxSlots] = {};
  PyObject* const* rest_ = nullptr;  ///< what a "*" parameter collected
  Py_ssize_t n_rest_ = 0;
  bool keywords_;
};

/// The function pointer of a METH_FASTCALL | METH_KEYWORDS function for a PyMethodDef.
using KeywordFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
inline PyCFunction keyword_function(KeywordFunction function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
inline constexpr int kKeywordCall = METH_FASTCALL | METH_KEYWORDS;

}  // namespace adjoint::python
