#include "ops/ranges.h"

#include <algorithm>
#include <cmath>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "ops/numbers.h"

namespace adjoint::ops {
namespace {

void check_real(const Scalar& value) {
  if (value.category == Category::Complex && value.imaginary != 0)
    fail("value cannot be converted to type double without overflow: arange takes real numbers only");
}

/// The number of elements in exact arithmetic: for int64 results.
int64_t count_integers(int64_t start, int64_t end, int64_t step) {
  __int128 distance = static_cast<__int128>(end) - start;
  __int128 count = (distance + step - (step > 0 ? 1 : -1)) / step;
  if (count > kMaxNumel) fail("invalid size, possible overflow? arange would have more elements than can be addressed");
  return static_cast<int64_t>(count);
}

int64_t count_reals(double start, double end, double step) {
  double count = std::ceil((end - start) / step);
  if (!(count >= 0 && count < 0x1p60)) fail("invalid size, possible overflow? arange would have ", count, " elements");
  return static_cast<int64_t>(count);
}

/// A row of `count` elements; in the sizes of out= where that has as many, whatever they are.
TensorPtr row(int64_t count, DType dtype, const CreationOptions& options) {
  const bool fits = options.out && options.out->numel() == count;
  return empty(make_shape(fits ? options.out->sizes() : Sizes{&count, 1}), dtype, options.device);
}

struct Spacing {
  Scalar start, end;
  TensorPtr result;
};

Scalar number_of(const TensorOrNumber& bound) { return bound.tensor ? scalar_of(bound.tensor) : bound.number.value; }

/// What linspace and logspace have in common; `kernel`: torch's name for what a type is not implemented in.
Spacing read_spacing(const char* op, const char* kernel, const TensorOrNumber& start, const TensorOrNumber& end,
                     int64_t steps, const CreationOptions& options) {
  auto dims = [](const TensorOrNumber& bound) { return bound.tensor ? bound.tensor->ndim() : 0; };
  if (dims(start) || dims(end))
    fail(op, " only supports 0-dimensional start and end tensors, but got start with ", dims(start),
         " dimension(s) and end with ", dims(end), " dimension(s).");
  Spacing spacing{number_of(start), number_of(end), {}};
  bool complex = spacing.start.category == Category::Complex || spacing.end.category == Category::Complex;
  DType natural = complex ? complex_type(default_dtype()) : default_dtype();
  DType dtype = options.type(natural);
  if (complex && !is_complex(dtype))
    fail("torch.", op, "(): inferred dtype ", info(natural).name, " can't be safely cast to passed dtype ",
         info(dtype).name);
  if (steps < 0) fail("number of steps must be non-negative; got ", steps);
  if (steps > 0) {
    if (dtype == DType::Bool || is_stored(dtype)) fail_not_implemented(kernel, dtype);
    check_fits(spacing.start, dtype);
    check_fits(spacing.end, dtype);
  }
  spacing.result = row(steps, dtype, options);
  return spacing;
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

TensorPtr arange(const Number& start, const std::optional<Number>& end, const Number& step,
                 const CreationOptions& options) {
  if (!end) fail(ErrorKind::Type, "arange() missing 1 required positional arguments: \"end\"");
  const Scalar values[] = {start.value, end->value, step.value};
  std::ranges::for_each(values, check_real);
  bool whole = std::max({start.category, end->category, step.category}) <= Category::Integer;
  DType dtype = options.type(whole ? DType::Int64 : default_dtype());
  if (dtype == DType::Bool || is_complex(dtype) || is_stored(dtype)) fail_not_implemented("arange_cpu", dtype);
  double first = values[0].to<double>(), last = values[1].to<double>(), stride = values[2].to<double>();
  if (!(stride > 0 || stride < 0)) fail("step must be nonzero");
  if (!std::isfinite(first) || !std::isfinite(last)) fail("unsupported range: ", first, " -> ", last);
  if ((stride > 0 && last < first) || (stride < 0 && last > first))
    fail("upper bound and lower bound inconsistent with step sign");
  int64_t count;
  if (dtype == DType::Int64) {
    for (const Scalar& value : values)
      if (value.category > Category::Integer) check_fits(value, dtype);
    int64_t whole_step = values[2].to<int64_t>();
    if (whole_step == 0) fail(ErrorKind::Value, "step must be nonzero; got ", stride, ", which is 0 as an integer");
    count = std::max<int64_t>(count_integers(values[0].to<int64_t>(), values[1].to<int64_t>(), whole_step), 0);
  } else {
    count = count_reals(first, last, stride);
  }
  TensorPtr result = row(count, dtype, options);
  WithoutLock unlocked(count);
  on(result->device).ranges.arange(result->view(), values[0], values[2]);
  return result;
}

TensorPtr linspace(const TensorOrNumber& start, const TensorOrNumber& end, int64_t steps,
                   const CreationOptions& options) {
  Spacing spacing = read_spacing("linspace", "linspace_cpu", start, end, steps, options);
  WithoutLock unlocked(steps);
  on(spacing.result->device).ranges.linspace(spacing.result->view(), spacing.start, spacing.end);
  return std::move(spacing.result);
}

TensorPtr logspace(const TensorOrNumber& start, const TensorOrNumber& end, int64_t steps, double base,
                   const CreationOptions& options) {
  Spacing spacing = read_spacing("logspace", "logspace_cpu", start, end, steps, options);
  WithoutLock unlocked(steps);
  on(spacing.result->device).ranges.logspace(spacing.result->view(), spacing.start, spacing.end, base);
  return std::move(spacing.result);
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
