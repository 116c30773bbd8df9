// Arguments of the functions that take Python data, which are no ops: bound by position or keyword, read as those of
// ops are.
#pragma once

#include <initializer_list>
#include <optional>

#include "core/warning.h"
#include "op/arg.h"
#include "types/types.h"

namespace adjoint::python {

/// The keywords of functions that make tensors, in the order of their slots.
enum OptionSlot { kTypeOption, kDeviceOption, kPinMemoryOption, kRequiresGradOption, kOptions };
/// How many of them a function takes.
enum OptionCount { kNoOptions = 0, kTypeAndDevice = 2, kAllOptions = 4 };

struct Options {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool requires_grad = false;
  bool pinned = false;

  /// Where a new tensor goes.
  Device place() const { return device ? *device : default_device(); }
  /// Where a tensor made after another one goes.
  Device place(const Tensor* model) const { return device.value_or(model->device); }
};

/// The parameters of one function; made once. Slots are numbered: positional, keyword-only, then the options.
class Signature {
 public:
  static constexpr int kMaxSlots = 8;

  Signature(const char* name, std::initializer_list<const char*> positional, int required,
            std::initializer_list<const char*> keyword_only = {}, OptionCount options = kNoOptions);

 private:
  friend class Call;
  /// The slot of a keyword, or -1.
  int find(PyObject* keyword) const;

  const char* name_;
  const char* texts_[kMaxSlots] = {};
  PyObject* keys_[kMaxSlots] = {};  ///< interned
  int slots_ = 0;
  int positional_;
  int required_;
  int options_;  ///< the first option's slot
};

/// The arguments of one call, borrowed. Slots that were not given are null.
class Call {
 public:
  Call(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

  PyObject* operator[](int slot) const { return slots_[slot]; }
  /// Given, and not None.
  bool has(int slot) const { return slots_[slot] && slots_[slot] != Py_None; }
  void require(int slot) const;
  Arg arg(int slot) const;
  bool flag(int slot) const { return has(slot) && static_cast<bool>(arg(slot)); }
  Options options() const;

 private:
  const Signature& signature_;
  PyObject* slots_[Signature::kMaxSlots] = {};
};

/// The function pointer of a METH_FASTCALL | METH_KEYWORDS function for a PyMethodDef.
using KeywordFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
inline PyCFunction keyword_function(KeywordFunction function) { return as_method(function); }
inline constexpr int kKeywordCall = METH_FASTCALL | METH_KEYWORDS;

}  // namespace adjoint::python
