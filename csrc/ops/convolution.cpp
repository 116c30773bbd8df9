#include "ops/convolution.h"

#include <algorithm>

#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/advice.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::ConvShape;

// ---- Checks

Ints for_dimensions(const Ints& given, const char* name, int dims) {
  if (given.size() != 1 && given.size() != static_cast<size_t>(dims))
    fail("expected ", name, " to be a single integer value or a list of ", dims,
         " values to match the convolution dimensions, but got ", name, "=", to_string(given));
  Ints all;
  for (int d = 0; d < dims; ++d) all.push(given[given.size() == 1 ? 0 : static_cast<size_t>(d)], name);
  return all;
}

struct Options {
  Ints stride, padding, dilation;
  int64_t groups;

  Options(const Ints& s, const Ints& p, const Ints& d, int64_t g, int dims)
      : stride(for_dimensions(s, "stride", dims)),
        padding(for_dimensions(p, "padding", dims)),
        dilation(for_dimensions(d, "dilation", dims)),
        groups(g) {
    auto any_below = [](const Ints& values, int64_t least) {
      return std::any_of(values.begin(), values.end(), [least](int64_t value) { return value < least; });
    };
    constexpr int64_t most = int64_t{1} << 31;
    for (const Ints* values : {&stride, &padding, &dilation})
      if (std::any_of(values->begin(), values->end(), [](int64_t value) { return value > most; }))
        fail("convolution: expected strides, paddings and dilations below 2^31; got ", to_string(*values));
    if (any_below(padding, 0)) fail("negative padding is not supported");
    if (any_below(stride, 1)) fail("non-positive stride is not supported");
    if (any_below(dilation, 1)) fail("non-positive dilation is not supported");
    if (groups <= 0) fail("non-positive groups is not supported");
  }
};

void check_types(const Tensor* input, const Tensor* weight, const std::optional<Tensor*>& bias) {
  if (bias && (*bias)->dtype != input->dtype)
    fail("Input type (", info(input->dtype).c_name, ") and bias type (", info((*bias)->dtype).c_name,
         ") should be the same", advice::one_type("the input", input->dtype, "the layer", (*bias)->dtype));
  if (input->dtype != weight->dtype)
    fail("expected scalar type ", info(input->dtype).legacy_name, " but found ", info(weight->dtype).legacy_name,
         ": input and weight of a convolution have one type",
         advice::one_type("the input", input->dtype, "the weight", weight->dtype));
  if (input->dtype == DType::Bool) fail_not_implemented("convolution", input->dtype);
}

void check_channels(const Tensor* input, const Tensor* weight, const std::optional<Tensor*>& bias, int64_t groups,
                    bool transposed) {
  if (weight->size(0) < groups)
    fail("Given groups=", groups, ", expected weight to be at least ", groups,
         " at dimension 0, but got weight of size ", to_string(weight->sizes()), " instead");
  if (weight->size(0) % groups != 0)
    fail("Given groups=", groups, ", expected weight to be divisible by ", groups,
         " at dimension 0, but got weight of size ", to_string(weight->sizes()), " instead");
  const int64_t wanted = transposed ? weight->size(0) : weight->size(1) * groups;
  if (input->size(1) != wanted) {
    const std::string given = transposed ? "transposed=1" : "groups=" + std::to_string(groups);
    fail("Given ", given, ", weight of size ", to_string(weight->sizes()), ", expected input",
         to_string(input->sizes()), " to have ", wanted, " channels, but got ", input->size(1), " channels instead",
         advice::fitting_channels(input->sizes(), wanted));
  }
  const int64_t out = transposed ? weight->size(1) * groups : weight->size(0);
  if (bias && ((*bias)->ndim() != 1 || (*bias)->size(0) != out))
    fail("Given ", transposed ? "transposed=1, " : "", "weight of size ", to_string(weight->sizes()),
         ", expected bias to be 1-dimensional with ", out, " elements, but got bias of size ",
         to_string((*bias)->sizes()), " instead");
}

std::string times(const int64_t* sizes, int dims) {
  std::string text = "(";
  for (int d = 0; d < dims; ++d) text += (d ? " x " : "") + std::to_string(sizes[d]);
  return text + ")";
}

// ---- Sizes

/// The shape of a convolution between a wide and a narrow tensor, of which one or both are known.
ConvShape make_conv_shape(int64_t batch, int64_t wide_channels, int64_t narrow_channels, Sizes kernel,
                          const Options& options) {
  ConvShape shape{batch,     options.groups, wide_channels, narrow_channels, {1, 1, 1},
                  {1, 1, 1}, {1, 1, 1},      {1, 1, 1},     {0, 0, 0},       {1, 1, 1}};
  const size_t lead = 3 - kernel.size();
  for (size_t d = 0; d < kernel.size(); ++d) {
    shape.kernel[lead + d] = kernel[d];
    shape.stride[lead + d] = options.stride[d];
    shape.padding[lead + d] = options.padding[d];
    shape.dilation[lead + d] = options.dilation[d];
  }
  return shape;
}

