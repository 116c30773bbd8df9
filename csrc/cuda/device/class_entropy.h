// The loss of classes from scores that are no logarithms of probabilities yet: each row is read once, forward and
// backward, by one block, and nothing as large as the scores is written but their gradient.
#pragma once

#include "classes.h"
#include "softmax.h"
#include "warp_products.h"

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

/// exp(x) of what is not above zero by much; a float's within a few units of its last digit, with no denormal ones.
template <class A>
inline A share_of(A x) {
  if constexpr (std::is_same_v<A, double>) {
    return std::exp(x);
  } else {
    return fast_exp2(x * 1.44269504f);
  }
}

/// Packets that a thread has under way together.
constexpr int kPacketsAtOnce = 4;

/// Calls take(packet, place) for the packets of a thread.
template <int threads, int width, class S, class Take>
inline void for_packets(const S* row, const RowCut<S, width>& cut, Take take) {
  for (int64_t p = threadIdx.x; p < cut.packets; p += threads * kPacketsAtOnce) {
    Packet<S, width> packets[kPacketsAtOnce];
    const int64_t place = cut.packet(p), left = cut.packets - p;
#pragma unroll
    for (int u = 0; u < kPacketsAtOnce; ++u)
      if (u * threads < left) packets[u] = load_packet<width, true>(row + place + u * threads * width);
#pragma unroll
    for (int u = 0; u < kPacketsAtOnce; ++u)
      if (u * threads < left) take(packets[u], place + u * threads * width);
  }
}

template <class S, int threads, int width>
inline void entropy_sums(const ClassArgs& args) {
  using A = Computed<S>;
  const S* row = static_cast<const S*>(args.scores) + static_cast<int64_t>(blockIdx.x) * args.count;
  const RowCut<S, width> cut(row, args.count);
  // Begins with the least finite number: no difference of infinities spoils a row that has other scores. A NaN is no
  // greatest score, but is in the sum.
  A high = std::numeric_limits<A>::lowest(), total = 0;
  auto take = [&]<int count>(const Packet<S, count>& packet) {
    A values[count], before = high;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      values[i] = convert<A>(packet.values[i]);
      high = std::fmax(high, values[i]);
    }
    total *= share_of(before - high);
#pragma unroll
    for (int i = 0; i < count; ++i) total += share_of(values[i] - high);
  };
  for_packets<threads>(row, cut, [&](const auto& packet, int64_t) { take(packet); });
  if (const int64_t place = cut.single(threadIdx.x); place < cut.n) take(load_packet<1, true>(row + place));
  const A highest = joined_by_all<threads, threads, Greatest::Of<A>>(high);
  total = joined_by_all<threads, threads, Sums::Of<A>>(total * share_of(high - highest));
  if (threadIdx.x > 0) return;
  const Finish<true, A> finish(highest, total);
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
  const A* sums = static_cast<const A*>(args.sums) + 2 * number;
  const RowCut<S, width> cut(row, args.count);
  auto fill = [&](auto gradient) {
    for_packets<threads>(row, cut, [&](auto packet, int64_t place) {
#pragma unroll
      for (int i = 0; i < width; ++i) packet.values[i] = gradient(packet.values[i]);
      store_packet<true>(packet, out + place);
    });
    if (const int64_t place = cut.single(threadIdx.x); place < cut.n) out[place] = gradient(row[place]);
  };
  // Whatever the scores are.
  if (!names_class(args, target)) return fill([](S) { return convert<S>(A(0)); });
  const A slope = static_cast<A>(slope_of<T>(args, args.slopes, number, target));
  const A high = sums[0], factor = -slope * std::exp(-sums[1]);
  auto gradient = [&](S score) { return share_of(convert<A>(score) - high) * factor; };
  fill([&](S score) { return convert<S>(gradient(score)); });
  __syncthreads();  // whoever had the target's score has written
  if (threadIdx.x == 0) out[target] = convert<S>(slope + gradient(row[target]));
}

}  // namespace adjoint::cuda
