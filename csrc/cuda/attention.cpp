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
  int blocks = 0;    ///< that a multiprocessor is to have at once, where the compiler has to know

  std::string text() const { return kernel_text(header, "AttentionArgs", call, threads, blocks); }

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

constexpr const char *kForward = "attention_warps.h", *kBackward = "attention_warps_backward.h";

/// "name<Rows<type, size, ...>, warps, others>"
std::string called_by_warps(const char* name, const char* rows, const View& like, const char* more, int warps, int n) {
  std::ostringstream text;
  text << name << '<' << rows << '<' << device_type(like.dtype) << ", " << like.sizes[3] << more << ">, " << warps
       << ", " << n << '>';
  return text.str();
}

/// Whether groups of warps take rows of this size: sm_90 has instructions for them.
bool groups_take(const View& like) {
  const int64_t size = like.sizes[3];
  return is_half(like.dtype) && (size == 64 || size == 128) && use(like.device).capability == 90;
}

/// How many groups a block has, and how many blocks a multiprocessor is to have at once: as registers allow.
struct Groups {
  int groups, blocks;
};

/// Each group has 64 rows of its own, of so many matrices.
Plan by_groups(const char* header, const char* function, int matrices, Groups narrow, Groups wide, const View& like) {
  constexpr int n = 64;
  const auto [groups, blocks] = like.sizes[3] == 64 ? narrow : wide;
  const auto bytes = static_cast<size_t>(2 * like.sizes[3] * (64 * groups * matrices + 4 * n) + 16 * n + 1024);
  return {header, called_by_warps(function, "GroupRows", like, "", 4 * groups, n), 64 * groups, 128 * groups, bytes,
          blocks};
}

/// Blocks of four warps, each with 16 rows of its own, or twice as many, of so many matrices.
Plan by_warps(const char* header, const char* function, int matrices, int tiles, int most, const View& like) {
  constexpr int kWarps = 4;
  const int64_t item = itemsize(like.dtype), step = (like.sizes[3] + 15) / 16 * 16 + 16 / item;
  const int rows = 16 * tiles * kWarps;
  for (int n = most; n >= 32; n /= 2) {
    const auto bytes = static_cast<size_t>(item * step * (rows * matrices + 4 * n) + 16 * n);
    if (bytes <= kMostShared)
      return {header, called_by_warps(function, "WarpRows", like, tiles == 2 ? ", 2" : ", 1", kWarps, n), rows,
              32 * kWarps, bytes};
  }
  return {};
}

/// 2 where twice as many rows of a warp fit into its registers, and are there.
int tiles_for(const View& like, int64_t rows) {
  return like.sizes[3] * itemsize(like.dtype) <= 128 && rows > 64 ? 2 : 1;
}

Plan forward_by_warps(const View& query) {
  constexpr const char* kName = "attention_forward_by_warps";
  if (groups_take(query)) return by_groups(kForward, kName, 1, {1, 3}, {3, 1}, query);
  return by_warps(kForward, kName, 1, tiles_for(query, query.sizes[2]), 64, query);
}
Plan for_query_by_warps(const View& query) {
  constexpr const char* kName = "attention_for_query_by_warps";
  if (groups_take(query)) return by_groups(kBackward, kName, 2, {1, 3}, {3, 1}, query);
  return by_warps(kBackward, kName, 2, tiles_for(query, query.sizes[2]), 32, query);
}
Plan for_key_and_value_by_warps(const View& query, const View& key) {
  constexpr const char* kName = "attention_for_key_and_value_by_warps";
  if (groups_take(query)) return by_groups(kBackward, kName, 2, {1, 3}, {1, 2}, query);
  return by_warps(kBackward, kName, 2, tiles_for(query, key.sizes[2]), 32, query);
}
/// The facts of queries that both of these need; has 64 rows (kFactsRows) a block.
Plan facts_by_warps(const View& query) {
  return {kBackward, called("attention_facts", query, {query.sizes[3]}), 64, 256, 0};
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
         for_query_by_warps(query).rows > 0 && for_key_and_value_by_warps(query, query).rows > 0;
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
    begin_backward(
        plan, {facts_by_warps(of.query), for_query_by_warps(of.query), for_key_and_value_by_warps(of.query, of.key)},
        of.query);
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
  if (runs_by_warps(of.query)) {
    const VectorRows query(of.query), key(of.key), value(of.value), gradient(grad), result(out);
    args.query = rows_of(query.view);
    args.key = rows_of(key.view);
    args.value = rows_of(value.view);
    args.grad = rows_of(gradient.view);
    args.out = rows_of(result.view);
    const int64_t facts = 2 * args.heads * of.query.sizes[0] * ((args.rows + 3) / 4 * 4);
    Scratch slopes(static_cast<size_t>(facts) * sizeof(float), of.query.device);
    args.slopes = slopes.data();
    facts_by_warps(of.query).launch_for(args, of.query, args.rows);
    for_query_by_warps(of.query).launch_for(args, of.query, args.rows);
    return for_key_and_value_by_warps(of.query, of.key).launch_for(args, of.query, args.keys);
  }
  Scratch slopes(static_cast<size_t>(logsumexp.numel() * itemsize(logsumexp.dtype)), of.query.device);
  args.slopes = slopes.data();
  const Plan first = for_query_by_threads(of.query), second = for_key_and_value_by_threads(of.query);
  if (first.rows == 0 || second.rows == 0)
    return through_cpu.attention.backward(of, grad, out, logsumexp, for_query, for_key, for_value);
  first.launch_for(args, of.query, args.rows);
  second.launch_for(args, of.query, args.keys);
}

}  // namespace adjoint::cuda
