#include "ops/embedding_bag.h"

#include <algorithm>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::BagFault;
using kernels::BagMode;

void check_float(DType dtype) {
  if (!is_float(dtype))
    fail(
        "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
        "Float, Double; but got torch.",
        info(dtype).legacy_name, "Tensor instead (while checking arguments for embedding_bag)");
}

TensorPtr as_index(const char* name, Tensor* tensor) {
  if (tensor->dtype != DType::Int64 && tensor->dtype != DType::Int32)
    fail("Expected tensor for argument #1 '", name, "' to have one of the following scalar types: Long, Int; but got ",
         "torch.", info(tensor->dtype).legacy_name,
         "Tensor instead (while checking arguments for embedding_bag); convert them with .long()");
  return contiguous(tensor, DType::Int64);
}

BagMode mode_named(const std::string& mode) {
  return mode == "max" ? BagMode::Max : mode == "mean" ? BagMode::Mean : BagMode::Sum;
}

void check_values(const Tensor* weight, const Tensor* indices, const Tensor* starts) {
  const BagFault fault = on(weight->device).embedding_bag.fault(indices->view(), starts->view(), weight->size(0));
  switch (fault.kind) {
    case BagFault::None: return;
    case BagFault::FirstOffset:
      fail(
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
          "got ",
          fault.value);
    case BagFault::LastOffset:
      fail("offsets[-1] can not be greater than input's length ", indices->numel(), " but got offsets[-1] of ",
           fault.value);
    case BagFault::Decrease:
      fail("embedding_bag: expected offsets that do not decrease; got ", fault.value, " after ", fault.before);
    case BagFault::Index:
      fail("Index ", fault.place, " of input takes value ", fault.value, " which is not in the valid range [0, ",
           weight->size(0), ")");
  }
}

struct Bags {
  TensorPtr indices, starts;
  int64_t count;

  Bags(const Tensor* weight, Tensor* given, Tensor* offsets, bool include_last_offset)
      : indices(as_index("indices", given)), starts(as_index("offsets", offsets)), count(starts->numel()) {
    if (weight->ndim() != 2 || indices->ndim() != 1 || starts->ndim() != 1)
      fail("embedding_bag: expected a table of rows, and lists of indices and offsets; got shapes ",
           to_string(weight->sizes()), ", ", to_string(given->sizes()), " and ", to_string(offsets->sizes()));
    if (include_last_offset && count-- == 0) fail("include_last_offset: number of offset should be at least 1");
    check_values(weight, indices.get(), starts.get());
  }
};

/// Factors of the rows, or none.
struct Factors {
  TensorPtr tensor;
  View view;

  explicit Factors(std::optional<Tensor*> given)
      : tensor(given ? contiguous(*given) : TensorPtr()), view(tensor ? tensor->view() : View()) {}
  const View* get() const { return tensor ? &view : nullptr; }
};

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> embedding_bag(Tensor* weight, Tensor* indices, Tensor* offsets,
                                                          const std::string& mode,
                                                          std::optional<Tensor*> per_sample_weights,
                                                          bool include_last_offset, int64_t padding_idx, bool, bool) {
  Bags bags(weight, indices, offsets, include_last_offset);
  const int64_t sizes[] = {bags.count, weight->size(1)}, length = bags.indices->numel();
  Factors factors(per_sample_weights);
  if (factors.tensor) {
    if (factors.tensor->dtype != weight->dtype)
      fail(
          "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
          "'per_sample_weights'; but type torch.",
          info(weight->dtype).legacy_name, "Tensor does not equal torch.", info(factors.tensor->dtype).legacy_name,
          "Tensor (while checking arguments for embedding_bag)");
    if (factors.tensor->numel() != length) fail("embedding_bag: expected a weight for each index");
  }
  check_float(weight->dtype);
  const Device device = weight->device;
  TensorPtr table = contiguous(weight), result = empty(Sizes(sizes, 2), weight->dtype, device);
  TensorPtr owner = empty(Sizes(&length, 1), DType::Int64, device);
  const BagMode kind = mode_named(mode);
  TensorPtr details = empty(Sizes(sizes, kind == BagMode::Max ? 2 : 1), DType::Int64, device);
  {
    WithoutLock unlocked(length * sizes[1]);
    on(device).embedding_bag.forward({bags.indices->view(), bags.starts->view(), bags.count, kind, padding_idx},
                                     table->view(), factors.get(), result->view(), owner->view(), details->view());
  }
  return {std::move(result), std::move(owner), std::move(details)};
}

TensorPtr embedding_bag_weight_grad(Tensor* grad, int64_t rows, Tensor* indices, const std::string& mode,
                                    std::optional<Tensor*> per_sample_weights, Tensor* bags, Tensor* details,
                                    int64_t padding_idx, bool scale_grad_by_freq) {
  TensorPtr g = contiguous(grad), places = as_index("indices", indices);
  TensorPtr owner = contiguous(bags), counts = contiguous(details);
  Factors factors(per_sample_weights);
  check_float(grad->dtype);
  const int64_t sizes[] = {rows, g->size(1)};
  TensorPtr result = empty(Sizes(sizes, 2), grad->dtype, grad->device);
  WithoutLock unlocked(std::max(places->numel(), rows) * sizes[1]);
  on(grad->device)
      .embedding_bag.table_grad({places->view(), {}, g->size(0), mode_named(mode), padding_idx}, g->view(),
                                factors.get(), owner->view(), counts->view(), scale_grad_by_freq, result->view());
  return result;
}

TensorPtr embedding_bag_sample_grad(Tensor* grad, Tensor* weight, Tensor* indices, Tensor* bags, int64_t padding_idx) {
  TensorPtr g = contiguous(grad), table = contiguous(weight), places = as_index("indices", indices);
  TensorPtr owner = contiguous(bags);
  check_float(weight->dtype);
  const int64_t count = places->numel();
  TensorPtr result = empty(Sizes(&count, 1), weight->dtype, weight->device);
  WithoutLock unlocked(count * table->size(1));
  on(grad->device)
      .embedding_bag.factors_grad({places->view(), {}, g->size(0), BagMode::Sum, padding_idx}, g->view(), table->view(),
                                  owner->view(), result->view());
  return result;
}

}  // namespace adjoint::ops
