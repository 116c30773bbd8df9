// Resampling of planes along up to three axes at once by tables of indices and weights: interpolation, and paddings
// that repeat elements of the input.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"

namespace adjoint::cpu {

/// out[i] = sum over t of weight[i][t] * in[index[i][t]] along one axis; all indices are inside.
struct ResampleAxis {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;  ///< empty: all are 1, and there is one tap

  /// Room for tables of so many taps.
  void reserve(int64_t count) {
    taps = count;
    index.reserve(static_cast<size_t>(out * taps));
    if (taps > 1) weight.reserve(static_cast<size_t>(out * taps));
  }
  int64_t at(int64_t i, int64_t t) const { return index[static_cast<size_t>(i * taps + t)]; }
};

struct ResampleShape {
  int64_t planes;
  ResampleAxis axes[3];

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
};

/// T is float or double.
template <class T>
void resample(const ResampleShape& shape, const T* in, T* out);
/// The same for bytes, as torch does it: axis by axis, the last one first, in whole numbers, each time rounded.
void resample_bytes(const ResampleShape& shape, const uint8_t* in, uint8_t* out);
/// The transpose, where T may be complex as well; `out` has the size of the input.
template <class T>
void resample_backward(const ResampleShape& shape, const T* grad, T* out);
/// The same as resample without weights, for elements of any type.
void rearrange(const ResampleShape& shape, int64_t itemsize, const char* in, char* out);

}  // namespace adjoint::cpu
