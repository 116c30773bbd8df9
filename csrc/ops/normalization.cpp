#include "ops/normalization.h"

#include <algorithm>
#include <cstring>

#include "core/lock.h"
#include "core/memory_format.h"
#include "cpu/normalize.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Contiguous tensors seen as rows to normalise.
struct Rows {
  int64_t rows, columns;

  Rows(const Tensor* input, const Ints& normalized_shape) : rows(1), columns(checked_numel(normalized_shape)) {
    int lead = input->ndim() - static_cast<int>(normalized_shape.size());
    for (int d = 0; d < lead; ++d) rows *= input->size(d);
  }
  TensorPtr matrix(Tensor* tensor) const {
    if (tensor->numel() != rows * columns)
      fail("layer_norm: expected ", rows, " rows of ", columns, " elements; got shape ", to_string(tensor->sizes()));
    int64_t sizes[] = {rows, columns};
    return alias(contiguous(tensor).get(), make_shape(Sizes(sizes, 2)));
  }
  static TensorPtr vector(Tensor* tensor) {
    int64_t count = tensor->numel();
    return alias(contiguous(tensor).get(), make_shape(Sizes(&count, 1)));
  }
};

/// An optional tensor as an optional vector view.
class OptionalVector {
 public:
  explicit OptionalVector(std::optional<Tensor*> tensor) {
    if (!tensor) return;
    vector_ = Rows::vector(*tensor);
    view_ = vector_->view();
  }
  const View* get() const { return vector_ ? &view_ : nullptr; }

 private:
  TensorPtr vector_;
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
         ", but got input of size", to_string(input->sizes()));
}

void check_parameter(const char* name, const std::optional<Tensor*>& parameter, Sizes wanted) {
  if (!parameter ||
      std::equal((*parameter)->sizes().begin(), (*parameter)->sizes().end(), wanted.begin(), wanted.end()))
    return;
  fail("Expected ", name, " to be of same shape as normalized_shape, but got ", name, " of shape ",
       to_string((*parameter)->sizes()), " and normalized_shape = ", to_string(wanted));
}

}  // namespace

namespace {

std::tuple<TensorPtr, TensorPtr, TensorPtr> normalized(Tensor* input, const Ints& normalized_shape,
                                                       std::optional<Tensor*> weight, std::optional<Tensor*> bias,
                                                       double eps, bool centered) {
  check_normalized(input, normalized_shape);
  check_parameter("weight", weight, normalized_shape);
  check_parameter("bias", bias, normalized_shape);
  if (!is_float(input->dtype)) fail_not_implemented("LayerNormKernelImpl", input->dtype);
  Rows rows(input, normalized_shape);
  int64_t sizes[kMaxDims];
  size_t lead = static_cast<size_t>(input->ndim()) - normalized_shape.size();
  std::copy_n(input->sizes().begin(), lead, sizes);
  std::fill_n(sizes + lead, normalized_shape.size(), 1);
  ShapePtr shape = make_shape(Sizes(sizes, static_cast<size_t>(input->ndim())));
  DType statistic = itemsize(input->dtype) == 2 ? DType::Float32 : input->dtype;
  TensorPtr result = empty(input->sizes(), input->dtype), mean = empty(shape, statistic),
            rstd = empty(shape, statistic);
  TensorPtr source = rows.matrix(input), target = rows.matrix(result.get());
  TensorPtr means = Rows::vector(mean.get()), rstds = Rows::vector(rstd.get());
  OptionalVector w(weight), b(bias);
  {
    WithoutLock unlocked(input->numel());
    cpu::layer_norm(source->view(), w.get(), b.get(), eps, target->view(), means->view(), rstds->view(), centered);
  }
  return {std::move(result), std::move(mean), std::move(rstd)};
}

/// `mean` is null for rms norm, which has no bias either.
std::tuple<TensorPtr, TensorPtr, TensorPtr> gradients(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd,
                                                      std::optional<Tensor*> weight, const Ints& normalized_shape) {
  Rows rows(input, normalized_shape);
  DType dtype = weight ? (*weight)->dtype : grad->dtype;
  TensorPtr result = empty(input->sizes(), input->dtype), for_weight = empty(normalized_shape, dtype), for_bias;
  TensorPtr g = rows.matrix(grad), source = rows.matrix(input), target = rows.matrix(result.get());
  TensorPtr rstds = Rows::vector(rstd), means, first = Rows::vector(for_weight.get()), second;
  if (mean) {
    for_bias = empty(normalized_shape, dtype);
    second = Rows::vector(for_bias.get());
    means = Rows::vector(mean);
  } else {
    means = empty(rstds->sizes(), rstds->dtype);
    std::memset(means->data, 0, static_cast<size_t>(means->numel() * itemsize(means->dtype)));
  }
  OptionalVector w(weight);
  View gin = target->view(), gweight = first->view(), gbias = mean ? second->view() : gweight;
  {
    WithoutLock unlocked(input->numel());
    cpu::layer_norm_backward(g->view(), source->view(), means->view(), rstds->view(), w.get(), &gin, &gweight,
                             mean ? &gbias : nullptr, mean != nullptr);
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
  Rows rows(input, normalized_shape);
  TensorPtr result = empty(input->sizes(), input->dtype);
  TensorPtr g = rows.matrix(grad), source = rows.matrix(input), target = rows.matrix(result.get());
  TensorPtr means = Rows::vector(mean), rstds = Rows::vector(rstd);
  OptionalVector w(weight);
  View gin = target->view();
  WithoutLock unlocked(input->numel());
  cpu::layer_norm_backward(g->view(), source->view(), means->view(), rstds->view(), w.get(), &gin, nullptr, nullptr);
  return result;
}

TensorPtr layer_norm_weight_grad(Tensor* grad, Tensor* input, Tensor* mean, Tensor* rstd, const Ints& normalized_shape,
                                 double) {
  Rows rows(input, normalized_shape);
  TensorPtr result = empty(normalized_shape, grad->dtype);
  TensorPtr g = rows.matrix(grad), source = rows.matrix(input), means = Rows::vector(mean), rstds = Rows::vector(rstd);
  TensorPtr target = Rows::vector(result.get());
  View gweight = target->view();
  WithoutLock unlocked(input->numel());
  cpu::layer_norm_backward(g->view(), source->view(), means->view(), rstds->view(), nullptr, nullptr, &gweight,
                           nullptr);
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
