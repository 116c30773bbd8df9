#include "ops/pooling.h"

#include <algorithm>
#include <functional>
#include <string>

#include "core/deterministic.h"
#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::PoolAxis;
using kernels::PoolShape;

std::string named(const char* kind, size_t dims) { return std::string(kind) + std::to_string(dims) + "d"; }

/// One number for each dimension; an empty list means `otherwise`.
Ints for_dimensions(const std::string& op, const char* name, const Ints& given, size_t dims, const Ints& otherwise) {
  if (given.empty() && !otherwise.empty()) return otherwise;
  if (given.size() != 1 && given.size() != dims)
    fail(op, ": ", name, " must either be ", otherwise.empty() ? "" : "omitted, ", "a single int, or a tuple of ",
         dims == 1   ? "one int"
         : dims == 2 ? "two ints"
                     : "three ints");
  Ints all;
  for (size_t d = 0; d < dims; ++d) all.push(given[given.size() == 1 ? 0 : d], name);
  return all;
}

struct Windows {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode;

  Windows(const std::string& op, const Ints& kernel_size, const Ints& strides, const Ints& paddings,
          const Ints& dilations, bool ceil)
      : ceil_mode(ceil) {
    const size_t dims = kernel_size.size();
    kernel = kernel_size;
    stride = for_dimensions(op, "stride", strides, dims, kernel);
    padding = for_dimensions(op, "padding", paddings, dims, {});
    dilation = for_dimensions(op, "dilation", dilations, dims, {});
    auto least = [](const Ints& values) { return *std::min_element(values.begin(), values.end()); };
    constexpr int64_t most = int64_t{1} << 31;
    for (const Ints* values : {&kernel, &stride, &padding, &dilation})
      if (*std::max_element(values->begin(), values->end()) > most)
        fail(op, ": expected sizes below 2^31; got ", to_string(*values));
    if (least(stride) == 0) fail("stride should not be zero");
    if (least(kernel) <= 0) fail("kernel size should be greater than zero, but got kernel size ", to_string(kernel));
    if (least(stride) < 0) fail("stride should be greater than zero, but got stride ", to_string(stride));
    if (least(dilation) <= 0) fail("dilation should be greater than zero, but got dilation ", to_string(dilation));
    for (size_t d = 0; d < dims; ++d) {
      if (padding[d] < 0) fail("pad must be non-negative, but got pad: ", padding[d]);
      const int64_t effective = (kernel[d] - 1) * dilation[d] + 1;
      if (padding[d] > effective / 2)
        fail("pad should be at most half of effective kernel size, but got pad=", padding[d],
             ", kernel_size=", kernel[d], " and dilation=", dilation[d]);
    }
  }

  int64_t out(size_t d, int64_t in) const {
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    const int64_t room = in + 2 * padding[d] - reach + (ceil_mode ? stride[d] - 1 : 0);
    int64_t count = (room < 0 ? (room - stride[d] + 1) / stride[d] : room / stride[d]) + 1;
    // The last window must begin inside the input or its padding at the front.
    if (ceil_mode && (count - 1) * stride[d] >= in + padding[d]) --count;
    return count;
  }

  PoolAxis axis(size_t d, int64_t in, int64_t count, bool count_padding) const {
    return {in, count, kernel[d], dilation[d], stride[d], padding[d], false, count_padding};
  }
};

void check_real(const char* op, DType dtype, bool integers) {
  if (!is_float(dtype) && !(integers && category(dtype) == Category::Integer)) fail_not_implemented(op, dtype);
}

/// Adaptive pools take an input without channels, too.
void check_input(const std::string& op, const Tensor* input, size_t dims, bool needs_channels = true) {
  const auto n = static_cast<int>(dims);
  const bool right = input->ndim() == n + 1 || input->ndim() == n + 2;
  bool empty_sizes = false;
  for (int d = std::max(0, input->ndim() - n - needs_channels); d < input->ndim(); ++d)
    empty_sizes |= input->size(d) == 0;
  if (right && !empty_sizes) return;
  fail("Expected ", n + 1, "D or ", n + 2,
       "D (batch mode) tensor with optional 0 dim batch size for input, but got:", to_string(input->sizes()), " (", op,
       ")");
}

