#include "ops/loss_labels.h"

#include <algorithm>
#include <vector>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

template <class F>
void with_float(const char* kernel, DType dtype, F&& f) {
  if (dtype == DType::Float64) return f(double{});
  if (!is_float(dtype)) fail_not_implemented(kernel, dtype);
  f(float{});
}

/// Calls f(difference of class i and label t that is within the margin, t, i).
template <class T, class F>
void each_violation(const T* scores, const int64_t* labels, const uint8_t* is_label, int64_t classes, F&& f) {
  for (int64_t k = 0; k < classes && labels[k] >= 0; ++k) {
    T bound = 1 - scores[labels[k]];
    for (int64_t i = 0; i < classes; ++i)
      if (T excess = bound + scores[i]; excess > 0 && !is_label[i]) f(excess, labels[k], i);
  }
}

void check_matrices(const Tensor* input, const Tensor* target) {
  if (input->ndim() != 2 || !same_sizes(input->shape, target->shape) || target->dtype != DType::Int64)
    fail("inconsistent target size: ", to_string(target->sizes()), " for input of size: ", to_string(input->sizes()));
}

}  // namespace

std::pair<TensorPtr, TensorPtr> multilabel_margin_loss(Tensor* input, Tensor* target) {
  check_matrices(input, target);
  TensorPtr labels = contiguous(target), result;
  int64_t rows = input->size(0), classes = input->size(1);
  TensorPtr is_label = empty(input->sizes(), DType::UInt8);
  std::fill_n(is_label->as<uint8_t>(), is_label->numel(), uint8_t{0});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < classes; ++k) {
      int64_t label = labels->as<int64_t>()[r * classes + k];
      if (label < -1 || label >= classes) fail("argument #2 'target' is out of range");
    }
  with_float("multilabel_margin_loss_forward_out_frame", input->dtype, [&](auto tag) {
    using T = decltype(tag);
    TensorPtr scores = contiguous(cast(input, DTypeOf<T>::value).get());
    result = empty(Sizes(&rows, 1), DTypeOf<T>::value);
    WithoutLock unlocked(input->numel());
    parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, classes * classes)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t r = first; r < last; ++r) {
                     const int64_t* row = labels->as<int64_t>() + r * classes;
                     uint8_t* marks = is_label->as<uint8_t>() + r * classes;
                     for (int64_t k = 0; k < classes && row[k] >= 0; ++k) marks[row[k]] = 1;
                     double total = 0;
                     each_violation(scores->as<T>() + r * classes, row, marks, classes,
                                    [&](T excess, int64_t, int64_t) { total += excess; });
                     result->as<T>()[r] = static_cast<T>(total / static_cast<double>(classes));
                   }
                 });
  });
  return {cast(result.get(), input->dtype), std::move(is_label)};
}

TensorPtr multilabel_margin_backward(Tensor* grad, Tensor* input, Tensor* target, Tensor* is_target) {
  check_matrices(input, target);
  TensorPtr labels = contiguous(target), marks = contiguous(is_target), result;
  int64_t rows = input->size(0), classes = input->size(1);
  if (grad->numel() != rows) fail("multilabel_margin_loss_backward: expected a gradient for each of ", rows, " rows");
  with_float("multilabel_margin_loss_backward_out", input->dtype, [&](auto tag) {
    using T = decltype(tag);
    TensorPtr scores = contiguous(cast(input, DTypeOf<T>::value).get()),
              g = contiguous(cast(grad, DTypeOf<T>::value).get());
    result = empty(input->sizes(), DTypeOf<T>::value);
    WithoutLock unlocked(input->numel());
    std::fill_n(result->as<T>(), result->numel(), T(0));
    parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, classes * classes)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t r = first; r < last; ++r) {
                     T step = g->as<T>()[r] / static_cast<T>(classes), *out = result->as<T>() + r * classes;
                     each_violation(scores->as<T>() + r * classes, labels->as<int64_t>() + r * classes,
                                    marks->as<uint8_t>() + r * classes, classes, [&](T, int64_t label, int64_t other) {
                                      out[label] -= step;
                                      out[other] += step;
                                    });
                   }
                 });
  });
  return cast(result.get(), input->dtype);
}

}  // namespace adjoint::ops
