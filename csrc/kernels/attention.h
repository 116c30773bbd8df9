// Attention, softmax(queries keys' scale) values, without the matrix of all scores in memory, and its gradients.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// Views of (batch, heads, rows, size), one type, elements of a row side by side, rows not overlapping. The type is
/// float or double; or half, where `takes_halves` says so. `causal`: row i of the queries looks at the keys up to i.
/// There is at least one key.
struct AttentionInputs {
  View query, key, value;
  double scale;
  bool causal;
};

struct Attention {
  /// Whether queries of half types, like this one, need not be widened. Sums are floats all the same.
  bool (*takes_halves)(const View& query);
  /// `logsumexp` is contiguous, (batch, heads, rows), float for halves: the logarithm of the sum of the exponentials of
  /// a row's scores.
  void (*forward)(const AttentionInputs& of, const View& out, const View& logsumexp);
  /// The gradients of query, key and value, into views like theirs. `out` and `logsumexp` are the forward's.
  void (*backward)(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                   const View& for_query, const View& for_key, const View& for_value);
};

}  // namespace adjoint::kernels