/// The sizes of `input` with other last dimensions.
TensorPtr result_like(const Tensor* input, const int64_t* sizes, size_t dims, DType dtype) {
  int64_t all[kMaxDims];
  const size_t lead = static_cast<size_t>(input->ndim()) - dims;
  std::copy_n(input->sizes().begin(), lead, all);
  std::copy_n(sizes, dims, all + lead);
  return empty({all, lead + dims}, dtype, input->device);
}

int64_t planes_of(const Tensor* input, size_t dims) {
  int64_t planes = 1;
  for (int d = 0; d < input->ndim() - static_cast<int>(dims); ++d) planes *= input->size(d);
  return planes;
}

/// The format of the input, where torch's pools keep it.
MemoryFormat kept_format(const Tensor* input, size_t dims, bool in_volumes) {
  const bool batch = input->ndim() == static_cast<int>(dims) + 2;
  return batch && (dims == 2 || in_volumes) ? suggested_format(input->shape) : MemoryFormat::Contiguous;
}

TensorPtr finished(TensorPtr value, DType dtype, MemoryFormat format) {
  return in_format(cast(value.get(), dtype), format);
}

struct Plan {
  PoolShape shape{1, {}};
  int64_t sizes[3];
  size_t dims;

  Plan(const Tensor* like, size_t n) : dims(n) { shape.planes = planes_of(like, n); }
  void set(size_t d, const PoolAxis& axis) {
    sizes[d] = axis.out;
    shape.axes[3 - dims + d] = axis;
  }
};

std::string by(const int64_t* sizes, size_t n) {
  std::string text;
  for (size_t d = 0; d < n; ++d) text += (d ? "x" : "") + std::to_string(sizes[d]);
  return text;
}

Plan window_plan(const std::string& op, const Tensor* like, const int64_t* in, const Windows& windows,
                 bool count_padding) {
  const size_t dims = windows.kernel.size();
  Plan plan(like, dims);
  int64_t out[3];
  for (size_t d = 0; d < dims; ++d) out[d] = windows.out(d, in[d]);
  if (std::any_of(out, out + dims, [](int64_t size) { return size < 1; })) {
    const std::string channels = std::to_string(like->size(like->ndim() - static_cast<int>(dims) - 1)) + "x";
    fail("Given input size: (", channels, by(in, dims), "). Calculated output size: (", channels, by(out, dims),
         "). Output size is too small for ", op);
  }
  for (size_t d = 0; d < dims; ++d) plan.set(d, windows.axis(d, in[d], out[d], count_padding));
  return plan;
}

Plan adaptive_plan(const Tensor* like, const int64_t* in, const int64_t* out, size_t dims) {
  Plan plan(like, dims);
  for (size_t d = 0; d < dims; ++d) plan.set(d, {.in = in[d], .out = out[d], .adaptive = true});
  return plan;
}

/// The result of an adaptive pool, whose sizes are the caller's.
TensorPtr adaptive_result(const std::string& op, const Tensor* input, const Ints& output_size, bool needs_sizes) {
  const size_t dims = output_size.size();
  check_input(op, input, dims, false);
  check_real(op.c_str(), input->dtype, false);
  if (needs_sizes && *std::min_element(output_size.begin(), output_size.end()) < 0) {
    const std::string text = to_string(output_size);
    fail(op, ": elements of output_size must be greater than or equal to 0 but received {",
         text.substr(1, text.size() - 2), "}");
  }
  return result_like(input, output_size.begin(), dims, input->dtype);
}

std::pair<TensorPtr, TensorPtr> run_max(const Plan& plan, Tensor* input, MemoryFormat format,
                                        bool want_indices = true) {
  const DType compute = sum_type(input->dtype);
  TensorPtr source = contiguous(input, compute);
  TensorPtr values = result_like(input, plan.sizes, plan.dims, compute);
  TensorPtr indices = want_indices ? empty(ShapePtr::borrow(values->shape), DType::Int64, input->device) : TensorPtr();
  if (values->numel() > 0) {
    const View places = indices ? indices->view() : View();
    WithoutLock unlocked(input->numel());
    on(input->device).pooling.max(plan.shape, source->view(), values->view(), indices ? &places : nullptr);
  }
  if (indices) indices = in_format(std::move(indices), format);
  return {finished(std::move(values), input->dtype, format), std::move(indices)};
}

