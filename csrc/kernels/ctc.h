// Connectionist temporal classification. All views are packed; scores [time, batch, classes], losses [batch] and
// likelihoods of beginnings [batch, time, states] are of one type, Float32 or Float64, labels Int64.
#pragma once

#include <optional>

#include "core/view.h"

namespace adjoint::kernels {

/// The states of a sequence are its labels with a blank before, between and after. The lists have a number for each
/// sequence, in the program's memory.
struct CtcShape {
  int64_t times, batch, classes, blank;
  int64_t states;  ///< of the sequence with the most labels
  const int64_t *lengths, *label_counts, *label_starts;
};

struct Ctc {
  struct Label {
    int64_t sequence, label;
  };

  /// The first label that is no class, if there is one.
  std::optional<Label> (*wrong_label)(const CtcShape& shape, const View& labels);
  /// The negated log-likelihood of each sequence, and those of its beginnings.
  void (*loss)(const CtcShape& shape, const View& scores, const View& labels, const View& losses, const View& alpha);
  /// The gradient of scores that are logarithms of probabilities; zero for impossible sequences if `zero_infinity`.
  void (*backward)(const CtcShape& shape, const View& grad, const View& scores, const View& labels, const View& losses,
                   const View& alpha, bool zero_infinity, const View& out);
};

}  // namespace adjoint::kernels
