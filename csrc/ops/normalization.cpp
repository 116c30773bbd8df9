#include "ops/normalization.h"

#include <algorithm>

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

void check_float(const char* op, const Tensor* tensor) {
  if (!is_float(tensor->dtype))
    fail(ErrorKind::NotImplemented, "\"", op, "\" not implemented for '", info(tensor->dtype).legacy_name,
         "'; real floating-point tensors are expected; convert it first");
}

/// Contiguous tensors as the kernels see them: rows to normalise, with what belongs to each row and to each column.
class Rows {
 public:
  Rows(const char* op, const Tensor* input, const Ints& normalized_shape)
      : op_(op), sizes_{1, checked_numel(normalized_shape)}, strides_{sizes_[1], 1} {
    int lead = input->ndim() - static_cast<int>(normalized_shape.size());
    for (int d = 0; d < lead; ++d) sizes_[0] *= input->size(d);
  }

  /// The tensor, or a copy of it, to be seen as a matrix.
  TensorPtr packed(Tensor* tensor) const {
    if (tensor->numel() != sizes_[0] * sizes_[1])
      fail("layer_norm: expected ", sizes_[0], " rows of ", sizes_[1], " elements; got shape ",
           to_string(tensor->sizes()));
    check_float(op_, tensor);
    return contiguous(tensor);
  }
  View matrix(const TensorPtr& packed) const { return packed->view(2, sizes_, strides_); }

  TensorPtr by_row(const char* name, Tensor* tensor) const { return vector(name, tensor, sizes_[0]); }
  TensorPtr by_column(const char* name, Tensor* tensor) const { return vector(name, tensor, sizes_[1]); }
  View row_view(const TensorPtr& packed) const { return packed->view(1, sizes_, strides_ + 1); }
  View column_view(const TensorPtr& packed) const { return packed->view(1, sizes_ + 1, strides_ + 1); }

 private:
  TensorPtr vector(const char* name, Tensor* tensor, int64_t count) const {
    if (tensor->numel() != count)
      fail(op_, ": expected ", name, " to be a vector of ", count, " elements; it is not; reshape it first");
    check_float(op_, tensor);
    return contiguous(tensor);
  }

  const char* op_;
  int64_t sizes_[2], strides_[2];
};

/// What belongs to the columns, where it is given.
class OptionalColumns {
 public:
  OptionalColumns(const Rows& rows, const char* name, std::optional<Tensor*> tensor) {
    if (!tensor) return;
    packed_ = rows.by_column(name, *tensor);
    view_ = rows.column_view(packed_);
  }
  const View* get() const { return packed_ ? &view_ : nullptr; }

 private:
  TensorPtr packed_;
  View view_;
};

void check_normalized(const Tensor* input, const Ints& normalized_shape) {
  Sizes wanted = normalized_shape;
  if (wanted.empty())
    fail(
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []");
  bool fits = static_cast<size_t>(input->ndim()) >= wanted.size() &&
              std::equal(wanted.begin(), wanted.end(), input->sizes().end() - static_cast<int64_t>(wanted.size()));
  if (!fits)
    fail("Given normalized_shape=", to_string(wanted), ", expected input with shape [*, ", to_string(wanted).substr(1),
         ", but got input of size", to_string(input->sizes()),
         "; what is normalised are the last dimensions: make the layer for ",
         to_string(input->sizes().last(std::min(wanted.size(), input->sizes().size()))));
}

void check_parameter(const char* name, const std::optional<Tensor*>& parameter, Sizes wanted) {
  if (!parameter ||
      std::equal((*parameter)->sizes().begin(), (*parameter)->sizes().end(), wanted.begin(), wanted.end()))
    return;
  fail("Expected ", name, " to be of same shape as normalized_shape, but got ", name, " of shape ",
       to_string((*parameter)->sizes()), " and normalized_shape = ", to_string(wanted));
}

/// `centered` false: rms norm, which has no means.
std::tuple<TensorPtr, TensorPtr, TensorPtr> normalized(Tensor* input, const Ints& normalized_shape,
                                                       std::optional<Tensor*> weight, std::optional<Tensor*> bias,
                                                       double eps, bool centered) {
  check_normalized(input, normalized_shape);
  check_parameter("weight", weight, normalized_shape);
  check_parameter("bias", bias, normalized_shape);
  if (!is_float(input->dtype)) fail_not_implemented("LayerNormKernelImpl", input->dtype);
  Rows rows("layer_norm", input, normalized_shape);
  OptionalColumns w(rows, "weight", weight), b(rows, "bias", bias);
  int64_t sizes[kMaxDims];
  size_t lead = static_cast<size_t>(input->ndim()) - normalized_shape.size();
  std::copy_n(input->sizes().begin(), lead, sizes);
  std::fill_n(sizes + lead, normalized_shape.size(), 1);
  ShapePtr shape = make_shape(Sizes(sizes, static_cast<size_t>(input->ndim())));
  DType statistic = itemsize(input->dtype) == 2 ? DType::Float32 : input->dtype;
  TensorPtr source = rows.packed(input), result = empty(input->sizes(), input->dtype, input->device);
  TensorPtr mean = centered ? empty(shape, statistic, input->device) : TensorPtr();
  TensorPtr rstd = empty(std::move(shape), statistic, input->device);
  View means;
  if (centered) means = rows.row_view(mean);
  {
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.layer_norm(rows.matrix(source), w.get(), b.get(), eps, rows.matrix(result),
                                  centered ? &means : nullptr, rows.row_view(rstd));
  }
  return {std::move(result), std::move(mean), std::move(rstd)};
}

/// `mean` is null for rms norm, which has no bias either.
std::tuple<TensorPtr, TensorPtr, TensorPtr> gradients(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd,
                                                      std::optional<Tensor*> weight, const Ints& normalized_shape) {
  Rows rows("layer_norm_backward", input, normalized_shape);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  TensorPtr g = rows.packed(grad), source = rows.packed(input), rstds = rows.by_row("rstd", rstd);
  OptionalColumns w(rows, "weight", weight);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  TensorPtr for_weight = empty(normalized_shape, dtype, input->device), for_bias, means;
  View gin = rows.matrix(result), gweight = rows.column_view(for_weight), gbias, mean_view;
  if (mean) {
    means = rows.by_row("mean", mean);
    mean_view = rows.row_view(means);
    for_bias = empty(normalized_shape, dtype, input->device);
    gbias = rows.column_view(for_bias);
  }
  {
    WithoutLock unlocked(input->numel());
    on(input->device)
        .normalization.layer_norm_backward(rows.matrix(g), rows.matrix(source), mean ? &mean_view : nullptr,
                                           rows.row_view(rstds), w.get(), &gin, &gweight, mean ? &gbias : nullptr);
  }
  return {std::move(result), std::move(for_weight), std::move(for_bias)};
}

}  // namespace

