#include "cuda/attention.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

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

/// What a block may have of shared memory without asking.
constexpr size_t kPlainShared = 48 << 10;

/// What a block is given at most: all that there is on GPUs like sm_86, and less where a multiprocessor is to have two.
/// Those before sm_80 have not as much.
size_t most_shared(Device device) { return std::min<size_t>(99 << 10, static_cast<size_t>(use(device).shared_bytes)); }

/// What the kernels of a call are made for.
struct Wanted {
  const View& query;
  int64_t keys;
  const View* mask = nullptr;
  bool drops = false;

  explicit Wanted(const View& its_query) : query(its_query), keys(its_query.sizes[2]) {}
  explicit Wanted(const AttentionInputs& of)
      : query(of.query), keys(of.key.sizes[2]), mask(of.mask), drops(of.draws != nullptr) {}
  int64_t size() const { return query.sizes[3]; }
  int64_t rows() const { return query.sizes[2]; }
  const char* type() const { return device_type(query.dtype); }
  bool has_extras() const { return mask || drops; }
  /// The last argument of their templates, or nothing.
  std::string extras() const {
    if (!has_extras()) return {};
    return std::string(", Extras<") + (mask ? device_type(mask->dtype) : "void") + (drops ? ", true>" : ", false>");
  }
};

/// A kernel for one type and one size of rows.
struct Plan {
  const char* header = nullptr;
  std::string call;  ///< of a function of the header
  int rows = 0;      ///< that a block has; 0: there is no room for it
  int threads = 0;
  size_t bytes = 0;  ///< of shared memory
  int blocks = 0;    ///< that a multiprocessor is to have at once, where the compiler has to know

  std::string text() const { return kernel_text(header, "AttentionArgs", call, threads, blocks); }
};

/// So many rows four warps take at once; of more perhaps twice as many.
constexpr int64_t kFewRows = 64;

/// A plan that was made before, and its kernel once it was launched.
class Known {
 public:
  const Plan plan;

  explicit Known(Plan its_plan) : plan(std::move(its_plan)) {}

  bool was_launched() const { return function_.load(std::memory_order_acquire) != nullptr; }

  /// A block for each tile of `count` rows of each head.
  void launch_for(AttentionArgs& args, const View& like, int64_t count) const {
    Function function = function_.load(std::memory_order_acquire);
    if (!function) {
      function = compiled(like.device.index, plan.text());
      if (plan.bytes > kPlainShared)
        check(driver().set_function_attribute(function, kDynamicSharedBytes, static_cast<int>(plan.bytes)),
              "asking for shared memory");
      function_.store(function, std::memory_order_release);
    }
    args.tiles = (count + plan.rows - 1) / plan.rows;
    launch(like.device, function, &args, args.tiles * like.sizes[0] * like.sizes[1], plan.threads, 1, plan.bytes);
  }

 private:
  mutable std::atomic<Function> function_ = nullptr;
};

/// The plan that `make` makes; texts are long, and put together once.
const Known& known(Plan (*make)(const Wanted&), const Wanted& wanted) {
  using Key = std::tuple<Plan (*)(const Wanted&), int, DType, int64_t, bool, bool, int, bool>;
  static std::mutex mutex;
  static std::map<Key, Known> plans;
  const Key key(make, wanted.query.device.index, wanted.query.dtype, wanted.size(), wanted.rows() > kFewRows,
                wanted.keys > kFewRows, wanted.mask ? static_cast<int>(wanted.mask->dtype) : -1, wanted.drops);
  std::lock_guard lock(mutex);
  const auto entry = plans.find(key);
  return entry != plans.end() ? entry->second : plans.try_emplace(key, make(wanted)).first->second;
}

std::string called(const char* function, const Wanted& wanted, std::initializer_list<int64_t> numbers) {
  std::ostringstream text;
  text << function << '<' << wanted.type();
  for (int64_t number : numbers) text << ", " << number;
  text << wanted.extras() << '>';
  return text.str();
}

// ---- By threads (device/attention.h)

/// With tiles of as many rows as there is room for.
Plan by_threads(const char* header, const char* function, int tiles, int squares, int most_rows, const Wanted& wanted) {
  const int64_t size = wanted.size(), item = itemsize(wanted.query.dtype), vector = 16 / item;
  const int64_t step = (size + vector - 1) / vector * vector + vector;
  for (int n = most_rows; n >= 16; n /= 2) {
    const auto bytes = static_cast<size_t>(item * n * (tiles * step + squares * (n + vector)));
    if (bytes <= most_shared(wanted.query.device))
      return {header, called(function, wanted, {n, size}), n, 4 * n, bytes};
  }
  return {};
}