/// Sizes of the result of a convolution.
void fill_narrow(ConvShape& shape, int dims) {
  int64_t padded[3];
  bool fits = true;
  for (int d = 0; d < 3; ++d) {
    padded[d] = shape.wide[d] + 2 * shape.padding[d];
    const int64_t reach = shape.dilation[d] * (shape.kernel[d] - 1) + 1;
    fits &= padded[d] >= reach;
    shape.narrow[d] = (padded[d] - reach) / shape.stride[d] + 1;
  }
  if (fits) return;
  int64_t reach[3];
  for (int d = 0; d < 3; ++d) reach[d] = shape.dilation[d] * (shape.kernel[d] - 1) + 1;
  fail("Calculated padded input size per channel: ", times(padded + 3 - dims, dims),
       ". Kernel size: ", times(reach + 3 - dims, dims), ". Kernel size can't be greater than actual input size",
       "; give larger inputs, a smaller kernel or padding=, or pool less before");
}

/// Sizes of the result of a transposed convolution; torch's float32 kernel takes empty ones.
void fill_wide(ConvShape& shape, const Ints& output_padding, bool allow_empty) {
  bool too_small = false;
  const size_t lead = 3 - output_padding.size();
  for (size_t d = 0; d < output_padding.size(); ++d) {
    const size_t i = lead + d;
    if (output_padding[d] < 0 || output_padding[d] >= std::max(shape.stride[i], shape.dilation[i]))
      fail("output padding must be smaller than either stride or dilation, but got output_padding: ",
           to_string(output_padding), " stride: ", to_string({shape.stride + lead, output_padding.size()}),
           " dilation: ", to_string({shape.dilation + lead, output_padding.size()}));
    shape.wide[i] = (shape.narrow[i] - 1) * shape.stride[i] - 2 * shape.padding[i] +
                    shape.dilation[i] * (shape.kernel[i] - 1) + output_padding[d] + 1;
    too_small |= shape.wide[i] < (allow_empty ? 0 : 1);
  }
  if (too_small)
    fail("Given input size per channel: ", times(shape.narrow + lead, static_cast<int>(3 - lead)),
         ". Calculated output size per channel: ", times(shape.wide + lead, static_cast<int>(3 - lead)),
         ". Output size is too small");
}

/// A kernel of one element that moves by one: a matrix product, for which all positions are alike.
void merge_positions(ConvShape& shape) {
  for (int d = 0; d < 3; ++d)
    if (shape.kernel[d] != 1 || shape.stride[d] != 1 || shape.padding[d] != 0 || shape.wide[d] != shape.narrow[d])
      return;
  for (int64_t* sizes : {shape.wide, shape.narrow}) {
    sizes[2] *= sizes[0] * sizes[1];
    sizes[0] = sizes[1] = 1;
  }
}

// ---- Complex numbers, as real ones of twice the channels

/// A view of [lead, groups, part, channels, rest] over complex elements or over real ones that lie so.
struct Parts {
  int64_t sizes[5], strides[5];
  View view;

  /// `tensor` is contiguous, complex and not empty: [lead, groups * channels, rest...], or one channel per element.
  Parts(const Tensor* tensor, int64_t groups) {
    const bool vector = tensor->ndim() == 1;
    const int64_t lead = vector ? 1 : tensor->size(0), channels = tensor->size(vector ? 0 : 1) / groups;
    const int64_t all[] = {lead, groups, 2, channels, tensor->numel() / (lead * groups * channels)};
    std::copy_n(all, 5, sizes);
    const int64_t steps[] = {2 * groups * channels * sizes[4], 2 * channels * sizes[4], 1, 2 * sizes[4], 2};
    std::copy_n(steps, 5, strides);
    view = tensor->view(5, sizes, strides);
    view.dtype = real_type(tensor->dtype);
  }
  /// `real` has room for the parts one after the other.
  Parts(const Parts& model, const Tensor* real) {
    std::copy_n(model.sizes, 5, sizes);
    int64_t step = 1;
    for (int d = 4; d >= 0; --d) {
      strides[d] = step;
      step *= sizes[d];
    }
    view = real->view(5, sizes, strides);
  }
};

