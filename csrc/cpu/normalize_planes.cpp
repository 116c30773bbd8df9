// Planes in float (double for float64); sums of short runs in that type, and of those in double.
#include "cpu/normalize_planes.h"

#include <algorithm>
#include <vector>

#include "cpu/reduce_monoid.h"

namespace adjoint::cpu {
namespace {

constexpr int64_t kBlock = 4096;
/// Planes shorter than this are summed element by element into the sums of their channels.
constexpr int64_t kShort = 16;

/// The coefficients of the planes in the type of the computation.
template <class A>
std::vector<A> narrowed(const double* values, int64_t n) {
  return std::vector<A>(values, values + n);
}

/// A view of contiguous elements, read in blocks of planes.
template <class A>
class BlockReader {
 public:
  explicit BlockReader(const View& view) : data_(view.data), size_(itemsize(view.dtype)), reader_(view.dtype) {}
  const A* block(int64_t first, int64_t n, A* buffer) const { return reader_.run(data_ + first * size_, 1, n, buffer); }

 private:
  const char* data_;
  int64_t size_;
  Reader<A> reader_;
};

template <class A>
class BlockWriter {
 public:
  explicit BlockWriter(const View& view) : data_(view.data), size_(itemsize(view.dtype)), writer_(view.dtype) {}
  /// Where to compute a block: at its place, or in the buffer.
  A* block(int64_t first, A* buffer) const {
    return writer_.direct(1) ? reinterpret_cast<A*>(data_ + first * size_) : buffer;
  }
  void put(const A* block, int64_t first, int64_t n) const {
    if (!writer_.direct(1)) writer_.store(block, n, data_ + first * size_, 1);
  }