std::tuple<TensorPtr, TensorPtr, TensorPtr> layer_norm(Tensor* input, const Ints& normalized_shape,
                                                       std::optional<Tensor*> weight, std::optional<Tensor*> bias,
                                                       double eps) {
  return normalized(input, normalized_shape, weight, bias, eps, true);
}

TensorPtr layer_norm_input_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, std::optional<Tensor*> weight,
                                const Ints& normalized_shape, double) {
  Rows rows("layer_norm_backward", input, normalized_shape);
  TensorPtr g = rows.packed(grad), source = rows.packed(input);
  TensorPtr means = rows.by_row("mean", mean), rstds = rows.by_row("rstd", rstd);
  OptionalColumns w(rows, "weight", weight);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  View mean_view = rows.row_view(means), gin = rows.matrix(result);
  WithoutLock unlocked(input->numel());
  on(input->device)
      .normalization.layer_norm_backward(rows.matrix(g), rows.matrix(source), &mean_view, rows.row_view(rstds), w.get(),
                                         &gin, nullptr, nullptr);
  return result;
}

TensorPtr layer_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, const Ints& normalized_shape,
                                 double) {
  Rows rows("layer_norm_backward", input, normalized_shape);
  TensorPtr g = rows.packed(grad), source = rows.packed(input);
  TensorPtr means = rows.by_row("mean", mean), rstds = rows.by_row("rstd", rstd);
  TensorPtr result = empty(normalized_shape, grad->dtype, input->device);
  View mean_view = rows.row_view(means), gweight = rows.column_view(result);
  WithoutLock unlocked(input->numel());
  on(input->device)
      .normalization.layer_norm_backward(rows.matrix(g), rows.matrix(source), &mean_view, rows.row_view(rstds), nullptr,
                                         nullptr, &gweight, nullptr);
  return result;
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> layer_norm_gradients(Tensor* grad, Tensor* input, Tensor* mean,
                                                                 Tensor* rstd, std::optional<Tensor*> weight,
                                                                 const Ints& normalized_shape) {
  return gradients(grad, input, mean, rstd, weight, normalized_shape);
}

std::pair<TensorPtr, TensorPtr> rms_norm(Tensor* input, const Ints& normalized_shape, std::optional<Tensor*> weight,
                                         double eps) {
  auto [result, mean, rstd] = normalized(input, normalized_shape, weight, std::nullopt, eps, false);
  return {in_format(std::move(result), suggested_format(input->shape)), std::move(rstd)};
}

std::pair<TensorPtr, TensorPtr> rms_norm_gradients(Tensor* grad, Tensor* input, Tensor* rstd,
                                                   std::optional<Tensor*> weight, const Ints& normalized_shape) {
  auto [first, second, none] = gradients(grad, input, nullptr, rstd, weight, normalized_shape);
  return {std::move(first), std::move(second)};
}

}  // namespace adjoint::ops
