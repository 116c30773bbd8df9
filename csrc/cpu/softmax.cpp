// Softmax, log-softmax, their backward, and logsumexp: everything that rests on a fast vector exponential.
#include "cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/reduce_monoid.h"
#include "cpu/reduce_runs_isa.h"
#include "cpu/softmax_isa.h"
#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(exp)

namespace adjoint::cpu {
namespace {

/// y[i] = exp(x[i] - shift), of which there is one for all, or one for each; y may be x.
template <class A>
void exp_shifted(const A* x, A shift, A* y, int64_t n) {
  chosen<SoftmaxLoops<A>>.exp_shifted(x, shift, y, n);
}
template <class A>
void exp_shifted(const A* x, const A* shift, A* y, int64_t n) {
  chosen<SoftmaxLoops<A>>.exp_shifted_each(x, shift, y, n);
}

/// Sum of exp(x[i] - shift), n <= kRun.
template <class A>
A exp_sum_run(const A* x, A shift, int64_t n) {
  A buffer[kRun];
  exp_shifted(x, shift, buffer, n);
  return fold_run(buffer, n, kIdentityMap, kAdd);
}

template <class A>
A exp_sum(const A* x, A shift, int64_t n) {
  if (n <= kRun) return exp_sum_run(x, shift, n);
  int64_t half = half_of(n, kRun);
  return exp_sum(x, shift, half) + exp_sum(x + half, shift, n - half);
}

/// Elements of short rows worth a thread of their own.
constexpr int64_t kShortGrain = 8192;

/// Calls run(first row, rows, elements of a row) over all rows if they are short, packed and of type A in every view.
template <class A, class Run>
bool in_short_rows(std::initializer_list<const View*> views, int dim, Run run) {
  const View& first = **views.begin();
  if (first.ndim == 0 || dim != first.ndim - 1) return false;
  const int64_t n = first.sizes[dim];
  if (n == 0 || n > kShortSoftmax) return false;
  for (const View* view : views) {
    if (view->dtype != DTypeOf<A>::value || !view->is_packed()) return false;
  }
  parallel_for(first.numel() / n, kShortGrain / n, [&](int64_t begin, int64_t end) { run(begin * n, end - begin, n); });
  return true;
}

/// Slices taken side by side when they lie next to each other.
constexpr int64_t kTileLanes = 128;

/// Some slices in type A: element k of lane w is data[k * step + w].
template <class A>
struct Tile {
  A* data;
  int64_t step;
  A* row(int64_t k) const { return data + k * step; }
};

/// Runs a kernel over all slices of N inputs and one output, in type A, converting only where needed.
/// `rows(const A* const* x, A* y, n)` takes single contiguous slices, `panel(x, y, n, lanes)` tiles; y may be x[0].
template <class A, int N, class Rows, class PanelFn>
void run_tiles(const View* const (&views)[N + 1], int dim, Rows rows, PanelFn panel) {
  Slices<N + 1> slices(views, dim);
  if (slices.empty()) return;
  bool tiled = slices.lanes >= 4 && slices.step[0] != 1;
  for (int v = 0; v <= N; ++v) tiled &= slices.lane_step[v] == 1;
  int64_t width = tiled ? std::min(slices.lanes, kTileLanes) : 1;
  const int64_t* inner = tiled ? slices.lane_step : slices.step;
  int64_t groups = (slices.lanes + width - 1) / width;
  const View& target = *views[N];
  Writer<A> writer(target.dtype);
  bool direct = writer.direct(inner[N]);
  // One tile of scratch for each input that must be converted, and one for the output if that must be.
  LoadFn<A> load[N];
  bool packed[N];
  int64_t tiles = direct ? 0 : 1;
  for (int v = 0; v < N; ++v) {
    Reader<A> reader(views[v]->dtype);
    load[v] = loader<A>(views[v]->dtype);
    packed[v] = reader.direct(inner[v]);
    tiles += packed[v] ? 0 : 1;
  }
  int64_t n = slices.n;
  int64_t tile_size = n * width;
  int64_t bytes = tiles * tile_size * static_cast<int64_t>(sizeof(A));
  share_out_scratch(slices.outer.total * groups, tile_size * 4, bytes, [&](int64_t unit, char* scratch) {
    A* free_tile = reinterpret_cast<A*>(scratch);
    int64_t offset[N + 1];
    slices.outer.locate(unit / groups, offset);
    int64_t lane = unit % groups * width;
    int64_t lanes = std::min(width, slices.lanes - lane);
    auto place = [&](int v) {
      return views[v]->data + (offset[v] + lane * slices.lane_step[v]) * itemsize(views[v]->dtype);
    };
    Tile<A> x[N];
    for (int v = 0; v < N; ++v) {
      char* source = place(v);
      if (packed[v]) {
        x[v] = {reinterpret_cast<A*>(source), slices.step[v]};
        continue;
      }
      x[v] = {free_tile, width};
      free_tile += tile_size;
      if (!tiled) {
        load[v](source, slices.step[v], n, x[v].data);
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        load[v](source + k * slices.step[v] * itemsize(views[v]->dtype), 1, lanes, x[v].row(k));
      }
    }
    char* result = place(N);
    Tile<A> y = direct ? Tile<A>{reinterpret_cast<A*>(result), slices.step[N]} : Tile<A>{free_tile, width};
    if (!tiled) {
      rows(x, y.data, n);
      if (!direct) writer.store(y.data, n, result, slices.step[N]);
      return;
    }
    panel(x, y, n, lanes);
    if (direct) return;
    for (int64_t k = 0; k < n; ++k) {
      writer.store(y.row(k), lanes, result + k * slices.step[N] * itemsize(target.dtype), 1);
    }
  });
}

/// y = softmax(x); returns the logarithm of the sum of the exponentials.
template <class A>
A softmax_of_row(const A* x, A* y, int64_t n) {
  const A high = chosen<ExtremeLoops<A>>.greatest_of_run(x, n);
  exp_shifted(x, high, y, n);
  const A total = fold_long(y, n, kIdentityMap, kAdd), scale = 1 / total;
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  return high + std::log(total);
}

template <class A>
void forward(const View& in, const View& out, int dim, bool log) {
  const A* from = reinterpret_cast<const A*>(in.data);
  A* to = reinterpret_cast<A*>(out.data);
  const bool done = in_short_rows<A>({&in, &out}, dim, [&](int64_t first, int64_t rows, int64_t n) {
    chosen<SoftmaxLoops<A>>.short_forward(from + first, to + first, rows, n, log);
  });
  if (done) return;
  auto rows = [log](const Tile<A>* x, A* y, int64_t n) {
    const A* from = x[0].data;
    if (!log) return static_cast<void>(softmax_of_row(from, y, n));
    const A high = chosen<ExtremeLoops<A>>.greatest_of_run(from, n);
    chosen<SoftmaxLoops<A>>.subtract(from, high, std::log(exp_sum(from, high, n)), y, n);
  };
  auto panel = [log](const Tile<A>* x, Tile<A> y, int64_t n, int64_t lanes) {
    A high[kTileLanes];
    A part[kTileLanes];
    double total[kTileLanes] = {};
    chosen<ExtremeLoops<A>>.greatest_of_rows(x[0].data, x[0].step, n, lanes, high);
    for (int64_t k = 0; k < n; ++k) {
      A* powers = log ? part : y.row(k);
      exp_shifted<A>(x[0].row(k), high, powers, lanes);
      chosen<SoftmaxLoops<A>>.accumulate(powers, total, lanes);
    }
    for (int64_t w = 0; w < lanes; ++w) part[w] = static_cast<A>(log ? std::log(total[w]) : 1 / total[w]);
    for (int64_t k = 0; k < n; ++k) {
      A* to = y.row(k);
      if (log) {
        chosen<SoftmaxLoops<A>>.subtract_each(x[0].row(k), high, part, to, lanes);
      } else {
        for (int64_t w = 0; w < lanes; ++w) to[w] *= part[w];
      }
    }
  };
  run_tiles<A, 1>({&in, &out}, dim, rows, panel);
}

template <class A>
void backward(const View& g, const View& out, const View& gin, int dim, bool log) {
  const A *from = reinterpret_cast<const A*>(g.data), *result = reinterpret_cast<const A*>(out.data);
  A* to = reinterpret_cast<A*>(gin.data);
  const bool done = in_short_rows<A>({&g, &out, &gin}, dim, [&](int64_t first, int64_t rows, int64_t n) {
    chosen<SoftmaxLoops<A>>.short_backward(from + first, result + first, to + first, rows, n, log);
  });
  if (done) return;
  auto rows = [log](const Tile<A>* x, A* y, int64_t n) {
    const A* from = x[0].data;
    const A* result = x[1].data;
    if (log) {
      const A total = fold_long(from, n, kIdentityMap, kAdd);
      return chosen<SoftmaxLoops<A>>.subtract_exps(from, result, total, y, n);
    }
    A products[kRun];
    double total = 0;
    for (int64_t i = 0; i < n; i += kRun) {
      int64_t m = std::min(kRun, n - i);
      for (int64_t j = 0; j < m; ++j) products[j] = from[i + j] * result[i + j];
      total += fold_run(products, m, kIdentityMap, kAdd);
    }
    A dot = static_cast<A>(total);
    for (int64_t i = 0; i < n; ++i) y[i] = result[i] * (from[i] - dot);
  };
  auto panel = [log](const Tile<A>* x, Tile<A> y, int64_t n, int64_t lanes) {
    double total[kTileLanes] = {};
    A part[kTileLanes];
    A powers[kTileLanes];
    for (int64_t k = 0; k < n; ++k) {
      const A* from = x[0].row(k);
      const A* result = x[1].row(k);
      if (log) {
        chosen<SoftmaxLoops<A>>.accumulate(from, total, lanes);
      } else {
        for (int64_t w = 0; w < lanes; ++w) total[w] += from[w] * result[w];
      }
    }
    for (int64_t w = 0; w < lanes; ++w) part[w] = static_cast<A>(total[w]);
    for (int64_t k = 0; k < n; ++k) {
      const A* from = x[0].row(k);
      const A* result = x[1].row(k);
      A* to = y.row(k);
      if (log) {
        exp_shifted(result, A(0), powers, lanes);
        for (int64_t w = 0; w < lanes; ++w) to[w] = from[w] - powers[w] * part[w];
      } else {
        for (int64_t w = 0; w < lanes; ++w) to[w] = result[w] * (from[w] - part[w]);
      }
    }
  };
  run_tiles<A, 2>({&g, &out, &gin}, dim, rows, panel);
}

void check_floating(const char* op, const View& in, const View& out) {
  if (!is_float(out.dtype) || is_complex(in.dtype)) {
    fail(ErrorKind::NotImplemented, "\"", op, "\" not implemented for '",
         info(is_complex(in.dtype) ? in.dtype : out.dtype).legacy_name,
         "'; a real input and a floating-point output are expected; convert the input first");
  }
}

void run_forward(const char* op, const View& in, const View& out, int dim, bool log) {
  check_same_shape(op, in, out, dim);
  check_floating(op, in, out);
  dispatch_real(out.dtype, [&](auto tag) { forward<decltype(tag)>(in, out, dim, log); });
}

void run_backward(const char* op, const View& g, const View& out, const View& gin, int dim, bool log) {
  check_same_shape(op, g, out, dim);
  check_same_shape(op, g, gin, dim);
  check_floating(op, g, gin);
  check_floating(op, out, gin);
  dispatch_real(gin.dtype, [&](auto tag) { backward<decltype(tag)>(g, out, gin, dim, log); });
}

/// The Op for ReducerOf: the greatest element so far, and the sum of exp(x - shift(high)).
template <class A>
struct LogSumExp {
  using Element = A;
  struct State {
    A high;
    A total;
  };
  static constexpr bool kOrdered = false;