/// [n, groups * channels, ...] complex -> [n, groups * 2 * channels, ...] real: the real parts of a group, then the
/// imaginary ones.
TensorPtr split(Tensor* tensor, int64_t groups) {
  Parts from(tensor, groups);
  int64_t sizes[kMaxDims];
  std::copy_n(tensor->sizes().begin(), tensor->ndim(), sizes);
  sizes[tensor->ndim() == 1 ? 0 : 1] *= 2;
  TensorPtr result = empty({sizes, tensor->sizes().size()}, real_type(tensor->dtype), tensor->device);
  on(tensor->device).memory.copy(from.view, Parts(from, result.get()).view);
  return result;
}

void join(const Tensor* real, Tensor* out, int64_t groups) {
  Parts to(out, groups);
  on(out->device).memory.copy(Parts(to, real).view, to.view);
}

/// A contiguous complex weight as [groups, first, second, taps].
struct GroupedWeight {
  int64_t sizes[4], strides[4];
  View view;

  GroupedWeight(const Tensor* weight, int64_t groups) {
    sizes[0] = groups;
    sizes[1] = weight->size(0) / groups;
    sizes[2] = weight->size(1);
    sizes[3] = 1;
    for (int d = 2; d < weight->ndim(); ++d) sizes[3] *= weight->size(d);
    strides[3] = 1;
    for (int d = 2; d >= 0; --d) strides[d] = strides[d + 1] * sizes[d + 1];
    view = weight->view(4, sizes, strides);
  }
};

TensorPtr split_weight(Tensor* weight, int64_t groups, bool transposed) {
  int64_t sizes[kMaxDims];
  std::copy_n(weight->sizes().begin(), weight->ndim(), sizes);
  sizes[0] *= 2;
  sizes[1] *= 2;
  TensorPtr result = empty({sizes, weight->sizes().size()}, real_type(weight->dtype), weight->device);
  on(weight->device).convolution.split_weight(GroupedWeight(weight, groups).view, result->view(), transposed);
  return result;
}

// ---- Running

/// Channels last if input or weight has them last; but torch's kernels for volumes have them only for some types.
MemoryFormat format_of(const Tensor* input, const Tensor* weight) {
  MemoryFormat format = suggested_format(input->shape);
  if (format == MemoryFormat::Contiguous) format = suggested_format(weight->shape);
  const DType dtype = input->dtype;
  const bool in_volumes = dtype == DType::Float32 || dtype == DType::BFloat16 || dtype == DType::Complex64;
  return format == MemoryFormat::ChannelsLast3d && !in_volumes ? MemoryFormat::Contiguous : format;
}

/// What is computed in.
DType compute_type(const ConvShape& shape, DType dtype, Device device) {
  return is_half(dtype) && on(device).convolution.takes_halves(shape, dtype) ? dtype : sum_type(dtype);
}

}  // namespace

TensorPtr convolution(Tensor* input, Tensor* weight, std::optional<Tensor*> bias, const Ints& stride,
                      const Ints& padding, const Ints& dilation, bool transposed, const Ints& output_padding,
                      int64_t groups) {
  const int dims = weight->ndim() - 2;
  if (dims < 1 || dims > 3 || input->ndim() != weight->ndim())
    fail("convolution: expected an input and a weight of 3, 4 or 5 dimensions each, but got input of size ",
         to_string(input->sizes()), " and weight of size ", to_string(weight->sizes()));
  Options options(stride, padding, dilation, groups, dims);
  check_types(input, weight, bias);
  check_channels(input, weight, bias, groups, transposed);
  const DType dtype = input->dtype;
  if (transposed && is_integral(dtype) && dtype != DType::Int64)
    fail_not_implemented("slow_conv_transpose2d_out_cpu", dtype);
  Sizes kernel = weight->sizes().subspan(2), sizes = input->sizes().subspan(2);
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t size) { return size == 0; }))
    fail("convolution: expected a kernel of at least one element; got weight of size ", to_string(weight->sizes()));
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; }))
    fail("Only zero batch or zero channel inputs are supported, but got input shape: ", to_string(input->sizes()));
  const int64_t first = weight->size(0) / groups;
  ConvShape shape = make_conv_shape(input->size(0), weight->size(1), first, kernel, options);
  std::copy(sizes.begin(), sizes.end(), (transposed ? shape.narrow : shape.wide) + 3 - dims);
  transposed ? fill_wide(shape, for_dimensions(output_padding, "output_padding", dims), dtype == DType::Float32)
             : fill_narrow(shape, dims);
  int64_t result_sizes[5] = {input->size(0), transposed ? weight->size(1) * groups : weight->size(0)};
  // Without input channels there are no output channels either, as in torch.
  if (input->size(1) == 0) result_sizes[1] = 0;
  std::copy_n((transposed ? shape.wide : shape.narrow) + 3 - dims, dims, result_sizes + 2);
  const MemoryFormat format = format_of(input, weight);
  TensorPtr result = empty({result_sizes, static_cast<size_t>(dims) + 2}, dtype, input->device);
  if (result->numel() == 0) return in_format(std::move(result), format);
  merge_positions(shape);
  const DType compute = compute_type(shape, dtype, input->device);
  TensorPtr x = contiguous(input, compute), w = contiguous(weight, compute),
            b = bias ? contiguous(*bias, compute) : TensorPtr();
  TensorPtr out = result;
  if (is_complex(dtype)) {
    x = split(x.get(), groups);
    w = split_weight(w.get(), groups, transposed);
    if (b) b = split(b.get(), groups);
    shape.wide_channels *= 2;
    shape.narrow_channels *= 2;
    result_sizes[1] *= 2;
    out = empty({result_sizes, static_cast<size_t>(dims) + 2}, w->dtype, input->device);
  } else if (compute != dtype) {
    out = empty(ShapePtr::borrow(result->shape), compute, input->device);
  }
  const View bias_view = b ? b->view() : View();
  on(input->device).convolution.forward(shape, transposed, x->view(), w->view(), b ? &bias_view : nullptr, out->view());
  if (is_complex(dtype)) {
    join(out.get(), result.get(), groups);
  } else if (compute != dtype) {
    copy_into(out.get(), result.get());
  }
  return in_format(std::move(result), format);
}

