// Calls the C++ function of an op with Python arguments; used by the generated glue.
#pragma once

#include <type_traits>
#include <utility>

#include "op/arg.h"
#include "op/op.h"
#include "ops_headers.h"  // made by CMake: every header in csrc/ops

namespace adjoint {

template <class Result, class... Parameters, size_t... I>
Result call_native(Result (*function)(Parameters...), const char* op, const char* const* names, PyObject* const* slots,
                   std::index_sequence<I...>) {
  // The conversion operators are named outright: std::optional<T> could also be made from Arg by way of T.
  return function(Arg{slots[I], op, names[I]}.operator std::remove_cvref_t<Parameters>()...);
}

/// The parameter types of `function` say what each argument is converted to.
template <size_t N, class Result, class... Parameters>
Result call_native(Result (*function)(Parameters...), const char* op, const char* const (&names)[N],
                   PyObject* const* slots) {
  static_assert(N == sizeof...(Parameters),
                "the op's signature and its C++ function differ in their number of arguments");
  return call_native(function, op, names, slots, std::make_index_sequence<N>());
}

/// A function that writes into its first argument.
template <size_t N, class... Parameters>
void change_native(void (*function)(Tensor*, Parameters...), const char* op, const char* const (&names)[N],
                   PyObject* const* slots) {
  call_native(function, op, names, slots);
}

}  // namespace adjoint
