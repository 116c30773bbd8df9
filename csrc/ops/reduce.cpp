#include "ops/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/lock.h"
#include "core/warning.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Repeating up to so many elements is cheaper than what a later op pays for broadcasting them.
constexpr int64_t kSpreadInline = 4096;

uint64_t all_dims(int ndim) { return ndim == 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1; }

/// The dimensions as a bit set.
uint64_t listed_dims(const Ints& dims, int ndim) {
  uint64_t mask = 0;
  for (int64_t dim : dims) {
    uint64_t bit = uint64_t{1} << wrap_dim(dim, ndim);
    if (mask & bit) fail("dim ", std::countr_zero(bit), " appears multiple times in the list of dims");
    mask |= bit;
  }
  return mask;
}

uint64_t reduced_dims(const OptionalInts& dims, int ndim) {
  return dims && !dims->empty() ? listed_dims(*dims, ndim) : all_dims(ndim);
}

/// The geometry of one reduction. Results are packed, so that those with and without the reduced dimensions differ in
/// their shape only and kernels, which want all dimensions, can write to either.
class Plan {
 public:
  Plan(const Tensor* input, uint64_t mask, bool keepdim) : ndim_(input->ndim()), device_(input->device) {
    int64_t kept[kMaxDims];
    int n = 0;
    for (int d = 0; d < ndim_; ++d) {
      bool reduced = mask >> d & 1;
      sizes_[d] = reduced ? 1 : input->size(d);
      if (reduced) count_ *= input->size(d);
      if (!reduced || keepdim) kept[n++] = sizes_[d];
    }
    int64_t stride = 1;
    for (int d = ndim_ - 1; d >= 0; --d) {
      strides_[d] = stride;
      stride *= std::max<int64_t>(sizes_[d], 1);
    }
    shape_ = n == 0 ? scalar_shape() : make_shape({kept, static_cast<size_t>(n)});
  }

  TensorPtr result(DType dtype) const { return empty(shape_, dtype, device_); }
  View view(const TensorPtr& result) const { return result->view(ndim_, sizes_, strides_); }
  /// How many elements are joined into one.
  int64_t count() const { return count_; }

 private:
  int ndim_;
  Device device_;
  int64_t count_ = 1;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxDims];
  ShapePtr shape_;
};

using WholeReduction = kernels::Reduce::Whole* kernels::Reduce::*;

TensorPtr reduce(const Tensor* input, const Plan& plan, DType dtype, WholeReduction kernel) {
  TensorPtr result = plan.result(dtype);
  View out = plan.view(result);
  WithoutLock unlocked(input->numel());
  (on(input->device).reduce.*kernel)(input->view(), out);
  return result;
}

/// Integers are added and multiplied as int64.
DType accumulated_type(const Tensor* input, std::optional<DType> dtype) {
  if (dtype) warn_if_imaginary_part_goes(category(input->dtype), *dtype);
  return dtype ? *dtype : is_integral(input->dtype) ? DType::Int64 : input->dtype;
}

TensorPtr mean_of(Tensor* input, uint64_t mask, bool keepdim, std::optional<DType> dtype) {
  DType type = dtype.value_or(input->dtype);
  warn_if_imaginary_part_goes(category(input->dtype), type);
  if (!is_differentiable(type))
    fail("mean(): could not infer output dtype. ", dtype ? "Optional" : "Input",
         " dtype must be either a floating point or complex dtype. Got: ", info(type).legacy_name,
         "; convert the input with .float(), or pass dtype=");
  Plan plan(input, mask, keepdim);
  TensorPtr result = plan.result(type);
  View out = plan.view(result);
  WithoutLock unlocked(input->numel());
  on(input->device).reduce.mean(input->view(), out, static_cast<double>(plan.count()));
  return result;
}

void check_no_empty_dim(const char* op, const Tensor* input, uint64_t mask) {
  for (int d = 0; d < input->ndim(); ++d)
    if ((mask >> d & 1) && input->size(d) == 0)
      fail(ErrorKind::Index, op, "(): Expected reduction dim ", d,
           " to have non-zero size; an empty set has no greatest or least element");
}

