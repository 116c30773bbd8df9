#include "ops/fft.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::FftKind;

/// Transforms `in` along a dimension into `out`, both contiguous; n values on the long side.
void along(FftKind kind, bool inverse, const Tensor* in, Tensor* out, int64_t dim, int64_t n, int64_t normalization) {
  const int axis = wrap_dim(dim, in->ndim());
  if (out->numel() == 0) return;
  const Sizes sizes = in->sizes();
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, int64_t{1}, std::multiplies());
  };
  const int64_t outer = product(sizes.begin(), sizes.begin() + axis),
                inner = product(sizes.begin() + axis + 1, sizes.end());
  const auto count = static_cast<double>(n);
  const double scale = normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(count) : 1 / count;
  on(in->device).fft.transform(in->view(), out->view(), {kind, inverse, n, outer, inner, scale});
}

TensorPtr with_size(const Tensor* input, int64_t dim, int64_t size, DType dtype) {
  int64_t sizes[kMaxDims];
  std::ranges::copy(input->sizes(), sizes);
  sizes[wrap_dim(dim, input->ndim())] = size;
  return empty(Sizes(sizes, static_cast<size_t>(input->ndim())), dtype, input->device);
}

/// Transforms along dim[count - 1], ..., dim[0]; the first one reads `input`, contiguous, and all write `result`.
void each(const Tensor* input, Tensor* result, const Ints& dim, size_t count, int64_t normalization, bool forward) {
  for (size_t i = count; i-- > 0; input = result) {
    const int64_t n = result->size(wrap_dim(dim[i], result->ndim()));
    along(FftKind::Complex, !forward, input, result, dim[i], n, normalization);
  }
}

void check(const Tensor* input, const Ints& dim, int64_t normalization, bool complex) {
  const bool known =
      complex ? is_complex(input->dtype) : input->dtype == DType::Float32 || input->dtype == DType::Float64;
  if (!known) fail_not_implemented("fft", input->dtype);
  if (dim.empty() || input->ndim() == 0) fail("fft: expected a dimension to transform; got none");
  if (normalization < 0 || normalization > 2) fail("fft: expected a normalization of 0, 1 or 2; got ", normalization);
}

}  // namespace

TensorPtr fft_c2c(Tensor* input, const Ints& dim, int64_t normalization, bool forward) {
  if (dim.empty()) return clone(input);
  check(input, dim, normalization, true);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  each(contiguous(input).get(), result.get(), dim, dim.size(), normalization, forward);
  return result;
}

TensorPtr fft_r2c(Tensor* input, const Ints& dim, int64_t normalization, bool onesided) {
  check(input, dim, normalization, false);
  const int64_t last = dim[dim.size() - 1], n = input->size(wrap_dim(last, input->ndim()));
  TensorPtr result = with_size(input, last, onesided ? n / 2 + 1 : n, complex_type(input->dtype));
  const FftKind kind = onesided ? FftKind::RealToHalf : FftKind::RealToFull;
  along(kind, false, contiguous(input).get(), result.get(), last, n, normalization);
  each(result.get(), result.get(), dim, dim.size() - 1, normalization, true);
  return result;
}

TensorPtr fft_c2r(Tensor* input, const Ints& dim, int64_t normalization, int64_t last_dim_size) {
  check(input, dim, normalization, true);
  const int64_t last = dim[dim.size() - 1], half = input->size(wrap_dim(last, input->ndim()));
  if (last_dim_size < 1 || half != last_dim_size / 2 + 1)
    fail("fft: expected ", last_dim_size / 2 + 1, " values for ", last_dim_size, " real ones; got ", half);
  TensorPtr values = contiguous(input);
  if (dim.size() > 1) {
    TensorPtr partly = empty(input->sizes(), input->dtype, input->device);
    each(values.get(), partly.get(), dim, dim.size() - 1, normalization, false);
    values = std::move(partly);
  }
  TensorPtr result = with_size(input, last, last_dim_size, real_type(input->dtype));
  along(FftKind::HalfToReal, true, values.get(), result.get(), last, last_dim_size, normalization);
  return result;
}

}  // namespace adjoint::ops