TensorPtr convolution_weight(Tensor* grad, Tensor* input, const Ints& kernel, const Ints& stride, const Ints& padding,
                             const Ints& dilation, int64_t groups) {
  const int dims = static_cast<int>(kernel.size());
  if (dims < 1 || dims > 3 || input->ndim() != dims + 2 || grad->ndim() != dims + 2)
    fail("convolution_weight: expected a gradient and an input of ", dims + 2, " dimensions; got sizes ",
         to_string(grad->sizes()), " and ", to_string(input->sizes()));
  Options options(stride, padding, dilation, groups, dims);
  check_types(input, grad, std::nullopt);
  if (!is_differentiable(input->dtype)) fail_not_implemented("convolution_weight", input->dtype);
  if (grad->size(0) != input->size(0) || grad->size(1) % groups || input->size(1) % groups)
    fail("convolution_weight: expected equal batches, and channels in ", groups, " groups; got sizes ",
         to_string(grad->sizes()), " and ", to_string(input->sizes()));
  ConvShape shape = make_conv_shape(input->size(0), input->size(1) / groups, grad->size(1) / groups, kernel, options);
  std::copy_n(input->sizes().begin() + 2, dims, shape.wide + 3 - dims);
  fill_narrow(shape, dims);
  // Smaller where a transposed convolution had an output_padding as large as its stride.
  for (int d = 0; d < dims; ++d) {
    if (grad->size(d + 2) > shape.narrow[3 - dims + d])
      fail("convolution_weight: expected a gradient of the result's size; got ", to_string(grad->sizes()));
    shape.narrow[3 - dims + d] = grad->size(d + 2);
  }
  int64_t sizes[5] = {grad->size(1), input->size(1) / groups};
  std::copy(kernel.begin(), kernel.end(), sizes + 2);
  TensorPtr result = empty({sizes, kernel.size() + 2}, grad->dtype, grad->device);
  if (result->numel() == 0) return result;
  if (grad->numel() == 0 || input->numel() == 0) {
    fill(result.get(), Scalar::of(int64_t{0}));
    return result;
  }
  merge_positions(shape);
  const DType dtype = grad->dtype, compute = compute_type(shape, dtype, grad->device);
  TensorPtr g = contiguous(grad, compute), x = contiguous(input, compute), out = result;
  if (is_complex(dtype)) {
    g = split(g.get(), groups);
    x = split(x.get(), groups);
    shape.wide_channels *= 2;
    shape.narrow_channels *= 2;
    sizes[0] *= 2;
    sizes[1] *= 2;
    out = empty({sizes, kernel.size() + 2}, g->dtype, grad->device);
  } else if (compute != dtype) {
    out = empty(ShapePtr::borrow(result->shape), compute, input->device);
  }
  on(grad->device).convolution.weight(shape, g->view(), x->view(), out->view());
  if (is_complex(dtype)) {
    on(grad->device).convolution.join_weight(out->view(), GroupedWeight(result.get(), groups).view);
  } else if (compute != dtype) {
    copy_into(out.get(), result.get());
  }
  return result;
}

}  // namespace adjoint::ops
