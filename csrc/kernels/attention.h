// Attention, softmax(queries keys' scale + mask) values, without the matrix of all scores in memory, and its gradients.
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

  // Where `takes_extras` says so:
  /// (batch, heads, rows, keys) at any strides: bools that say who looks where, or numbers that are added to the
  /// scores, floats or of the queries' type. The result of a row that looks nowhere is zero.
  const View* mask = nullptr;
  /// Weights that are dropped, as dropout() does with this probability: which ones follows from two integers of 64 bits
  /// that lie one after the other, and from where a weight is.
  double dropped = 0;
  const View* draws = nullptr;
};

struct Attention {
  /// Whether queries of half types, like this one, need not be widened. Sums are floats all the same.
  bool (*takes_halves)(const View& query);
  /// Whether there may be a mask and dropped weights, for queries like this one.
  bool (*takes_extras)(const View& query);
  /// `logsumexp` is contiguous, (batch, heads, rows), float for halves: the logarithm of the sum of the exponentials of
  /// a row's scores.
  void (*forward)(const AttentionInputs& of, const View& out, const View& logsumexp);
  /// The gradients of query, key and value, into views like theirs. `out` and `logsumexp` are the forward's.
  void (*backward)(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                   const View& for_query, const View& for_key, const View& for_value);
  /// What weights are multiplied by, 0 or 1 / (1 - dropped), for each of (batch, heads, rows, keys), contiguous.
  void (*kept)(const View& draws, double dropped, const View& out);
};

}  // namespace adjoint::kernels
