// Tables of indices and weights for the resampling of planes.
#pragma once

#include <vector>

#include "kernels/resampling.h"

namespace adjoint::cpu {

/// out[i] = sum over t < used(i) of weight[i][t] * in[index[i][t]] along one axis; all indices are inside.
struct ResampleAxis {
  int64_t in = 1, out = 1, taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;   ///< empty: all are 1, and there is one tap
  std::vector<int64_t> counts;  ///< of the taps that are used; empty: all. Others have no weight

  /// Room for tables of so many taps.
  void reserve(int64_t count) {
    taps = count;
    index.reserve(static_cast<size_t>(out * taps));
    if (taps > 1) weight.reserve(static_cast<size_t>(out * taps));
  }
  int64_t used(int64_t i) const { return counts.empty() ? taps : counts[static_cast<size_t>(i)]; }
  int64_t at(int64_t i, int64_t t) const { return index[static_cast<size_t>(i * taps + t)]; }
};

struct ResampleShape {
  int64_t planes;
  ResampleAxis axes[3];

  /// For elements of a type.
  ResampleShape(const kernels::ResampleShape& shape, DType dtype);
  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
};

}  // namespace adjoint::cpu
