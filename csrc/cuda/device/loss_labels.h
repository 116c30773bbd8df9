// The margin loss of several labels for each row of scores: a block has a row.
#pragma once

#include "block.h"
#include "core/dtype.h"
#include "loss_labels_args.h"

namespace adjoint::cuda {

struct LeastPlace {
  using State = int64_t;
  static int64_t join(int64_t a, int64_t b) { return a < b ? a : b; }
};

/// How many labels a row has: they end at the first that is negative.
template <int threads>
inline int64_t count_labels(const int64_t* labels, int64_t classes) {
  int64_t end = classes;
  for (int64_t k = threadIdx.x; k < classes; k += threads)
    if (labels[k] < 0 && k < end) end = k;
  return joined_by_all<threads, threads, LeastPlace>(end);
}

/// By how much class i is within the margin of a label; of a label that is no class, by nothing.
template <class T>
inline T excess_of(const T* scores, int64_t label, int64_t classes, T score) {
  return label < classes ? (T(1) - scores[label]) + score : T(0);
}

template <class T, int threads>
inline void multilabel_margin(const LabelArgs& args) {
  const int64_t classes = args.classes, row = static_cast<int64_t>(blockIdx.x) * classes;
  const int64_t* labels = args.labels + row;
  const T* scores = static_cast<const T*>(args.scores) + row;
  uint8_t* marks = args.is_label + row;
  for (int64_t k = threadIdx.x; k < classes; k += threads) {
    marks[k] = 0;
    check(labels[k] >= -1 && labels[k] < classes, args.fault, FaultKind::Label, 0, labels[k], classes);
  }
  const int64_t count = count_labels<threads>(labels, classes);
  __syncthreads();  // all marks are cleared
  for (int64_t k = threadIdx.x; k < count; k += threads)
    if (labels[k] < classes) marks[labels[k]] = 1;
  __syncthreads();
  double total = 0;
  for (int64_t i = threadIdx.x; i < classes; i += threads) {
    if (marks[i]) continue;
    for (int64_t k = 0; k < count; ++k) {
      const T excess = excess_of(scores, labels[k], classes, scores[i]);
      if (excess > T(0)) total += static_cast<double>(excess);
    }
  }
  total = joined_by_all<threads, threads, Sums::Of<double>>(total);
  if (threadIdx.x == 0) static_cast<T*>(args.out)[blockIdx.x] = static_cast<T>(total / static_cast<double>(classes));
}

/// A thread counts the pairs of a class: of a label with others, or of another one with labels.
template <class T, int threads>
inline void multilabel_margin_backward(const LabelArgs& args) {
  const int64_t classes = args.classes, row = static_cast<int64_t>(blockIdx.x) * classes;
  const int64_t* labels = args.labels + row;
  const T* scores = static_cast<const T*>(args.scores) + row;
  const uint8_t* marks = args.is_label + row;
  const int64_t count = count_labels<threads>(labels, classes);
  const T step = static_cast<const T*>(args.grad)[blockIdx.x] / static_cast<T>(classes);
  for (int64_t i = threadIdx.x; i < classes; i += threads) {
    int64_t pairs = 0;
    if (marks[i]) {
      int64_t times = 0;
      for (int64_t k = 0; k < count; ++k) times += labels[k] == i;
      for (int64_t other = 0; other < classes; ++other)
        if (!marks[other] && excess_of(scores, i, classes, scores[other]) > T(0)) pairs -= times;
    } else {
      for (int64_t k = 0; k < count; ++k) pairs += excess_of(scores, labels[k], classes, scores[i]) > T(0);
    }
    static_cast<T*>(args.out)[row + i] = pairs == 0 ? T(0) : static_cast<T>(pairs) * step;
  }
}

}  // namespace adjoint::cuda
