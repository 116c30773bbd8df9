// Operators, methods and attributes of tensors that subclasses and modes take over; see Note [Overrides].
#pragma once

#include <algorithm>
#include <initializer_list>

#include "op/overrides.h"

namespace adjoint::python {

/// A string as a template argument.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&source)[N]) { std::copy_n(source, N, text); }
  template <size_t M>
  constexpr bool operator==(const Name<M>& other) const {
    return std::equal(text, text + N, other.text, other.text + M);
  }
};

/// What is taken over is, for modes and subclasses, this attribute of Tensor.
template <Name name>
PyObject* tensor_attribute() {
  static PyObject* function =
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name.text)).take();
  return function;
}

/// What is not plainly called: asks, and calls `plain` where nobody takes it over. `reflects`: as for numbers,
/// NotImplemented lets Python ask the other operand.
template <Name method, Telling telling, bool reflects, class F>
[[gnu::noinline]] PyObject* do_watched(std::initializer_list<PyObject*> args, F& plain) {
  if (!is_overridden(args.begin(), args.size())) return guarded(plain);
  return guarded([&]() -> PyObject* {
    OverriddenCall call{tensor_attribute<method>(), args.begin(), args.size(), nullptr, telling};
    auto guarded_plain = [&] { return guarded(plain); };
    if constexpr (!reflects) return call_overridden(call, guarded_plain).take();
    Object answer = ask_overrides(call, guarded_plain);
    return answer ? answer.take() : Py_NewRef(Py_NotImplemented);
  });
}
/// An operator: `plain` computes it where nobody takes it over.
template <Name method, Telling telling, class F>
PyObject* operate(std::initializer_list<PyObject*> operands, F plain) {
  if (plainly_called(operands.begin(), operands.size())) [[likely]]
    return guarded(plain);
  return do_watched<method, telling, true>(operands, plain);
}
/// The same for what has no other operand to ask.
template <Name method, Telling telling = Telling::OfSelf, class F>
PyObject* do_alone(std::initializer_list<PyObject*> args, F plain) {
  if (plainly_called(args.begin(), args.size())) [[likely]]
    return guarded(plain);
  return do_watched<method, telling, false>(args, plain);
}

/// A method without arguments, for a table of methods.
template <PyCFunction method, Name name>
PyObject* overridable(PyObject* self, PyObject* unused) {
  return do_alone<name>({self}, [&] { return method(self, unused); });
}

using KeywordMethod = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
[[gnu::cold]] PyObject* call_method_overridden(PyObject* function, KeywordMethod method, PyObject* self,
                                               PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
/// A method with arguments.
template <KeywordMethod method, Name name>
PyObject* overridable(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (overridden(&self, 1) || overridden(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) [[unlikely]]
    return call_method_overridden(tensor_attribute<name>(), method, self, args, nargs, kwnames);
  return method(self, args, nargs, kwnames);
}

/// A function of the package that modes see, and whose arguments take nothing over: tensor(data).
[[gnu::cold]] PyObject* call_in_function_mode(const char* name, KeywordMethod function, PyObject* module,
                                              PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
template <KeywordMethod function, Name name>
PyObject* mode_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (mode_flags & kFunctionMode) [[unlikely]]
    return call_in_function_mode(name.text, function, module, args, nargs, kwnames);
  return function(module, args, nargs, kwnames);
}
template <PyCFunction function>
PyObject* with_keywords(PyObject* module, PyObject* const* args, Py_ssize_t, PyObject*) {
  return function(module, args[0]);
}
template <PyCFunction function, Name name>
PyObject* mode_function(PyObject* module, PyObject* argument) {
  return mode_function<with_keywords<function>, name>(module, &argument, 1, nullptr);
}

/// An attribute, for a table of them: `Tensor.shape.__get__` for modes and subclasses. Its closure is its name.
[[gnu::cold]] PyObject* get_overridden(PyObject* self, getter get, const char* name);
[[gnu::cold]] int put_overridden(PyObject* self, PyObject* value, setter put, const char* name);
template <getter get>
PyObject* attribute(PyObject* self, void* name) {
  if (overridden(&self, 1)) [[unlikely]]
    return get_overridden(self, get, static_cast<const char*>(name));
  return get(self, nullptr);
}
template <setter put>
int assignment(PyObject* self, PyObject* value, void* name) {
  if (overridden(&self, 1)) [[unlikely]]
    return put_overridden(self, value, put, static_cast<const char*>(name));
  return put(self, value, nullptr);
}

}  // namespace adjoint::python
