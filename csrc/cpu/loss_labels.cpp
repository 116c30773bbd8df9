#include "cpu/loss_labels.h"

#include <algorithm>

#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

/// Calls f(difference of class i and label t that is within the margin, t, i).
template <class T, class F>
void each_violation(const T* scores, const int64_t* labels, const uint8_t* is_label, int64_t classes, F&& f) {
  for (int64_t k = 0; k < classes && labels[k] >= 0; ++k) {
    T bound = 1 - scores[labels[k]];
    for (int64_t i = 0; i < classes; ++i)
      if (T excess = bound + scores[i]; excess > 0 && !is_label[i]) f(excess, labels[k], i);
  }
}

template <class F>
void each_row(const View& scores, F f) {
  const int64_t classes = scores.sizes[1];
  parallel_for(scores.sizes[0], std::max<int64_t>(1, 4096 / std::max<int64_t>(1, classes * classes)),
               [&](int64_t first, int64_t last) {
                 for (int64_t r = first; r < last; ++r) f(r);
               });
}

}  // namespace

bool any_out_of_range(const View& labels) {
  const int64_t classes = labels.sizes[1], *data = labels.as<const int64_t>();
  return std::any_of(data, data + labels.numel(), [classes](int64_t label) { return label < -1 || label >= classes; });
}

void multilabel_margin(const View& scores, const View& labels, const View& losses, const View& is_label) {
  const int64_t classes = scores.sizes[1];
  std::fill_n(is_label.as<uint8_t>(), is_label.numel(), uint8_t{0});
  dispatch_real(scores.dtype, [&](auto tag) {
    using T = decltype(tag);
    each_row(scores, [&](int64_t r) {
      const int64_t* row = labels.as<const int64_t>() + r * classes;
      uint8_t* marks = is_label.as<uint8_t>() + r * classes;
      for (int64_t k = 0; k < classes && row[k] >= 0; ++k) marks[row[k]] = 1;
      double total = 0;
      each_violation(scores.as<const T>() + r * classes, row, marks, classes,
                     [&](T excess, int64_t, int64_t) { total += excess; });
      losses.as<T>()[r] = static_cast<T>(total / static_cast<double>(classes));
    });
  });
}

void multilabel_margin_backward(const View& grad, const View& scores, const View& labels, const View& is_label,
                                const View& out) {
  const int64_t classes = scores.sizes[1];
  dispatch_real(scores.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(out.as<T>(), out.numel(), T(0));
    each_row(scores, [&](int64_t r) {
      T step = grad.as<const T>()[r] / static_cast<T>(classes), *target = out.as<T>() + r * classes;
      each_violation(scores.as<const T>() + r * classes, labels.as<const int64_t>() + r * classes,
                     is_label.as<const uint8_t>() + r * classes, classes, [&](T, int64_t label, int64_t other) {
                       target[label] -= step;
                       target[other] += step;
                     });
    });
  });
}

}  // namespace adjoint::cpu
