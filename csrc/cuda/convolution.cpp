// Convolutions: which of the kernels computes them, and over what grid.
#include "cuda/convolution.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "cuda/allocator.h"
#include "cuda/cudnn.h"
#include "cuda/device/convolution_args.h"
#include "cuda/launch.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"

namespace adjoint::cuda {
namespace {

using kernels::ConvShape;

constexpr int64_t kSide = 64, kMostY = 65535;
/// Up to so many channels of the result are computed one by one.
constexpr int64_t kFewRows = 8;

int64_t volume(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

ConvArgs args_of(const ConvShape& shape) {
  ConvArgs args{};
  args.batch = shape.batch;
  args.groups = shape.groups;
  args.wide_channels = shape.wide_channels;
  args.narrow_channels = shape.narrow_channels;
  for (int d = 0; d < 3; ++d) {
    args.wide[d] = shape.wide[d];
    args.narrow[d] = shape.narrow[d];
    args.kernel[d] = shape.kernel[d];
    args.stride[d] = shape.stride[d];
    args.padding[d] = shape.padding[d];
    args.dilation[d] = shape.dilation[d];
    args.tap_step[d] = 1;
  }
  args.classes = args.slices = 1;
  return args;
}

std::string source_of(const char* args, const std::string& call) {
  return std::string("#include \"convolution_direct.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n") +
         "ADJOINT_KERNEL(" + args + ", 256) { " + call + "(args); }\n";
}

/// Integers wrap.
const char* type_of(DType dtype) { return dtype == DType::Int64 ? "uint64_t" : device_type(dtype); }

/// The type of places of the kernels for few channels: of 32 bits where all of them fit.
const char* place_type(const ConvShape& shape, std::initializer_list<View> views) {
  constexpr int64_t kMost = int64_t{1} << 30;
  bool narrow = std::ranges::all_of(views, [](const View& view) { return view.numel() < kMost; });
  for (int d = 0; d < 3; ++d)
    narrow = narrow && (shape.wide[d] + 2 * shape.padding[d]) + shape.stride[d] < kMost &&
             shape.kernel[d] * shape.dilation[d] < kMost && shape.narrow[d] * shape.stride[d] < kMost;
  return narrow ? "int32_t" : "int64_t";
}

int64_t tiles_of(int64_t rows, int64_t columns) {
  return ((rows + kSide - 1) / kSide) * ((columns + kSide - 1) / kSide);
}

/// Whether every position is multiplied by one matrix, and nothing else happens.
bool is_product(const ConvShape& shape) {
  for (int d = 0; d < 3; ++d)
    if (shape.kernel[d] != 1 || shape.stride[d] != 1 || shape.padding[d] != 0 || shape.wide[d] != shape.narrow[d])
      return false;
  return shape.groups == 1;
}

const Scalar kOne = Scalar::of(int64_t{1}), kZero = Scalar::of(int64_t{0});

/// A batch of matrices (channels x positions).
struct Planes {
  int64_t sizes[3], strides[3];
  Planes(int64_t batch, int64_t rows, int64_t cols) : sizes{batch, rows, cols}, strides{rows * cols, cols, 1} {}
  View of(const View& view) const { return {view.data, view.dtype, 3, sizes, strides, view.device}; }
};

/// The bias everywhere, for products to be added to.
void spread_bias(const View& bias, const Planes& planes, const View& out) {
  const int64_t broadcast[3] = {0, 1, 0};
  copy({bias.data, bias.dtype, 3, planes.sizes, broadcast, bias.device}, planes.of(out));
}

/// weight @ in, or the transposed weight.
void multiply(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
              const View& out) {
  const int64_t positions = volume(shape.wide), wide = shape.wide_channels, narrow = shape.narrow_channels;
  const Planes image(shape.batch, transposed ? narrow : wide, positions);
  const Planes result(shape.batch, transposed ? wide : narrow, positions);
  const int64_t sizes[3] = {shape.batch, result.sizes[1], image.sizes[1]};
  const int64_t strides[3] = {0, transposed ? 1 : wide, transposed ? wide : 1};
  if (bias) spread_bias(*bias, result, out);
  bmm({weight.data, weight.dtype, 3, sizes, strides, weight.device}, image.of(in), result.of(out), kOne,
      bias ? kOne : kZero);
}

/// Says whether cuDNN took it; if not, `out` is to be written anew.
bool through_cudnn(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                   const View& out) {
  const int64_t channels = shape.groups * (transposed ? shape.wide_channels : shape.narrow_channels);
  const Planes planes(shape.batch, channels, volume(transposed ? shape.wide : shape.narrow));
  if (!has_cudnn(out.dtype)) return false;
  if (bias) spread_bias(*bias, planes, out);
  return transposed ? cudnn_convolution(ConvWay::Data, shape, weight, in, out, bias)
                    : cudnn_convolution(ConvWay::Forward, shape, in, weight, out, bias);
}

/// A view of halves in float32, for what has no kernel of them.
class Widened {
 public:
  explicit Widened(const View& of, bool read = true)
      : memory_(static_cast<size_t>(of.numel()) * sizeof(float), of.device),
        view_{memory_.data(), DType::Float32, of.ndim, of.sizes, of.strides, of.device} {
    if (read) copy(of, view_);
  }
  const View& view() const { return view_; }

 private:
  Scratch memory_;
  View view_;
};

}  // namespace

bool conv_takes_halves(const ConvShape& shape, DType dtype) { return is_product(shape) || has_cudnn(dtype); }

void convolution(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                 const View& out) {
  if (out.numel() == 0) return;
  const int64_t rows = transposed ? shape.wide_channels : shape.narrow_channels;
  const bool few = rows <= kFewRows;
  if (is_product(shape) && !few) return multiply(shape, transposed, in, weight, bias, out);
  if (!few && through_cudnn(shape, transposed, in, weight, bias, out)) return;
  if (is_half(out.dtype) && !few) {
    const Widened image(in), factor(weight), made(out, false);
    std::optional<Widened> added;
    if (bias) added.emplace(*bias);
    convolution(shape, transposed, image.view(), factor.view(), bias ? &added->view() : nullptr, made.view());
    return copy(made.view(), out);
  }
  ConvArgs args = args_of(shape);
  args.image = in.data;
  args.factor = weight.data;
  args.bias = bias ? bias->data : nullptr;
  args.out = out.data;
  const std::string types = std::string(transposed ? "<Conv::Transposed, " : "<Conv::Forward, ") + type_of(out.dtype);
  if (few) {
    constexpr int64_t kMostKnown = 49;  // taps, which are written out one by one
    const bool known = volume(shape.kernel) <= kMostKnown;
    const int64_t channels = transposed ? shape.narrow_channels : shape.wide_channels;
    std::string call = "convolve_directly" + types + ", " + place_type(shape, {in, weight, out});
    call += channels == 1 ? ", true" : ", false";
    for (int64_t size : shape.kernel) call += ", " + std::to_string(known ? size : 0);
    call += ">";
    return launch(out.device, source_of("ConvArgs", call), args, blocks_for(out.numel()));
  }
  args.columns = args.batch;
  for (int d = 0; d < 3; ++d) {
    if (!transposed) {
      args.columns *= shape.narrow[d];
      continue;
    }
    args.tap_step[d] = shape.stride[d] / std::gcd(shape.stride[d], shape.dilation[d]);
    args.columns *= (shape.wide[d] + shape.stride[d] - 1) / shape.stride[d];
    args.classes *= shape.stride[d];
  }
  launch(out.device, source_of("ConvArgs", "convolve" + types + ">"), args, tiles_of(rows, args.columns), kThreads,
         std::min(args.groups * args.classes, kMostY));
}

void convolution_weight(const ConvShape& shape, const View& grad, const View& in, const View& out) {
  if (out.numel() == 0) return;
  ConvArgs args = args_of(shape);
  args.image = in.data;
  args.factor = grad.data;
  args.out = out.data;
  const std::string type = type_of(out.dtype);
  const bool few = shape.narrow_channels <= kFewRows;
  if (!few && cudnn_convolution(ConvWay::Weight, shape, in, grad, out, false)) return;
  if (is_half(out.dtype) && !few) {
    const Widened factor(grad), image(in), made(out, false);
    convolution_weight(shape, factor.view(), image.view(), made.view());
    return copy(made.view(), out);
  }
  args.columns = shape.wide_channels * volume(shape.kernel);
  args.depth = shape.batch * volume(shape.narrow);
  // As many slices of the depth as keep the device busy, each of whole rounds of a block's threads.
  const int64_t tiles = few ? out.numel() : tiles_of(shape.narrow_channels, args.columns) * shape.groups;
  const int64_t wanted = (few ? 8 : 4) * use(out.device).multiprocessors / tiles + 1;
  args.slices = std::clamp<int64_t>(wanted, 1, std::min((args.depth + 1023) / 1024, kMostY / shape.groups + 1));
  args.slice_depth = ((args.depth + args.slices - 1) / args.slices + kThreads - 1) / kThreads * kThreads;
  const bool one = args.slices == 1;
  const DType sums = compute_type(out.dtype);
  const std::string part = type_of(one ? out.dtype : sums);
  Scratch parts(one ? 0 : static_cast<size_t>(args.slices * out.numel() * itemsize(sums)), out.device);
  if (!one) args.out = parts.data();
  if (few) {
    const std::string call = "weight_directly<" + type + ", " + part + ", " + place_type(shape, {grad, in, out}) + ">";
    launch(out.device, source_of("ConvArgs", call), args, out.numel(), kThreads, args.slices);
  } else {
    launch(out.device, source_of("ConvArgs", "convolve<Conv::Weight, " + type + ">"), args, tiles / shape.groups,
           kThreads, std::min(args.groups * args.slices, kMostY));
  }
  if (one) return;
  SumSlicesArgs sum{parts.data(), out.data, out.numel(), args.slices};
  launch(out.device, source_of("SumSlicesArgs", "sum_slices<" + part + ", " + type + ">"), sum,
         blocks_for(out.numel()));
}

void split_conv_weight(const View& complex, const View& real, bool transposed) {
  SplitWeightArgs args{complex.data, real.data, complex.numel(), complex.sizes[1], complex.sizes[2] * complex.sizes[3],
                       transposed};
  launch(real.device, source_of("SplitWeightArgs", std::string("split_weight<") + device_type(real.dtype) + ">"), args,
         blocks_for(args.numel));
}

void join_conv_weight(const View& real, const View& complex) {
  SplitWeightArgs args{complex.data, real.data, complex.numel(), complex.sizes[1], complex.sizes[2] * complex.sizes[3],
                       false};
  launch(real.device, source_of("SplitWeightArgs", std::string("join_weight<") + device_type(real.dtype) + ">"), args,
         blocks_for(args.numel));
}

}  // namespace adjoint::cuda
