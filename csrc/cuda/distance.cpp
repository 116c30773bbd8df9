#include "cuda/distance.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cuda/device/distance_args.h"
#include "cuda/geometry.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

std::string source_of(const char* args, const std::string& call) {
  return std::string("#include \"distance.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n") +
         "ADJOINT_KERNEL(" + args + ", 256) { " + call + "(args); }\n";
}

const char* norm_of(double p) {
  if (p == 0) return "ZeroNorm";
  if (p == 1) return "OneNorm";
  if (p == 2) return "TwoNorm";
  return std::isinf(p) ? "GreatestNorm" : "AnyNorm";
}

/// The text of a kernel for a type and a norm.
std::string source_for(const char* kernel, const View& like, double p) {
  const std::string type = device_type(like.dtype);
  return source_of("DistanceArgs", std::string(kernel) + '<' + type + ", " + norm_of(p) + '<' + type + ">>");
}

/// A view without one of its dimensions.
struct Without {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;
  Without(const View& of, int axis) : view(of) {
    view.ndim = 0;
    for (int d = 0; d < of.ndim; ++d) {
      if (d == axis) continue;
      sizes[view.ndim] = of.sizes[d];
      strides[view.ndim++] = of.strides[d];
    }
    view.sizes = sizes;
    view.strides = strides;
  }
};

/// Integers wrap: they are multiplied without a sign.
const char* cross_type(DType dtype) {
  if (is_half(dtype)) return "float";
  if (!is_integral(dtype)) return device_type(dtype);
  return dtype == DType::Int64 ? "uint64_t" : "uint32_t";
}

}  // namespace

void cross(const View& a, const View& b, const View& out, int axis) {
  if (out.numel() == 0) return;
  const Without parts[] = {{out, axis}, {a, axis}, {b, axis}};
  const View* views[] = {&parts[0].view, &parts[1].view, &parts[2].view};
  const Geometry geometry = joint_geometry(views);
  if (geometry.ndim > kMaxCrossDims || is_stored(out.dtype)) return through_cpu.distance.cross(a, b, out, axis);
  CrossArgs args{{out.data, a.data, b.data},
                 {out.strides[axis], a.strides[axis], b.strides[axis]},
                 geometry.numel,
                 geometry.ndim,
                 {},
                 {}};
  std::copy_n(geometry.sizes, geometry.ndim, args.sizes);
  for (int v = 0; v < 3; ++v) std::copy_n(geometry.strides[v], geometry.ndim, args.strides[v]);
  const std::string types = std::string("cross<") + device_type(out.dtype) + ", " + cross_type(out.dtype) + ">";
  launch(out.device, source_of("CrossArgs", types), args, blocks_for(args.numel));
}

void cdist(const View& x1, const View& x2, double p, const View& out) {
  if (out.numel() == 0) return;
  constexpr int64_t kSide = 64, kMostY = 65535;
  DistanceArgs args{x1.data,     x2.data,     out.data,    nullptr,     nullptr,
                    x1.sizes[0], x1.sizes[1], x2.sizes[1], x1.sizes[2], p};
  const int64_t tiles = ((args.n + kSide - 1) / kSide) * ((args.m + kSide - 1) / kSide);
  launch(out.device, source_for("all_distances", x1, p), args, tiles, kThreads, std::min(args.batch, kMostY));
}

void cdist_backward(const View& grad, const View& x1, const View& x2, double p, const View& out, const View& gin) {
  DistanceArgs args{x1.data,     x2.data,     gin.data,    grad.data,   out.data,
                    x1.sizes[0], x1.sizes[1], x2.sizes[1], x1.sizes[2], p};
  launch(gin.device, source_for("all_slopes", x1, p), args, blocks_for(gin.numel()));
}

void pdist(const View& in, double p, const View& out) {
  DistanceArgs args{in.data, nullptr, out.data, nullptr, nullptr, 1, in.sizes[0], 0, in.sizes[1], p};
  launch(out.device, source_for("pair_distances", in, p), args, blocks_for(out.numel() * 32));
}

void pdist_backward(const View& grad, const View& in, double p, const View& out, const View& gin) {
  DistanceArgs args{in.data, nullptr, gin.data, grad.data, out.data, 1, in.sizes[0], 0, in.sizes[1], p};
  launch(gin.device, source_for("pair_slopes", in, p), args, blocks_for(gin.numel()));
}

}  // namespace adjoint::cuda
