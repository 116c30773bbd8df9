// Sums, means and greatest elements of rows of a table, for bags of indices. All views are packed; tables, factors,
// results and gradients are of one floating type, everything else is Int64.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

enum class BagMode : uint8_t { Sum, Mean, Max };

/// What is wrong with indices and offsets: which number it is, its value, and, of offsets that decrease, the one
/// before.
struct BagFault {
  enum Kind : uint8_t { None, FirstOffset, LastOffset, Decrease, Index } kind;
  int64_t place, value, before;
};

/// Bags are runs of `indices` that begin at `starts`, and end at the next of them or with the indices; the first
/// `count` of them. Rows with the index `padding` (negative: none) do not count.
struct Bags {
  View indices, starts;
  int64_t count;
  BagMode mode;
  int64_t padding;
};

struct EmbeddingBag {
  /// The first thing that is wrong with indices of so many rows and the starts of bags.
  BagFault (*fault)(const View& indices, const View& starts, int64_t rows);
  /// out[bag] from the rows of `table`, times `factors` unless null. `owner` is the bag of each index or -1, `details`
  /// the number of rows of each bag or, for Max, the row of each greatest element.
  void (*forward)(const Bags& bags, const View& table, const View* factors, const View& out, const View& owner,
                  const View& details);
  /// The gradient of the table; where `by_frequency`, divided by how often a row is used. Of the bags only indices,
  /// mode and padding count.
  void (*table_grad)(const Bags& bags, const View& grad, const View* factors, const View& owner, const View& details,
                     bool by_frequency, const View& out);
  /// The gradient of the factors.
  void (*factors_grad)(const Bags& bags, const View& grad, const View& table, const View& owner, const View& out);
};

}  // namespace adjoint::kernels
