// The loops of grid samples over a block of points. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Points that are worked out together, before all channels are sampled at them.
inline constexpr int64_t kGridBlock = 64;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// Taps outside the image count for nothing, even where the element in their stead is infinite.
template <class T>
[[gnu::always_inline]] inline T kept(T value, BitsOf<T> mask) {
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(value) & mask);
}

/// Of float or double.
template <class T>
struct GridLoops {
  /// The weighted sums of the elements that `count` points read, tap after tap; those of a tap lie kGridBlock apart.
  void (*sample_points)(const T* plane, const int32_t* offset, const T* weight, const BitsOf<T>* mask, int taps,
                        int64_t count, T* out);

  template <Isa>
  static GridLoops compiled();
};

}  // namespace adjoint::cpu
