// Convolutions of packed arrays: plans for sums over taps, and the two ways to compute them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/convolution.h"

namespace adjoint::cpu {

using kernels::ConvShape;

/// One residue class of output positions along an axis: out[first + q * apart] = sum of w[tap] in[q * step + offset].
struct ConvAxis {
  int64_t count, first, apart;
  std::vector<int64_t> taps, offsets;
};

/// One class of output positions for each of three dimensions. The terms of its sums are ordered by the taps of the
/// first two dimensions, then by input channel, then by the taps of the third: a row of padding can be left out.
struct ConvPhase {
  const ConvAxis* axes[3];
  std::vector<int64_t> offsets;  ///< of each term, into the packed image
  std::vector<int64_t> sources;  ///< of each term, into the weights of an output channel
  int64_t depth_before;          ///< terms of the phases before this one

  int64_t depth() const { return static_cast<int64_t>(offsets.size()); }
  int64_t rows() const { return axes[0]->count * axes[1]->count; }
};

/// A convolution or its transpose as a sum over taps, and the layout of an image that is packed for it: padded, and
/// with the columns of a stride side by side, so that every tap reads consecutive elements.
struct Correlation {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], step[3];
  int64_t weight_group, weight_out, weight_in;  ///< strides of the weight
  int64_t low[3], span[3];                      ///< the part of the input that is read
  int64_t columns, row, plane;                  ///< of the packed image: a run, a row of runs, a channel
  int threads;                                  ///< to plan for
  std::vector<ConvAxis> classes[3];
  std::vector<ConvPhase> phases;  ///< those without taps are left out

  Correlation(const ConvShape& shape, bool transposed);
  Correlation(const Correlation&) = delete;  // phases point at classes
  Correlation& operator=(const Correlation&) = delete;

  int64_t image() const { return groups * in_channels * plane; }
  /// Whether the packed image is the input as it lies in memory.
  bool packed_already() const {
    return low[0] == 0 && low[1] == 0 && low[2] == 0 && step[2] == 1 && plane == in_plane();
  }
  /// Multiplications in all.
  int64_t work() const;
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }

 private:
  void add_forward_axis(const ConvShape& shape, int d);
  void add_transposed_axis(const ConvShape& shape, int d);
  void lay_out_image();
  void add_phases(const ConvShape& shape);
};

/// Elements of temporary memory that `correlate` and `conv_weight` need; T is float or double.
template <class T>
int64_t correlate_scratch(const Correlation& plan);
template <class T>
int64_t conv_weight_scratch(const Correlation& plan);

/// out = in correlated with weight, plus bias (null: none). The order of sums does not depend on the threads.
template <class T>
void correlate(const Correlation& plan, const T* in, const T* weight, const T* bias, T* out, T* scratch);
/// weight[o, i, tap] = sum of grad[n, o, q] in[n, i, q * step + offset]; the plan is that of the forward.
template <class T>
void conv_weight(const Correlation& plan, const T* grad, const T* in, T* weight, T* scratch);

/// Whether nearly all products of a Correlation, or of its weight's gradient, would be with padding.
bool mostly_padding(const ConvShape& shape, bool transposed);
/// A convolution or its transpose without products with padding; T is float, double or uint64_t, which wraps.
template <class T>
void spread(const ConvShape& shape, bool transposed, const T* in, const T* weight, const T* bias, T* out);
/// The gradient of the weight in the same way; T is float or double.
template <class T>
void spread_weight(const ConvShape& shape, const T* grad, const T* in, T* weight);

}  // namespace adjoint::cpu
