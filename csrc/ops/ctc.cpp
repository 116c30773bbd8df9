#include "ops/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Checked lengths and labels. The states of a sequence are its labels with a blank before, between and after.
struct Sequences {
  int64_t times, batch, classes, blank, states = 1;
  TensorPtr labels;
  std::vector<int64_t> lengths, label_counts, label_starts;

  Sequences(const Tensor* scores, Tensor* targets, Tensor* input_lengths, Tensor* target_lengths, int64_t blank)
      : blank(blank) {
    const char* where = " (while checking arguments for ctc_loss_allocate_outputs)";
    if (scores->ndim() != 3)
      fail("Expected 3-dimensional tensor, but got ", scores->ndim(), "-dimensional tensor for argument #1 'log_probs'",
           where);
    times = scores->size(0), batch = scores->size(1), classes = scores->size(2);
    if (blank < 0 || blank >= classes) fail("blank must be in label range");
    if (targets->ndim() < 1 || targets->ndim() > 2)
      fail("Expected 1 to 2 dimensions, but got ", targets->ndim(), "-dimensional tensor for argument #2 'targets'",
           where);
    lengths = numbers("input_lengths", input_lengths);
    label_counts = numbers("target_lengths", target_lengths);
    for (int64_t length : lengths) {
      if (length < 0) fail("Expected input_lengths to have value at least 0, but got value ", length, where);
      if (length > times)
        fail("Expected input_lengths to have value at most ", times, ", but got value ", length, where);
    }
    labels = contiguous(cast(targets, DType::Int64).get());
    bool rows = targets->ndim() == 2;
    if (rows && targets->size(0) != batch)
      fail("Expected tensor to have size ", batch, " at dimension 0, but got size ", targets->size(0),
           " for argument #2 'targets'", where);
    int64_t most = 0, total = 0;
    for (int64_t n = 0; n < batch; ++n) {
      if (label_counts[n] < 0)
        fail("Expected target_lengths to have value at least 0, but got value ", label_counts[n], where);
      most = std::max(most, label_counts[n]);
      label_starts.push_back(rows ? n * targets->size(1) : total);
      total += label_counts[n];
    }
    if (rows && targets->size(1) < most)
      fail("Expected tensor to have size at least ", most, " at dimension 1, but got size ", targets->size(1),
           " for argument #2 'targets'", where);
    if (!rows && targets->size(0) != total)
      fail("Expected tensor to have size ", total, " at dimension 0, but got size ", targets->size(0),
           " for argument #2 'targets'", where);
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t i = 0; i < label_counts[n]; ++i) {
        int64_t label = labels->as<int64_t>()[label_starts[n] + i];
        if (label < 0 || label >= classes)
          fail("ctc_loss: expected labels from 0 to ", classes - 1, "; got ", label, " in sequence ", n);
      }
    states = 2 * most + 1;
  }

  int64_t label(int64_t n, int64_t s) const {
    return s % 2 == 0 ? blank : labels->as<int64_t>()[label_starts[n] + s / 2];
  }
  /// Whether state s can be reached from state s - 2.
  bool skips(int64_t n, int64_t s) const { return s % 2 == 1 && s >= 2 && label(n, s) != label(n, s - 2); }
  int64_t states_of(int64_t n) const { return 2 * label_counts[n] + 1; }

 private:
  std::vector<int64_t> numbers(const char* name, Tensor* tensor) const {
    if (!is_integral(tensor->dtype)) fail(name, " must be integral");
    if (tensor->ndim() != 1 || tensor->numel() != batch) fail(name, " must be of size batch_size");
    TensorPtr dense = contiguous(cast(tensor, DType::Int64).get());
    return std::vector<int64_t>(dense->as<int64_t>(), dense->as<int64_t>() + batch);
  }
};

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_sum(T a, T b, T c) {
  T most = std::max(a, std::max(b, c));
  if (most == kNever<T>) return most;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
}

template <class F>
void with_real(DType dtype, F&& f) {
  if (dtype == DType::Float32) return f(float{});
  if (dtype == DType::Float64) return f(double{});
  fail_not_implemented("ctc_loss_cpu", dtype);
}

int64_t grain(const Sequences& all) {
  return std::max<int64_t>(1, 2048 / std::max<int64_t>(1, all.times * all.states));
}

/// The scores of one sequence: at(t)[class].
template <class T>
struct Scores {
  const T* data;
  int64_t step;
  const T* at(int64_t t) const { return data + t * step; }
};

