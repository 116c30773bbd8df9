#include "ops/histogram.h"

#include <cmath>
#include <tuple>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {

TensorPtr histc(Tensor* input, int64_t bins, double min, double max) {
  if (bins <= 0) fail("torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  if (!is_float(input->dtype))
    fail(ErrorKind::NotImplemented, "\"histogram_cpu\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input with .float()");
  int64_t n = input->numel();
  TensorPtr dense = contiguous(input);
  if (min == max && n > 0) std::tie(min, max) = on(input->device).search.bounds(dense->view());
  if (min == max) {
    min -= 1;
    max += 1;
  }
  if (!std::isfinite(min) || !std::isfinite(max))
    fail("torch.histc: range of [", min, ", ", max, "] is not finite; give min and max");
  if (min > max) fail("torch.histc: max must be larger than min; got [", min, ", ", max, "]");
  TensorPtr result = empty(Sizes(&bins, 1), input->dtype, input->device);
  WithoutLock unlocked(n);
  on(input->device).search.histc(dense->view(), min, max, result->view());
  return result;
}

TensorPtr histogram_cells(Tensor* input, const std::vector<Tensor*>& edges, bool even, std::optional<Tensor*> weight) {
  DType type = input->dtype;
  if (type != DType::Float32 && type != DType::Float64) fail_not_implemented("histogramdd", type);
  auto dims = edges.size();
  if (input->ndim() != 2 || input->size(1) != static_cast<int64_t>(dims) || dims == 0 || dims > kMaxDims)
    fail("histogram: expected points with as many coordinates as there are edges");
  int64_t n = input->size(0), sizes[kMaxDims];
  std::vector<TensorPtr> packed;
  std::vector<View> rows;
  for (size_t d = 0; d < dims; ++d) {
    if (edges[d]->ndim() != 1 || edges[d]->dtype != type || edges[d]->numel() < 2)
      fail("histogram: expected a row of two edges or more in the type of the points");
    packed.push_back(contiguous(edges[d]));
    rows.push_back(packed.back()->view());
    sizes[d] = edges[d]->numel() - 1;
  }
  if (weight && ((*weight)->numel() != n || (*weight)->dtype != type))
    fail("histogram: expected one weight for each point, in the type of the points");
  TensorPtr points = contiguous(input), weights = weight ? contiguous(*weight) : TensorPtr();
  TensorPtr result = empty(Sizes(sizes, dims), type, input->device);
  const View weight_view = weights ? weights->view() : View();
  WithoutLock unlocked(n);
  on(input->device)
      .search.histogram(points->view(), rows.data(), even, weights ? &weight_view : nullptr, result->view());
  return result;
}

}  // namespace adjoint::ops
