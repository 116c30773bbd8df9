// What attention may have besides queries, keys and values: a mask, and weights that are dropped.
#pragma once

#include <limits>
#include <type_traits>

#include "attention_part.h"
#include "core/dtype.h"

namespace adjoint::cuda {

/// A mask of bools or of numbers, or none (void), for the head of a block. Scores are asked for that are there.
template <class Mask, bool drops>
struct Extras {
  static constexpr bool kMasks = !std::is_same_v<Mask, void>, kDrops = drops;
  using Word = std::conditional_t<kMasks, Mask, bool>;

  const AttentionArgs& args;
  const Mask* mask;
  int64_t first_row;  ///< of the head, among those of all heads

  Extras(const AttentionArgs& its_args, const Part& part)
      : args(its_args), mask(static_cast<const Mask*>(its_args.mask.data)), first_row(part.number * its_args.rows) {
    if constexpr (kMasks) mask += part.batch * args.mask.batch + part.head * args.mask.head;
  }

  /// A score with what a word of the mask says of it; numbers are added in `unit`s.
  template <class Word, class T>
  static T masked(T score, Word word, T unit) {
    if constexpr (std::is_same_v<Word, bool>)
      return word ? score : -std::numeric_limits<T>::infinity();
    else
      return score + convert<T>(word) * unit;
  }
  template <class T>
  T masked(T score, int64_t row, int64_t key, T unit) const {
    if constexpr (kMasks)
      return masked(score, mask[row * args.mask.row + key * args.mask.key], unit);
    else
      return score;
  }
  /// The same of a score that may not be there, and counts for nothing then.
  template <class T>
  T masked_or_none(T score, int64_t row, int64_t key, T unit) const {
    return row < args.rows && key < args.keys ? masked(score, row, key, unit) : -std::numeric_limits<T>::infinity();
  }

  DropRow row_of(int64_t row) const {
    if constexpr (kDrops)
      return DropRow::of(args.draws, first_row + row);
    else
      return {};
  }
  bool drops_at(const DropRow& row, int64_t key) const { return kDrops && row.drops(key, args.drop.below); }
  /// What a weight is multiplied by.
  template <class T>
  T kept(const DropRow& row, int64_t key) const {
    return drops_at(row, key) ? T(0) : kDrops ? static_cast<T>(args.drop.factor) : T(1);
  }
};

/// The factors of all weights, a thread for each.
template <class T>
inline void attention_kept(const KeptArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.rows * args.keys) return;
  const DropRow row = DropRow::of(args.draws, number / args.keys);
  reinterpret_cast<T*>(args.out)[number] =
      row.drops(number % args.keys, args.drop.below) ? T(0) : static_cast<T>(args.drop.factor);
}

/// The factor that makes results of sums; of a row that looks nowhere the result is zero.
template <class Extra, class T>
inline T share_of(T total) {
  return Extra::kMasks && total == T(0) ? T(0) : T(1) / total;
}
/// The logarithm of a row's sum, from that of its greatest exponential.
template <class Extra, class T>
inline T logarithm_of(T greatest, T total) {
  return Extra::kMasks && total == T(0) ? T(0) : greatest + std::log(total);
}

}  // namespace adjoint::cuda