void check_not_empty(const char* op, const Tensor* input, ErrorKind kind = ErrorKind::Runtime) {
  if (input->numel() == 0)
    fail(kind, op,
         "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
         "argument.");
}

void check_ordered(const char* op, const char* torch_name, const Tensor* input) {
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name, "'; ",
         op, " needs an order; take .abs() or .real first");
}

TensorPtr extreme(const char* op, const char* torch_name, Tensor* input, const OptionalInts& dim, bool keepdim,
                  WholeReduction kernel) {
  uint64_t mask = reduced_dims(dim, input->ndim());
  if (!dim || dim->empty()) {
    check_not_empty(op, input);
  } else {
    check_no_empty_dim(op, input, mask);
  }
  check_ordered(op, torch_name, input);
  return reduce(input, Plan(input, mask, keepdim), input->dtype, kernel);
}

TensorPtr extreme_of_all(const char* op, const char* torch_name, Tensor* input, WholeReduction kernel) {
  check_not_empty(op, input);
  check_ordered(op, torch_name, input);
  return reduce(input, Plan(input, all_dims(input->ndim()), false), input->dtype, kernel);
}

void check_not_complex(const char* op, const Tensor* input) {
  if (is_complex(input->dtype)) fail(op, "(): does not support complex input; take .abs() or .real first");
}

using LocatingKernel = kernels::Reduce::Locating* kernels::Reduce::*;

std::pair<TensorPtr, TensorPtr> extreme_along(const char* op, Tensor* input, int64_t dim, bool keepdim,
                                              LocatingKernel kernel) {
  int along = wrap_dim(dim, input->ndim());
  check_not_complex(op, input);
  check_no_empty_dim(op, input, uint64_t{1} << along);
  Plan plan(input, uint64_t{1} << along, keepdim);
  TensorPtr values = plan.result(input->dtype), indices = plan.result(DType::Int64);
  View value_view = plan.view(values), index_view = plan.view(indices);
  WithoutLock unlocked(input->numel());
  (on(input->device).reduce.*kernel)(input->view(), value_view, index_view, along);
  return {std::move(values), std::move(indices)};
}

using ArgKernel = kernels::Reduce::Along* kernels::Reduce::*;

TensorPtr arg_extreme(const char* op, Tensor* input, std::optional<int64_t> dim, bool keepdim, ArgKernel kernel) {
  check_not_complex(op, input);
  if (input->dtype == DType::Bool) fail(op, "(): does not support bool input; convert it with .int() first");
  if (!dim) {
    check_not_empty(op, input, ErrorKind::Index);
    TensorPtr result = Plan(input, all_dims(input->ndim()), keepdim).result(DType::Int64);
    TensorPtr packed = contiguous(input);
    const int64_t sizes[2] = {packed->numel(), 1}, stride = 1;
    WithoutLock unlocked(input->numel());
    (on(input->device).reduce.*kernel)(packed->view(1, sizes, &stride), result->view(1, sizes + 1, &stride), 0);
    return result;
  }
  int along = wrap_dim(*dim, input->ndim());
  check_no_empty_dim(op, input, uint64_t{1} << along);
  Plan plan(input, uint64_t{1} << along, keepdim);
  TensorPtr result = plan.result(DType::Int64);
  View out = plan.view(result);
  WithoutLock unlocked(input->numel());
  (on(input->device).reduce.*kernel)(input->view(), out, along);
  return result;
}

TensorPtr logical(Tensor* input, const OptionalInts& dim, bool keepdim, WholeReduction kernel) {
  uint64_t mask = dim ? listed_dims(*dim, input->ndim()) : all_dims(input->ndim());
  return reduce(input, Plan(input, mask, keepdim), input->dtype == DType::UInt8 ? DType::UInt8 : DType::Bool, kernel);
}

