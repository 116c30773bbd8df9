// Greatest and least elements, and where they are.
#include "cpu/reduce.h"
#include "cpu/reduce_monoid.h"
#include "cpu/reduce_runs_isa.h"

namespace adjoint::cpu {
namespace {

/// Calls f(A{}) with the type in which elements are compared: exact for every dtype it stands for.
template <class F>
void dispatch_ordered(const char* op, DType dtype, F f) {
  check_ordered(op, dtype);
  switch (dtype) {
    case DType::Float64: return f(double{});
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16: return f(float{});
    case DType::Int64: return f(int64_t{});
    default: return f(int32_t{});
  }
}

void check_has_elements(const char* op, const View& in, const View& out) {
  if (in.numel() == 0 && out.numel() > 0) {
    fail(ErrorKind::Index, op, "(): Expected reduction dim to have non-zero size; got an empty one; ",
         "an empty set has no greatest or least element: check for it first");
  }
}

template <bool kMax, class A>
A extreme_of(const A* x, int64_t n) {
  const auto& loops = chosen<ExtremeLoops<A>>;
  return (kMax ? loops.greatest_of_run : loops.least_of_run)(x, n);
}

template <bool kMax, class A>
void extreme_of_columns(const A* x, int64_t step, int64_t n, int64_t lanes, A* out) {
  const auto& loops = chosen<ExtremeLoops<A>>;
  (kMax ? loops.greatest_of_rows : loops.least_of_rows)(x, step, n, lanes, out);
}

template <class A>
struct Extent {
  A low;
  A high;
};

/// The Op for ReducerOf: the least and the greatest element, for one output each; `kLow` and `kHigh` say which are
/// wanted.
template <class A, bool kLow, bool kHigh>
struct Extremes {
  using Element = A;
  using State = Extent<A>;
  static constexpr bool kOrdered = false;

  Reader<A> reader;
  Writer<A> writer;
  int64_t out_itemsize;
  char* low;
  char* high;

  State row(const A* x, int64_t n, int64_t) const {
    State state{};
    if constexpr (kLow) state.low = extreme_of<false>(x, n);
    if constexpr (kHigh) state.high = extreme_of<true>(x, n);
    return state;
  }

  void panel(const A* x, int64_t step, int64_t n, int64_t lanes, int64_t, State* states) const {
    A least[kMaxLanes], greatest[kMaxLanes];
    if constexpr (kLow) extreme_of_columns<false>(x, step, n, lanes, least);
    if constexpr (kHigh) extreme_of_columns<true>(x, step, n, lanes, greatest);
    for (int64_t w = 0; w < lanes; ++w) states[w] = {kLow ? least[w] : A{}, kHigh ? greatest[w] : A{}};
  }

  void join(State& left, const State& right) const {
    if constexpr (kLow) left.low = kLess(left.low, right.low);
    if constexpr (kHigh) left.high = kGreater(left.high, right.high);
  }
  State identity() const { return {}; }

  void emit(const State* states, const Target& target) const {
    A results[kMaxLanes];
    if constexpr (kLow) {
      for (int64_t w = 0; w < target.lanes; ++w) results[w] = states[w].low;
      writer.store(results, target.lanes, low + target.offset[0] * out_itemsize, target.step[0]);
    }
    if constexpr (kHigh) {
      for (int64_t w = 0; w < target.lanes; ++w) results[w] = states[w].high;
      writer.store(results, target.lanes, high + target.offset[1] * out_itemsize, target.step[1]);
    }
  }
};

template <bool kLow, bool kHigh>
void extremes(const char* op, const View& in, const View& low, const View& high) {
  check_reduced_shape(op, in, low);
  check_reduced_shape(op, in, high);
  check_dtype(op, "the greatest elements", high, low.dtype);
  check_has_elements(op, in, low);
  dispatch_ordered(op, in.dtype, [&](auto tag) {
    using Op = Extremes<decltype(tag), kLow, kHigh>;
    Op both{Reader<decltype(tag)>(in.dtype), Writer<decltype(tag)>(low.dtype), itemsize(low.dtype), low.data,
            high.data};
    run_reduction(ReducerOf<Op>(both, in.dtype), in, low, high);
  });
}

template <class A>
struct Located {
  A value;
  int64_t index;  ///< -1 for no element at all
};

/// The Op for ReducerOf: the extreme element and its first index. Greatest if `kMax`, else least.
template <class A, bool kMax>
struct ArgExtreme {
  using Element = A;
  using State = Located<A>;
  static constexpr bool kOrdered = true;

