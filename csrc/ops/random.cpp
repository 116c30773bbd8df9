#include "ops/random.h"

#include <algorithm>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "ops/numbers.h"

namespace adjoint::ops {

Generator& generator_for(Generator* generator, Device device) {
  if (!generator) return default_generator(device);
  if (generator->device() != device && device.holds_values())
    fail("Expected a '", generator->device().type == device.type ? to_string(device) : device_name(device.type),
         "' device type for generator but found '", to_string(generator->device()),
         "'; make one with torch.Generator(device='", to_string(device), "')");
  return *generator;
}

namespace {

/// Runs a kernel of the tensor's device, without the interpreter's lock if it is long.
template <class... Parameters, class... Args>
void fill_by(void (*kernels::Random::*kernel)(Generator&, const View&, Parameters...), Generator* generator,
             Tensor* tensor, Args... args) {
  WithoutLock unlocked(tensor->numel());
  (on(tensor->device).random.*kernel)(generator_for(generator, tensor->device), tensor->view(), args...);
}

/// Numbers of the stored types are not drawn, but for those of complex32, which are halves.
void check_drawn(const char* kernel, DType dtype) {
  if (is_stored(dtype) && dtype != DType::Complex32) fail_not_implemented(kernel, dtype);
}

/// Memory of these sizes; in the order of out= where it has the same, because numbers are drawn in the order of memory.
TensorPtr memory_for(const char* kernel, ShapePtr shape, DType natural, const CreationOptions& options) {
  DType dtype = options.type(natural);
  check_drawn(kernel, dtype);
  if (options.out && same_sizes(options.out->shape, shape.get())) shape = dense_shape(options.out->shape);
  return empty(std::move(shape), dtype, options.device);
}

/// Integers of [low, high); those of unsigned types are drawn as int64.
TensorPtr integers_for(ShapePtr shape, DType natural, int64_t low, int64_t high, Generator* generator,
                       const CreationOptions& options) {
  const DType dtype = options.type(natural);
  if (is_unsigned(dtype)) {
    for (int64_t bound : {low, high - 1}) {
      const Scalar value = Scalar::of(static_cast<double>(bound));
      if (bound < 0 || (itemsize(dtype) < 8 && bound >> (8 * itemsize(dtype)) > 0)) check_fits(value, dtype);
    }
    CreationOptions drawn = options;
    drawn.dtype = DType::Int64;
    return cast(integers_for(std::move(shape), DType::Int64, low, high, generator, drawn).get(), dtype);
  }
  if (dtype == DType::Complex32)
    fail("check_random_bounds handles only integral, floating-point and boolean types; got complex32");
  TensorPtr result = memory_for("random_update_from_to", std::move(shape), natural, options);
  fill_by(&kernels::Random::integers, generator, result.get(), low, high);
  return result;
}

[[noreturn]] void fail_missing(const char* op, const char* argument) {
  fail(ErrorKind::Type, op, "() missing 1 required positional arguments: \"", argument, "\"");
}

/// A number, or a tensor of no dimension in the place of one.
double real_of(const char* op, const char* argument, const TensorOrReal& given) {
  if (!given.tensor) return given.real;
  if (given.tensor->ndim() > 0 || is_complex(given.tensor->dtype))
    fail(ErrorKind::Type, op, "(): argument '", argument, "' must be float, not Tensor");
  return scalar_of(given.tensor).to<double>();
}

/// target = kernel(target, other), `other` broadcast.
void combine(const char* kernel, Tensor* target, const Tensor* other) {
  int64_t strides[kMaxDims];
  broadcast_strides(other->shape, target->sizes(), strides);
  View inputs[2] = {target->view(), other->view(target->ndim(), target->shape->sizes(), strides)};
  const Scalar alpha = Scalar::of(int64_t{1});  // of add
  const kernels::Elementwise& elementwise = on(target->device).elementwise;
  elementwise.run(*elementwise.kernel(kernel), target->dtype, target->view(), inputs, &alpha);
}

/// Normal numbers whose mean or deviation (or both) are tensors.
TensorPtr normal_of(const TensorOrReal& mean, const TensorOrReal& std, Generator* generator,
                    const CreationOptions& options) {
  if ((options.dtype && !options.out) || options.leaf)
    fail(ErrorKind::Type,
         "normal() received an invalid combination of arguments: expected tensors alone, or numbers with size= and the "
         "options of a new tensor; got tensors and such options; convert the result instead");
  int64_t sizes[kMaxDims];
  for (Tensor* tensor : {mean.tensor, std.tensor})
    if (tensor && tensor->device == DeviceType::Meta) fail("normal(): a tensor on the meta device holds no values");
  if (mean.tensor && std.tensor && mean.tensor->device != std.tensor->device)
    refuse_devices("normal", std.tensor->device, mean.tensor->device);
  auto sizes_of = [](const TensorOrReal& given) { return given.tensor ? given.tensor->sizes() : Sizes(); };
  auto ndim = static_cast<size_t>(broadcast_sizes(sizes_of(mean), sizes_of(std), sizes));
  const double std_value = std.tensor ? 1 : std.real;
  if (std.tensor && is_complex(std.tensor->dtype)) fail("normal expects standard deviation to be non-complex");
  if (std.tensor && on(std.tensor->device).random.has_negative(std.tensor->view()))
    fail("normal expects all elements of std >= 0.0");
  const Tensor* first = mean.tensor ? mean.tensor : std.tensor;
  DType dtype = options.dtype.value_or(first->dtype);
  if (mean.tensor && is_complex(mean.tensor->dtype) && !is_complex(dtype))
    fail("result type ", info(mean.tensor->dtype).legacy_name, " can't be cast to the desired output type ",
         info(dtype).legacy_name, "; give normal() an out= of the mean's type");
  check_drawn("normal_kernel_cpu", dtype);
  TensorPtr result = empty({sizes, ndim}, dtype, first->device);
  fill_by(&kernels::Random::normal, generator, result.get(), 0.0, std_value);
  if (std.tensor) combine("mul", result.get(), std.tensor);
  if (mean.tensor || mean.real != 0) {
    TensorPtr offset = mean.tensor ? TensorPtr::borrow(mean.tensor) : empty(Sizes(), real_type(dtype), first->device);
    if (!mean.tensor) fill(offset.get(), Scalar::of(mean.real));
    combine("add", result.get(), offset.get());
  }
  return result;
}

}  // namespace

// ---- New tensors

TensorPtr create_rand(const SizeArgs& size, Generator* generator, const CreationOptions& options) {
  TensorPtr result = memory_for("check_uniform_bounds", make_shape(size), default_dtype(), options);
  fill_by(&kernels::Random::uniform, generator, result.get(), 0.0, 1.0);
  return result;
}

TensorPtr create_randn(const SizeArgs& size, Generator* generator, const CreationOptions& options) {
  TensorPtr result = memory_for("normal_kernel_cpu", make_shape(size), default_dtype(), options);
  fill_by(&kernels::Random::normal, generator, result.get(), 0.0, 1.0);
  return result;
}

TensorPtr create_randint(int64_t low, std::optional<int64_t> high, const std::optional<SizeList>& size,
                         Generator* generator, const CreationOptions& options) {
  if (!high) fail_missing("randint", "high");
  if (!size) fail_missing("randint", "size");
  return integers_for(make_shape(*size), DType::Int64, low, *high, generator, options);
}

TensorPtr create_randperm(int64_t n, Generator* generator, const CreationOptions& options) {
  ShapePtr shape = make_shape({&n, 1});
  DType dtype = options.type(DType::Int64);
  if (dtype == DType::Bool || is_complex(dtype) || is_stored(dtype)) fail_not_implemented("randperm", dtype);
  if (dtype == DType::Float16 && n > 2049) fail("n cannot be greater than 2049 for Half type.");
  if (dtype == DType::BFloat16 && n > 257) fail("n cannot be greater than 257 for BFloat16 type.");
  if (dtype == DType::Float32 && n > (int64_t{1} << 24) + 1) fail("n cannot be greater than 2^24+1 for Float type.");
  if (is_integral(dtype)) check_fits(Scalar::of(n), dtype);
  TensorPtr order = empty(std::move(shape), DType::Int64, options.device);
  fill_by(&kernels::Random::permutation, generator, order.get());
  return cast(order.get(), dtype);
}

TensorPtr rand_like(Tensor* input, Generator* generator, std::optional<MemoryFormat> format,
                    const CreationOptions& options) {
  TensorPtr result = memory_for("check_uniform_bounds", shape_like(input, format), input->dtype, options);
  fill_by(&kernels::Random::uniform, generator, result.get(), 0.0, 1.0);
  return result;
}

TensorPtr randn_like(Tensor* input, Generator* generator, std::optional<MemoryFormat> format,
                     const CreationOptions& options) {
  TensorPtr result = memory_for("normal_kernel_cpu", shape_like(input, format), input->dtype, options);
  fill_by(&kernels::Random::normal, generator, result.get(), 0.0, 1.0);
  return result;
}

TensorPtr randint_like(Tensor* input, int64_t low, std::optional<int64_t> high, Generator* generator,
                       std::optional<MemoryFormat> format, const CreationOptions& options) {
  if (!high) fail_missing("randint_like", "high");
  return integers_for(shape_like(input, format), input->dtype, low, *high, generator, options);
}

TensorPtr create_normal(const TensorOrReal& mean, const std::optional<TensorOrReal>& std,
                        const std::optional<SizeList>& size, Generator* generator, const CreationOptions& options) {
  if (!size && (mean.tensor || (std && std->tensor)))
    return normal_of(mean, std.value_or(TensorOrReal{nullptr, 1.0}), generator, options);
  if (!std) fail_missing("normal", "std");
  if (!size) fail_missing("normal", "size");
  const double mean_value = real_of("normal", "mean", mean), std_value = real_of("normal", "std", *std);
  TensorPtr result = memory_for("normal_kernel_cpu", make_shape(*size), default_dtype(), options);
  fill_by(&kernels::Random::normal, generator, result.get(), mean_value, std_value);
  return result;
}

// ---- Counts

TensorPtr packed(Tensor* tensor, Sizes sizes, DType dtype) {
  int64_t strides[kMaxDims];
  broadcast_strides(tensor->shape, sizes, strides);
  TensorPtr result = empty(sizes, dtype, tensor->device);
  on(tensor->device).memory.copy(tensor->view(static_cast<int>(sizes.size()), sizes.data(), strides), result->view());
  return result;
}

TensorPtr bernoulli(Tensor* input, std::optional<double> p, Generator* generator, std::optional<DType> dtype) {
  TensorPtr result = empty(input->sizes(), dtype.value_or(input->dtype), input->device);
  if (p) {
    fill_by(&kernels::Random::bernoulli, generator, result.get(), *p);
  } else {
    bernoulli_(result.get(), {input}, generator);
  }
  return result;
}

TensorPtr poisson(Tensor* input, Generator* generator) {
  if (!is_float(input->dtype)) fail_not_implemented("poisson_cpu", input->dtype);
  TensorPtr counts = packed(input, input->sizes());
  fill_by(&kernels::Random::poisson, generator, counts.get());
  return cast(counts.get(), input->dtype);
}

TensorPtr binomial(Tensor* count, Tensor* prob, Generator* generator) {
  for (Tensor* operand : {count, prob}) {
    if (!is_float(operand->dtype))
      fail(ErrorKind::Value, "binomial only supports floating-point dtypes for ", operand == count ? "count" : "prob",
           ", got: ", info(operand->dtype).legacy_name, "; convert it first");
    if (operand->device == DeviceType::Meta) fail("binomial(): a tensor on the meta device holds no values");
  }
  if (count->dtype != prob->dtype)
    fail("Found dtype ", info(prob->dtype).legacy_name, " but expected ", info(count->dtype).legacy_name,
         "; convert prob to the type of count");
  int64_t sizes[kMaxDims];
  auto ndim = static_cast<size_t>(broadcast_sizes(count->sizes(), prob->sizes(), sizes));
  TensorPtr counts = packed(count, {sizes, ndim}), chances = packed(prob, {sizes, ndim});
  on(counts->device).random.binomial(generator_for(generator, counts->device), counts->view(), chances->view());
  return cast(counts.get(), count->dtype);
}

// ---- In place

void uniform_(Tensor* input, double low, double high, Generator* generator) {
  fill_by(&kernels::Random::uniform, generator, input, low, high);
}
void normal_(Tensor* input, double mean, double std, Generator* generator) {
  fill_by(&kernels::Random::normal, generator, input, mean, std);
}
void random_(Tensor* input, std::optional<int64_t> low, std::optional<int64_t> high, Generator* generator) {
  if (high) {
    fill_by(&kernels::Random::integers, generator, input, low.value_or(0), *high);
  } else if (low) {
    fill_by(&kernels::Random::integers_from, generator, input, *low);
  } else {
    fill_by(&kernels::Random::all_integers, generator, input);
  }
}

void bernoulli_(Tensor* input, const TensorOrReal& p, Generator* generator) {
  if (!p.tensor) return fill_by(&kernels::Random::bernoulli, generator, input, p.real);
  if (p.tensor->device == DeviceType::Meta)
    fail("bernoulli: the probabilities are on the meta device, which holds no values");
  if (p.tensor->device != input->device) {
    if (p.tensor->device != DeviceType::Cpu) refuse_devices("bernoulli_", p.tensor->device, input->device);
    const TensorPtr moved = empty(p.tensor->sizes(), p.tensor->dtype, input->device);
    copy_into(p.tensor, moved.get());
    return bernoulli_(input, {moved.get()}, generator);
  }
  int64_t sizes[kMaxDims], strides[kMaxDims];
  bool expands = p.tensor->ndim() <= input->ndim();
  if (expands) {
    int n = broadcast_sizes(input->sizes(), p.tensor->sizes(), sizes);
    expands = std::equal(sizes, sizes + n, input->sizes().begin());
  }
  if (!expands)
    fail("The expanded size of the tensor must match the existing size; probabilities of shape ",
         to_string(p.tensor->sizes()), " do not broadcast to ", to_string(input->sizes()));
  broadcast_strides(p.tensor->shape, input->sizes(), strides);
  on(input->device)
      .random.bernoulli_each(generator_for(generator, input->device), input->view(),
                             p.tensor->view(input->ndim(), input->shape->sizes(), strides));
}

void exponential_(Tensor* input, double lambda, Generator* generator) {
  fill_by(&kernels::Random::exponential, generator, input, lambda);
}
void geometric_(Tensor* input, double p, Generator* generator) {
  fill_by(&kernels::Random::geometric, generator, input, p);
}
void log_normal_(Tensor* input, double mean, double std, Generator* generator) {
  fill_by(&kernels::Random::log_normal, generator, input, mean, std);
}
void cauchy_(Tensor* input, double median, double sigma, Generator* generator) {
  fill_by(&kernels::Random::cauchy, generator, input, median, sigma);
}

}  // namespace adjoint::ops