// ---- By warps, on tensor cores (device/attention_warps.h)

constexpr const char *kForward = "attention_warps.h", *kBackward = "attention_warps_backward.h";

/// "name<Rows<type, size, ...>, warps, others, extras>"
std::string called_by_warps(const char* name, const char* rows, const Wanted& wanted, const char* more, int warps,
                            int n) {
  std::ostringstream text;
  text << name << '<' << rows << '<' << wanted.type() << ", " << wanted.size() << more << ">, " << warps << ", " << n
       << wanted.extras() << '>';
  return text.str();
}

/// Whether groups of warps take rows of this size: sm_90 has instructions for them.
bool groups_take(const View& query) {
  const int64_t size = query.sizes[3];
  return is_half(query.dtype) && (size == 64 || size == 128) && use(query.device).capability == 90;
}

/// How many groups a block has, and how many blocks a multiprocessor is to have at once: as registers allow.
struct Groups {
  int groups, blocks;
};

/// Each group has 64 rows of its own, of so many matrices.
Plan by_groups(const char* header, const char* function, int matrices, Groups narrow, Groups wide,
               const Wanted& wanted) {
  constexpr int n = 64;
  auto [groups, blocks] = wanted.size() == 64 ? narrow : wide;
  if (wanted.has_extras() && blocks == 3) blocks = 2;  // they need more registers
  const auto bytes = static_cast<size_t>(2 * wanted.size() * (64 * groups * matrices + 4 * n) + 16 * n + 1024);
  return {header, called_by_warps(function, "GroupRows", wanted, "", 4 * groups, n), 64 * groups, 128 * groups, bytes,
          blocks};
}

/// Blocks of four warps, each with 16 rows of its own, or twice as many, of so many matrices.
Plan by_warps(const char* header, const char* function, int matrices, int tiles, int most, const Wanted& wanted) {
  constexpr int kWarps = 4;
  const int64_t item = itemsize(wanted.query.dtype), step = (wanted.size() + 15) / 16 * 16 + 16 / item;
  const int rows = 16 * tiles * kWarps;
  for (int n = most; n >= 32; n /= 2) {
    const auto bytes = static_cast<size_t>(item * step * (rows * matrices + 4 * n) + 16 * n);
    if (bytes <= most_shared(wanted.query.device))
      return {header, called_by_warps(function, "WarpRows", wanted, tiles == 2 ? ", 2" : ", 1", kWarps, n), rows,
              32 * kWarps, bytes};
  }
  return {};
}

/// 2 where twice as many rows of a warp fit into its registers, and are there.
int tiles_for(const View& query, int64_t rows) {
  return query.sizes[3] * itemsize(query.dtype) <= 128 && rows > kFewRows ? 2 : 1;
}

Plan forward_by_warps(const Wanted& wanted) {
  constexpr const char* kName = "attention_forward_by_warps";
  if (groups_take(wanted.query)) return by_groups(kForward, kName, 1, {1, 3}, {3, 1}, wanted);
  return by_warps(kForward, kName, 1, tiles_for(wanted.query, wanted.rows()), 64, wanted);
}
Plan for_query_by_warps(const Wanted& wanted) {
  constexpr const char* kName = "attention_for_query_by_warps";
  if (groups_take(wanted.query)) return by_groups(kBackward, kName, 2, {1, 3}, {3, 1}, wanted);
  return by_warps(kBackward, kName, 2, tiles_for(wanted.query, wanted.rows()), 32, wanted);
}
Plan for_key_and_value_by_warps(const Wanted& wanted) {
  constexpr const char* kName = "attention_for_key_and_value_by_warps";
  if (groups_take(wanted.query)) return by_groups(kBackward, kName, 2, {1, 3}, {1, 2}, wanted);
  return by_warps(kBackward, kName, 2, tiles_for(wanted.query, wanted.keys), 32, wanted);
}
/// The facts of queries that both of these need; has 64 rows (kFactsRows) a block.
Plan facts_by_warps(const Wanted& wanted) {
  return {kBackward, called("attention_facts", Wanted(wanted.query), {wanted.size()}), 64, 256, 0};
}

Plan forward_by_threads(const Wanted& wanted) {
  return by_threads("attention.h", "attention_forward", 2, 1, 64, wanted);
}
Plan for_query_by_threads(const Wanted& wanted) {
  return by_threads("attention_backward.h", "attention_for_query", 4, 1, 32, wanted);
}
Plan for_key_and_value_by_threads(const Wanted& wanted) {
  return by_threads("attention_backward.h", "attention_for_key_and_value", 4, 2, 32, wanted);
}

