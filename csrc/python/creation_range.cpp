// Ranges: arange, linspace, logspace.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lock.h"
#include "cpu/parallel.h"
#include "python/creation.h"

namespace adjoint::python {
namespace {

constexpr int64_t kGrain = 1 << 15;

void check_real(const Scalar& value) {
  if (value.category == Category::Complex && value.imaginary != 0)
    fail("value cannot be converted to type double without overflow: arange takes real numbers only");
}

/// Whether torch takes an argument for an integer: bools of Python and of tensors are, NumPy's are not.
bool is_whole(const Call& call, int slot, const Scalar& value) {
  return value.category == Category::Integer || PyLong_Check(call[slot]) ||
         (value.category == Category::Bool && is_tensor(call[slot]));
}

/// The number of elements in exact arithmetic: for int64 results.
int64_t count_integers(int64_t start, int64_t end, int64_t step) {
  __int128 distance = static_cast<__int128>(end) - start;
  __int128 count = (distance + step - (step > 0 ? 1 : -1)) / step;
  if (count > (INT64_MAX >> 4))
    fail("invalid size, possible overflow? arange would have more elements than can be addressed");
  return static_cast<int64_t>(count);
}

int64_t count_reals(double start, double end, double step) {
  double count = std::ceil((end - start) / step);
  if (!(count >= 0 && count < 0x1p60)) fail("invalid size, possible overflow? arange would have ", count, " elements");
  return static_cast<int64_t>(count);
}

/// element i = start + i * step, in the type's widest arithmetic.
void fill_arange(Tensor* out, const Scalar& start, const Scalar& step) {
  dispatch(out->dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = out->as<T>();
    WithoutLock unlocked(out->numel());
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      auto first = static_cast<uint64_t>(start.to<int64_t>()), stride = static_cast<uint64_t>(step.to<int64_t>());
      parallel_for(out->numel(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(first + static_cast<uint64_t>(i) * stride);
      });
    } else if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>) {
      double first = start.to<double>(), stride = step.to<double>();
      parallel_for(out->numel(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) data[i] = convert<T>(first + static_cast<double>(i) * stride);
      });
    }
  });
}

/// Runs `fill` on a row of `count` elements, which goes to out= where that is given: row by row into one that has as
/// many elements, whatever its sizes.
template <class Fill>
Object make_range(const Call& call, Tensor* out, const Options& options, int64_t count, DType dtype, Fill fill) {
  check_requires_grad(dtype, options.requires_grad);
  TensorPtr result = empty(make_shape({&count, 1}), dtype, options.place());
  if (result->device == DeviceType::Cpu) fill(result.get());
  if (!out) return finish(std::move(result), options);
  if (out->numel() == count && result->device == DeviceType::Cpu)
    result = make_tensor(StoragePtr::borrow(result->storage), result->data, make_shape(out->sizes()), dtype);
  return into_out(call.name(), out, result.get(), options);
}

PyObject* arange(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("arange", {"start", "end", "step"}, 0, {"out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    if (nargs == 1 && !call[1] && !call[2]) call.move(0, 1);  // arange(end)
    call.require(1);
    Options options = call.options();
    Tensor* out = read_out(call, 3, options);
    for (int slot : {0, 1, 2})
      if (call[slot]) call.check_number(slot);
    Scalar start = call[0] ? call.number(0) : Scalar::of(int64_t{0});
    Scalar end = call.number(1);
    Scalar step = call[2] ? call.number(2) : Scalar::of(int64_t{1});
    for (const Scalar* value : {&start, &end, &step}) check_real(*value);
    bool whole =
        (!call[0] || is_whole(call, 0, start)) && is_whole(call, 1, end) && (!call[2] || is_whole(call, 2, step));
    DType dtype = options.dtype.value_or(whole ? DType::Int64 : default_dtype());
    if (dtype == DType::Bool || is_complex(dtype)) fail_not_implemented("arange_cpu", dtype);
    double first = start.to<double>(), last = end.to<double>(), stride = step.to<double>();
    if (!(stride > 0 || stride < 0)) fail("step must be nonzero");
    if (!std::isfinite(first) || !std::isfinite(last)) fail("unsupported range: ", first, " -> ", last);
    if ((stride > 0 && last < first) || (stride < 0 && last > first))
      fail("upper bound and lower bound inconsistent with step sign");
    int64_t count;
    if (dtype == DType::Int64) {
      for (const Scalar* value : {&start, &end, &step}) check_fits(*value, dtype);
      int64_t whole_step = step.to<int64_t>();
      if (whole_step == 0) fail(ErrorKind::Value, "step must be nonzero; got ", stride, ", which is 0 as an integer");
      count = std::max<int64_t>(count_integers(start.to<int64_t>(), end.to<int64_t>(), whole_step), 0);
    } else {
      count = count_reals(first, last, stride);
    }
    return make_range(call, out, options, count, dtype, [&](Tensor* result) { fill_arange(result, start, step); })
        .take();
  });
}

/// The arithmetic of linspace: its own type, float for the half types and for integers.
template <class T>
using Work = std::conditional_t<std::is_same_v<T, double> || is_complex_v<T>, T, float>;

