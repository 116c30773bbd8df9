#include "cuda/attention.h"

#include <optional>
#include <sstream>

#include "cuda/allocator.h"
#include "cuda/cublas.h"
#include "cuda/device/attention_args.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

using kernels::AttentionInputs;

/// What a block may have of shared memory on every device that can be used, and what it may without asking.
constexpr size_t kMostShared = 99 << 10, kPlainShared = 48 << 10;

/// A kernel for one type and one size of rows.
struct Plan {
  const char* header;
  std::string call;  ///< of a function of the header
  int rows = 0;      ///< that a block has; 0: there is no room for it
  int threads = 0;
  size_t bytes = 0;  ///< of shared memory

  std::string text() const { return kernel_text(header, "AttentionArgs", call, threads); }

  /// A block for each tile of `count` rows of each head.
  void launch_for(AttentionArgs& args, const View& like, int64_t count) const {
    const Function function = compiled(like.device.index, text());
    if (bytes > kPlainShared)
      check(driver().set_function_attribute(function, kDynamicSharedBytes, static_cast<int>(bytes)),
            "asking for shared memory");
    args.tiles = (count + rows - 1) / rows;
    launch(like.device, function, &args, args.tiles * like.sizes[0] * like.sizes[1], threads, 1, bytes);
  }
};

std::string called(const char* function, const View& like, std::initializer_list<int64_t> numbers) {
  std::ostringstream text;
  text << function << '<' << device_type(like.dtype);
  for (int64_t number : numbers) text << ", " << number;
  text << '>';
  return text.str();
}

// ---- By threads (device/attention.h)

/// With tiles of as many rows as there is room for.
Plan by_threads(const char* header, const char* function, int tiles, int squares, int most_rows, const View& like) {
  const int64_t size = like.sizes[3], item = itemsize(like.dtype), vector = 16 / item;
  const int64_t step = (size + vector - 1) / vector * vector + vector;
  for (int n = most_rows; n >= 16; n /= 2) {
    const auto bytes = static_cast<size_t>(item * n * (tiles * step + squares * (n + vector)));
    if (bytes <= kMostShared) return {header, called(function, like, {n, size}), n, 4 * n, bytes};
  }
  return {};
}

// ---- By warps, on tensor cores (device/attention_warps.h)

constexpr int kWarps = 4;

/// The elements from row to row in shared memory.
int64_t warp_step(const View& like) { return (like.sizes[3] + 15) / 16 * 16 + 16 / itemsize(like.dtype); }

/// Blocks have `own` rows of each of `tiles` matrices, and at once, twice, so many rows of two others.
Plan by_warps(const char* header, const char* function, int own, int tiles, const View& like, bool with_own) {
  const int64_t item = itemsize(like.dtype), step = warp_step(like), size = like.sizes[3];
  // More of wide rows would not fit into registers.
  const int others = size * item > 128 && tiles > 1 ? 32 : 64;
  for (int n = others; n >= 32; n /= 2) {
    const auto bytes = static_cast<size_t>(item * step * (own * tiles + 4 * n) + 4 * n * 4);
    if (bytes > kMostShared) continue;
    const std::string call = with_own ? called(function, like, {size, own / (16 * kWarps), kWarps, n})
                                      : called(function, like, {size, kWarps, n});
    return {header, call, own, 32 * kWarps, bytes};
  }
  return {};
}
Plan forward_by_warps(const View& query) {
  const bool twice = query.sizes[3] * itemsize(query.dtype) <= 128 && query.sizes[2] > 16 * kWarps;
  return by_warps("attention_warps.h", "attention_forward_by_warps", (twice ? 32 : 16) * kWarps, 1, query, true);
}
Plan for_query_by_warps(const View& query) {
  return by_warps("attention_warps_backward.h", "attention_for_query_by_warps", 16 * kWarps, 2, query, false);
}
Plan for_key_and_value_by_warps(const View& query) {
  return by_warps("attention_warps_backward.h", "attention_for_key_and_value_by_warps", 16 * kWarps, 2, query, false);
}

/// The kernels of the backward take the compiler longest: they are begun with the forward's.
void begin_backward(const Plan& forward, std::initializer_list<Plan> backward, const View& like) {
  if (!needs_backward(like.device.index, forward.text())) return;
  for (const Plan& plan : backward)
    if (plan.rows > 0) compile_ahead(like.device.index, plan.text());
}

