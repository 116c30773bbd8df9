// Connectionist temporal classification: a block has a sequence and goes through time, its threads have the states.
#pragma once

#include "block.h"
#include "core/dtype.h"
#include "ctc_args.h"

namespace adjoint::cuda {

inline void write_list(const ListArgs& args) {
  for (int64_t i = threadIdx.x; i < args.count; i += blockDim.x) args.to[i] = args.values[i];
}

template <class T>
inline constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
inline T log_sum(T a, T b, T c) {
  const T most = std::max(a, std::max(b, c));
  if (most == kNever<T>) return most;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
}

/// One sequence of the batch.
struct Sequence {
  int64_t times, states, blank, classes;
  const int64_t* labels;

  Sequence(const CtcArgs& args, int64_t n)
      : times(args.lengths[n]),
        states(2 * args.label_counts[n] + 1),
        blank(args.blank),
        classes(args.classes),
        labels(args.labels + args.label_starts[n]) {}
  /// A label that is no class stands for the first one; that is a fault.
  int64_t label(int64_t i) const { return labels[i] >= 0 && labels[i] < classes ? labels[i] : 0; }
  int64_t class_of(int64_t s) const { return s % 2 == 0 ? blank : label(s / 2); }
  /// Whether state s can be reached from state s - 2.
  bool skips(int64_t s) const { return s % 2 == 1 && s >= 3 && label(s / 2) != label(s / 2 - 1); }
};

/// Two rows of states, one after the other: in the block's memory, or, where they do not fit, as they are written.
template <class T, bool near>
struct StateRows {
  T *memory, *written;
  int64_t states;
  const T* at(int64_t t) const { return near ? memory + (t & 1) * states : written + t * states; }
  void set(int64_t t, int64_t s, T value) {
    if (near) memory[(t & 1) * states + s] = value;
    written[t * states + s] = value;
  }
};

/// The scores of a sequence for its states. Each thread reads that of its first state a step ahead, so that it is there
/// when it is needed: nothing else of a step takes as long.
template <class T>
struct StateScores {
  const Sequence& all;
  const T* scores;
  int64_t step, own_class;
  T now = T(0), ahead = T(0);

  StateScores(const Sequence& sequence, const T* data, int64_t step, int64_t first)
      : all(sequence), scores(data), step(step), own_class(threadIdx.x < all.states ? all.class_of(threadIdx.x) : 0) {
    read_ahead(first);
  }
  void read_ahead(int64_t t) {
    now = ahead;
    if (t >= 0 && t < all.times) ahead = scores[t * step + own_class];
  }
  T at(int64_t t, int64_t s) const { return s == threadIdx.x ? now : scores[t * step + all.class_of(s)]; }
};

/// Begins with a check of the labels. One barrier a time is enough: rows take turns.
template <class T, bool near>
inline void ctc_forward(const CtcArgs& args) {
  ADJOINT_DYNAMIC_SHARED(T, shared);
  const int64_t n = blockIdx.x;
  const Sequence all(args, n);
  for (int64_t i = threadIdx.x; i < all.states / 2; i += blockDim.x)
    check(all.labels[i] >= 0 && all.labels[i] < args.classes, args.fault, FaultKind::SequenceLabel, static_cast<int>(n),
          all.labels[i], args.classes);
  StateScores<T> scores(all, static_cast<const T*>(args.scores) + n * args.classes, args.batch * args.classes, 0);
  StateRows<T, near> rows{shared, static_cast<T*>(args.alpha) + n * args.times * args.states, args.states};
  for (int64_t t = 0; t < args.times; ++t) {
    const T* before = rows.at(t - 1);
    scores.read_ahead(t + 1);
    for (int64_t s = threadIdx.x; s < args.states; s += blockDim.x) {
      T value = kNever<T>;
      if (t < all.times && s < all.states && (t > 0 || s < 2)) {
        value = scores.at(t, s);
        if (t > 0)
          value += log_sum(before[s], s > 0 ? before[s - 1] : kNever<T>, all.skips(s) ? before[s - 2] : kNever<T>);
      }
      rows.set(t, s, value);
    }
    __syncthreads();
    if (t + 1 == all.times && threadIdx.x == 0) {
      const T* last = rows.at(t);
      static_cast<T*>(args.out)[n] =
          -log_sum(last[all.states - 1], all.states > 1 ? last[all.states - 2] : kNever<T>, kNever<T>);
    }
  }
  if (all.times == 0 && threadIdx.x == 0)
    static_cast<T*>(args.out)[n] = all.states == 1 ? T(-0.0) : std::numeric_limits<T>::infinity();
}

/// The likelihoods of ends, from the last time on.
template <class T, bool near>
inline void ctc_backward(const CtcArgs& args) {
  ADJOINT_DYNAMIC_SHARED(T, shared);
  const int64_t n = blockIdx.x;
  const Sequence all(args, n);
  StateScores<T> scores(all, static_cast<const T*>(args.scores) + n * args.classes, args.batch * args.classes,
                        all.times - 1);
  StateRows<T, near> rows{shared, static_cast<T*>(args.beta) + n * args.times * args.states, args.states};
  for (int64_t t = all.times - 1; t >= 0; --t) {
    const T* later = rows.at(t + 1);
    const bool last = t == all.times - 1;
    scores.read_ahead(t - 1);
    for (int64_t s = threadIdx.x; s < all.states; s += blockDim.x) {
      T value = kNever<T>;
      if (!last || s + 2 >= all.states) {
        value = scores.at(t, s);
        if (!last)
          value += log_sum(later[s], s + 1 < all.states ? later[s + 1] : kNever<T>,
                           s + 2 < all.states && all.skips(s + 2) ? later[s + 2] : kNever<T>);
      }
      rows.set(t, s, value);
    }
    __syncthreads();
  }
}

/// Each thread has a label of a sequence.
inline void link_labels(const CtcArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.batch * args.label_count) return;
  const int64_t n = number / args.label_count, i = number - n * args.label_count;
  const Sequence all(args, n);
  if (i >= all.states / 2) return;
  const int64_t label = all.label(i);
  int64_t next = i + 1, before = i - 1;
  while (next < all.states / 2 && all.label(next) != label) ++next;
  while (before >= 0 && all.label(before) != label) --before;
  args.next[number] = next < all.states / 2 ? static_cast<int32_t>(next) : -1;
  args.first[number] = before < 0;
}

