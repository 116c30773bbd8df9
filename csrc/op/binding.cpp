// How the arguments of a call find their slots.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "op/creation.h"
#include "op/op.h"

namespace adjoint {

PyObject* Op::bind(PyObject* const* args, size_t nargs, PyObject* kwnames, PyObject** slots, Object& owned) const {
  // All of them: a copy of known length costs less than a loop.
  std::memcpy(slots, defaults, sizeof(defaults));
  size_t taken = nargs;  // slots that are filled by position
  if (varargs >= 0 && nargs > static_cast<size_t>(varargs)) {
    taken = varargs + 1;
    slots[varargs] = collect(args + varargs, nargs - varargs, owned);
    for (int i = 0; i < varargs; ++i) slots[i] = args[i];
  } else if (!short_form.empty() && is_short(nargs, kwnames)) {
    for (size_t i = 0; i < nargs; ++i) slots[short_form[i]] = args[i];
    if (args[nargs - 1] == Py_None) refuse_none(short_form[nargs - 1]);  // which would mean the other form
    taken = 0;                                                           // not the first ones
  } else if (nargs <= static_cast<size_t>(positional)) {
    std::copy(args, args + nargs, slots);
    for (size_t i = 0; !short_form.empty() && i + 1 < nargs; ++i)
      if (args[i] == Py_None) refuse_none(i);
  } else if (!bind_old_numbers(args, nargs, slots)) {
    fail(ErrorKind::Type, shown, "() takes ", positional, " positional argument", positional == 1 ? "" : "s", " but ",
         nargs, nargs == 1 ? " was" : " were", " given");
  }
  PyObject* out = kwnames ? bind_keywords(args + nargs, kwnames, slots, taken) : nullptr;
  for (size_t i = taken; i < required; ++i)
    if (!slots[i])
      fail(ErrorKind::Type, shown, "() missing 1 required positional arguments: \"",
           PyUnicode_AsUTF8(arguments[i].name.get()), "\"");
  return out;
}

void Op::refuse_none(size_t slot) const {
  Arg{Py_None, shown.c_str(), PyUnicode_AsUTF8(arguments[slot].name.get())}.wrong_type("Number");
}

bool Op::is_short(size_t nargs, PyObject* kwnames) const {
  if (nargs == 0 || nargs > short_form.size()) return false;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    int slot = 0;
    while (slot < positional && PyUnicode_Compare(arguments[slot].name.get(), key) != 0) ++slot;
    if (slot == positional) continue;  // it goes with either form
    auto place = std::find(short_form.begin(), short_form.end(), slot);
    if (place == short_form.end() || static_cast<size_t>(place - short_form.begin()) < nargs) return false;
  }
  return true;
}

PyObject* Op::collect(PyObject* const* args, size_t count, Object& owned) const {
  // view(2, 3) and view((2, 3)) mean the same; a list of tensors is not several of them.
  if (count == 1 && (creation >= 0 || (is_sequence(args[0]) && varargs != list_slot))) return args[0];
  owned = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(owned.get(), i, Py_NewRef(args[i]));
  return owned.get();
}

PyObject* Op::bind_keywords(PyObject* const* values, PyObject* kwnames, PyObject** slots, size_t taken) const {
  const size_t n = arguments.size();
  PyObject* out = nullptr;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    size_t slot = 0;
    while (slot < n && arguments[slot].name.get() != key) ++slot;
    if (slot == n) {
      const char* text = PyUnicode_AsUTF8(key);
      check(text != nullptr);
      std::string_view spelled = text;
      // NumPy's spellings are accepted, as in torch.
      if (spelled == "axis") spelled = "dim";
      if (spelled == "keepdims") spelled = "keepdim";
      if (spelled == "axis0") spelled = "dim0";
      if (spelled == "axis1") spelled = "dim1";
      if (spelled == "x" || spelled == "self") spelled = "input";
      for (slot = 0; slot < n && spelled != PyUnicode_AsUTF8(arguments[slot].name.get());) ++slot;
      if (slot == n && spelled == "out" && has_out) {
        out = values[k] == Py_None ? nullptr : values[k];
        continue;
      }
      if (slot == n) fail(ErrorKind::Type, shown, "() got an unexpected keyword argument '", text, "'");
    }
    if (slot < taken || slots[slot] != defaults[slot])
      fail(ErrorKind::Type, shown, "() got multiple values for argument '",
           PyUnicode_AsUTF8(arguments[slot].name.get()), "'");
    slots[slot] = values[k];
    if (creation < 0) continue;
    // One size alone is none: zeros(3), but zeros(size=(3,)).
    if (static_cast<int>(slot) == varargs && !is_sequence(values[k]))
      Arg{values[k], name.c_str(), PyUnicode_AsUTF8(key)}.wrong_type("tuple of ints");
    if (static_cast<int>(slot) == creation + kOut && values[k] != Py_None) out = values[k];
  }
  return out;
}

bool Op::bind_old_numbers(PyObject* const* args, size_t nargs, PyObject** slots) const {
  auto keyword = static_cast<size_t>(positional);
  auto next_keyword = [&] {
    constexpr std::string_view names[] = {"alpha", "beta", "value"};
    while (keyword < arguments.size() && std::find(std::begin(names), std::end(names),
                                                   PyUnicode_AsUTF8(arguments[keyword].name.get())) == std::end(names))
      ++keyword;
    return keyword < arguments.size();
  };
  size_t tensors = 0;
  for (size_t i = 0; i < nargs; ++i) {
    Scalar number;
    bool is_number = is_tensor(args[i]) ? i == 1 && as_tensor(args[i])->ndim() == 0 : to_scalar(args[i], &number);
    if (is_number && next_keyword() &&
        (i > 0 || PyUnicode_CompareWithASCIIString(arguments[keyword].name.get(), "beta") == 0))
      slots[keyword++] = args[i];  // addmm(beta, input, alpha, ...) is the only kind with a number first
    else if (is_tensor(args[i]) && tensors < static_cast<size_t>(positional))
      slots[tensors++] = args[i];
    else
      return false;
  }
  if (tensors < static_cast<size_t>(positional) || slots[tensors - 1] != args[nargs - 1]) return false;
  static bool warned = false;
  if (!std::exchange(warned, true)) {
    std::string message = "This overload of " + name + " is deprecated: the numbers before the last tensors. " +
                          "Write them as keywords, as in add(input, other, alpha=2).";
    check(PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) == 0);
  }
  return true;
}

}  // namespace adjoint