/// The kernels of the backward take the compiler longest: they are begun with the forward's.
void begin_backward(const Known& forward, const Wanted& wanted, std::initializer_list<Plan (*)(const Wanted&)> makes) {
  const int device = wanted.query.device.index;
  if (forward.was_launched() || !needs_backward(device, forward.plan.text())) return;
  for (auto* make : makes) {
    const Plan& plan = known(make, wanted).plan;
    if (plan.rows > 0) compile_ahead(device, plan.text());
  }
}

/// Whether there is room for kernels that these make.
bool all_have_room(const Wanted& wanted, std::initializer_list<Plan (*)(const Wanted&)> makes) {
  return std::ranges::all_of(makes, [&](auto* make) { return known(make, wanted).plan.rows > 0; });
}

/// Whether tensor cores take rows of this size.
bool warps_take(const View& query) {
  constexpr int kFirstWithTensorCores = 80;
  const int64_t size = query.sizes[3];
  return use(query.device).capability >= kFirstWithTensorCores && size <= 128 &&
         size % (16 / itemsize(query.dtype)) == 0 &&
         all_have_room(Wanted(query), {forward_by_warps, for_query_by_warps, for_key_and_value_by_warps});
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
  if (of.mask) {
    const int64_t* strides = of.mask->strides;
    args.mask = {of.mask->data, strides[0], strides[1], strides[2], strides[3]};
  }
  if (of.draws) args.draws = of.draws->as<const int64_t>();
  args.drop = DropRate::of(of.dropped);
  return args;
}

}  // namespace

bool attention_takes_halves(const View& query) { return warps_take(query); }

bool attention_takes_extras(const View& query) {
  if (is_half(query.dtype)) return warps_take(query);
  return all_have_room(Wanted(query), {forward_by_threads, for_query_by_threads, for_key_and_value_by_threads});
}

void attention(const AttentionInputs& of, const View& out, const View& logsumexp) {
  const Wanted wanted(of);
  if (runs_by_warps(of.query)) {
    const VectorRows query(of.query), key(of.key), value(of.value);
    AttentionInputs inputs = of;
    inputs.query = query.view, inputs.key = key.view, inputs.value = value.view;
    AttentionArgs args = args_of(inputs, out, logsumexp);
    const Known& forward = known(forward_by_warps, wanted);
    begin_backward(forward, wanted, {facts_by_warps, for_query_by_warps, for_key_and_value_by_warps});
    return forward.launch_for(args, of.query, args.rows);
  }
  const Known& forward = known(forward_by_threads, wanted);
  if (forward.plan.rows == 0) return through_cpu.attention.forward(of, out, logsumexp);
  begin_backward(forward, wanted, {for_query_by_threads, for_key_and_value_by_threads});
  AttentionArgs args = args_of(of, out, logsumexp);
  forward.launch_for(args, of.query, args.rows);
}

void attention_backward(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                        const View& for_query, const View& for_key, const View& for_value) {
  const Wanted wanted(of);
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
    known(facts_by_warps, wanted).launch_for(args, of.query, args.rows);
    known(for_query_by_warps, wanted).launch_for(args, of.query, args.rows);
    return known(for_key_and_value_by_warps, wanted).launch_for(args, of.query, args.keys);
  }
  const Known &first = known(for_query_by_threads, wanted), &second = known(for_key_and_value_by_threads, wanted);
  if (first.plan.rows == 0 || second.plan.rows == 0)
    return through_cpu.attention.backward(of, grad, out, logsumexp, for_query, for_key, for_value);
  Scratch slopes(static_cast<size_t>(logsumexp.numel() * itemsize(logsumexp.dtype)), of.query.device);
  args.slopes = slopes.data();
  first.launch_for(args, of.query, args.rows);
  second.launch_for(args, of.query, args.keys);
}

void attention_kept(const View& draws, double dropped, const View& out) {
  const int64_t keys = out.sizes[3];
  if (out.numel() == 0) return;
  KeptArgs args{draws.as<const int64_t>(), out.data, out.numel() / keys, keys, DropRate::of(dropped)};
  const std::string call = std::string("attention_kept<") + device_type(out.dtype) + ">";
  launch(out.device, kernel_text("attention_extras.h", "KeptArgs", call), args, blocks_for(out.numel()));
}

}  // namespace adjoint::cuda
