#include "cpu/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

using kernels::CtcShape;

struct Sequences : CtcShape {
  const int64_t* labels;

  Sequences(const CtcShape& shape, const View& view) : CtcShape(shape), labels(view.as<const int64_t>()) {}

  int64_t label(int64_t n, int64_t s) const { return s % 2 == 0 ? blank : labels[label_starts[n] + s / 2]; }
  /// Whether state s can be reached from state s - 2.
  bool skips(int64_t n, int64_t s) const { return s % 2 == 1 && s >= 2 && label(n, s) != label(n, s - 2); }
  int64_t states_of(int64_t n) const { return 2 * label_counts[n] + 1; }
};

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_sum(T a, T b, T c) {
  T most = std::max(a, std::max(b, c));
  if (most == kNever<T>) return most;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
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

std::optional<kernels::Ctc::Label> wrong_ctc_label(const CtcShape& shape, const View& labels) {
  for (int64_t n = 0; n < shape.batch; ++n) {
    const int64_t* row = labels.as<const int64_t>() + shape.label_starts[n];
    for (int64_t i = 0; i < shape.label_counts[n]; ++i)
      if (row[i] < 0 || row[i] >= shape.classes) return kernels::Ctc::Label{n, row[i]};
  }
  return std::nullopt;
}

void ctc_loss(const CtcShape& shape, const View& scores, const View& labels, const View& losses, const View& alpha) {
  const Sequences all(shape, labels);
  dispatch_real(scores.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(all.batch, grain(all), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n)
        losses.as<T>()[n] = forward<T>(all, n, {scores.as<const T>() + n * all.classes, all.batch * all.classes},
                                       alpha.as<T>() + n * all.times * all.states);
    });
  });
}

void ctc_loss_backward(const CtcShape& shape, const View& grad, const View& scores, const View& labels,
                       const View& losses, const View& alpha, bool zero_infinity, const View& out) {
  const Sequences all(shape, labels);
  dispatch_real(scores.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(out.as<T>(), out.numel(), T(0));
    int64_t threads = std::max<int64_t>(1, num_threads());
    std::vector<std::vector<T>> beta(threads, std::vector<T>(all.states)), sums(threads, std::vector<T>(all.classes));
    parallel_for(threads, all.batch > grain(all) ? 1 : threads, [&](int64_t begin, int64_t end) {
      for (int64_t n = all.batch * begin / threads; n < all.batch * end / threads; ++n) {
        T cost = losses.as<const T>()[n];
        if (zero_infinity && cost == -kNever<T>) continue;
        backward<T>(all, n, {scores.as<const T>() + n * all.classes, all.batch * all.classes},
                    alpha.as<const T>() + n * all.times * all.states, cost, grad.as<const T>()[n],
                    out.as<T>() + n * all.classes, beta[begin], sums[begin]);
      }
    });
  });
}

}  // namespace adjoint::cpu
