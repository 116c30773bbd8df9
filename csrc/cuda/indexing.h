// Indexing on a device, which kernels/indexing.h describes.
//
// An index that lies outside is noted (see Note [Faults]) and counts as the first place; what a kernel then writes is
// of no use.
#pragma once

#include "kernels/indexing.h"

namespace adjoint::cuda {

void gather(const View& in, int dim, const View& index, const View& out);
void index_select(const View& in, int dim, const View& index, const View& out);
void index_get(const View& in, int count, const View* const* indices, const View& out);
void take(const View& in, const View& index, const View& out);
void scatter(const View& dst, int dim, const View& index, const View& src);
void scatter_value(const View& dst, int dim, const View& index, const void* value);
void scatter_add(const View& dst, int dim, const View& index, const View& src);
void scatter_reduce(const View& dst, int dim, const View& index, const View& src, kernels::Reduction reduction,
                    bool include_self);
void index_add(const View& dst, int dim, const View& index, const View& src, const Scalar& alpha);
void index_reduce(const View& dst, int dim, const View& index, const View& src, kernels::Reduction reduction,
                  bool include_self);
void index_copy(const View& dst, int dim, const View& index, const View& src);
void index_fill(const View& dst, int dim, const View& index, const void* value);
void index_put(const View& dst, int count, const View* const* indices, const View& src, bool accumulate);
std::optional<int64_t> put(const View& dst, const View& index, const View& src, bool accumulate);
void embedding_backward(const View& g, const View& index, int64_t padding_idx, const View& gweight);
void check_classes(const View& target, const kernels::Classes& classes);
void class_scores(const View& scores, const View& target, const View* weight, const kernels::Classes& classes,
                  kernels::LossReduction reduction, const View& loss, const View& total);
void class_scores_backward(const View& g, const View& target, const View* weight, const kernels::Classes& classes,
                           kernels::LossReduction reduction, const View& total, const View& out);
bool prefers_class_entropy();
void class_entropy(const View& scores, const View& target, const View* weight, const kernels::Classes& classes,
                   kernels::LossReduction reduction, const View& loss, const View& total, const View& sums);
void class_entropy_backward(const View& g, const View& scores, const View& sums, const View& target, const View* weight,
                            const kernels::Classes& classes, kernels::LossReduction reduction, const View& total,
                            const View& out);
void masked_fill(const View& dst, const View& mask, const void* value);
void masked_select(const View& in, const View& mask, const View& out);
void masked_front(const View& in, const View& mask, const View& out);
void masked_scatter(const View& dst, const View& mask, const View& src);
void where(const View& condition, const View& a, const View& b, const View& out);
int64_t count_nonzero(const View& in);
void refuse_zeros(const View& in, const char* words);
void nonzero(const View& in, const View& out);
void nonzero_static(const View& in, int64_t fill, const View& out);

}  // namespace adjoint::cuda