/// Evenly spaced numbers, counted from both ends so that both are met exactly; `map` makes the element of each.
template <class T, class Map>
void fill_spaced(T* data, int64_t steps, const Scalar& start, const Scalar& end, Map map) {
  using W = Work<T>;
  // Through T first: that is where -1 becomes 255 and 3.5 becomes 3.
  W first = convert<W>(start.to<T>()), last = convert<W>(end.to<T>());
  // Counts are real: an infinite part of a complex number leaves the other alone.
  using Count = decltype(std::real(first));
  W step = steps > 1 ? (last - first) / static_cast<Count>(steps - 1) : W(0);
  const int64_t half = steps == 1 ? 1 : steps / 2;
  // Short integers where they will do: there is a vector instruction for their conversion.
  auto fill = [=](auto index, int64_t begin, int64_t stop) {
    using Index = decltype(index);
    const Index middle = static_cast<Index>(std::clamp(half, begin, stop));
    for (Index i = static_cast<Index>(begin); i < middle; ++i) data[i] = convert<T>(map(first + step * Count(i)));
    const Index final = static_cast<Index>(steps - 1), end = static_cast<Index>(stop);
    for (Index i = middle; i < end; ++i) data[i] = convert<T>(map(last - step * Count(final - i)));
  };
  parallel_for(steps, kGrain, [=](int64_t begin, int64_t stop) {
    steps < std::numeric_limits<int32_t>::max() ? fill(int32_t{}, begin, stop) : fill(int64_t{}, begin, stop);
  });
}

/// Whether a bound is a tensor, which must then be 0-d.
void check_bounds(const Call& call) {
  auto dims = [&](int slot) { return is_tensor(call[slot]) ? as_tensor(call[slot])->ndim() : 0; };
  if (dims(0) || dims(1))
    fail(call.name(), " only supports 0-dimensional start and end tensors, but got start with ", dims(0),
         " dimension(s) and end with ", dims(1), " dimension(s).");
}

struct Spacing {
  Scalar start, end;
  int64_t steps;
  DType dtype;
};

Spacing read_spacing(const Call& call, const Options& options, const char* kernel) {
  check_bounds(call);
  call.check_number(0);
  call.check_number(1);
  call.integer(2);
  Spacing spacing{call.number(0), call.number(1), call.integer(2), DType::Float32};
  bool complex = spacing.start.category == Category::Complex || spacing.end.category == Category::Complex;
  DType natural = complex ? complex_type(default_dtype()) : default_dtype();
  spacing.dtype = options.dtype.value_or(natural);
  if (complex && !is_complex(spacing.dtype))
    fail("torch.", call.name(), "(): inferred dtype ", info(natural).name, " can't be safely cast to passed dtype ",
         info(spacing.dtype).name);
  if (spacing.steps < 0) fail("number of steps must be non-negative; got ", spacing.steps);
  if (spacing.steps > 0) {
    if (spacing.dtype == DType::Bool) fail_not_implemented(kernel, DType::Bool);
    check_fits(spacing.start, spacing.dtype);
    check_fits(spacing.end, spacing.dtype);
  }
  return spacing;
}

PyObject* linspace(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("linspace", {"start", "end", "steps"}, 3, {"out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 3, options);
    Spacing spacing = read_spacing(call, options, "linspace_cpu");
    auto fill = [&](Tensor* result) {
      dispatch(result->dtype, [&](auto tag) {
        using T = decltype(tag);
        WithoutLock unlocked(spacing.steps);
        if constexpr (!std::is_same_v<T, bool>)
          fill_spaced(result->as<T>(), spacing.steps, spacing.start, spacing.end, [](auto value) { return value; });
      });
    };
    return make_range(call, out, options, spacing.steps, spacing.dtype, fill).take();
  });
}

PyObject* logspace(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("logspace", {"start", "end", "steps", "base"}, 3, {"out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 4, options);
    Spacing spacing = read_spacing(call, options, "logspace_cpu");
    double base = call.real(3, 10.0);
    auto fill = [&](Tensor* result) {
      dispatch(result->dtype, [&](auto tag) {
        using T = decltype(tag);
        WithoutLock unlocked(spacing.steps);
        if constexpr (!std::is_same_v<T, bool>)
          fill_spaced(result->as<T>(), spacing.steps, spacing.start, spacing.end,
                      [base](auto value) { return std::pow(static_cast<decltype(value)>(base), value); });
      });
    };
    return make_range(call, out, options, spacing.steps, spacing.dtype, fill).take();
  });
}

}  // namespace

PyMethodDef range_functions[] = {
    {"arange", keyword_function(arange), kKeywordCall,
     "arange(start=0, end, step=1): start, start + step, ... below end."},
    {"linspace", keyword_function(linspace), kKeywordCall,
     "linspace(start, end, steps): evenly spaced numbers, both ends included."},
    {"logspace", keyword_function(logspace), kKeywordCall,
     "logspace(start, end, steps, base=10): powers of base, evenly spaced exponents."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace adjoint::python
