// Elements read at computed places: gather, index_select, take and advanced indexing.
#include <cstdint>

#include "core/error.h"
#include "cuda/device/gather_args.h"
#include "cuda/faults.h"
#include "cuda/indexing.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// Moves 16 bytes at once where rows of them are moved whole: what the last dimension holds, and where rows begin.
int64_t widen(Geometry& geometry, GatherArgs& args, int count, int64_t size) {
  const int last = geometry.ndim - 1;
  if (last < 0 || geometry.strides[0][last] != 1 || geometry.strides[1][last] != 1) return size;
  for (int k = 0; k < count; ++k)
    if (geometry.strides[k + 2][last] != 0) return size;
  int64_t wide = 16;
  auto fits_in = [&](int64_t bytes) {
    while (wide > size && bytes % wide != 0) wide /= 2;
  };
  fits_in(geometry.sizes[last] * size);
  fits_in(static_cast<int64_t>(reinterpret_cast<uintptr_t>(args.out) | reinterpret_cast<uintptr_t>(args.in)));
  for (int v = 0; v < 2; ++v)
    for (int d = 0; d < last; ++d) fits_in(geometry.strides[v][d] * size);
  for (int k = 0; k < count; ++k) fits_in(args.step[k] * size);
  const int64_t factor = wide / size;
  geometry.sizes[last] /= factor;
  geometry.numel /= factor;
  for (int v = 0; v < 2; ++v)
    for (int d = 0; d < last; ++d) geometry.strides[v][d] /= factor;
  for (int k = 0; k < count; ++k) args.step[k] /= factor;
  return wide;
}

/// out = in at the places that the indices say. All views have the sizes of `out`; `in` has stride 0 where it is
/// indexed. False where there are more dimensions than a kernel takes.
bool run(const View& out, const View& in, int count, const View* indices, GatherArgs& args, bool wraps) {
  const View* views[kMaxIndices + 2] = {&out, &in};
  args.out = out.data;
  args.in = in.data;
  args.fault = fault_record(out.device.index);
  int64_t reach = 0;
  for (int k = 0; k < count; ++k) {
    if (args.size[k] == 0) fail(ErrorKind::Index, "index is out of bounds for dimension ", args.dim[k], " with size 0");
    views[k + 2] = &indices[k];
    args.index[k] = indices[k].as<const int64_t>();
    reach += (args.size[k] - 1) * std::abs(args.step[k]);
  }
  Geometry geometry = joint_geometry({views, static_cast<size_t>(count + 2)});
  if (!fits(geometry)) return false;
  const int64_t word = widen(geometry, args, count, itemsize(out.dtype));
  set_walk(geometry, args.walk);
  const std::string call = std::string("gather<") + word_type(word) + ", " + index_type(is_narrow(geometry, reach)) +
                           ", " + std::to_string(count) + (wraps ? ", true>" : ", false>");
  launch(out.device, kernel_text("gather.h", "GatherArgs", call), args, blocks_for(geometry.numel));
  return true;
}

View with(const View& view, const View& like, const int64_t* strides) {
  return {view.data, view.dtype, like.ndim, like.sizes, strides, view.device};
}

}  // namespace

void gather(const View& in_view, int dim, const View& index_view, const View& out_view) {
  const View out = at_least_1d(out_view);
  if (out.numel() == 0) return;
  const Snapshot in(at_least_1d(in_view), out), index(at_least_1d(index_view), out);
  const Unstepped from(*in, dim);
  GatherArgs args{};
  args.size[0] = in->sizes[dim];
  args.step[0] = in->strides[dim];
  args.dim[0] = dim;
  const View indices[] = {with(*index, out, index->strides)};
  if (!run(out, with(*in, out, from.strides), 1, indices, args, false))
    through_cpu.indexing.gather(in_view, dim, index_view, out_view);
}

void index_select(const View& in_view, int dim, const View& index_view, const View& out_view) {
  const View out = at_least_1d(out_view);
  if (out.numel() == 0) return;
  const Snapshot in(at_least_1d(in_view), out), index(at_least_1d(index_view), out);
  const Unstepped from(*in, dim);
  const Along along(*index, out.ndim, dim);
  GatherArgs args{};
  args.size[0] = in->sizes[dim];
  args.step[0] = in->strides[dim];
  args.dim[0] = dim;
  const View indices[] = {with(*index, out, along.strides)};
  if (!run(out, with(*in, out, from.strides), 1, indices, args, false))
    through_cpu.indexing.index_select(in_view, dim, index_view, out_view);
}

void index_get(const View& in_view, int count, const View* const* given, const View& out) {
  if (count > kMaxIndices) return through_cpu.indexing.index_get(in_view, count, given, out);
  if (out.numel() == 0) return;
  const Snapshot in(in_view, out);
  const int named = given[0]->ndim;
  int64_t from[kMaxDims] = {}, along[kMaxIndices][kMaxDims] = {};
  for (int d = named; d < out.ndim; ++d) from[d] = in->strides[d - named + count];
  GatherArgs args{};
  View indices[kMaxIndices];
  for (int k = 0; k < count; ++k) {
    std::copy_n(given[k]->strides, named, along[k]);
    indices[k] = with(*given[k], out, along[k]);
    args.size[k] = in->sizes[k];
    args.step[k] = in->strides[k];
    args.dim[k] = k;
  }
  if (!run(out, with(*in, out, from), count, indices, args, true))
    through_cpu.indexing.index_get(in_view, count, given, out);
}

void take(const View& in_view, const View& index_view, const View& out) {
  if (out.numel() == 0) return;
  const Snapshot in(at_least_1d(in_view), out), index(index_view, out);
  GatherArgs args{};
  args.size[0] = in->sizes[0];
  args.step[0] = in->strides[0];
  const View indices[] = {with(*index, out, index->strides)};
  if (!run(out, with(*in, out, kNoStrides), 1, indices, args, true))
    through_cpu.indexing.take(in_view, index_view, out);
}

}  // namespace adjoint::cuda
