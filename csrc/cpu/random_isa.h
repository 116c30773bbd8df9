// The loops of random fills over raw draws. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// Normal numbers are made from as many uniform ones.
inline constexpr int64_t kNormalBlock = 16;

struct RandomLoops {
  /// 64-bit draws of two 32-bit ones each, the first in the upper half.
  void (*pair_words)(const uint32_t* words, uint64_t* out, int64_t n);
  /// Uniform numbers in [0, 1).
  void (*unit_floats)(const uint32_t* words, float* out, int64_t n);
  void (*unit_doubles)(const uint64_t* bits, double* out, int64_t n);
  /// From [0, 1) to [low, high).
  void (*stretch_floats)(float* values, int64_t n, float low, float high);
  void (*stretch_doubles)(double* values, int64_t n, double low, double high);
  /// Box-Muller in place: of each block of uniform numbers, one half gives the radius and one the angle.
  void (*normal_blocks)(float* values, int64_t blocks, float mean, float std);
  /// Writes `one`, of `size` bytes, where bits[i] / 2 ** 53 is below a probability, and 0 elsewhere; threshold is
  /// ceil(p * 2 ** 53).
  void (*mark_below)(const uint64_t* bits, uint64_t threshold, uint64_t one, int64_t size, void* out, int64_t n);

  template <Isa>
  static RandomLoops compiled();
};

}  // namespace adjoint::cpu