  Reader<A> reader;
  Writer<A> writer;
  char* out;
  int64_t out_itemsize;

  /// Infinite maxima are not subtracted: inf - inf would be NaN.
  static A shift(A high) { return std::isinf(high) ? A(0) : high; }

  State row(const A* x, int64_t n, int64_t) const {
    const A high = chosen<ExtremeLoops<A>>.greatest_of_run(x, n);
    return {high, exp_sum_run(x, shift(high), n)};
  }

  void panel(const A* x, int64_t step, int64_t n, int64_t lanes, int64_t, State* states) const {
    A high[kMaxLanes];
    A total[kMaxLanes];
    A powers[kMaxLanes];
    std::copy(x, x + lanes, high);
    for (int64_t k = 1; k < n; ++k) {
      for (int64_t w = 0; w < lanes; ++w) high[w] = kGreater(high[w], x[k * step + w]);
    }
    for (int64_t w = 0; w < lanes; ++w) {
      states[w].high = high[w];
      high[w] = shift(high[w]);
      total[w] = 0;
    }
    for (int64_t k = 0; k < n; ++k) {
      exp_shifted<A>(x + k * step, high, powers, lanes);
      for (int64_t w = 0; w < lanes; ++w) total[w] += powers[w];
    }
    for (int64_t w = 0; w < lanes; ++w) states[w].total = total[w];
  }

