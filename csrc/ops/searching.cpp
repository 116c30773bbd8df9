#include "ops/searching.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using Counted = std::tuple<TensorPtr, TensorPtr, TensorPtr>;

TensorPtr row_of(int64_t n, DType dtype, Device device) { return empty(Sizes(&n, 1), dtype, device); }

void check_distinguishable(const char* torch_name, const Tensor* input) {
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "'; complex numbers have no order: stack their parts and pass dim=");
}

/// The number of entries (i, j) of a row by col matrix with j <= i + offset.
__int128 entries_below(int64_t row, int64_t col, int64_t offset) {
  auto sum_to = [col](int64_t t) -> __int128 {
    if (t <= 0) return 0;
    __int128 ramp = std::min(t, col);
    return ramp * (ramp + 1) / 2 + (t - ramp) * col;
  };
  return sum_to(row + offset) - sum_to(offset);
}

}  // namespace

/// The first places of a row, which had room for more.
static TensorPtr first_of(const Tensor* row, int64_t n) {
  TensorPtr result = row_of(n, row->dtype, row->device);
  on(row->device).memory.copy(row->view(1, &n, row->shape->strides()), result->view());
  return result;
}

Counted unique(Tensor* input, bool return_inverse, bool return_counts, bool consecutive) {
  check_distinguishable(consecutive ? "unique_consecutive" : "unique", input);
  const int64_t n = input->numel();
  const Device device = input->device;
  TensorPtr values = row_of(n, input->dtype, device), counts = row_of(return_counts ? n : 0, DType::Int64, device);
  TensorPtr inverse = return_inverse ? empty(input->sizes(), DType::Int64, device) : row_of(0, DType::Int64, device);
  const View inverse_view = inverse->view(), counts_view = counts->view();
  int64_t distinct;
  {
    WithoutLock unlocked(n);
    distinct =
        on(device).unique.elements(input->view(), consecutive, values->view(), return_inverse ? &inverse_view : nullptr,
                                   return_counts ? &counts_view : nullptr);
  }
  return {first_of(values.get(), distinct), std::move(inverse),
          return_counts ? first_of(counts.get(), distinct) : std::move(counts)};
}

Counted unique_rows(Tensor* input, bool consecutive) {
  if (input->ndim() != 2) fail("unique_rows: expected a matrix; got ", input->ndim(), " dimensions");
  check_distinguishable("unique_dim", input);
  const int64_t n = input->size(0);
  TensorPtr dense = contiguous(input), inverse = row_of(n, DType::Int64, input->device);
  TensorPtr firsts = row_of(n, DType::Int64, input->device), counts = row_of(n, DType::Int64, input->device);
  const int64_t distinct =
      on(input->device).unique.rows(dense->view(), consecutive, firsts->view(), inverse->view(), counts->view());
  return {first_of(firsts.get(), distinct), std::move(inverse), first_of(counts.get(), distinct)};
}

TensorPtr histc(Tensor* input, int64_t bins, double min, double max) {
  if (bins <= 0) fail("torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  if (!is_float(input->dtype))
    fail(ErrorKind::NotImplemented, "\"histogram_cpu\" not implemented for '", info(input->dtype).legacy_name,
         "'; convert the input with .float()");
  int64_t n = input->numel();
  TensorPtr dense = contiguous(input);
  if (min == max && n > 0) std::tie(min, max) = on(input->device).search.bounds(dense->view());
  if (min == max) {
    min -= 1;
    max += 1;
  }
  if (!std::isfinite(min) || !std::isfinite(max))
    fail("torch.histc: range of [", min, ", ", max, "] is not finite; give min and max");
  if (min > max) fail("torch.histc: max must be larger than min; got [", min, ", ", max, "]");
  TensorPtr result = row_of(bins, input->dtype, input->device);
  WithoutLock unlocked(n);
  on(input->device).search.histc(dense->view(), min, max, result->view());
  return result;
}

TensorPtr histogram_cells(Tensor* input, const std::vector<Tensor*>& edges, bool even, std::optional<Tensor*> weight) {
  DType type = input->dtype;
  if (type != DType::Float32 && type != DType::Float64) fail_not_implemented("histogramdd", type);
  auto dims = edges.size();
  if (input->ndim() != 2 || input->size(1) != static_cast<int64_t>(dims) || dims == 0 || dims > kMaxDims)
    fail("histogram: expected points with as many coordinates as there are edges");
  int64_t n = input->size(0), sizes[kMaxDims];
  std::vector<TensorPtr> packed;
  std::vector<View> rows;
  for (size_t d = 0; d < dims; ++d) {
    if (edges[d]->ndim() != 1 || edges[d]->dtype != type || edges[d]->numel() < 2)
      fail("histogram: expected a row of two edges or more in the type of the points");
    packed.push_back(contiguous(edges[d]));
    rows.push_back(packed.back()->view());
    sizes[d] = edges[d]->numel() - 1;
  }
  if (weight && ((*weight)->numel() != n || (*weight)->dtype != type))
    fail("histogram: expected one weight for each point, in the type of the points");
  TensorPtr points = contiguous(input), weights = weight ? contiguous(*weight) : TensorPtr();
  TensorPtr result = empty(Sizes(sizes, dims), type, input->device);
  const View weight_view = weights ? weights->view() : View();
  WithoutLock unlocked(n);
  on(input->device)
      .search.histogram(points->view(), rows.data(), even, weights ? &weight_view : nullptr, result->view());
  return result;
}

TensorPtr triangle_indices(int64_t row, int64_t col, int64_t offset, bool lower, std::optional<DType> dtype,
                           Tensor* like) {
  if (row < 0) fail("row must be non-negative, got", row);
  if (col < 0) fail("col must be non-negative, got", col);
  DType type = dtype.value_or(DType::Int64);
  if (type != DType::Int64 && type != DType::Int32)
    fail(ErrorKind::NotImplemented, "\"", lower ? "tril" : "triu", "_indices\" not implemented for '",
         info(type).legacy_name, "'; choose int64 or int32");
  if (std::max(row, col) > int64_t{1} << 61) fail("a triangle of ", row, " by ", col, " has too many entries");
  offset = std::clamp(offset, -row - 1, col + 1);
  __int128 entries = entries_below(row, col, lower ? offset : offset - 1);
  if (!lower) entries = static_cast<__int128>(row) * col - entries;
  if (entries > INT64_MAX) fail("a triangle of ", row, " by ", col, " has too many entries");
  int64_t sizes[2] = {2, static_cast<int64_t>(entries)};
  TensorPtr result = empty(Sizes(sizes, 2), type, like->device);
  if (entries > 0) on(result->device).structure.triangle_places(row, col, offset, lower, result->view());
  return result;
}

}  // namespace adjoint::ops