/// Variance, or with `root` its square root, and mean if asked for.
std::pair<TensorPtr, TensorPtr> spread_of(const char* op, Tensor* input, const OptionalInts& dim,
                                          std::optional<double> correction, bool keepdim, bool root, bool with_mean) {
  if (!is_differentiable(input->dtype))
    fail(with_mean ? op : "std and var", " only support floating point and complex dtypes; got ",
         info(input->dtype).name, "; convert the input with .float()");
  Plan plan(input, reduced_dims(dim, input->ndim()), keepdim);
  double taken_off = correction.value_or(1);
  int64_t joined = input->numel() == 0 ? 0 : plan.count();
  if (static_cast<double>(joined) <= taken_off && input->device != DeviceType::Meta) {
    std::string warning = std::string(op) +
                          "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
                          "factor (input numel divided by output numel).";
    warn(warning.c_str());
  }
  TensorPtr variance = plan.result(compute_type(real_type(input->dtype)));
  TensorPtr mean = with_mean ? plan.result(input->dtype) : TensorPtr();
  View variance_view = plan.view(variance), mean_view;
  if (mean) mean_view = plan.view(mean);
  WithoutLock unlocked(input->numel());
  on(input->device).reduce.var(input->view(), variance_view, taken_off, root, mean ? &mean_view : nullptr);
  return {std::move(variance), std::move(mean)};
}

/// Sizes with the reduced dimensions put back as 1, unless they are there already.
int restored_sizes(const Tensor* input, uint64_t mask, int ndim, int64_t* sizes, int64_t* strides) {
  bool kept = input->ndim() == ndim;
  if (!kept && input->ndim() + std::popcount(mask) != ndim)
    fail("spread: expected a tensor with or without the reduced dimensions of ", ndim, "; got ", input->ndim(),
         " dimensions");
  for (int d = 0, from = 0; d < ndim; ++d) {
    bool put_back = !kept && (mask >> d & 1);
    sizes[d] = put_back ? 1 : input->size(from);
    strides[d] = put_back ? 0 : input->stride(from);
    from += !put_back;
  }
  return ndim;
}

}  // namespace

TensorPtr sum(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype) {
  Plan plan(input, reduced_dims(dim, input->ndim()), keepdim);
  return reduce(input, plan, accumulated_type(input, dtype), &kernels::Reduce::sum);
}

TensorPtr nansum(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype) {
  if (is_complex(input->dtype))
    fail("nansum on CPU does not support complex inputs; sum the real and imaginary parts apart");
  Plan plan(input, reduced_dims(dim, input->ndim()), keepdim);
  DType type = accumulated_type(input, dtype);
  if (!is_float(input->dtype) || is_float(type))
    return reduce(input, plan, type, is_float(input->dtype) ? &kernels::Reduce::nansum : &kernels::Reduce::sum);
  if (is_complex(type)) fail_not_implemented("nansum_cpu", type);
  // Floats as integers: a NaN would not be told from a number.
  TensorPtr wide = cast(input, DType::Float64);
  TensorPtr numbers = wide.get() == input ? clone(input) : contiguous(wide.get());
  on(input->device).reduce.drop_nans(numbers->view());
  return reduce(numbers.get(), plan, type, &kernels::Reduce::sum);
}

TensorPtr sum_all(Tensor* input, std::optional<DType> dtype) {
  return reduce(input, Plan(input, all_dims(input->ndim()), false), accumulated_type(input, dtype),
                &kernels::Reduce::sum);
}

TensorPtr sum_to(Tensor* input, const Ints& size) {
  int ndim = input->ndim(), n = static_cast<int>(size.size()), lead = ndim - n;
  bool fits = lead >= 0;
  uint64_t mask = 0;
  for (int d = 0; d < ndim && fits; ++d) {
    int64_t wanted = d < lead ? 1 : size[d - lead];
    if (d < lead || (wanted == 1 && input->size(d) != 1)) {
      mask |= uint64_t{1} << d;
    } else {
      fits = wanted == input->size(d);
    }
  }
  if (!fits)
    fail("size {", to_string(size), "} is not expandable to size {", to_string(input->sizes()),
         "}; only sizes that broadcast to the tensor's can be summed to");
  if (mask == 0) return TensorPtr::borrow(input);
  Plan plan(input, mask, true);
  TensorPtr result = empty(size, input->dtype, input->device);
  View out = plan.view(result);
  WithoutLock unlocked(input->numel());
  on(input->device).reduce.sum(input->view(), out);
  return result;
}

