// The kinds of reductions; see reduce.h for what each of them has.
#pragma once

#include "reduce.h"

namespace adjoint::cuda {

/// An input of elements S.
template <class S>
struct Reads {
  using Element = S;
  template <int width, bool aligned>
  static Packet<S, width> load(const ReduceArgs& args, int64_t offset) {
    return load_packet<width, aligned>(reinterpret_cast<const S*>(args.in[0]) + offset);
  }
};

template <class Out, int which = 0, class A>
inline void put(const ReduceArgs& args, const int64_t (&places)[2], A value) {
  reinterpret_cast<Out*>(args.out[which])[places[which]] = convert<Out>(value);
}

// ---- One value, joined by one operation: map(element), join, finish(value)

template <class A>
struct Add {
  static A identity() { return A(0); }
  template <class S>
  static A map(const ReduceArgs&, S x) {
    return convert<A>(x);
  }
  static A join(A a, A b) { return fn::add(a, b); }
  static A finish(const ReduceArgs&, A x) { return x; }
};
/// The sum over args.number; of complex numbers an infinite part takes the other one with it, as on the CPU.
template <class A>
struct Average : Add<A> {
  static A finish(const ReduceArgs& args, A x) {
    if constexpr (is_complex_v<A>) {
      const auto n = static_cast<typename A::value_type>(args.number);
      return A((x.real() + x.imag() * 0) / n, (x.imag() - x.real() * 0) / n);
    } else {
      return x / static_cast<A>(args.number);
    }
  }
};
template <class A>
struct AddNumbers : Add<A> {
  template <class S>
  static A map(const ReduceArgs&, S x) {
    const A value = convert<A>(x);
    return value == value ? value : A(0);
  }
};
template <class A>
struct Multiply : Add<A> {
  static A identity() { return A(1); }
  static A join(A a, A b) { return fn::mul(a, b); }
};
/// Truth values, in words.
template <class A>
struct Any {
  static A identity() { return 0; }
  template <class S>
  static A map(const ReduceArgs&, S x) {
    return convert<bool>(x);
  }
  static A join(A a, A b) { return a | b; }
  static A finish(const ReduceArgs&, A x) { return x; }
};
template <class A>
struct All : Any<A> {
  static A identity() { return 1; }
  static A join(A a, A b) { return a & b; }
};

template <class A, class S>
inline A size_of(S x) {
  if constexpr (is_complex_v<S>) {
    return std::abs(convert<complex128>(x));
  } else {
    const A value = convert<A>(x);
    return value < 0 ? -value : value;
  }
}
template <class A>
struct AddSizes : Add<A> {
  template <class S>
  static A map(const ReduceArgs&, S x) {
    return size_of<A>(x);
  }
};
template <class A>
struct GreatestSize : AddSizes<A> {
  static A join(A a, A b) { return a > b || a != a ? a : b; }
};
template <class A>
struct LeastSize : AddSizes<A> {
  static A identity() { return std::numeric_limits<A>::infinity(); }
  static A join(A a, A b) { return a < b || a != a ? a : b; }
};
template <class A>
struct Count : Add<A> {
  template <class S>
  static A map(const ReduceArgs&, S x) {
    return size_of<A>(x) != 0 ? A(1) : A(0);
  }
};
template <class A>
struct Squares : Add<A> {
  template <class S>
  static A map(const ReduceArgs&, S x) {
    const A size = size_of<A>(x);
    return size * size;
  }
  static A finish(const ReduceArgs&, A x) { return std::sqrt(x); }
};
template <class A>
struct Powers : Add<A> {
  template <class S>
  static A map(const ReduceArgs& args, S x) {
    const A size = size_of<A>(x);
    return args.number == 3 ? size * (size * size) : std::pow(size, static_cast<A>(args.number));
  }
  static A finish(const ReduceArgs& args, A x) { return std::pow(x, 1 / static_cast<A>(args.number)); }
};

template <template <class> class Kind, class S, class A, class Out>
struct Monoid : Reads<S> {
  using State = A;
  struct Running {
    A value;
    void start(const ReduceArgs&, int64_t) { value = Kind<A>::identity(); }
    void take(const ReduceArgs& args, S x, int64_t) { value = Kind<A>::join(value, Kind<A>::map(args, x)); }
    A state() const { return value; }
  };
  static A join(A a, A b) { return Kind<A>::join(a, b); }
  static void emit(const ReduceArgs& args, A state, int64_t, const int64_t (&places)[2]) {
    put<Out>(args, places, Kind<A>::finish(args, state));
  }
};

// ---- Greatest and least elements

/// What stands for no element: nothing is less.
template <class A, bool most>
inline A worst() {
  if constexpr (std::is_floating_point_v<A>) {
    return most ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::infinity();
  } else {
    return most ? std::numeric_limits<A>::lowest() : std::numeric_limits<A>::max();
  }
}
template <bool most, class A>
inline A better(A a, A b) {
  return (most ? a > b : a < b) || a != a ? a : b;
}

/// The least goes to the first output, the greatest to the second; where an output is null, it costs nothing.
template <class S, class A, class Out, bool low, bool high>
struct Extremes : Reads<S> {
  struct State {
    A least, greatest;
  };
  struct Running {
    State now;
    void start(const ReduceArgs&, int64_t) { now = {worst<A, false>(), worst<A, true>()}; }
    void take(const ReduceArgs&, S x, int64_t) {
      const A value = convert<A>(x);
      if constexpr (low) now.least = better<false>(value, now.least);
      if constexpr (high) now.greatest = better<true>(value, now.greatest);
    }
    State state() const { return now; }
  };
  static State join(State a, State b) {
    if constexpr (low) a.least = better<false>(a.least, b.least);
    if constexpr (high) a.greatest = better<true>(a.greatest, b.greatest);
    return a;
  }
  static void emit(const ReduceArgs& args, State state, int64_t, const int64_t (&places)[2]) {
    if constexpr (low) put<Out, 0>(args, places, state.least);
    if constexpr (high) put<Out, 1>(args, places, state.greatest);
  }
};

/// The best element and its first number.
template <class S, class A, class Out, bool most>
struct Locate : Reads<S> {
  struct State {
    int64_t index;  ///< -1: no element
    A value;
  };
  static bool beats(const State& a, const State& b) {
    if (b.index < 0 || a.index < 0) return b.index < 0;
    if ((most ? a.value > b.value : a.value < b.value) || (a.value != a.value && b.value == b.value)) return true;
    const bool same = a.value == b.value || (a.value != a.value && b.value != b.value);
    return same && a.index < b.index;
  }
  struct Running {
    State now;
    void start(const ReduceArgs&, int64_t) { now = {-1, A(0)}; }
    void take(const ReduceArgs&, S x, int64_t index) {
      const State one = {index, convert<A>(x)};
      if (beats(one, now)) now = one;
    }
    State state() const { return now; }
  };
  static State join(State a, State b) { return beats(b, a) ? b : a; }
  static void emit(const ReduceArgs& args, State state, int64_t, const int64_t (&places)[2]) {
    if (args.out[0]) put<Out, 0>(args, places, state.value);
    put<int64_t, 1>(args, places, state.index);
  }
};

// ---- Moments

template <class A>
struct Moments {
  A n, mean, squares;  ///< of distances from the mean
};
template <class A>
inline Moments<A> join_moments(Moments<A> a, Moments<A> b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  const A n = a.n + b.n, distance = b.mean - a.mean, share = b.n / n;
  return {n, a.mean + distance * share, a.squares + b.squares + distance * distance * (a.n * share)};
}

/// Sums of distances from the first element: a thread has so few elements that these lose no digits to speak of, and
/// the loop has no division.
template <class S, class A>
struct MomentsOf : Reads<S> {
  using State = Moments<A>;
  struct Running {
    A n, center, sum, squares;
    void start(const ReduceArgs&, int64_t) { n = center = sum = squares = 0; }
    void take(const ReduceArgs&, S x, int64_t) {
      const A value = convert<A>(x);
      if (n == 0) center = value;
      const A distance = value - center;
      n += 1;
      sum += distance;
      squares += distance * distance;
    }
    State state() const {
      if (n == 0) return {0, 0, 0};
      const A rest = squares - sum * (sum / n);
      return {n, center + sum / n, rest < 0 ? A(0) : rest};
    }
  };
  static State join(State a, State b) { return join_moments(a, b); }
};

/// The number is the correction; with `root`, the square root.
template <class S, class A, class Out, class Mean, bool root>
struct Variance : MomentsOf<S, A> {
  static void emit(const ReduceArgs& args, Moments<A> state, int64_t, const int64_t (&places)[2]) {
    const double free = static_cast<double>(state.n) - args.number;
    const A none = std::numeric_limits<A>::quiet_NaN();
    A value = (state.n == 0 ? none : state.squares) / static_cast<A>(free > 0 ? free : 0);
    if (args.adds) value += convert<A>(reinterpret_cast<const Out*>(args.out[0])[places[0]]);
    put<Out, 0>(args, places, root ? std::sqrt(value) : value);
    if (args.out[1]) put<Mean, 1>(args, places, state.n == 0 ? none : state.mean);
  }
};

// ---- log(sum(exp(x)))

template <class S, class A, class Out>
struct LogSumExp : Reads<S> {
  struct State {
    A high, total;
  };
  /// Infinite ones are not subtracted: inf - inf would be NaN.
  static A shift(A high) { return fn::isinf(high) ? A(0) : high; }
  static A rescaled(State state, A high) {
    if (state.high == high || state.total == 0) return state.total;
    return state.total * std::exp(shift(state.high) - shift(high));
  }
  struct Running {
    State now;
    void start(const ReduceArgs&, int64_t) { now = {worst<A, true>(), A(0)}; }
    void take(const ReduceArgs&, S x, int64_t) {
      const A value = convert<A>(x), high = better<true>(value, now.high);
      now.total = rescaled(now, high) + std::exp(value - shift(high));
      now.high = high;
    }
    State state() const { return now; }
  };
  static State join(State a, State b) {
    const A high = better<true>(a.high, b.high);
    return {high, rescaled(a, high) + rescaled(b, high)};
  }
  static void emit(const ReduceArgs& args, State state, int64_t, const int64_t (&places)[2]) {
    put<Out>(args, places, std::log(state.total) + shift(state.high));
  }
};

}  // namespace adjoint::cuda
