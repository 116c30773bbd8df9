// Every element type as unsigned integers of the same order: NaN greatest, the two zeros equal.
#pragma once

#include "core/dtype.h"

namespace adjoint::cuda {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
struct FloatBits {
  using type = uint32_t;
};
template <>
struct FloatBits<double> {
  using type = uint64_t;
};

/// A floating value by its bits, of which `width` count.
template <class Bits>
inline Bits float_key(Bits bits, int width, bool is_nan, Bits all) {
  const Bits sign = Bits(1) << (width - 1);
  if (bits == sign) bits = 0;
  return is_nan ? all : bits & sign ? ~bits & all : bits | sign;
}

template <class T>
inline KeyOf<T> key_of(T value) {
  if constexpr (is_half_v<T>) {
    const float wide = static_cast<float>(value);
    return float_key<uint32_t>(value.bits, 16, wide != wide, 0xffffu);
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = typename FloatBits<T>::type;
    return float_key<Bits>(std::bit_cast<Bits>(value), 8 * static_cast<int>(sizeof(T)), value != value, ~Bits(0));
  } else if constexpr (std::is_signed_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<KeyOf<T>>(static_cast<Bits>(value) ^ static_cast<Bits>(Bits(1) << (8 * sizeof(T) - 1))) &
           static_cast<KeyOf<T>>(static_cast<Bits>(~Bits(0)));
  } else {
    return static_cast<KeyOf<T>>(value);
  }
}

/// The key of NaN; of other types a key that none has, or that says nothing.
template <class T>
inline bool is_nan_key(KeyOf<T> key) {
  if constexpr (is_half_v<T>) return key == 0xffffu;
  if constexpr (std::is_floating_point_v<T>) return key == static_cast<KeyOf<T>>(~KeyOf<T>(0));
  return false;
}

}  // namespace adjoint::cuda
