// Variance and mean, in double: two passes over each short run, runs joined by the parallel formula of Chan et al.
#include "cpu/reduce.h"
#include "cpu/reduce_monoid.h"

namespace adjoint::cpu {
namespace {

struct Moments {
  double n;
  double mean;
  double squares;  ///< sum of squared distances from the mean
};

/// The Op for ReducerOf.
struct Variance {
  using Element = double;
  using State = Moments;
  static constexpr bool kOrdered = false;

  Reader<double> reader;
  Reader<double> out_reader;
  Writer<double> writer;
  Writer<double> mean_writer;
  char* out;
  int64_t out_itemsize;
  char* mean_out;  ///< null when the mean is not wanted
  int64_t mean_itemsize;
  double correction;
  bool add;  ///< to what `out` holds: the imaginary part of a complex input comes second

  Moments row(const double* x, int64_t n, int64_t) const {
    double count = static_cast<double>(n);
    double mean = fold_run(x, n, kIdentityMap, kAdd) / count;
    double squares = fold_run(
        x, n,
        [mean](auto value) {
          auto distance = value - mean;
          return distance * distance;
        },
        kAdd);
    return {count, mean, squares};
  }

  void panel(const double* x, int64_t step, int64_t n, int64_t lanes, int64_t, Moments* states) const {
    double count = static_cast<double>(n);
    double mean[kMaxLanes] = {};
    double squares[kMaxLanes] = {};
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t w = 0; w < lanes; ++w) mean[w] += x[k * step + w];
    }
    for (int64_t w = 0; w < lanes; ++w) mean[w] /= count;
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t w = 0; w < lanes; ++w) {
        double distance = x[k * step + w] - mean[w];
        squares[w] += distance * distance;
      }
    }
    for (int64_t w = 0; w < lanes; ++w) states[w] = {count, mean[w], squares[w]};
  }

  void join(Moments& left, const Moments& right) const {
    double n = left.n + right.n;
    double distance = right.mean - left.mean;
    left.mean += distance * (right.n / n);
    left.squares += right.squares + distance * distance * (left.n * right.n / n);
    left.n = n;
  }
  Moments identity() const { return {0, NAN, NAN}; }

  void emit(const Moments* states, const Target& target) const {
    double results[kMaxLanes];
    char* place = out + target.offset[0] * out_itemsize;
    double before[kMaxLanes] = {};
    if (add) out_reader.load(place, target.step[0], target.lanes, before);
    for (int64_t w = 0; w < target.lanes; ++w) {
      results[w] = before[w] + states[w].squares / std::max(0.0, states[w].n - correction);
    }
    writer.store(results, target.lanes, place, target.step[0]);
    if (mean_out == nullptr) return;
    for (int64_t w = 0; w < target.lanes; ++w) results[w] = states[w].mean;
    mean_writer.store(results, target.lanes, mean_out + target.offset[1] * mean_itemsize, target.step[1]);
  }
};

void run(const View& in, const View& out, double correction, const View* mean_out, bool add) {
  const View& second = mean_out != nullptr ? *mean_out : out;
  Variance op{Reader<double>(in.dtype),
              Reader<double>(out.dtype),
              Writer<double>(out.dtype),
              Writer<double>(second.dtype),
              out.data,
              itemsize(out.dtype),
              mean_out != nullptr ? mean_out->data : nullptr,
              itemsize(second.dtype),
              correction,
              add};
  run_reduction(ReducerOf<Variance>(op, in.dtype), in, out, second);
}

/// The real or imaginary part of a complex view, as a view of reals.
struct Part {
  int64_t strides[kMaxDims];
  View view;

  Part(const View& whole, int part) : view(whole) {
    view.dtype = whole.dtype == DType::Complex64 ? DType::Float32 : DType::Float64;
    view.data += part * itemsize(view.dtype);
    for (int d = 0; d < whole.ndim; ++d) strides[d] = 2 * whole.strides[d];
    view.strides = strides;
  }
};

void variance(const View& in, const View& out, double correction, const View* mean_out) {
  check_reduced_shape("var", in, out);
  if (mean_out != nullptr) {
    check_reduced_shape("var", in, *mean_out);
    if (!std::equal(out.sizes, out.sizes + out.ndim, mean_out->sizes) ||
        is_complex(in.dtype) != is_complex(mean_out->dtype)) {
      fail(
          "var: expected the mean's output in the shape of the variance and complex as the input; it differs; "
          "allocate it so");
    }
  }
  if (!is_float(out.dtype)) {
    fail("var: expected a real floating-point output; got ", info(out.dtype).name, "; convert the input first");
  }
  if (!is_complex(in.dtype)) return run(in, out, correction, mean_out, false);
  for (int part = 0; part < 2; ++part) {
    Part source(in, part);
    if (mean_out != nullptr) {
      Part mean(*mean_out, part);
      run(source.view, out, correction, &mean.view, part == 1);
    } else {
      run(source.view, out, correction, nullptr, part == 1);
    }
  }
}

}  // namespace

void var(const View& in, const View& out, double correction, bool root, const View* mean_out) {
  variance(in, out, correction, mean_out);
  if (root) take_roots(out);
}

}  // namespace adjoint::cpu
