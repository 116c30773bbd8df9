// The parameters of normalisation, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

/// Of the rows of a matrix; what is not there is null. Steps and strides are counted in elements.
struct RowNormArgs {
  const char *in, *g, *weight, *bias;
  char *out, *mean, *rstd;  ///< `out` is the gradient of the input on the way back
  int64_t rows, n;
  int64_t in_strides[2], g_strides[2], out_strides[2];
  int64_t weight_step, bias_step, mean_step, rstd_step;
  double eps;
  char *weight_sums, *bias_sums;  ///< [blocks, n], of the rows of a block
  int64_t band;                   ///< rows of a block of long_row_sums
};

/// The sums of bands of rows, and where their sums go: those of weights, then of biases, either of which may be null.
struct BandArgs {
  const char* bands[2];  ///< [count, n]
  char* out[2];
  int64_t out_step[2];
  int64_t count, n;
};

/// Of planes: element i belongs to channel i / length % channels, and to statistic i / shared, or to its channel's.
struct PlaneArgs {
  const char *in, *g, *mean, *rstd, *weight, *bias;
  const char *averages, *products;  ///< of the gradients that share a statistic
  char* out;
  int64_t numel, length, channels;
  int64_t shared;  ///< elements that share a statistic and lie together; 0: those of a channel do
  int64_t mean_step, rstd_step, weight_step, bias_step;
  double eps, count;  ///< `count` elements share a statistic
  // For the sums of groups.
  const char *plane_sums, *plane_products;
  char *gweight, *gbias, *group_averages, *group_products;
  int64_t samples, groups;
};

}  // namespace adjoint::cuda