TensorPtr spread(Tensor* input, const Ints& size, const OptionalInts& dim) {
  int ndim = static_cast<int>(size.size());
  int64_t sizes[kMaxDims], strides[kMaxDims];
  restored_sizes(input, reduced_dims(dim, ndim), ndim, sizes, strides);
  for (int d = 0; d < ndim; ++d) {
    if (sizes[d] == size[d]) continue;
    if (sizes[d] != 1)
      fail("spread: expected sizes that broadcast to ", to_string(size), "; got ", to_string(input->sizes()));
    strides[d] = 0;
  }
  ShapePtr shape = make_shape(size);
  if (shape->numel > kSpreadInline && shape->numel != input->numel())
    return alias(input, make_shape(size, {strides, static_cast<size_t>(ndim)}));
  TensorPtr result = empty(std::move(shape), input->dtype, input->device);
  on(input->device).memory.copy(input->view(ndim, size.begin(), strides), result->view());
  return result;
}

TensorPtr keep_dims(Tensor* input, const OptionalInts& dim, int64_t ndim) {
  if (ndim < 0 || ndim > kMaxDims) fail("keep_dims: expected a number of dimensions up to ", kMaxDims, "; got ", ndim);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  auto n = static_cast<size_t>(
      restored_sizes(input, reduced_dims(dim, static_cast<int>(ndim)), static_cast<int>(ndim), sizes, strides));
  if (input->ndim() == ndim) return TensorPtr::borrow(input);
  return alias(input, make_shape({sizes, n}, {strides, n}));
}

TensorPtr mean(Tensor* input, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype) {
  return mean_of(input, reduced_dims(dim, input->ndim()), keepdim, dtype);
}
TensorPtr mean_all(Tensor* input, std::optional<DType> dtype) {
  return mean_of(input, all_dims(input->ndim()), false, dtype);
}

TensorPtr prod(Tensor* input, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  Plan plan(input, uint64_t{1} << wrap_dim(dim, input->ndim()), keepdim);
  return reduce(input, plan, accumulated_type(input, dtype), &kernels::Reduce::prod);
}
TensorPtr prod_all(Tensor* input, std::optional<DType> dtype) {
  return reduce(input, Plan(input, all_dims(input->ndim()), false), accumulated_type(input, dtype),
                &kernels::Reduce::prod);
}

