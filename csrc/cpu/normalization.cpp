// Layer normalisation: rows in float (double for float64), each read once from memory and then from the cache.
#include "cpu/normalization.h"

#include <cmath>

#include "cpu/normalize_rows_isa.h"
#include "cpu/reduce_rows.h"

namespace adjoint::cpu {
namespace {

/// A matrix's rows in type A.
template <class A>
class RowReader {
 public:
  explicit RowReader(const View& view) : view_(view), reader_(view.dtype) {}
  const A* row(int64_t r, A* buffer) const {
    return reader_.run(view_.data + r * view_.strides[0] * itemsize(view_.dtype), view_.strides[1], view_.sizes[1],
                       buffer);
  }
  A* row_to_write(int64_t r, A* buffer) const {
    if (!reader_.direct(view_.strides[1])) return buffer;
    return reinterpret_cast<A*>(view_.data + r * view_.strides[0] * itemsize(view_.dtype));
  }

 private:
  const View& view_;
  Reader<A> reader_;
};

/// Writes `row` to row r of `view`, unless it is there already.
template <class A>
void put_row(const View& view, const Writer<A>& writer, const A* row, int64_t r) {
  if (writer.direct(view.strides[1])) return;
  writer.store(row, view.sizes[1], view.data + r * view.strides[0] * itemsize(view.dtype), view.strides[1]);
}

/// A vector of n elements in type A, or n times `otherwise` for a null view.
template <class A>
std::unique_ptr<A[]> load_vector_view(const View* view, int64_t n, A otherwise) {
  auto values = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(n));
  if (view == nullptr) {
    std::fill_n(values.get(), n, otherwise);
  } else {
    loader<A>(view->dtype)(view->data, view->strides[0], n, values.get());
  }
  return values;
}

template <class A>
void store_vector_view(const View& view, const A* values) {
  storer<A>(view.dtype)(values, view.sizes[0], view.data, view.strides[0]);
}

template <class A>
void forward(const View& in, const View* weight, const View* bias, double eps, const View& out, const View* mean,
             const View& rstd) {
  int64_t rows = in.sizes[0], cols = in.sizes[1];
  auto w = load_vector_view<A>(weight, cols, A(1));
  auto b = load_vector_view<A>(bias, cols, A(0));
  const bool centered = mean != nullptr;
  auto means = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(rows));
  auto rstds = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(rows));
  RowReader<A> source(in), target(out);
  Writer<A> writer(out.dtype);
  if (cols == 0) {
    std::fill_n(means.get(), rows, A(0));
    std::fill_n(rstds.get(), rows, A(NAN));
  }
  share_out_scratch(cols == 0 ? 0 : rows, cols * 2, cols * static_cast<int64_t>(sizeof(A)),
                    [&](int64_t r, char* scratch) {
                      A* buffer = reinterpret_cast<A*>(scratch);
                      const A* x = source.row(r, buffer);
                      A* y = target.row_to_write(r, buffer);
                      auto [center, variance] = chosen<NormalizeLoops<A>>.moments(x, cols, centered);
                      A scale = 1 / std::sqrt(variance + static_cast<A>(eps));
                      chosen<NormalizeLoops<A>>.normalize(x, cols, center, scale, w.get(), b.get(), y);
                      put_row(out, writer, y, r);
                      means[r] = center;
                      rstds[r] = scale;
                    });
  if (centered) store_vector_view(*mean, means.get());
  store_vector_view(rstd, rstds.get());
}

template <class A>
void backward(const View& g, const View& in, const View* mean, const View& rstd, const View* weight, const View* gin,
              const View* gweight, const View* gbias) {
  int64_t rows = in.sizes[0], cols = in.sizes[1];
  auto w = load_vector_view<A>(weight, cols, A(1));
  auto means = load_vector_view<A>(mean, rows, A(0));
  auto rstds = load_vector_view<A>(&rstd, rows, A(0));
  RowReader<A> gradients(g), source(in), target(gin != nullptr ? *gin : in);
  Writer<A> writer(gin != nullptr ? gin->dtype : in.dtype);
  // The parameters' gradients are summed in a fixed number of bands of rows, so the threads do not change the result.
  int64_t band = std::max<int64_t>(16, (rows + 63) / 64);
  int64_t bands = cols == 0 ? 0 : (rows + band - 1) / band;
  int64_t sums = (gweight != nullptr ? 1 : 0) + (gbias != nullptr ? 1 : 0);
  auto partials = std::make_unique<double[]>(static_cast<size_t>(std::max<int64_t>(1, bands) * sums * cols));
  constexpr int64_t kRowsAtOnce = 32;  // whose gradients of the parameters are summed in A
  int64_t bytes = 4 * cols * static_cast<int64_t>(sizeof(A));
  share_out_scratch(bands, band * cols * 3, bytes, [&](int64_t unit, char* scratch) {
    A* g_buffer = reinterpret_cast<A*>(scratch);
    A* x_buffer = g_buffer + cols;
    A* weight_sum = x_buffer + cols;
    A* bias_sum = gweight != nullptr ? weight_sum + cols : weight_sum;
    double* total = partials.get() + unit * sums * cols;
    std::fill_n(weight_sum, sums * cols, A(0));
    auto flush = [&] {
      for (int64_t c = 0; c < sums * cols; ++c) total[c] += weight_sum[c];
      std::fill_n(weight_sum, sums * cols, A(0));
    };
    for (int64_t r = unit * band; r < std::min(rows, (unit + 1) * band); ++r) {
      if (r % kRowsAtOnce == 0) flush();
      const A* gy = gradients.row(r, g_buffer);
      const A* x = source.row(r, x_buffer);
      A* y = gin != nullptr ? target.row_to_write(r, x_buffer) : nullptr;
      chosen<NormalizeLoops<A>>.backward(
          gy, x, cols, means[r], rstds[r], w.get(), mean != nullptr,
          {gweight != nullptr ? weight_sum : nullptr, gbias != nullptr ? bias_sum : nullptr, y});
      if (gin == nullptr) continue;
      put_row(*gin, writer, y, r);
    }
    flush();
  });
  for (int64_t unit = 1; unit < bands; ++unit) {
    const double* part = partials.get() + unit * sums * cols;
    for (int64_t c = 0; c < sums * cols; ++c) partials[c] += part[c];
  }
  int64_t next = 0;
  for (const View* view : {gweight, gbias}) {
    if (view == nullptr) continue;
    store_vector_view(*view, partials.get() + next * cols);
    ++next;
  }
}

}  // namespace

void layer_norm(const View& in, const View* weight, const View* bias, double eps, const View& out, const View* mean,
                const View& rstd) {
  dispatch_real(in.dtype, [&](auto tag) { forward<decltype(tag)>(in, weight, bias, eps, out, mean, rstd); });
}

void layer_norm_backward(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                         const View* gin, const View* gweight, const View* gbias) {
  dispatch_real(in.dtype, [&](auto tag) { backward<decltype(tag)>(g, in, mean, rstd, weight, gin, gweight, gbias); });
}

}  // namespace adjoint::cpu