TensorPtr run_mean(const Plan& plan, int64_t divisor, Tensor* input, MemoryFormat format) {
  const DType compute = sum_type(input->dtype);
  TensorPtr source = contiguous(input, compute), values = result_like(input, plan.sizes, plan.dims, compute);
  if (values->numel() > 0) {
    WithoutLock unlocked(input->numel());
    on(input->device).pooling.mean(plan.shape, divisor, source->view(), values->view());
  }
  return finished(std::move(values), input->dtype, format);
}

TensorPtr run_mean_backward(const std::string& op, const Plan& plan, int64_t divisor, Tensor* grad, const int64_t* size,
                            bool channels_last) {
  if (!is_float(grad->dtype)) fail_not_implemented(op.c_str(), grad->dtype);
  if (!std::equal(plan.sizes, plan.sizes + plan.dims, grad->sizes().end() - static_cast<int64_t>(plan.dims)))
    fail(op, ": expected a gradient of the result's size; got ", to_string(grad->sizes()));
  const DType compute = sum_type(grad->dtype);
  TensorPtr source = contiguous(grad, compute), values = result_like(grad, size, plan.dims, compute);
  {
    WithoutLock unlocked(values->numel());
    on(grad->device).pooling.mean_backward(plan.shape, divisor, source->view(), values->view());
  }
  return finished(std::move(values), grad->dtype, channels_last_format(grad->ndim(), channels_last));
}

/// The last dimensions of a tensor, as a pointer.
const int64_t* last_sizes(const Tensor* tensor, size_t dims) { return tensor->sizes().data() + tensor->ndim() - dims; }

void check_dims(const char* kind, const Ints& list) {
  if (list.empty() || list.size() > 3) fail(kind, ": expected one to three dimensions; got ", list.size());
}

int64_t checked_divisor(std::optional<int64_t> divisor) {
  if (divisor && *divisor == 0) fail("divisor must be not zero");
  return divisor.value_or(0);
}

Ints one() {
  Ints ones;
  ones.push(1, "dilation");
  return ones;
}

}  // namespace

static Plan max_plan(const Tensor* input, const Ints& kernel_size, const Ints& stride, const Ints& padding,
                     const Ints& dilation, bool ceil_mode) {
  check_dims("max_pool", kernel_size);
  const std::string op = named("max_pool", kernel_size.size());
  Windows windows(op, kernel_size, stride, padding, dilation, ceil_mode);
  for (size_t d = 0; d < kernel_size.size(); ++d)
    if (windows.padding[d] > windows.kernel[d] / 2)
      fail("pad should be smaller than or equal to half of kernel size, but got pad ", to_string(windows.padding),
           " and kernel size ", to_string(windows.kernel));
  check_input(op, input, kernel_size.size());
  check_real(op.c_str(), input->dtype, true);
  return window_plan(op, input, last_sizes(input, kernel_size.size()), windows, false);
}

std::pair<TensorPtr, TensorPtr> max_pool(Tensor* input, const Ints& kernel_size, const Ints& stride,
                                         const Ints& padding, const Ints& dilation, bool ceil_mode) {
  return run_max(max_plan(input, kernel_size, stride, padding, dilation, ceil_mode), input,
                 kept_format(input, kernel_size.size(), true));
}

TensorPtr max_pool_values(Tensor* input, const Ints& kernel_size, const Ints& stride, const Ints& padding,
                          const Ints& dilation, bool ceil_mode) {
  return run_max(max_plan(input, kernel_size, stride, padding, dilation, ceil_mode), input,
                 kept_format(input, kernel_size.size(), true), false)
      .first;
}

std::pair<TensorPtr, TensorPtr> adaptive_max_pool(Tensor* input, const Ints& output_size) {
  check_dims("adaptive_max_pool", output_size);
  const size_t dims = output_size.size();
  TensorPtr result = adaptive_result(named("adaptive_max_pool", dims), input, output_size, false);
  TensorPtr places = empty(ShapePtr::borrow(result->shape), DType::Int64, input->device);
  if (result->numel() == 0) return {std::move(result), std::move(places)};
  return run_max(adaptive_plan(input, last_sizes(input, dims), output_size.begin(), dims), input,
                 kept_format(input, dims, false));
}

