// Binding of arguments, with the messages that torch gives.
#include "python/keywords.h"

#include "op/creation.h"

namespace adjoint::python {

Signature::Signature(const char* name, std::initializer_list<const char*> positional, int required,
                     std::initializer_list<const char*> keyword_only, OptionCount options)
    : name_(name), positional_(static_cast<int>(positional.size())), required_(required) {
  static constexpr const char* kOptionNames[kOptions] = {"dtype", "device", "pin_memory", "requires_grad"};
  auto add = [&](const char* text) {
    texts_[slots_] = text;
    keys_[slots_] = checked(PyUnicode_InternFromString(text)).take();
    ++slots_;
  };
  for (const char* text : positional) add(text);
  for (const char* text : keyword_only) add(text);
  options_ = slots_;
  for (int i = 0; i < options; ++i) add(kOptionNames[i]);
}

int Signature::find(PyObject* keyword) const {
  for (int i = 0; i < slots_; ++i)
    if (keys_[i] == keyword) return i;
  // Names made at run time need not be interned.
  for (int i = 0; i < slots_; ++i)
    if (PyUnicode_Compare(keys_[i], keyword) == 0) return i;
  return -1;
}

Call::Call(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
    : signature_(signature) {
  const char* name = signature.name_;
  if (nargs > signature.positional_)
    fail(ErrorKind::Type, name, "() takes ", signature.positional_, " positional argument",
         signature.positional_ == 1 ? "" : "s", " but ", nargs, nargs == 1 ? " was" : " were", " given");
  std::copy(args, args + nargs, slots_);
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    int slot = signature.find(key);
    const char* text = PyUnicode_AsUTF8(key);
    check(text != nullptr);
    if (slot < 0) fail(ErrorKind::Type, name, "() got an unexpected keyword argument '", text, "'");
    if (slots_[slot]) fail(ErrorKind::Type, name, "() got multiple values for argument '", text, "'");
    slots_[slot] = args[nargs + k];
  }
  for (int i = 0; i < signature.required_; ++i) require(i);
}

void Call::require(int slot) const {
  if (!slots_[slot])
    fail(ErrorKind::Type, signature_.name_, "() missing 1 required positional arguments: \"", signature_.texts_[slot],
         "\"");
}

Arg Call::arg(int slot) const {
  return {slots_[slot], signature_.name_, signature_.texts_[slot], slot < signature_.positional_ ? slot + 1 : 0};
}

Options Call::options() const {
  const int first = signature_.options_;
  Options options;
  if (has(first + kTypeOption)) options.dtype = static_cast<DType>(arg(first + kTypeOption));
  if (has(first + kDeviceOption)) options.device = static_cast<Device>(arg(first + kDeviceOption));
  if (signature_.slots_ - first <= kPinMemoryOption) return options;
  options.pinned = flag(first + kPinMemoryOption);
  if (options.pinned) check_pinned(options.place());
  options.requires_grad = flag(first + kRequiresGradOption);
  return options;
}

}  // namespace adjoint::python
