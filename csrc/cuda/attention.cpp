#include "cuda/attention.h"

#include <sstream>

#include "cuda/allocator.h"
#include "cuda/device/attention_args.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

using kernels::AttentionInputs;

/// What a block may have of shared memory on every device that can be used, and what it may without asking.
constexpr size_t kMostShared = 99 << 10, kPlainShared = 48 << 10;

/// The memory of a block with tiles of so many rows: device/attention.h.
size_t shared_bytes(DType dtype, int64_t size, int rows, int tiles, int squares) {
  const int64_t item = itemsize(dtype), vector = 16 / item;
  const int64_t step = (size + vector - 1) / vector * vector + vector;
  return static_cast<size_t>(item * rows * (tiles * step + squares * (rows + vector)));
}

/// A kernel for one type and one size of rows.
struct Plan {
  const char* header;
  const char* kernel;
  int tiles, squares;
  int most_rows;
  int rows = 0;  ///< of a tile; 0: there is no room for it
  size_t bytes = 0;

  Plan(const char* file, const char* name, int tile_count, int square_count, int greatest, const View& like)
      : header(file), kernel(name), tiles(tile_count), squares(square_count), most_rows(greatest) {
    const int64_t size = like.sizes[3];
    for (int n = most_rows; n >= 16 && rows == 0; n /= 2) {
      bytes = shared_bytes(like.dtype, size, n, tiles, squares);
      if (bytes <= kMostShared) rows = n;
    }
  }

  std::string source(const View& like) const {
    std::ostringstream text;
    text << "#include \"" << header << "\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n"
         << "ADJOINT_KERNEL(AttentionArgs, " << 4 * rows << ") { " << kernel << '<' << device_type(like.dtype) << ", "
         << rows << ", " << like.sizes[3] << ">(args); }\n";
    return text.str();
  }

  /// A block for each tile of `count` rows of each head.
  void launch_for(AttentionArgs& args, const View& like, int64_t count) const {
    const Function function = compiled(like.device.index, source(like));
    constexpr int kDynamicSharedBytes = 8;
    if (bytes > kPlainShared)
      check(driver().set_function_attribute(function, kDynamicSharedBytes, static_cast<int>(bytes)),
            "asking for shared memory");
    args.tiles = (count + rows - 1) / rows;
    launch(like.device, function, &args, args.tiles * like.sizes[0] * like.sizes[1], 4 * rows, 1, bytes);
  }
};

Plan query_plan(const View& like) { return {"attention_backward.h", "attention_for_query", 4, 1, 32, like}; }
Plan key_plan(const View& like) { return {"attention_backward.h", "attention_for_key_and_value", 4, 2, 32, like}; }

HeadRows rows_of(const View& view) { return {view.data, view.strides[0], view.strides[1], view.strides[2]}; }

AttentionArgs args_of(const AttentionInputs& of, const View& out, const View& logsumexp) {
  AttentionArgs args{};
  args.query = rows_of(of.query);
  args.key = rows_of(of.key);
  args.value = rows_of(of.value);
  args.out = rows_of(out);
  args.logsumexp = logsumexp.data;
  args.heads = of.query.sizes[1];
  args.rows = of.query.sizes[2];
  args.keys = of.key.sizes[2];
  args.scale = of.scale;
  args.causal = of.causal;
  return args;
}

}  // namespace

void attention(const AttentionInputs& of, const View& out, const View& logsumexp) {
  const Plan plan("attention.h", "attention_forward", 2, 1, 64, of.query);
  if (plan.rows == 0) return through_cpu.attention.forward(of, out, logsumexp);
  if (needs_backward(of.query.device.index, plan.source(of.query)))
    for (const Plan& back : {query_plan(of.query), key_plan(of.query)})
      if (back.rows > 0) compile_ahead(of.query.device.index, back.source(of.query));
  AttentionArgs args = args_of(of, out, logsumexp);
  plan.launch_for(args, of.query, args.rows);
}

void attention_backward(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                        const View& for_query, const View& for_key, const View& for_value) {
  const Plan first = query_plan(of.query), second = key_plan(of.query);
  if (first.rows == 0 || second.rows == 0)
    return through_cpu.attention.backward(of, grad, out, logsumexp, for_query, for_key, for_value);
  AttentionArgs args = args_of(of, out, logsumexp);
  args.grad = rows_of(grad);
  args.for_query = rows_of(for_query);
  args.for_key = rows_of(for_key);
  args.for_value = rows_of(for_value);
  Scratch slopes(static_cast<size_t>(logsumexp.numel() * itemsize(logsumexp.dtype)), of.query.device);
  args.slopes = slopes.data();
  first.launch_for(args, of.query, args.rows);
  second.launch_for(args, of.query, args.keys);
}

}  // namespace adjoint::cuda