 private:
  char* data_;
  int64_t size_;
  Writer<A> writer_;
};

/// Calls body(first plane, planes, scratch) for blocks of whole planes; scratch holds `buffers` blocks of A.
template <class A, class Body>
void each_block(const Planes& planes, int buffers, const Body& body) {
  if (planes.count == 0 || planes.length == 0) return;
  int64_t block = std::clamp<int64_t>(kBlock / planes.length, 1, planes.count);
  int64_t elements = block * planes.length;
  share_out_scratch((planes.count + block - 1) / block, elements * 2, buffers * elements * int64_t{sizeof(A)},
                    [&](int64_t unit, char* scratch) {
                      int64_t first = unit * block;
                      body(first, std::min(block, planes.count - first), reinterpret_cast<A*>(scratch));
                    });
}

/// Sums over samples of what add(first element, buffer, sums) adds for one sample, `width` sums each. A fixed number of
/// bands of samples, so that the threads do not change the result; a few samples at a time are summed in A.
template <class A, class Add>
void banded_sums(const Planes& planes, int buffers, int64_t width, double* sums, const Add& add) {
  constexpr int64_t kAtOnce = 32;
  int64_t samples = planes.count / planes.period, row = planes.period * planes.length;
  int64_t band = std::max<int64_t>((samples + 63) / 64, std::max<int64_t>(1, kBlock / row));
  int64_t bands = (samples + band - 1) / band;
  std::vector<double> partial(static_cast<size_t>(bands * width));
  int64_t bytes = (buffers * row + width) * int64_t{sizeof(A)};
  share_out_scratch(bands, band * row * 2, bytes, [&](int64_t unit, char* scratch) {
    A* some = reinterpret_cast<A*>(scratch);
    double* total = partial.data() + unit * width;
    int64_t last = std::min(samples, (unit + 1) * band);
    for (int64_t n = unit * band; n < last;) {
      std::fill_n(some, width, A(0));
      for (int64_t end = std::min(last, n + kAtOnce); n < end; ++n) add(n * row, some + width, some);
      for (int64_t i = 0; i < width; ++i) total[i] += some[i];
    }
  });
  std::fill_n(sums, width, 0.0);
  for (int64_t unit = 0; unit < bands; ++unit)
    for (int64_t i = 0; i < width; ++i) sums[i] += partial[static_cast<size_t>(unit * width + i)];
}

/// sums[c] += value(element, channel) for the elements of one sample.
template <class A, class Value>
void add_sample(const Planes& planes, A* __restrict sums, Value value) {
  if (planes.length == 1) {
    for (int64_t c = 0; c < planes.period; ++c) sums[c] += value(c, c);
    return;
  }
  for (int64_t c = 0; c < planes.period; ++c) {
    A sum = 0;
    for (int64_t i = c * planes.length; i < (c + 1) * planes.length; ++i) sum += value(i, c);
    sums[c] += sum;
  }
}

template <class A>
void short_moments(const View& in, const Planes& planes, double* means, double* squares) {
  BlockReader<A> source(in);
  int64_t row = planes.period * planes.length;
  double elements = static_cast<double>(planes.count / planes.period * planes.length);
  // Distances are taken from the first sample's elements, then from the means: sums of small numbers.
  std::vector<A> center(static_cast<size_t>(planes.period)), buffer(static_cast<size_t>(row));
  const A* first_sample = source.block(0, row, buffer.data());
  for (int64_t c = 0; c < planes.period; ++c) center[c] = first_sample[c * planes.length];
  banded_sums<A>(planes, 1, planes.period, means, [&](int64_t first, A* buffer, A* sums) {
    const A *x = source.block(first, row, buffer), *m = center.data();
    add_sample(planes, sums, [x, m](int64_t i, int64_t c) { return x[i] - m[c]; });
  });
  for (int64_t c = 0; c < planes.period; ++c) {
    means[c] = center[c] + means[c] / elements;
    center[c] = static_cast<A>(means[c]);
  }
  banded_sums<A>(planes, 1, planes.period, squares, [&](int64_t first, A* buffer, A* sums) {
    const A *x = source.block(first, row, buffer), *m = center.data();
    add_sample(planes, sums, [x, m](int64_t i, int64_t c) { return (x[i] - m[c]) * (x[i] - m[c]); });
  });
}

template <class A>
void long_moments(const View& in, const Planes& planes, double* means, double* squares) {
  BlockReader<A> source(in);
  std::vector<double> mean(static_cast<size_t>(planes.count)), square(static_cast<size_t>(planes.count));
  each_block<A>(planes, 1, [&](int64_t first, int64_t n, A* buffer) {
    const A* x = source.block(first * planes.length, n * planes.length, buffer);
    for (int64_t p = 0; p < n; ++p, x += planes.length) {
      A about = fold_long(x, planes.length, kIdentityMap, kAdd) / static_cast<A>(planes.length);
      // A second pass removes the rounding error of the mean.
      A rest = fold_long(x, planes.length, [about](auto value) { return value - about; }, kAdd);
      A squares = fold_long(x, planes.length, [about](auto value) { return (value - about) * (value - about); }, kAdd);
      double shift = static_cast<double>(rest) / static_cast<double>(planes.length);
      mean[first + p] = about + shift;
      square[first + p] = std::max(0.0, squares - shift * rest);
    }
  });
  int64_t samples = planes.count / planes.period;
  std::fill_n(means, planes.period, 0.0);
  std::fill_n(squares, planes.period, 0.0);
  for (int64_t p = 0; p < planes.count; ++p) means[p % planes.period] += mean[p];
  for (int64_t c = 0; c < planes.period; ++c) means[c] /= static_cast<double>(samples);
  for (int64_t p = 0; p < planes.count; ++p) {
    double distance = mean[p] - means[p % planes.period];
    squares[p % planes.period] += square[p] + distance * distance * static_cast<double>(planes.length);
  }
}

/// Adds sum(g) and sum(g (x - center)) of n elements.
template <class A>
void add_products(const A* g, const A* x, int64_t n, A center, double& sum, double& product) {
  using V = typename VectorOf<A>::type;
  constexpr int kWidth = sizeof(V) / sizeof(A), kVectors = 4;
  while (n > 0) {
    int64_t run = std::min(n, kRun), i = 0;
    V s[kVectors] = {}, t[kVectors] = {};
    for (; i + kVectors * kWidth <= run; i += kVectors * kWidth) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V gv = load_vector<V>(g + i + v * kWidth);
        s[v] += gv;
        t[v] += gv * (load_vector<V>(x + i + v * kWidth) - center);
      }
    }
    V s_all = (s[0] + s[1]) + (s[2] + s[3]), t_all = (t[0] + t[1]) + (t[2] + t[3]);
    A s_run = s_all[0] + s_all[1], t_run = t_all[0] + t_all[1];
    if constexpr (kWidth == 4) s_run += s_all[2] + s_all[3], t_run += t_all[2] + t_all[3];
    for (; i < run; ++i) {
      s_run += g[i];
      t_run += g[i] * (x[i] - center);
    }
    sum += s_run;
    product += t_run;
    g += run, x += run, n -= run;
  }
}

template <class A>
void products(const View& g, const View& in, const Planes& planes, const double* centers, double* g_sums,
              double* products) {
  BlockReader<A> gradients(g), source(in);
  int64_t period = planes.period, row = period * planes.length;
  if (planes.length < kShort && period < planes.count) {
    std::vector<double> sums(static_cast<size_t>(2 * period));
    auto center = narrowed<A>(centers, period);
    banded_sums<A>(planes, 2, 2 * period, sums.data(), [&](int64_t first, A* buffer, A* sums) {
      const A *gy = gradients.block(first, row, buffer), *x = source.block(first, row, buffer + row);
      const A* m = center.data();
      add_sample(planes, sums, [gy](int64_t i, int64_t) { return gy[i]; });
      add_sample(planes, sums + period, [=](int64_t i, int64_t c) { return gy[i] * (x[i] - m[c]); });
    });
    std::copy_n(sums.begin(), period, g_sums);
    std::copy_n(sums.begin() + period, period, products);
    return;
  }
  std::vector<double> sum(static_cast<size_t>(planes.count)), product(static_cast<size_t>(planes.count));
  each_block<A>(planes, 2, [&](int64_t first, int64_t n, A* buffer) {
    int64_t elements = n * planes.length;
    const A* gy = gradients.block(first * planes.length, elements, buffer);
    const A* x = source.block(first * planes.length, elements, buffer + elements);
    for (int64_t p = first; p < first + n; ++p, gy += planes.length, x += planes.length)
      add_products(gy, x, planes.length, static_cast<A>(centers[p % period]), sum[p], product[p]);
  });
  std::fill_n(g_sums, period, 0.0);
  std::fill_n(products, period, 0.0);
  for (int64_t p = 0; p < planes.count; ++p) {
    g_sums[p % period] += sum[p];
    products[p % period] += product[p];
  }
}

