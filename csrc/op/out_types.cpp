#include "op/out_types.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace adjoint {
namespace {

/// The words with what they speak of in the place of {given} and the other marks.
std::string filled(std::string text, DType given, DType expected) {
  const std::pair<std::string_view, const char*> marks[] = {
      {"{given}", info(given).legacy_name},
      {"{expected}", info(expected).legacy_name},
      {"{given_c}", info(given).c_name},
      {"{expected_c}", info(expected).c_name},
      {"{kind}", is_complex(expected) ? "complex" : "floating point"},
      {"{is_int32}", expected == DType::Int32 ? "True" : "False"}};
  for (auto [mark, shown] : marks)
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), shown);
  return text;
}

bool fits(const OutDemands& demands, DType given, DType expected) {
  if (demands.exact) return given == expected;
  if (demands.kind) return is_complex(given) == is_complex(expected) && is_differentiable(given);
  return category(expected) <= category(given);
}

}  // namespace

OutDemands read_demands(PyObject* out, PyObject* words) {
  const char* text = PyUnicode_Check(out) ? PyUnicode_AsUTF8(out) : "";
  check(text != nullptr);
  const std::string_view demands = text;
  return {demands.find("exact") != demands.npos, demands.find("kind") != demands.npos, Object::borrow(words)};
}

DeclaredError read_error(PyObject* error) {
  ErrorKind kind = ErrorKind::Runtime;
  for (auto [type, its_kind] :
       {std::pair(PyExc_TypeError, ErrorKind::Type), std::pair(PyExc_NotImplementedError, ErrorKind::NotImplemented)})
    if (PyErr_GivenExceptionMatches(error, type)) kind = its_kind;
  Object shown = checked(PyObject_Str(error));
  const char* text = PyUnicode_AsUTF8(shown.get());
  check(text != nullptr);
  return {kind, text};
}

void check_out_type(const OutDemands& demands, DType given, DType expected, int place) {
  if (fits(demands, given, expected)) return;
  PyObject* words = demands.words.get();
  if (words != Py_None) {
    if (PyTuple_Check(words)) words = PyTuple_GET_ITEM(words, std::min<Py_ssize_t>(place, PyTuple_GET_SIZE(words) - 1));
    auto [kind, text] = read_error(words);
    fail(kind, filled(std::move(text), given, expected));
  }
  // What cannot be cast is refused where it is written.
  if (demands.exact)
    fail("Expected out tensor to have dtype ", info(expected).c_name, ", but got ", info(given).c_name, " instead");
}

}  // namespace adjoint