  Reader<A> reader;
  Writer<A> value_writer;
  char* values;  ///< null when only the indices are wanted
  int64_t value_itemsize;
  int64_t* indices;

  static bool beats(A a, A b) { return (kMax ? a > b : a < b) | ((a != a) & (b == b)); }

  State row(const A* x, int64_t n, int64_t first) const {
    A best = extreme_of<kMax>(x, n);
    int64_t i = 0;
    if (best == best) {
      while (!(x[i] == best)) ++i;
    } else {
      while (x[i] == x[i]) ++i;
    }
    return {x[i], first + i};
  }

  void panel(const A* x, int64_t step, int64_t n, int64_t lanes, int64_t first, State* states) const {
    // Indices as wide as the values, so that one mask selects both.
    using Index = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;
    A best[kMaxLanes];
    Index index[kMaxLanes];
    for (int64_t w = 0; w < lanes; ++w) {
      best[w] = x[w];
      index[w] = 0;
    }
    for (int64_t k = 1; k < n; ++k) {
      const A* y = x + k * step;
      Index here = static_cast<Index>(k);
      for (int64_t w = 0; w < lanes; ++w) {
        bool better = beats(y[w], best[w]);
        best[w] = better ? y[w] : best[w];
        index[w] = better ? here : index[w];
      }
    }
    for (int64_t w = 0; w < lanes; ++w) states[w] = {best[w], first + index[w]};
  }

  void join(State& left, const State& right) const {
    if (left.index < 0 || (right.index >= 0 && beats(right.value, left.value))) left = right;
  }
  State identity() const { return {A{}, -1}; }

  void emit(const State* states, const Target& target) const {
    int64_t* place = indices + target.offset[1];
    for (int64_t w = 0; w < target.lanes; ++w) place[w * target.step[1]] = states[w].index;
    if (values == nullptr) return;
    A results[kMaxLanes];
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = states[w].value;
    value_writer.store(results, target.lanes, values + target.offset[0] * value_itemsize, target.step[0]);
  }
};

/// `values` may be null.
template <bool kMax>
void arg_extreme(const char* op, const View& in, const View* values, const View& indices, int dim) {
  check_dim(op, in, dim);
  for (const View* out : {values != nullptr ? values : &indices, &indices}) {
    check_reduced_shape(op, in, *out);
    for (int d = 0; d < in.ndim; ++d) {
      if (d == dim ? out->sizes[d] != 1 : out->sizes[d] != in.sizes[d]) {
        fail(op, ": expected only dimension ", dim, " of the output to be reduced; dimension ", d, " has size ",
             out->sizes[d], "; allocate the output in the input's shape with size 1 there");
      }
    }
  }
  check_dtype(op, "indices", indices, DType::Int64);
  check_has_elements(op, in, indices);
  dispatch_ordered(op, in.dtype, [&](auto tag) {
    using A = decltype(tag);
    const View& first = values != nullptr ? *values : indices;
    ArgExtreme<A, kMax> locate{Reader<A>(in.dtype), Writer<A>(first.dtype), values != nullptr ? values->data : nullptr,
                               itemsize(first.dtype), indices.as<int64_t>()};
    run_reduction(ReducerOf<ArgExtreme<A, kMax>>(locate, in.dtype), in, first, indices);
  });
}

}  // namespace

void amax(const View& in, const View& out) { extremes<false, true>("amax", in, out, out); }
void amin(const View& in, const View& out) { extremes<true, false>("amin", in, out, out); }
void aminmax(const View& in, const View& low, const View& high) { extremes<true, true>("aminmax", in, low, high); }

void argmax(const View& in, const View& out, int dim) { arg_extreme<true>("argmax", in, nullptr, out, dim); }
void argmin(const View& in, const View& out, int dim) { arg_extreme<false>("argmin", in, nullptr, out, dim); }

void max_with_index(const View& in, const View& values, const View& indices, int dim) {
  arg_extreme<true>("max", in, &values, indices, dim);
}

void min_with_index(const View& in, const View& values, const View& indices, int dim) {
  arg_extreme<false>("min", in, &values, indices, dim);
}

}  // namespace adjoint::cpu
