#include "cuda/slices.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/geometry.h"

namespace adjoint::cuda {

bool can_slice(std::span<const View* const> views) {
  int dims = 0;
  for (int d = 0; d < views[0]->ndim; ++d) dims += views[0]->sizes[d] != 1;
  return dims <= kSliceDims && std::ranges::none_of(views, [](const View* view) { return is_stored(view->dtype); });
}

SliceArgs slices_of(std::span<const View* const> views, int dim) {
  SliceArgs args = {};
  int64_t sizes[kMaxDims], strides[kSliceViews][kMaxDims];
  View others[kSliceViews];
  const View* pointers[kSliceViews];
  args.n = views[0]->ndim == 0 ? 1 : views[0]->sizes[dim];
  for (size_t v = 0; v < views.size(); ++v) {
    const View& view = *views[v];
    args.data[v] = view.data;
    args.step[v] = view.ndim == 0 || args.n == 1 ? 1 : view.strides[dim];
    int kept = 0;
    for (int d = 0; d < view.ndim; ++d) {
      if (d == dim) continue;
      sizes[kept] = view.sizes[d];
      strides[v][kept++] = view.strides[d];
    }
    others[v] = {view.data, view.dtype, kept, sizes, strides[v], view.device};
    pointers[v] = &others[v];
  }
  const Geometry geometry = joint_geometry({pointers, views.size()});
  args.slices = geometry.numel;
  args.dims = geometry.ndim;
  std::copy_n(geometry.sizes, geometry.ndim, args.sizes);
  for (size_t v = 0; v < views.size(); ++v) std::copy_n(geometry.strides[v], geometry.ndim, args.strides[v]);
  return args;
}

bool lie_side_by_side(const SliceArgs& args) {
  return args.dims > 0 && std::abs(args.strides[0][args.dims - 1]) < std::abs(args.step[0]);
}

bool has_packets(const SliceArgs& args, int view, int width, int64_t itemsize) {
  if (args.step[view] != 1 || args.n % width != 0) return false;
  if (reinterpret_cast<uintptr_t>(args.data[view]) % static_cast<uintptr_t>(width * itemsize) != 0) return false;
  return std::all_of(args.strides[view], args.strides[view] + args.dims,
                     [&](int64_t stride) { return stride % width == 0; });
}

bool is_wide(const SliceArgs& args) {
  constexpr int64_t narrow = int64_t{1} << 31;
  return args.slices >= narrow || args.n >= narrow;
}

}  // namespace adjoint::cuda