std::pair<TensorPtr, TensorPtr> fractional_max_pool(Tensor* input, const Ints& kernel_size, const Ints& output_size,
                                                    Tensor* random_samples) {
  check_dims("fractional_max_pool", kernel_size);
  const size_t dims = kernel_size.size();
  const std::string op = named("fractional_max_pool", dims);
  check_input(op, input, dims);
  check_real(op.c_str(), input->dtype, false);
  if (output_size.size() != dims) fail(op, ": output_size must either be a single int, or a tuple of ", dims, " ints");
  const int64_t planes = planes_of(input, dims);
  if (random_samples->ndim() != 3 || random_samples->size(0) * random_samples->size(1) != planes ||
      random_samples->size(2) != static_cast<int64_t>(dims))
    fail("Expect _random_samples to have a number for each of ", planes, " channels and ", dims,
         " dimensions; got size ", to_string(random_samples->sizes()));
  if (random_samples->dtype != input->dtype)
    fail("Expect _random_samples to have the same dtype as input; got ", info(random_samples->dtype).name);
  PoolShape shape{planes, {}};
  for (size_t d = 0; d < dims; ++d) {
    const size_t i = 3 - dims + d;
    const int64_t in = last_sizes(input, dims)[d], kernel = kernel_size[d], out = output_size[d];
    // In three dimensions a window must have room to move, as in torch.
    if (kernel < 1 || kernel > in || out > in - (dims == 3) - kernel + 1) {
      const char* name = i == 0 ? "time" : i == 1 ? "height" : "width";
      fail(op, dims == 3 ? "_out(): pool " : "(): pool ", name, " ", kernel, " too large relative to input ", name, " ",
           in, " for output size ", out);
    }
    shape.axes[i] = {.in = in, .out = out, .taps = kernel};
  }
  const DType compute = sum_type(input->dtype);
  TensorPtr source = contiguous(input, compute), values = result_like(input, output_size.begin(), dims, compute);
  TensorPtr indices = empty(ShapePtr::borrow(values->shape), DType::Int64, input->device);
  if (values->numel() == 0)
    return {finished(std::move(values), input->dtype, MemoryFormat::Contiguous), std::move(indices)};
  TensorPtr samples = contiguous(random_samples, compute);
  {
    WithoutLock unlocked(values->numel());
    on(input->device)
        .pooling.fractional_max(shape, static_cast<int>(dims), samples->view(), source->view(), values->view(),
                                indices->view());
  }
  return {cast(values.get(), input->dtype), std::move(indices)};
}

/// Elements of `input` to the places in planes of `size` that `indices` name.
static TensorPtr scattered(Tensor* input, Tensor* indices, const Ints& size, bool add, MemoryFormat format) {
  check_dims("max_unpool", size);
  const size_t dims = size.size();
  if (indices->dtype != DType::Int64)
    fail("elements in indices should be type int64 but got: ", info(indices->dtype).legacy_name);
  if (!same_sizes(input->shape, indices->shape))
    fail("Expected shape of indices to be same as that of the input tensor (", to_string(input->sizes()),
         ") but got indices tensor with shape: ", to_string(indices->sizes()));
  if (input->ndim() < static_cast<int>(dims))
    fail("max_unpool: expected at least ", dims, " dimensions; got size ", to_string(input->sizes()));
  const DType compute = sum_type(input->dtype);
  TensorPtr source = contiguous(input, compute), places = contiguous(indices);
  TensorPtr values = result_like(input, size.begin(), dims, compute);
  if (values->numel() == 0) return finished(std::move(values), input->dtype, format);
  std::optional<int64_t> wrong =
      on(input->device).pooling.scatter(planes_of(input, dims), source->view(), places->view(), values->view(), add);
  if (wrong) fail("Found an invalid max index: ", *wrong, " (output volumes are of size ", by(size.begin(), dims), ")");
  return finished(std::move(values), input->dtype, format);
}

