// __torch_function__: classes and modes that take over calls of the library's functions.
#pragma once

#include "core/guard.h"
#include "core/mode.h"
#include "core/tensor.h"

namespace adjoint {

/// Note [Overrides]: a call of a public function first asks the modes of its thread, the innermost first, and then the
/// types of its arguments, whether they take it over: `__torch_function__(function, types, args, kwargs)`. This happens
/// at the border to Python alone: in op objects, the operators, methods and attributes of tensors, and in functions of
/// Python that ask (adjoint.overrides). What ops call inside is nobody's business: rules and forwards in Python run
/// with all of it off, and so does what a mode or a type calls in turn.
///
/// A type that overrides nothing costs a look at it: an ordinary argument is exactly a Tensor, or of a type that is not
/// made in Python. Others are looked up, and remembered. The default `Tensor.__torch_function__`, which gives results
/// the type of the subclass, is done here, without a call of Python.
inline bool is_plain(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  constexpr unsigned long special =
      Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;  // lists may hold what overrides
  return type == tensor_type || !(type->tp_flags & special);
}
[[gnu::noinline]] bool is_sizes(PyObject* tuple);  ///< whether it holds nothing but whole numbers
inline bool is_ordinary(PyObject* object) {
  return is_plain(object) || (Py_TYPE(object) == &PyTuple_Type && is_sizes(object));
}

/// Whether a look at the arguments tells that nobody takes a call over.
inline bool plainly_called(PyObject* const* args, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!is_ordinary(args[i])) [[unlikely]]
      return false;
  return !(mode_flags & kFunctionMode);
}
/// Whether somebody does, where it does not tell.
[[gnu::noinline]] bool is_overridden(PyObject* const* args, size_t count);

inline bool overridden(PyObject* const* args, size_t count) {
  return !plainly_called(args, count) && is_overridden(args, count);
}

/// Whose types a call tells, beside those that override, which are asked: it depends on where torch has the function.
enum class Telling : uint8_t {
  Native,   ///< no others
  OfSelf,   ///< that of the tensor itself, the only one asked: attributes, and methods without arguments
  InPython  ///< those of plain tensors, too; there are always kwargs, if empty ones
};

/// A call that is overridden.
struct OverriddenCall {
  PyObject* function;  ///< as modes and types are told
  PyObject* const* args;
  size_t nargs;
  PyObject* kwnames;  ///< or null
  Telling telling = Telling::Native;
  bool wraps = true;  ///< by default, results get the type of the subclass
};

/// What modes and types answer; null where all answer NotImplemented. `plain` makes the call itself, with types off.
template <class F>
Object ask_overrides(const OverriddenCall& call, F plain);
/// The same, where that is an error.
template <class F>
Object call_overridden(const OverriddenCall& call, F plain);
/// For functions of Python: `relevant` are the arguments that may override.
Object ask_overrides(PyObject* function, PyObject* relevant, PyObject* args, PyObject* kwargs);

/// Whether the type of an object may take calls over.
bool may_override(PyObject* object);

/// The same memory as a tensor of a subclass: a view, as of any other view op.
Object as_subclass(PyObject* tensor, PyTypeObject* type);

/// No type overrides a call while it lives; with `modes`, no mode either.
class OverridesOff {
 public:
  explicit OverridesOff(bool modes) : before_(mode_flags & (kTypesOff | kFunctionMode)) {
    mode_flags |= kTypesOff;
    if (modes) mode_flags &= ~kFunctionMode;
  }
  ~OverridesOff() { mode_flags = (mode_flags & ~(kTypesOff | kFunctionMode)) | before_; }
  OverridesOff(const OverridesOff&) = delete;
  OverridesOff& operator=(const OverridesOff&) = delete;

 private:
  uint32_t before_;
};

/// Whether types and modes take calls over, in this thread.
struct OverrideState {
  bool types;
  bool modes;
};
OverrideState override_state();
void set_override_state(OverrideState state);

void init_overrides(PyObject* module);

// ---- Details of the templates

namespace detail {
using PlainCall = PyObject* (*)(void* context);
Object ask_overrides(const OverriddenCall& call, PlainCall plain, void* context);
[[noreturn]] void refuse_overridden(const OverriddenCall& call);
}  // namespace detail

template <class F>
Object ask_overrides(const OverriddenCall& call, F plain) {
  return detail::ask_overrides(call, [](void* context) { return (*static_cast<F*>(context))(); }, &plain);
}
template <class F>
Object call_overridden(const OverriddenCall& call, F plain) {
  Object answer = ask_overrides(call, plain);
  if (!answer) detail::refuse_overridden(call);
  return answer;
}

}  // namespace adjoint