/// A block has a time of a sequence: first all classes as if they did not occur, then those that do.
template <class T, int threads>
inline void ctc_classes(const CtcArgs& args) {
  const int64_t t = blockIdx.x / args.batch, n = blockIdx.x - t * args.batch;
  const Sequence all(args, n);
  const int64_t place = (t * args.batch + n) * args.classes;
  const T* scores = static_cast<const T*>(args.scores) + place;
  T* out = static_cast<T*>(args.out) + place;
  const T loss = static_cast<const T*>(args.losses)[n], g = static_cast<const T*>(args.grad)[n];
  if (t >= all.times || (args.zero_infinity && loss == -kNever<T>)) {
    for (int64_t c = threadIdx.x; c < args.classes; c += threads) out[c] = T(0);
    return;
  }
  auto gradient = [&](int64_t c, T sum) { return (std::exp(scores[c]) - std::exp(sum + loss - scores[c])) * g; };
  for (int64_t c = threadIdx.x; c < args.classes; c += threads) out[c] = gradient(c, kNever<T>);

  const int64_t row = (n * args.times + t) * args.states;
  const T *alpha = static_cast<const T*>(args.alpha) + row, *beta = static_cast<const T*>(args.beta) + row;
  // The blank, of which every other state is one.
  T most = kNever<T>, sum = T(0);
  for (int64_t s = threadIdx.x; s < all.states; s += threads)
    if (all.class_of(s) == all.blank) most = std::max(most, alpha[s] + beta[s]);
  most = joined_by_all<threads, threads, Greatest::Of<T>>(most);
  if (most != kNever<T>) {  // the same for all threads
    for (int64_t s = threadIdx.x; s < all.states; s += threads)
      if (all.class_of(s) == all.blank) sum += std::exp(alpha[s] + beta[s] - most);
    sum = joined_by_all<threads, threads, Sums::Of<T>>(sum);
  }
  __syncthreads();  // all classes are written
  if (threadIdx.x == 0 && most != kNever<T>) out[all.blank] = gradient(all.blank, std::log(sum) + most);
  for (int64_t i = threadIdx.x; i < all.states / 2; i += threads) {
    const int64_t own = n * args.label_count;
    const int64_t label = all.label(i);
    if (label == all.blank || !args.first[own + i]) continue;
    T joint = kNever<T>;
    for (int64_t k = i; k >= 0; k = args.next[own + k])
      joint = log_sum(joint, alpha[2 * k + 1] + beta[2 * k + 1], kNever<T>);
    out[label] = gradient(label, joint);
  }
}

}  // namespace adjoint::cuda
