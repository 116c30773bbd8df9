#include "ops/segments.h"

#include <vector>

#include "core/error.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

kernels::Segments kind_of(const std::string& reduce) {
  if (reduce == "sum") return kernels::Segments::Sum;
  if (reduce == "max") return kernels::Segments::Max;
  if (reduce == "min") return kernels::Segments::Min;
  if (reduce == "prod") return kernels::Segments::Prod;
  fail(ErrorKind::Value, "segments: expected 'sum', 'max', 'min' or 'prod'; got '", reduce, "'");
}

}  // namespace

TensorPtr segments(Tensor* input, Tensor* ends, const std::string& reduce) {
  const kernels::Segments kind = kind_of(reduce);
  if (!is_float(input->dtype)) fail_not_implemented("_segment_reduce_cpu", input->dtype);
  if (input->ndim() < 2 || ends->ndim() != 2 || ends->size(0) != input->size(0) || ends->size(1) < 1 ||
      ends->dtype != DType::Int64)
    fail("segments: expected data of sizes [lines, rows, ...] and ends of int64, [lines, count + 1]; got ",
         to_string(input->sizes()), " and ", to_string(ends->sizes()));
  std::vector<int64_t> sizes(input->sizes().begin(), input->sizes().end());
  sizes[1] = ends->size(1) - 1;
  const DType compute = input->dtype == DType::Float64 ? DType::Float64 : DType::Float32;
  TensorPtr packed = contiguous(cast(input, compute).get()), places = contiguous(ends);
  TensorPtr result = empty(sizes, compute, input->device);
  {
    WithoutLock unlocked(packed->numel());
    on(input->device).reduce.segments(packed->view(), places->view(), result->view(), kind);
  }
  return cast(result.get(), input->dtype);
}

}  // namespace adjoint::ops
