// Layer norm: a row in the registers of some threads; its parameters' gradients as sums of blocks, which are added up.
#include "cuda/normalization.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "cuda/allocator.h"
#include "cuda/device/normalize_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/row_shape.h"
#include "kernels/backend.h"

namespace adjoint::cuda {
namespace {

/// Elements of a row that a block's registers hold, forward and back.
constexpr int64_t kLongRow = 16 * 1024, kLongRowBack = 8 * 1024;
/// Blocks of the backward by warps that registers have room for, where sums of the parameters are kept there, too.
constexpr int kWarpBlocks = 2;

DType compute_in(const View& in) { return in.dtype == DType::Float64 ? DType::Float64 : DType::Float32; }

/// `blocks`: what a multiprocessor is to have at once.
std::string text_of(const std::string& call, int threads, const char* args = "RowNormArgs", int blocks = 1) {
  return std::string("#include \"normalize_rows.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n") +
         "ADJOINT_KERNEL(" + args + ", " + std::to_string(threads) + ", " + std::to_string(blocks) + ") { " + call +
         ">(args); }\n";
}

/// The types of views, that of the first for those that are not there.
std::string types_of(DType compute, std::initializer_list<const View*> views) {
  std::string text = device_type(compute);
  for (const View* view : views) text += std::string(", ") + device_type(view ? view->dtype : compute);
  return text;
}

/// Of the rows of a matrix, or of a vector.
bool has_packets(const View& view, int width) {
  const int last = view.ndim - 1;
  return view.strides[last] == 1 && view.sizes[last] % width == 0 && (last == 0 || view.strides[0] % width == 0) &&
         reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(width * itemsize(view.dtype)) == 0;
}
/// The most elements of packets that all of these can be taken in.
int packet_width(std::initializer_list<const View*> views) {
  int64_t largest = 2;
  for (const View* view : views)
    if (view) largest = std::max(largest, itemsize(view->dtype));
  const int width = static_cast<int>(16 / largest);
  for (const View* view : views)
    if (view && !has_packets(*view, width)) return 1;
  return width;
}

void set_matrix(const View& view, int64_t (&strides)[2]) { std::copy_n(view.strides, 2, strides); }
void set_vector(const View* view, auto& data, int64_t& step) {
  data = view ? view->data : nullptr;
  step = view ? view->strides[0] : 0;
}

std::string shape_text(const RowShape& shape, int width) {
  return ", " + std::to_string(shape.threads) + ", " + std::to_string(shape.group) + ", " +
         std::to_string(shape.packets) + ", " + std::to_string(width) + (width > 1 ? ", true" : ", false");
}

/// What stands in [blocks, n] for either of the parameters, added up over the blocks.
void add_up(Device device, const RowNormArgs& rows, DType compute, int64_t blocks, const View* gweight,
            const View* gbias) {
  BandArgs args = {{rows.weight_sums, rows.bias_sums}, {}, {}, blocks, rows.n};
  set_vector(gweight, args.out[0], args.out_step[0]);
  set_vector(gbias, args.out[1], args.out_step[1]);
  const std::string call = "add_bands<" + types_of(compute, {gweight, gbias}) + ", " + std::to_string(kThreads);
  launch(device, text_of(call, kThreads, "BandArgs"), args, blocks_for(rows.n, 8), kThreads, gweight && gbias ? 2 : 1);
}

/// The threads of the backward: gradients of parameters are sums in registers, so that warps take shorter rows.
RowShape backward_shape(int64_t n, int width) {
  return {n, width, n > kLongRowBack ? 1024 : 512, width >= 4 ? 768 : 512};
}

/// The text of the backward for rows that a block's registers hold.
std::string backward_text(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                          const View* gin, bool params) {
  const int width = packet_width({&in, &g, gin, weight});
  const RowShape shape = backward_shape(in.sizes[1], width);
  const std::string call = "normalize_rows_backward<" + types_of(compute_in(in), {&g, &in, gin, weight, mean, &rstd}) +
                           (gin ? ", true" : ", false") + (params ? ", true" : ", false") + shape_text(shape, width);
  const bool by_warps = shape.group <= 32 && compute_in(in) == DType::Float32;
  return text_of(call, shape.threads, "RowNormArgs", by_warps ? kWarpBlocks : 1);
}

void fill_zero(const View& view) {
  alignas(16) const char zero[16] = {};
  fill(view, zero);
}

}  // namespace

void layer_norm(const View& in, const View* weight, const View* bias, double eps, const View& out, const View* mean,
                const View& rstd) {
  RowNormArgs args = {};
  args.rows = in.sizes[0];
  args.n = in.sizes[1];
  if (args.rows == 0) return;
  args.in = in.data;
  args.out = out.data;
  args.eps = eps;
  set_matrix(in, args.in_strides);
  set_matrix(out, args.out_strides);
  set_vector(weight, args.weight, args.weight_step);
  set_vector(bias, args.bias, args.bias_step);
  set_vector(mean, args.mean, args.mean_step);
  set_vector(&rstd, args.rstd, args.rstd_step);
  const std::string types = types_of(compute_in(in), {&in, &out, weight, bias, mean, &rstd});
  // Rows of no elements have statistics, too: by loops.
  if (args.n == 0 || args.n > kLongRow)
    return launch(in.device, text_of("normalize_long_rows<" + types + ", 1024", 1024), args, args.rows, 1024);
  const int width = packet_width({&in, &out, weight, bias});
  const RowShape shape(args.n, width);
  const std::string text = text_of("normalize_rows<" + types + shape_text(shape, width), shape.threads);
  if (args.n <= kLongRowBack && needs_backward(in.device.index, text))
    compile_ahead(in.device.index, backward_text(out, in, mean, rstd, weight, &in, weight || bias));
  launch(in.device, text, args, blocks_for(args.rows, shape.threads / shape.group), shape.threads);
}

void layer_norm_backward(const View& g, const View& in, const View* mean, const View& rstd, const View* weight,
                         const View* gin, const View* gweight, const View* gbias) {
  RowNormArgs args = {};
  args.rows = in.sizes[0];
  args.n = in.sizes[1];
  const bool params = gweight || gbias;
  if (args.rows == 0 || args.n == 0) {
    for (const View* view : {gweight, gbias})
      if (view) fill_zero(*view);
    return;
  }
  args.in = in.data;
  args.g = g.data;
  args.out = gin ? gin->data : nullptr;
  set_matrix(in, args.in_strides);
  set_matrix(g, args.g_strides);
  if (gin) set_matrix(*gin, args.out_strides);
  set_vector(weight, args.weight, args.weight_step);
  set_vector(mean, args.mean, args.mean_step);
  set_vector(&rstd, args.rstd, args.rstd_step);
  const DType compute = compute_in(in);
  const int64_t sms = use(in.device).multiprocessors;
  const bool is_long = args.n > kLongRowBack;
  const int width = packet_width({&in, &g, gin, weight});
  const RowShape shape = backward_shape(args.n, width);
  // Where the parameters' gradients are wanted, blocks stay for many rows, so that there are few sums.
  const int64_t all = blocks_for(args.rows, shape.threads / shape.group);
  int64_t blocks = params ? std::min(all, sms * std::max(512 / shape.threads, 1)) : all;
  if (is_long) {
    blocks = std::clamp<int64_t>(sms * 8 / blocks_for(args.n), 1, (args.rows + 15) / 16);
    args.band = (args.rows + blocks - 1) / blocks;
    blocks = (args.rows + args.band - 1) / args.band;
  }
  std::optional<Scratch> weight_sums, bias_sums;
  const auto bytes = static_cast<size_t>(blocks * args.n * itemsize(compute));
  if (gweight) args.weight_sums = weight_sums.emplace(bytes, in.device).data();
  if (gbias) args.bias_sums = bias_sums.emplace(bytes, in.device).data();
  const std::string types = types_of(compute, {&g, &in, gin, weight, mean, &rstd});
  if (is_long) {
    if (gin)
      launch(in.device, text_of("normalize_long_rows_backward<" + types + ", 1024", 1024), args, args.rows, 1024);
    if (params)
      launch(in.device, text_of("long_row_sums<" + types_of(compute, {&g, &in, mean, &rstd}), kThreads), args,
             blocks_for(args.n), kThreads, blocks);
  } else if (gin || params) {
    launch(in.device, backward_text(g, in, mean, rstd, weight, gin, params), args, blocks, shape.threads);
  }
  if (params) add_up(in.device, args, compute, blocks, gweight, gbias);
}

}  // namespace adjoint::cuda