template <class T>
T forward(const Sequences& all, int64_t n, Scores<T> scores, T* alpha) {
  int64_t times = all.lengths[n], states = all.states_of(n);
  std::fill_n(alpha, all.times * all.states, kNever<T>);
  if (times == 0) return states == 1 ? T(-0.0) : std::numeric_limits<T>::infinity();
  alpha[0] = scores.at(0)[all.blank];
  if (states > 1) alpha[1] = scores.at(0)[all.label(n, 1)];
  for (int64_t t = 1; t < times; ++t) {
    const T* before = alpha + (t - 1) * all.states;
    T* now = alpha + t * all.states;
    for (int64_t s = 0; s < states; ++s)
      now[s] = log_sum(before[s], s > 0 ? before[s - 1] : kNever<T>, all.skips(n, s) ? before[s - 2] : kNever<T>) +
               scores.at(t)[all.label(n, s)];
  }
  const T* last = alpha + (times - 1) * all.states;
  return -log_sum(last[states - 1], states > 1 ? last[states - 2] : kNever<T>, kNever<T>);
}

template <class T>
void backward(const Sequences& all, int64_t n, Scores<T> scores, const T* alpha, T loss, T g, T* grad,
              std::vector<T>& beta, std::vector<T>& sums) {
  int64_t times = all.lengths[n], states = all.states_of(n);
  for (int64_t t = times; t-- > 0;) {
    const T* score = scores.at(t);
    if (t == times - 1) {
      std::fill(beta.begin(), beta.end(), kNever<T>);
      beta[states - 1] = score[all.blank];
      if (states > 1) beta[states - 2] = score[all.label(n, states - 2)];
    } else {
      // Ascending, so that the states after s are still those of the later time.
      for (int64_t s = 0; s < states; ++s)
        beta[s] = log_sum(beta[s], s + 1 < states ? beta[s + 1] : kNever<T>,
                          s + 2 < states && all.skips(n, s + 2) ? beta[s + 2] : kNever<T>) +
                  score[all.label(n, s)];
    }
    std::fill(sums.begin(), sums.end(), kNever<T>);
    for (int64_t s = 0; s < states; ++s) {
      T& sum = sums[all.label(n, s)];
      sum = log_sum(sum, alpha[t * all.states + s] + beta[s], kNever<T>);
    }
    T* target = grad + t * scores.step;
    for (int64_t c = 0; c < all.classes; ++c)
      target[c] = (std::exp(score[c]) - std::exp(sums[c] + loss - score[c])) * g;
  }
}

}  // namespace

std::pair<TensorPtr, TensorPtr> ctc_loss(Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                                         Tensor* target_lengths, int64_t blank, bool) {
  Sequences all(log_probs, targets, input_lengths, target_lengths, blank);
  TensorPtr scores = contiguous(log_probs);
  const int64_t sizes[] = {all.batch, all.times, all.states};
  TensorPtr losses, alpha;
  with_real(scores->dtype, [&](auto tag) {
    using T = decltype(tag);
    losses = empty(Sizes(sizes, 1), scores->dtype);
    alpha = empty(Sizes(sizes, 3), scores->dtype);
    WithoutLock unlocked(alpha->numel() * 8);
    parallel_for(all.batch, grain(all), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n)
        losses->as<T>()[n] = forward<T>(all, n, {scores->as<T>() + n * all.classes, all.batch * all.classes},
                                        alpha->as<T>() + n * all.times * all.states);
    });
  });
  return {std::move(losses), std::move(alpha)};
}

TensorPtr ctc_loss_backward(Tensor* grad, Tensor* log_probs, Tensor* targets, Tensor* input_lengths,
                            Tensor* target_lengths, Tensor* losses, Tensor* log_alpha, int64_t blank,
                            bool zero_infinity) {
  Sequences all(log_probs, targets, input_lengths, target_lengths, blank);
  TensorPtr scores = contiguous(log_probs), g = contiguous(grad), loss = contiguous(losses),
            alpha = contiguous(log_alpha);
  if (g->numel() != all.batch || loss->numel() != all.batch || alpha->numel() != all.batch * all.times * all.states ||
      g->dtype != scores->dtype)
    fail("ctc_loss_backward: the gradient or the saved values do not fit the scores");
  TensorPtr result = empty(scores->sizes(), scores->dtype);
  with_real(scores->dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(result->as<T>(), result->numel(), T(0));
    int64_t threads = std::max<int64_t>(1, num_threads());
    std::vector<std::vector<T>> beta(threads, std::vector<T>(all.states)), sums(threads, std::vector<T>(all.classes));
    WithoutLock unlocked(alpha->numel() * 8);
    parallel_for(threads, all.batch > grain(all) ? 1 : threads, [&](int64_t begin, int64_t end) {
      for (int64_t n = all.batch * begin / threads; n < all.batch * end / threads; ++n) {
        T cost = loss->as<T>()[n];
        if (zero_infinity && cost == -kNever<T>) continue;
        backward<T>(all, n, {scores->as<T>() + n * all.classes, all.batch * all.classes},
                    alpha->as<T>() + n * all.times * all.states, cost, g->as<T>()[n], result->as<T>() + n * all.classes,
                    beta[begin], sums[begin]);
      }
    });
  });
  return result;
}

}  // namespace adjoint::ops
