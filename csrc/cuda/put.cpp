// Indexing kernels that write at computed places: scatter, index_add and their kin, index_put, embedding_backward.
#include "cuda/indexing.h"
#include "cuda/scatter.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

using kernels::Reduction;

Merging merging(Reduction reduction, bool include_self) {
  switch (reduction) {
    case Reduction::Prod: return {"Multiply", include_self};
    case Reduction::AMax: return {"Maximum", include_self};
    case Reduction::AMin: return {"Minimum", include_self};
    case Reduction::Mean: return {"Add", include_self, true};
    default: return {.op = "Add", .include_self = include_self, .in_any_order = true};
  }
}

/// What the CPU refuses, in its words.
bool is_refused(Reduction reduction, DType dtype) {
  const bool ordered = reduction == Reduction::AMax || reduction == Reduction::AMin;
  return (ordered && is_complex(dtype)) || (reduction == Reduction::Mean && dtype == DType::Bool);
}

bool merge_elements(const View& dst_view, int dim, const View& index_view, const View& src_view, const Merging& how) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst), src(at_least_1d(src_view), dst);
  return Scatter::elements(dst, dim, *index, &*src).merge(how);
}

bool merge_slices(const View& dst_view, int dim, const View& index_view, const View& src_view, const Merging& how) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst), src(at_least_1d(src_view), dst);
  return Scatter::slices(dst, dim, *index, &*src).merge(how);
}

}  // namespace

void scatter(const View& dst, int dim, const View& index, const View& src) {
  if (!merge_elements(dst, dim, index, src, {"Assign"})) through_cpu.indexing.scatter(dst, dim, index, src);
}

void scatter_value(const View& dst_view, int dim, const View& index_view, const void* value) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst);
  if (!Scatter::elements(dst, dim, *index, nullptr).fill(value))
    through_cpu.indexing.scatter_value(dst_view, dim, index_view, value);
}

void scatter_add(const View& dst, int dim, const View& index, const View& src) {
  if (!merge_elements(dst, dim, index, src, merging(Reduction::Sum, true)))
    through_cpu.indexing.scatter_add(dst, dim, index, src);
}

void scatter_reduce(const View& dst, int dim, const View& index, const View& src, Reduction reduction,
                    bool include_self) {
  if (is_refused(reduction, dst.dtype) || !merge_elements(dst, dim, index, src, merging(reduction, include_self)))
    through_cpu.indexing.scatter_reduce(dst, dim, index, src, reduction, include_self);
}

void index_add(const View& dst, int dim, const View& index, const View& src, const Scalar& alpha) {
  Merging how = merging(Reduction::Sum, true);
  if (alpha.to<complex128>() != complex128(1)) how.alpha = &alpha;
  if (!merge_slices(dst, dim, index, src, how)) through_cpu.indexing.index_add(dst, dim, index, src, alpha);
}

void index_reduce(const View& dst, int dim, const View& index, const View& src, Reduction reduction,
                  bool include_self) {
  if (is_refused(reduction, dst.dtype) || !merge_slices(dst, dim, index, src, merging(reduction, include_self)))
    through_cpu.indexing.index_reduce(dst, dim, index, src, reduction, include_self);
}

void index_copy(const View& dst, int dim, const View& index, const View& src) {
  if (!merge_slices(dst, dim, index, src, {"Assign"})) through_cpu.indexing.index_copy(dst, dim, index, src);
}

void index_fill(const View& dst_view, int dim, const View& index_view, const void* value) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst);
  if (!Scatter::slices(dst, dim, *index, nullptr, true).fill(value))
    through_cpu.indexing.index_fill(dst_view, dim, index_view, value);
}

void index_put(const View& dst, int count, const View* const* indices, const View& src_view, bool accumulate) {
  auto here = [&] {
    if (count > kMaxPutIndices) return false;
    const Snapshot src(src_view, dst);
    std::optional<Snapshot> kept[kMaxPutIndices];
    const View* views[kMaxPutIndices];
    for (int k = 0; k < count; ++k) views[k] = &*kept[k].emplace(*indices[k], dst);
    return Scatter::advanced(dst, count, views, *src).merge({accumulate ? "Add" : "Assign"});
  };
  if (!here()) through_cpu.indexing.index_put(dst, count, indices, src_view, accumulate);
}

std::optional<int64_t> put(const View& dst, const View& index, const View& src, bool accumulate) {
  // An index that lies outside is a fault like any other one, for which nobody waits.
  const View* indices[] = {&index};
  index_put(dst, 1, indices, src, accumulate);
  return std::nullopt;
}

void embedding_backward(const View& g, const View& index, int64_t padding_idx, const View& gweight) {
  Scatter rows = Scatter::slices(gweight, 0, index, &g);
  if (padding_idx >= 0) rows.skipped = padding_idx;
  if (!rows.merge({"Add"})) through_cpu.indexing.embedding_backward(g, index, padding_idx, gweight);
}

}  // namespace adjoint::cuda
