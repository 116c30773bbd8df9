// The loops of Fourier transforms. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include "cpu/fft.h"
#include "cpu/isa.h"

namespace adjoint::cpu {

/// Lines that stand side by side in the lanes of a vector: 64 bytes, whatever the instruction set.
template <class T>
inline constexpr int kLanes = 64 / sizeof(T);

/// Scalars in one of the four arrays of a group. The odd line keeps arrays off the same places of the cache.
template <class T>
[[gnu::always_inline]] inline int64_t buffer_room(const Fft<T>& fft) {
  return (fft.n + 1) * fft.lanes + kLanes<T>;
}

/// Of float or double.
template <class T>
struct FftLoops {
  /// The transforms of a group of lines, of which `first` is the first. The scratch holds two buffers, and what
  /// Bluestein's algorithm needs behind them.
  void (*transform_group)(const Fft<T>& fft, int64_t first, T* scratch);

  template <Isa>
  static FftLoops compiled();
};

}  // namespace adjoint::cpu
