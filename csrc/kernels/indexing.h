// Indexing kernels: gather, scatter, advanced indexing and masks over raw views.
//
// Index views are Int64. Every index is checked before anything is written, so a call that throws has changed nothing
// (but for gather, take and put, which check as they go: their output is then of no use).
// Inputs may share memory with what is written: they are then read as they were before the call. The written view must
// not overlap itself. Shapes and types fit each other. 0-d views count as one element in one dimension; `dim` is not
// negative.
#pragma once

#include <cstdint>
#include <optional>

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::kernels {

enum class Reduction : uint8_t { Sum, Prod, Mean, AMax, AMin };
enum class LossReduction : uint8_t { None, Sum, Mean };

/// Scores of classes, packed as [examples, count, inner]; targets equal to `ignored` do not count.
struct Classes {
  int64_t count, inner, ignored;
};

struct Indexing {
  /// out[.., i, ..] = in[.., index[.., i, ..], ..] along `dim`; `out` has the sizes of `index`. No negative indices.
  void (*gather)(const View& in, int dim, const View& index, const View& out);

  /// dst[.., index[.., i, ..], ..] = src[.., i, ..] along `dim`; of duplicates the last one wins.
  void (*scatter)(const View& dst, int dim, const View& index, const View& src);
  /// As scatter, with one value of `dst`'s dtype.
  void (*scatter_value)(const View& dst, int dim, const View& index, const void* value);
  /// As scatter, adding; duplicates are added in the order of `index`, whatever the number of threads.
  void (*scatter_add)(const View& dst, int dim, const View& index, const View& src);
  /// As scatter_add with any reduction. Without `include_self` the old values of the elements hit do not take part.
  void (*scatter_reduce)(const View& dst, int dim, const View& index, const View& src, Reduction reduction,
                         bool include_self);

  /// Whole slices along `dim` by a 1-D index. No negative indices, but in index_fill.
  void (*index_select)(const View& in, int dim, const View& index, const View& out);
  void (*index_add)(const View& dst, int dim, const View& index, const View& src, const Scalar& alpha);
  void (*index_reduce)(const View& dst, int dim, const View& index, const View& src, Reduction reduction,
                       bool include_self);
  void (*index_copy)(const View& dst, int dim, const View& index, const View& src);
  void (*index_fill)(const View& dst, int dim, const View& index, const void* value);

  /// Advanced indexing. The indexed dimensions come first: `in` is [I1 .. Ik, rest ..], the k index views have one
  /// common shape S (strides may be 0) and `out` is S + rest. Negative indices count from the end.
  void (*index_get)(const View& in, int count, const View* const* indices, const View& out);
  /// The reverse: dst[indices] = src, or += where `accumulate`. Duplicates as in scatter and scatter_add.
  void (*index_put)(const View& dst, int count, const View* const* indices, const View& src, bool accumulate);

  /// out = in[index] with `in` 1-D and `out` of the sizes of `index`; negative indices count from the end.
  void (*take)(const View& in, const View& index, const View& out);

  /// dst[index[i]] = src[i], or += where `accumulate`; all are 1-D and negative indices count from the end. Returns the
  /// first index that is out of range; `dst` is then of no use.
  std::optional<int64_t> (*put)(const View& dst, const View& index, const View& src, bool accumulate);

  /// gweight[index[i]] += g[i] for rows i whose index is not `padding_idx` (negative: none); `gweight` is V x d.
  void (*embedding_backward)(const View& g, const View& index, int64_t padding_idx, const View& gweight);

  /// Targets are packed Int64, weights of classes packed Float64 or null. Fails where a target names no class.
  void (*check_classes)(const View& target, const Classes& classes);
  /// loss = the negated scores of the targets, weighted, each for itself (`loss` is then zero) or reduced to one;
  /// total = the sum of the weights. All are packed and of one floating type.
  void (*class_scores)(const View& scores, const View& target, const View* weight, const Classes& classes,
                       LossReduction reduction, const View& loss, const View& total);
  /// The gradient in the scores, written into zeros.
  void (*class_scores_backward)(const View& g, const View& target, const View* weight, const Classes& classes,
                                LossReduction reduction, const View& total, const View& out);

  /// Whether class_entropy is the faster way; if not, log_softmax and class_scores serve.
  bool (*prefers_class_entropy)();
  /// class_scores of the log_softmax of `scores` along rows of classes, which is never written. `scores` may be of a
  /// half type where `loss` and `total` are floats. `sums` has two numbers for each row, of the type computed in: the
  /// greatest score, and the logarithm of the sum of the exponentials of all scores less that one.
  void (*class_entropy)(const View& scores, const View& target, const View* weight, const Classes& classes,
                        LossReduction reduction, const View& loss, const View& total, const View& sums);
  /// The gradient in the scores, of their type.
  void (*class_entropy_backward)(const View& g, const View& scores, const View& sums, const View& target,
                                 const View* weight, const Classes& classes, LossReduction reduction, const View& total,
                                 const View& out);

  /// Masks are Bool, with the sizes of the view they mask.
  void (*masked_fill)(const View& dst, const View& mask, const void* value);
  /// out = the elements of `in` under the mask, in row-major order; `out` is 1-D with count_true(mask) elements.
  void (*masked_select)(const View& in, const View& mask, const View& out);
  /// The same into the first places of a longer row, which is zero.
  void (*masked_front)(const View& in, const View& mask, const View& out);
  /// The elements of `dst` under the mask become the first elements of the 1-D `src`.
  void (*masked_scatter)(const View& dst, const View& mask, const View& src);
  /// out = condition ? a : b. All have the same sizes (stride 0 where broadcast); a, b and out have one dtype.
  /// A number among a and b lies in the program's memory, as its device says.
  void (*where)(const View& condition, const View& a, const View& b, const View& out);

  /// How many elements of any dtype are not zero (nan is not zero).
  int64_t (*count_nonzero)(const View& in);
  /// The coordinates of the nonzero elements in row-major order; `out` is Int64, count_nonzero(in) x in.ndim.
  void (*nonzero)(const View& in, const View& out);
  /// The first rows of nonzero(), as many as `out` has, then rows of `fill`.
  void (*nonzero_static)(const View& in, int64_t fill, const View& out);
};

}  // namespace adjoint::kernels