TensorPtr max_pool_backward(Tensor* grad, Tensor* indices, const Ints& size, bool channels_last) {
  check_real("max_pool_backward", grad->dtype, true);
  return scattered(grad, indices, size, true, channels_last_format(grad->ndim(), channels_last));
}

TensorPtr avg_pool(Tensor* input, const Ints& kernel_size, const Ints& stride, const Ints& padding, bool ceil_mode,
                   bool count_include_pad, std::optional<int64_t> divisor_override) {
  check_dims("avg_pool", kernel_size);
  const std::string op = named("avg_pool", kernel_size.size());
  const int64_t divisor = checked_divisor(divisor_override);
  Windows windows(op, kernel_size, stride, padding, one(), ceil_mode);
  check_input(op, input, kernel_size.size());
  if (input->dtype != DType::Int64) check_real(op.c_str(), input->dtype, false);
  const int64_t* sizes = last_sizes(input, kernel_size.size());
  if (kernel_size.size() == 3 && !std::equal(kernel_size.begin(), kernel_size.end(), sizes, std::less_equal<>()))
    fail("input image (T: ", sizes[0], " H: ", sizes[1], " W: ", sizes[2],
         ") smaller than kernel size (kT: ", kernel_size[0], " kH: ", kernel_size[1], " kW: ", kernel_size[2], ")");
  return run_mean(window_plan(op, input, last_sizes(input, kernel_size.size()), windows, count_include_pad), divisor,
                  input, kept_format(input, kernel_size.size(), false));
}

TensorPtr avg_pool_backward(Tensor* grad, const Ints& size, const Ints& kernel_size, const Ints& stride,
                            const Ints& padding, bool ceil_mode, bool count_include_pad,
                            std::optional<int64_t> divisor_override, bool channels_last) {
  check_dims("avg_pool", kernel_size);
  const std::string op = named("avg_pool", kernel_size.size()) + "_backward";
  Windows windows(op, kernel_size, stride, padding, one(), ceil_mode);
  if (size.size() != kernel_size.size()) fail(op, ": expected ", kernel_size.size(), " sizes; got ", size.size());
  if (grad->ndim() <= static_cast<int>(size.size())) fail(op, ": expected a gradient of the result's size");
  return run_mean_backward(op, window_plan(op, grad, size.begin(), windows, count_include_pad),
                           checked_divisor(divisor_override), grad, size.begin(), channels_last);
}

TensorPtr adaptive_avg_pool(Tensor* input, const Ints& output_size) {
  check_dims("adaptive_avg_pool", output_size);
  const size_t dims = output_size.size();
  TensorPtr result = adaptive_result(named("adaptive_avg_pool", dims), input, output_size, true);
  if (result->numel() == 0) return result;
  return run_mean(adaptive_plan(input, last_sizes(input, dims), output_size.begin(), dims), 0, input,
                  kept_format(input, dims, false));
}

TensorPtr adaptive_avg_pool_backward(Tensor* grad, const Ints& size, bool channels_last) {
  check_dims("adaptive_avg_pool", size);
  const std::string op = named("adaptive_avg_pool", size.size()) + "_backward";
  if (grad->ndim() <= static_cast<int>(size.size())) fail(op, ": expected a gradient of the result's size");
  // Nothing comes back from a result without elements, whose sizes may be beyond all tables.
  if (grad->numel() == 0) {
    TensorPtr nothing = result_like(grad, size.begin(), size.size(), grad->dtype);
    fill(nothing.get(), Scalar::of(int64_t{0}));
    return nothing;
  }
  return run_mean_backward(op, adaptive_plan(grad, size.begin(), last_sizes(grad, size.size()), size.size()), 0, grad,
                           size.begin(), channels_last);
}

TensorPtr max_unpool(Tensor* input, Tensor* indices, const Ints& output_size) {
  alert_not_deterministic(output_size.size() == 3 ? "max_unpooling3d_forward_out" : "max_unpooling2d_forward_out");
  check_real("max_unpool", input->dtype, true);
  return scattered(input, indices, output_size, false, kept_format(input, output_size.size(), false));
}

}  // namespace adjoint::ops
