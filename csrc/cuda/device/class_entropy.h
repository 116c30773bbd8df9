// The loss of classes from scores that are no logarithms of probabilities yet: each row is read once, forward and
// backward, by one block, and nothing as large as the scores is written but their gradient.
#pragma once

#include "classes.h"
#include "softmax.h"

namespace adjoint::cuda {

/// A row of any length, at any address: packets of `width` elements from the first multiple of their size on, and
/// single elements, fewer than two packets have, before and behind them.
template <class S, int width>
struct RowCut {
  int64_t n, before, packets;

  RowCut(const S* row, int64_t n) : n(n) {
    const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) / sizeof(S) % width);
    before = beyond == 0 ? 0 : width - beyond < n ? width - beyond : n;
    packets = (n - before) / width;
  }
  /// Where a packet lies, and the single element of this number, or n.
  int64_t packet(int64_t number) const { return before + number * width; }
  int64_t single(int64_t number) const {
    if (number < before) return number;
    const int64_t place = number + packets * width;
    return place < n ? place : n;
  }
};

template <class S, int threads, int width>
inline void entropy_sums(const ClassArgs& args) {
  using A = Computed<S>;
  const S* row = static_cast<const S*>(args.scores) + static_cast<int64_t>(blockIdx.x) * args.count;
  const RowCut<S, width> cut(row, args.count);
  ExponentialSum<A> now = {worst<A, true>(), A(0)};
  for (int64_t p = threadIdx.x; p < cut.packets; p += threads) {
    const auto packet = load_packet<width, true>(row + cut.packet(p));
    A values[width];
#pragma unroll
    for (int i = 0; i < width; ++i) values[i] = convert<A>(packet.values[i]);
    now = with_elements(now, values);
  }
  if (const int64_t place = cut.single(threadIdx.x); place < cut.n) {
    const A values[] = {convert<A>(row[place])};
    now = with_elements(now, values);
  }
  now = joined_by_all<threads, threads, Exponentials<A>>(now);
  if (threadIdx.x > 0) return;
  const Finish<true, A> finish(now.high, now.total);
  A* sums = static_cast<A*>(args.sums) + 2 * static_cast<int64_t>(blockIdx.x);
  sums[0] = finish.high;
  sums[1] = finish.scale;
}

/// T is the type of the loss. Packets of the gradient lie at multiples of their size where those of the scores do.
template <class S, class T, int threads, int width>
inline void entropy_backward(const ClassArgs& args) {
  using A = Computed<S>;
  const int64_t number = blockIdx.x, target = args.target[number];
  const S* row = static_cast<const S*>(args.scores) + number * args.count;
  S* out = static_cast<S*>(args.loss) + number * args.count;
  const bool counts = names_class(args, target);
  const A slope = counts ? static_cast<A>(slope_of<T>(args, args.slopes, number, target)) : A(0);
  const A* sums = static_cast<const A*>(args.sums) + 2 * number;
  const A high = sums[0], scale = sums[1];
  auto gradient = [&](S score, int64_t place) {
    if (!counts) return convert<S>(A(0));
    return convert<S>((place == target ? slope : A(0)) - std::exp(convert<A>(score) - high - scale) * slope);
  };
  const RowCut<S, width> cut(row, args.count);
  for (int64_t p = threadIdx.x; p < cut.packets; p += threads) {
    const int64_t place = cut.packet(p);
    auto packet = load_packet<width, true>(row + place);
#pragma unroll
    for (int i = 0; i < width; ++i) packet.values[i] = gradient(packet.values[i], place + i);
    store_packet<true>(packet, out + place);
  }
  if (const int64_t place = cut.single(threadIdx.x); place < cut.n) out[place] = gradient(row[place], place);
}

}  // namespace adjoint::cuda