TensorPtr amax(Tensor* input, const OptionalInts& dim, bool keepdim) {
  return extreme("amax", "max_values_cpu", input, dim, keepdim, &kernels::Reduce::amax);
}
TensorPtr amin(Tensor* input, const OptionalInts& dim, bool keepdim) {
  return extreme("amin", "min_values_cpu", input, dim, keepdim, &kernels::Reduce::amin);
}
TensorPtr max_all(Tensor* input) { return extreme_of_all("max", "max_all", input, &kernels::Reduce::amax); }
TensorPtr min_all(Tensor* input) { return extreme_of_all("min", "min_all", input, &kernels::Reduce::amin); }
std::pair<TensorPtr, TensorPtr> max_dim(Tensor* input, int64_t dim, bool keepdim) {
  return extreme_along("max", input, dim, keepdim, &kernels::Reduce::max_with_index);
}
std::pair<TensorPtr, TensorPtr> min_dim(Tensor* input, int64_t dim, bool keepdim) {
  return extreme_along("min", input, dim, keepdim, &kernels::Reduce::min_with_index);
}
std::pair<TensorPtr, TensorPtr> aminmax(Tensor* input, std::optional<int64_t> dim, bool keepdim) {
  uint64_t mask = all_dims(input->ndim());
  if (dim) {
    mask = uint64_t{1} << wrap_dim(*dim, input->ndim());
    check_no_empty_dim("aminmax", input, mask);
  } else if (input->numel() == 0) {
    fail("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  }
  check_ordered("aminmax", "aminmax_cpu", input);
  Plan plan(input, mask, keepdim);
  TensorPtr least = plan.result(input->dtype), greatest = plan.result(input->dtype);
  View low = plan.view(least), high = plan.view(greatest);
  WithoutLock unlocked(input->numel());
  on(input->device).reduce.aminmax(input->view(), low, high);
  return {std::move(least), std::move(greatest)};
}
TensorPtr argmax(Tensor* input, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme("argmax", input, dim, keepdim, &kernels::Reduce::argmax);
}
TensorPtr argmin(Tensor* input, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme("argmin", input, dim, keepdim, &kernels::Reduce::argmin);
}
TensorPtr any(Tensor* input, const OptionalInts& dim, bool keepdim) {
  return logical(input, dim, keepdim, &kernels::Reduce::any);
}
TensorPtr all(Tensor* input, const OptionalInts& dim, bool keepdim) {
  return logical(input, dim, keepdim, &kernels::Reduce::all);
}

TensorPtr var(Tensor* input, const OptionalInts& dim, std::optional<double> correction, bool keepdim) {
  TensorPtr variance = spread_of("var", input, dim, correction, keepdim, false, false).first;
  return cast(variance.get(), real_type(input->dtype));
}
TensorPtr standard_deviation(Tensor* input, const OptionalInts& dim, std::optional<double> correction, bool keepdim) {
  TensorPtr deviation = spread_of("std", input, dim, correction, keepdim, true, false).first;
  return cast(deviation.get(), real_type(input->dtype));
}
std::pair<TensorPtr, TensorPtr> var_mean(Tensor* input, const OptionalInts& dim, std::optional<double> correction,
                                         bool keepdim) {
  auto [variance, mean] = spread_of("var_mean", input, dim, correction, keepdim, false, true);
  return {cast(variance.get(), real_type(input->dtype)), std::move(mean)};
}
std::pair<TensorPtr, TensorPtr> std_mean(Tensor* input, const OptionalInts& dim, std::optional<double> correction,
                                         bool keepdim) {
  auto [deviation, mean] = spread_of("std_mean", input, dim, correction, keepdim, true, true);
  return {cast(deviation.get(), real_type(input->dtype)), std::move(mean)};
}

TensorPtr vector_norm(Tensor* input, double ord, const OptionalInts& dim, bool keepdim, std::optional<DType> dtype) {
  if (!is_differentiable(input->dtype))
    fail("linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
         info(input->dtype).legacy_name, "; convert it with .float()");
  if (dtype) {
    bool complex = is_complex(input->dtype);
    if (is_complex(*dtype) != complex || !is_differentiable(*dtype))
      fail("linalg.vector_norm: dtype should be ", complex ? "complex for complex" : "real for real",
           " inputs, but got ", info(*dtype).legacy_name);
    if (promote(input->dtype, *dtype) != *dtype)
      fail("linalg.vector_norm: the dtype of the input (", info(input->dtype).legacy_name,
           ") should be convertible without narrowing to the specified dtype (", info(*dtype).legacy_name, ")");
  }
  uint64_t mask = reduced_dims(dim, input->ndim());
  if (ord < 0 || ord == std::numeric_limits<double>::infinity()) {
    if ((!dim || dim->empty()) && input->numel() == 0)
      fail("linalg.vector_norm cannot compute the ", ord,
           " norm on an empty tensor because the operation does not have an identity");
    for (int d = 0; d < input->ndim(); ++d)
      if ((mask >> d & 1) && input->size(d) == 0)
        fail("linalg.vector_norm cannot compute the ", ord, " norm on the dimension ", d,
             " because this dimension is empty and the operation does not have an identity");
  }
  Plan plan(input, mask, keepdim);
  TensorPtr result = plan.result(real_type(dtype.value_or(input->dtype)));
  View out = plan.view(result);
  WithoutLock unlocked(input->numel());
  on(input->device).reduce.norm(input->view(), out, ord);
  return result;
}

TensorPtr logsumexp(Tensor* input, const Ints& dim, bool keepdim) {
  Plan plan(input, reduced_dims(dim, input->ndim()), keepdim);
  return reduce(input, plan, is_integral(input->dtype) ? default_dtype() : input->dtype, &kernels::Reduce::logsumexp);
}

}  // namespace adjoint::ops