template <class A>
void scale(const View& in, const Planes& planes, const double* centers, const double* factors, const double* terms,
           const View& out) {
  auto center = narrowed<A>(centers, planes.period), factor = narrowed<A>(factors, planes.period),
       term = narrowed<A>(terms, planes.period);
  BlockReader<A> source(in);
  BlockWriter<A> target(out);
  int64_t length = planes.length;
  each_block<A>(planes, 1, [&](int64_t first, int64_t n, A* buffer) {
    const A* x = source.block(first * length, n * length, buffer);
    A* y = target.block(first * length, buffer);
    for (int64_t p = 0; p < n;) {
      int64_t c = (first + p) % planes.period, run = std::min(n - p, planes.period - c);
      const A *m = center.data() + c, *f = factor.data() + c, *t = term.data() + c;
      if (length == 1) {
        for (int64_t k = 0; k < run; ++k) y[p + k] = (x[p + k] - m[k]) * f[k] + t[k];
      } else {
        for (int64_t k = 0; k < run; ++k) {
          A mk = m[k], fk = f[k], tk = t[k];
          const A* xp = x + (p + k) * length;
          A* yp = y + (p + k) * length;
          for (int64_t i = 0; i < length; ++i) yp[i] = (xp[i] - mk) * fk + tk;
        }
      }
      p += run;
    }
    target.put(y, first * length, n * length);
  });
}

template <class A>
void scale_sum(const View& g, const View& in, const Planes& planes, const double* centers, const double* factors,
               const double* slopes, const double* terms, const View& out) {
  auto center = narrowed<A>(centers, planes.period), factor = narrowed<A>(factors, planes.period),
       slope = narrowed<A>(slopes, planes.period), term = narrowed<A>(terms, planes.period);
  BlockReader<A> gradients(g), source(in);
  BlockWriter<A> target(out);
  int64_t length = planes.length;
  each_block<A>(planes, 2, [&](int64_t first, int64_t n, A* buffer) {
    const A* gy = gradients.block(first * length, n * length, buffer);
    const A* x = source.block(first * length, n * length, buffer + n * length);
    A* y = target.block(first * length, buffer);
    for (int64_t p = 0; p < n;) {
      int64_t c = (first + p) % planes.period, run = std::min(n - p, planes.period - c);
      const A *m = center.data() + c, *f = factor.data() + c, *s = slope.data() + c, *t = term.data() + c;
      if (length == 1) {
        for (int64_t k = 0; k < run; ++k) y[p + k] = gy[p + k] * f[k] + (x[p + k] - m[k]) * s[k] + t[k];
      } else {
        for (int64_t k = 0; k < run; ++k) {
          A mk = m[k], fk = f[k], sk = s[k], tk = t[k];
          const A *gp = gy + (p + k) * length, *xp = x + (p + k) * length;
          A* yp = y + (p + k) * length;
          for (int64_t i = 0; i < length; ++i) yp[i] = gp[i] * fk + (xp[i] - mk) * sk + tk;
        }
      }
      p += run;
    }
    target.put(y, first * length, n * length);
  });
}

}  // namespace

void plane_moments(const View& in, const Planes& planes, double* means, double* squares) {
  dispatch_real(in.dtype, [&](auto tag) {
    using A = decltype(tag);
    if (planes.length < kShort && planes.period < planes.count) return short_moments<A>(in, planes, means, squares);
    long_moments<A>(in, planes, means, squares);
  });
}

void plane_products(const View& g, const View& in, const Planes& planes, const double* centers, double* g_sums,
                    double* sums) {
  dispatch_real(in.dtype, [&](auto tag) { products<decltype(tag)>(g, in, planes, centers, g_sums, sums); });
}

void plane_scale(const View& in, const Planes& planes, const double* centers, const double* factors,
                 const double* terms, const View& out) {
  dispatch_real(in.dtype, [&](auto tag) { scale<decltype(tag)>(in, planes, centers, factors, terms, out); });
}

void plane_scale_sum(const View& g, const View& in, const Planes& planes, const double* centers, const double* factors,
                     const double* slopes, const double* terms, const View& out) {
  dispatch_real(in.dtype,
                [&](auto tag) { scale_sum<decltype(tag)>(g, in, planes, centers, factors, slopes, terms, out); });
}

}  // namespace adjoint::cpu