Plan for_query_by_threads(const View& like) {
  return by_threads("attention_backward.h", "attention_for_query", 4, 1, 32, like);
}
Plan for_key_and_value_by_threads(const View& like) {
  return by_threads("attention_backward.h", "attention_for_key_and_value", 4, 2, 32, like);
}

/// Whether tensor cores take rows of this size.
bool warps_take(const View& query) {
  constexpr int kFirstWithTensorCores = 80;
  const int64_t size = query.sizes[3];
  return use(query.device).capability >= kFirstWithTensorCores && size <= 128 &&
         size % (16 / itemsize(query.dtype)) == 0 && forward_by_warps(query).rows > 0 &&
         for_query_by_warps(query).rows > 0 && for_key_and_value_by_warps(query).rows > 0;
}

/// Whether rows begin at multiples of 16 bytes.
bool lies_in_vectors(const View& view) {
  const int64_t vector = 16 / itemsize(view.dtype);
  bool lies = reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
  for (int d = 0; d < 3; ++d) lies = lies && (view.sizes[d] == 1 || view.strides[d] % vector == 0);
  return lies;
}

/// Rows that begin at multiples of 16 bytes: those of a view, or of a copy.
struct VectorRows {
  View view;
  int64_t strides[4];
  std::optional<Scratch> copied;

  explicit VectorRows(const View& given) : view(given) {
    if (lies_in_vectors(given)) return;
    strides[3] = 1;
    for (int d = 2; d >= 0; --d) strides[d] = strides[d + 1] * given.sizes[d + 1];
    copied.emplace(static_cast<size_t>(given.numel() * itemsize(given.dtype)), given.device);
    view.data = copied->data();
    view.strides = strides;
    copy(given, view);
  }
  VectorRows(const VectorRows&) = delete;
  VectorRows& operator=(const VectorRows&) = delete;
};

/// Whether tensor cores are to be used: for halves, which nobody gives where these do not take them, or for TF32.
bool runs_by_warps(const View& query) {
  return is_half(query.dtype) || (query.dtype == DType::Float32 && allows_tf32() && warps_take(query));
}

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

bool attention_takes_halves(const View& query) { return warps_take(query); }

void attention(const AttentionInputs& of, const View& out, const View& logsumexp) {
  if (runs_by_warps(of.query)) {
    const VectorRows query(of.query), key(of.key), value(of.value);
    AttentionArgs args = args_of({query.view, key.view, value.view, of.scale, of.causal}, out, logsumexp);
    const Plan plan = forward_by_warps(of.query);
    begin_backward(plan, {for_query_by_warps(of.query), for_key_and_value_by_warps(of.query)}, of.query);
    return plan.launch_for(args, of.query, args.rows);
  }
  const Plan plan = by_threads("attention.h", "attention_forward", 2, 1, 64, of.query);
  if (plan.rows == 0) return through_cpu.attention.forward(of, out, logsumexp);
  begin_backward(plan, {for_query_by_threads(of.query), for_key_and_value_by_threads(of.query)}, of.query);
  AttentionArgs args = args_of(of, out, logsumexp);
  plan.launch_for(args, of.query, args.rows);
}

void attention_backward(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                        const View& for_query, const View& for_key, const View& for_value) {
  AttentionArgs args = args_of(of, out, logsumexp);
  args.grad = rows_of(grad);
  args.for_query = rows_of(for_query);
  args.for_key = rows_of(for_key);
  args.for_value = rows_of(for_value);
  Scratch slopes(static_cast<size_t>(logsumexp.numel() * itemsize(logsumexp.dtype)), of.query.device);
  args.slopes = slopes.data();
  if (runs_by_warps(of.query)) {
    const VectorRows query(of.query), key(of.key), value(of.value), gradient(grad);
    args.query = rows_of(query.view);
    args.key = rows_of(key.view);
    args.value = rows_of(value.view);
    args.grad = rows_of(gradient.view);
    for_query_by_warps(of.query).launch_for(args, of.query, args.rows);
    return for_key_and_value_by_warps(of.query).launch_for(args, of.query, args.keys);
  }
  const Plan first = for_query_by_threads(of.query), second = for_key_and_value_by_threads(of.query);
  if (first.rows == 0 || second.rows == 0)
    return through_cpu.attention.backward(of, grad, out, logsumexp, for_query, for_key, for_value);
  first.launch_for(args, of.query, args.rows);
  second.launch_for(args, of.query, args.keys);
}

}  // namespace adjoint::cuda
