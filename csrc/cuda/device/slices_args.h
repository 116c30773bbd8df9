// The slices of views of one shape along a dimension, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kSliceDims = 12;
inline constexpr int kSliceViews = 4;

/// Element k of slice s of view v lies at data[v][place(s) + k * step[v]]. All is counted in elements; the last
/// dimension is the fastest.
struct SliceArgs {
  char* data[kSliceViews];
  int64_t slices, n;
  int64_t step[kSliceViews];
  int32_t dims;
  int64_t sizes[kSliceDims], strides[kSliceViews][kSliceDims];
  char* states;  ///< of parts of slices, [parts, slices]
  int64_t part;  ///< elements of a part
};

#ifdef ADJOINT_DEVICE_CODE
/// Where slice s begins in each of the views.
template <int views, class Index>
struct SlicePlace {
  int64_t at[views] = {};

  SlicePlace(const SliceArgs& args, Index s) {
    for (int d = args.dims - 1; d >= 0; --d) {
      const Index size = static_cast<Index>(args.sizes[d]), quotient = s / size;
      const int64_t rest = static_cast<int64_t>(s - quotient * size);
#pragma unroll
      for (int v = 0; v < views; ++v) at[v] += rest * args.strides[v][d];
      s = quotient;
    }
  }
};
#endif

}  // namespace adjoint::cuda
