#include "ops/gather.h"

#include <algorithm>

#include "core/deterministic.h"
#include "core/lock.h"
#include "core/warning.h"
#include "kernels/backend.h"
#include "ops/index_shapes.h"
#include "ops/memory.h"
#include "ops/views.h"

namespace adjoint::ops {
namespace {

/// int64 indices; int32 ones are converted. `expected` ends torch's message for other types.
TensorPtr as_index(const char* op, Tensor* index, const char* expected) {
  if (index->dtype != DType::Int64 && index->dtype != DType::Int32)
    fail(op, "(): Expected ", expected, " for index; got ", info(index->dtype).name, "; convert it with .long()");
  return cast(index, DType::Int64);
}

void check_same_type(const char* op, const Tensor* input, const Tensor* src) {
  if (input->dtype != src->dtype)
    fail(op, "(): Expected self.dtype to be equal to src.dtype; got ", info(input->dtype).name, " and ",
         info(src->dtype).name, "; convert src with .to()");
}

/// Changes `input` by write(its view, axis, view of the index), if there are indices. `src` is null where a number is
/// written.
template <class Write>
void write_at(const char* op, Tensor* input, int64_t dim, Tensor* index, const Tensor* src, Write&& write) {
  int axis = wrap_dim(dim, input->ndim());
  // Without indices their type does not matter.
  if (index->numel() == 0) return;
  TensorPtr places = as_index(op, index, "dtype int32/int64");
  const Sizes from = src ? src->sizes() : Sizes();
  check_scatter(op, input->sizes(), axis, places->sizes(), src ? &from : nullptr);
  WithoutLock unlocked(places->numel());
  write(input->view(), axis, places->view());
}

kernels::Reduction parse_reduction(const std::string& reduce) {
  using kernels::Reduction;
  if (reduce == "sum") return Reduction::Sum;
  if (reduce == "prod") return Reduction::Prod;
  if (reduce == "mean") return Reduction::Mean;
  if (reduce == "amax") return Reduction::AMax;
  if (reduce == "amin") return Reduction::AMin;
  fail("reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
}

void check_long(const char* op, const Tensor* index) {
  if (index->dtype != DType::Int64)
    fail(op, "(): Expected a long tensor for index, but got ", info(index->dtype).legacy_name,
         "; convert it with .long()");
}

}  // namespace

TensorPtr gather(Tensor* input, int64_t dim, Tensor* index, bool) {
  int axis = wrap_dim(dim, input->ndim());
  // Without indices their type does not matter.
  if (index->numel() == 0) return empty(index->sizes(), input->dtype, input->device);
  TensorPtr places = as_index("gather", index, "dtype int32/int64");
  check_gather(input->sizes(), axis, places->sizes());
  TensorPtr result = empty(places->sizes(), input->dtype, input->device);
  WithoutLock unlocked(places->numel());
  on(input->device).indexing.gather(input->view(), axis, places->view(), result->view());
  return result;
}

TensorPtr gather_backward(Tensor* grad, const Ints& size, int64_t dim, Tensor* index) {
  TensorPtr result = zeros(size, grad->dtype, grad->device);
  TensorPtr places = cast(index, DType::Int64);
  if (places->numel() == 0) return result;
  int axis = wrap_dim(dim, result->ndim());
  const Sizes from = grad->sizes();
  check_scatter("scatter_add", size, axis, places->sizes(), &from);
  WithoutLock unlocked(places->numel());
  on(grad->device).indexing.scatter_add(result->view(), axis, places->view(), grad->view());
  return result;
}

void scatter_src_(Tensor* input, int64_t dim, Tensor* index, Tensor* src) {
  check_same_type("scatter", input, src);
  write_at("scatter", input, dim, index, src, [&](const View& to, int axis, const View& at) {
    on(input->device).indexing.scatter(to, axis, at, src->view());
  });
}

void scatter_value_(Tensor* input, int64_t dim, Tensor* index, const Scalar& value) {
  write_at("scatter", input, dim, index, nullptr, [&](const View& to, int axis, const View& at) {
    on(input->device).indexing.scatter_value(to, axis, at, Element(value, input->dtype).get());
  });
}

void scatter_add_(Tensor* input, int64_t dim, Tensor* index, Tensor* src) {
  check_same_type("scatter", input, src);
  write_at("scatter_add", input, dim, index, src, [&](const View& to, int axis, const View& at) {
    on(input->device).indexing.scatter_add(to, axis, at, src->view());
  });
}

void scatter_reduce_(Tensor* input, int64_t dim, Tensor* index, Tensor* src, const std::string& reduce,
                     bool include_self) {
  check_same_type("scatter", input, src);
  kernels::Reduction reduction = parse_reduction(reduce);
  write_at("scatter_reduce", input, dim, index, src, [&](const View& to, int axis, const View& at) {
    on(input->device).indexing.scatter_reduce(to, axis, at, src->view(), reduction, include_self);
  });
}

TensorPtr index_select(Tensor* input, int64_t dim, Tensor* index) {
  int axis = wrap_dim(dim, input->ndim());
  if (index->ndim() > 1)
    fail(ErrorKind::Index, "index_select(): Index is supposed to be a vector; got shape ", to_string(index->sizes()));
  TensorPtr places = as_index("index_select", index, "dtype int32 or int64");
  int64_t sizes[kMaxDims];
  std::copy(input->sizes().begin(), input->sizes().end(), sizes);
  if (input->ndim() > 0) {
    sizes[axis] = places->numel();
  } else if (places->numel() != 1) {
    fail("index_select(): Index to scalar can have only 1 value, got ", places->numel(), " value(s)");
  }
  TensorPtr result = empty(Sizes(sizes, static_cast<size_t>(input->ndim())), input->dtype, input->device);
  WithoutLock unlocked(result->numel());
  on(input->device).indexing.index_select(input->view(), axis, places->view(), result->view());
  return result;
}

void index_add_(Tensor* input, int64_t dim, Tensor* index, Tensor* source, const Scalar& alpha) {
  if (input->dtype != source->dtype)
    fail("index_add_(): self (", info(input->dtype).legacy_name, ") and source (", info(source->dtype).legacy_name,
         ") must have the same scalar type");
  Element(alpha, input->dtype);
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr places = as_index("index_add", index, "dtype int32/int64");
  check_slices("index_add", ErrorKind::Runtime, input->sizes(), axis, places->sizes(), source->sizes());
  WithoutLock unlocked(source->numel());
  on(input->device).indexing.index_add(input->view(), axis, places->view(), source->view(), alpha);
}

void index_reduce_(Tensor* input, int64_t dim, Tensor* index, Tensor* source, const std::string& reduce,
                   bool include_self) {
  static bool warned = false;
  warn_once(warned, "index_reduce() is in beta and the API may change at any time.");
  if (reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin")
    fail("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  if (index->ndim() > 1)
    fail(ErrorKind::Index, "index_reduce_(): Index is supposed to be a vector, but got dim: ", index->ndim(),
         " with type: ", info(index->dtype).legacy_name, " and size: ", to_string(index->sizes()));
  if (input->dtype != source->dtype)
    fail("index_reduce_(): self (", info(input->dtype).legacy_name, ") and source (", info(source->dtype).legacy_name,
         ") must have the same scalar type");
  if (input->dtype == DType::Bool && reduce == "mean") fail_not_implemented("index_reduce(): mean", input->dtype);
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr places = as_index("index_reduce_", index, "dtype int32/int64");
  check_slices("index_reduce", ErrorKind::Runtime, input->sizes(), axis, places->sizes(), source->sizes());
  WithoutLock unlocked(source->numel());
  on(input->device)
      .indexing.index_reduce(input->view(), axis, places->view(), source->view(), parse_reduction(reduce),
                             include_self);
}

void index_copy_(Tensor* input, int64_t dim, Tensor* index, Tensor* source) {
  check_long("index_copy_", index);
  if (input->dtype != source->dtype)
    fail("index_copy_(): self and source expected to have the same dtype, but got (self) ",
         info(input->dtype).legacy_name, " and (source) ", info(source->dtype).legacy_name);
  int axis = wrap_dim(dim, input->ndim());
  if (source->ndim() == input->ndim() && source->ndim() > 0 && index->ndim() <= 1) {
    for (int d = 0; d < input->ndim(); ++d)
      if (d != axis && source->size(d) != input->size(d))
        fail("index_copy_(): Source/destination tensor must have same slice shapes. Destination has shape ",
             to_string(input->sizes()), " and source ", to_string(source->sizes()), ", at dimension ", axis);
  }
  check_slices("index_copy", ErrorKind::Index, input->sizes(), axis, index->sizes(), source->sizes());
  WithoutLock unlocked(source->numel());
  on(input->device).indexing.index_copy(input->view(), axis, index->view(), source->view());
}

TensorPtr index_fill(Tensor* input, int64_t dim, Tensor* index, const Value& value) {
  if (index->dtype != DType::Int64) fail(ErrorKind::Index, "index_fill_(): Expected dtype int64 for index.");
  if (index->ndim() > 1) fail("Index has to be a vector/scalar; got shape ", to_string(index->sizes()));
  if (value.category() == Category::Complex && !is_complex(input->dtype))
    fail("index_fill_(): Converting complex Scalar to non-complex type is not supported; got ",
         info(input->dtype).name);
  Element element("index_fill", value, input->dtype);
  int axis = wrap_dim(dim, input->ndim());
  TensorPtr result = clone(input);
  WithoutLock unlocked(input->numel());
  on(input->device).indexing.index_fill(result->view(), axis, index->view(), element.get());
  return result;
}

TensorPtr take(Tensor* input, Tensor* index) {
  check_long("take", index);
  TensorPtr source = flat(input);
  TensorPtr result = empty(index->sizes(), input->dtype, input->device);
  if (input->numel() == 0 && index->numel() > 0) fail(ErrorKind::Index, "take(): tried to take from an empty tensor");
  WithoutLock unlocked(index->numel());
  on(input->device).indexing.take(source->view(), index->view(), result->view());
  return result;
}

TensorPtr put(Tensor* input, Tensor* index, Tensor* source, bool accumulate) {
  if (!accumulate) alert_not_deterministic("put_");
  check_long("put_", index);
  if (input->dtype != source->dtype)
    fail("put_(): self and source expected to have the same dtype, but got self.dtype = ",
         info(input->dtype).legacy_name, " and source.dtype = ", info(source->dtype).legacy_name);
  if (source->numel() != index->numel())
    fail(ErrorKind::Index,
         "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
         source->numel(), ", index.numel() = ", index->numel());
  if (input->numel() == 0 && index->numel() > 0)
    fail(ErrorKind::Index, "put_(): tried to put elements into an empty tensor");
  if (index->numel() == 0) return clone(input);
  if (accumulate && is_stored(input->dtype)) {
    const DType wide = compute_type(input->dtype);
    return cast(put(cast(input, wide).get(), index, cast(source, wide).get(), true).get(), input->dtype);
  }
  TensorPtr result = packed(input);
  TensorPtr target = flat(result.get()), places = flat(index), values = flat(source);
  std::optional<int64_t> outside;
  {
    WithoutLock unlocked(std::max(input->numel(), index->numel()));
    outside = on(input->device).indexing.put(target->view(), places->view(), values->view(), accumulate);
  }
  if (outside)
    fail(ErrorKind::Index, "out of range: tried to access index ", *outside, " on a tensor of ", input->numel(),
         " elements.");
  if (input->contiguous()) return result;
  TensorPtr laid_out = empty(dense_shape(input->shape), input->dtype, input->device);
  copy_into(result.get(), laid_out.get());
  return laid_out;
}

TensorPtr embedding(Tensor* weight, Tensor* indices, int64_t, bool, bool) {
  if (weight->ndim() != 2) fail("'weight' must be 2-D; got shape ", to_string(weight->sizes()));
  if (indices->dtype != DType::Int64 && indices->dtype != DType::Int32)
    fail(
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.",
        info(indices->dtype).legacy_name,
        "Tensor instead (while checking arguments for embedding); indices are whole numbers: convert them with "
        ".long()");
  TensorPtr whole = cast(indices, DType::Int64);
  TensorPtr places = flat(whole.get());
  int64_t sizes[kMaxDims + 1];
  std::copy(indices->sizes().begin(), indices->sizes().end(), sizes);
  sizes[indices->ndim()] = weight->size(1);
  TensorPtr result = empty(Sizes(sizes, static_cast<size_t>(indices->ndim()) + 1), weight->dtype, weight->device);
  int64_t rows[] = {places->numel(), weight->size(1)};
  TensorPtr matrix = alias(result.get(), make_shape(Sizes(rows, 2)));
  WithoutLock unlocked(result->numel());
  on(weight->device).indexing.index_select(weight->view(), 0, places->view(), matrix->view());
  return result;
}

TensorPtr embedding_backward(Tensor* grad, Tensor* indices, int64_t rows, int64_t padding_idx) {
  TensorPtr whole = cast(indices, DType::Int64);
  TensorPtr places = flat(whole.get()), dense = contiguous(grad);
  int64_t columns = grad->ndim() > 0 ? grad->size(grad->ndim() - 1) : 0;
  if (grad->numel() != columns * places->numel())
    fail("embedding_backward: the gradient ", to_string(grad->sizes()), " does not fit indices of shape ",
         to_string(indices->sizes()));
  int64_t result_sizes[] = {rows, columns}, grad_sizes[] = {places->numel(), columns};
  TensorPtr result = zeros(Sizes(result_sizes, 2), grad->dtype, grad->device);
  TensorPtr matrix = alias(dense.get(), make_shape(Sizes(grad_sizes, 2)));
  WithoutLock unlocked(grad->numel());
  on(grad->device).indexing.embedding_backward(matrix->view(), places->view(), padding_idx, result->view());
  return result;
}

}  // namespace adjoint::ops