  void join(State& left, const State& right) const {
    A high = kGreater(left.high, right.high);
    left.total = rescaled(left, high) + rescaled(right, high);
    left.high = high;
  }
  static A rescaled(const State& state, A high) {
    if (state.high == high || state.total == 0) return state.total;
    return state.total * std::exp(shift(state.high) - shift(high));
  }

  State identity() const { return {-std::numeric_limits<A>::infinity(), 0}; }

  void emit(const State* states, const Target& target) const {
    A results[kMaxLanes];
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = std::log(states[w].total) + shift(states[w].high);
    writer.store(results, target.lanes, out + target.offset[0] * out_itemsize, target.step[0]);
  }
};

template <class A>
void run_logsumexp(const View& in, const View& out) {
  LogSumExp<A> op{Reader<A>(in.dtype), Writer<A>(out.dtype), out.data, itemsize(out.dtype)};
  run_reduction(ReducerOf<LogSumExp<A>>(op, in.dtype), in, out, out);
}

}  // namespace

float softmax_row(float* x, int64_t n) { return softmax_of_row(x, x, n); }
double softmax_row(double* x, int64_t n) { return softmax_of_row(x, x, n); }
void exp_row(float* x, float shift, int64_t n) { exp_shifted(x, shift, x, n); }
void exp_row(double* x, double shift, int64_t n) { exp_shifted(x, shift, x, n); }

void softmax(const View& in, const View& out, int dim) { run_forward("softmax", in, out, dim, false); }
void log_softmax(const View& in, const View& out, int dim) { run_forward("log_softmax", in, out, dim, true); }

void softmax_backward(const View& g, const View& out, const View& gin, int dim) {
  run_backward("softmax_backward", g, out, gin, dim, false);
}

void log_softmax_backward(const View& g, const View& out, const View& gin, int dim) {
  run_backward("log_softmax_backward", g, out, gin, dim, true);
}

void logsumexp(const View& in, const View& out) {
  check_reduced_shape("logsumexp", in, out);
  check_floating("logsumexp", in, out);
  dispatch_real(out.dtype, [&](auto tag) { run_logsumexp<decltype(tag)>(in, out); });
}

}  // namespace adjoint::cpu
