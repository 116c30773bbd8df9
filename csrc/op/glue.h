// Calls the C++ function of an op with Python arguments; used by the generated glue.
#pragma once

#include <type_traits>
#include <utility>

#include "op/arg.h"
#include "op/creation.h"
#include "op/op.h"
#include "op/views_composed.h"
#include "op/views_in_place.h"
#include "ops_headers.h"  // made by CMake: every header in csrc/ops

namespace adjoint {

/// What errors of an op say of the places of its arguments: of how many, and how many come before the first.
struct Places {
  int count = 0;
  int hidden = 0;
};

/// One argument of a C++ function: the slot in its place, or the options, which are all slots from there on.
template <class Parameter, class First, Places places, size_t I, size_t N>
Parameter read_argument(const char* op, const char* const (&names)[N], PyObject* const* slots) {
  if constexpr (std::is_same_v<Parameter, ops::CreationOptions>) {
    static_assert(N - I == kCreationSlots || N - I == kCreationSlots - 1, "options are those of `creates`");
    return read_creation(op, slots + I, N - I, std::is_same_v<First, Tensor*> ? slots[0] : nullptr);
  } else {
    constexpr int place = static_cast<int>(I) + 1;
    // The conversion operators are named outright: std::optional<T> could also be made from Arg by way of T.
    return Arg{slots[I], op, names[I], place <= places.count ? place - places.hidden : 0}.operator Parameter();
  }
}

/// Whether a parameter is memory, which may go to kernels. In the place of others a tensor is a number, which is read
/// on its way, or, as a Value, by the function.
template <class Parameter>
inline constexpr bool is_memory =
    std::is_same_v<Parameter, Tensor*> || std::is_same_v<Parameter, std::optional<Tensor*>> ||
    std::is_same_v<Parameter, std::vector<Tensor*>> || std::is_same_v<Parameter, std::vector<std::optional<Tensor*>>>;

/// The places of such parameters, as a bit set.
template <class Result, class... Parameters>
constexpr uint32_t memory_slots(Result (*)(Parameters...)) {
  uint32_t slots = 0, bit = 1;
  ((slots |= is_memory<std::remove_cvref_t<Parameters>> ? bit : 0, bit <<= 1), ...);
  return slots;
}

template <Places places, size_t N, class Result, class First, class... Rest, size_t... I>
[[gnu::always_inline]] inline Result call_native(Result (*function)(First, Rest...), const char* op,
                                                 const char* const (&names)[N], PyObject* const* slots,
                                                 std::index_sequence<I...>) {
  return function(read_argument<std::remove_cvref_t<First>, First, places, 0>(op, names, slots),
                  read_argument<std::remove_cvref_t<Rest>, First, places, I + 1>(op, names, slots)...);
}

/// The parameter types of `function` say what each argument is converted to.
template <Places places = Places{}, size_t N, class Result, class First, class... Rest>
[[gnu::always_inline]] inline Result call_native(Result (*function)(First, Rest...), const char* op,
                                                 const char* const (&names)[N], PyObject* const* slots) {
  constexpr bool creates = (std::is_same_v<std::remove_cvref_t<Rest>, ops::CreationOptions> || ...);
  static_assert(creates || N == 1 + sizeof...(Rest),
                "the op's signature and its C++ function differ in their number of arguments");
  return call_native<places>(function, op, names, slots, std::make_index_sequence<sizeof...(Rest)>());
}

/// A function that writes into its first argument: a method of that one, which is not counted among the `positional`.
template <int positional, size_t N, class... Parameters>
void change_native(void (*function)(Tensor*, Parameters...), const char* op, const char* const (&names)[N],
                   PyObject* const* slots) {
  call_native<Places{positional, 1}>(function, op, names, slots);
}

}  // namespace adjoint
