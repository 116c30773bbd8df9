// Segments of rows joined to one row each, and sums without NaN.
#pragma once

#include "block.h"
#include "cpu/math.h"
#include "segments_args.h"

namespace adjoint::cuda {

template <class S>
inline void drop_nans(const ValuesArgs& args) {
  const int64_t i = thread_number<int64_t>();
  S* values = reinterpret_cast<S*>(args.data);
  if (i < args.n && fn::isnan(values[i])) values[i] = S(0);
}

template <class T>
struct SegmentSum {
  using State = T;
  static T identity() { return 0; }
  static T join(T a, T x) { return a + x; }
};
template <class T>
struct SegmentProd {
  using State = T;
  static T identity() { return 1; }
  static T join(T a, T x) { return a * x; }
};
/// A NaN wins, and stays.
template <class T>
struct SegmentMax {
  using State = T;
  static T identity() { return -std::numeric_limits<T>::infinity(); }
  static T join(T a, T x) { return a == a && (x > a || x != x) ? x : a; }
};
template <class T>
struct SegmentMin {
  using State = T;
  static T identity() { return std::numeric_limits<T>::infinity(); }
  static T join(T a, T x) { return a == a && (x < a || x != x) ? x : a; }
};

/// `group` neighbouring threads have an element of the output: 1, or a warp for long runs of single elements.
template <class T, class Op, int group>
inline void join_segments(const SegmentArgs& args) {
  const int64_t number = thread_number<int64_t>(), i = number / group;
  const bool is_there = i < args.lines * args.count * args.inner;
  const int64_t segment = is_there ? i / args.inner : 0, column = is_there ? i - segment * args.inner : 0;
  const int64_t line = segment / args.count;
  const int64_t* ends = args.ends + line * (args.count + 1) + (segment - line * args.count);
  auto between = [](int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; };
  const int64_t begin = between(ends[0], 0, args.rows), end = between(ends[1], begin, args.rows);
  const T* row = reinterpret_cast<const T*>(args.in) + line * args.rows * args.inner + column;
  T value = Op::identity();
  for (int64_t r = begin + number % group; r < end; r += group) value = Op::join(value, row[r * args.inner]);
#pragma unroll
  for (int bit = 1; bit < group; bit *= 2) value = Op::join(value, shuffled(value, bit));
  if (is_there && number % group == 0) reinterpret_cast<T*>(args.out)[i] = value;
}

}  // namespace adjoint::cuda
