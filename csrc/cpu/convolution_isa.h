// The inner loops of convolutions. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace adjoint::cpu {

/// How the loops of a weight's gradient walk over positions: counts, and the steps of the outer two in the image.
struct GradWalk {
  int64_t count[3], step[2];
};

/// Of float or double.
template <class T>
struct ConvLoops {
  int lanes, most_pixels, grad_rows;
  /// By one or two vectors of channels, and by half the number of pixels, less one.
  void (*by_channels[2][7])(const T* in, const int64_t* offsets, int64_t depth, const T* weight, T* sums, bool add);
  /// By one or four channels, and by the vectors of pixels, less one: up to four beside one channel, two beside four.
  void (*by_pixels[2][4])(const T* in, const int64_t* offsets, int64_t depth, const T* weight, const T* bias, T* out,
                          int64_t out_row, int64_t last);
  void (*grad_by_channels[2])(const T* const* in, const GradWalk& walk, const T* grad, T* sums);
  void (*grad_by_pixels)(const T* const* in, const GradWalk& walk, const T* grad, T* sums);

  template <Isa>
  static ConvLoops compiled();
};

}  // namespace adjoint::cpu
