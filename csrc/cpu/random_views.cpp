// Random fills of strided views, in the order in which their elements lie in memory: that is how torch fills.
#include "cpu/random_views.h"

#include <algorithm>
#include <memory>

#include "cpu/copy.h"
#include "cpu/indexing.h"
#include "cpu/random.h"

namespace adjoint::cpu {
namespace {

/// The dimensions of a view from the outermost in memory to the innermost.
struct MemoryOrder {
  explicit MemoryOrder(const View& view) : ndim(view.ndim) {
    for (int i = 0; i < ndim; ++i) dims[i] = i;
    std::stable_sort(dims, dims + ndim, [&](int a, int b) { return view.strides[a] > view.strides[b]; });
    for (int i = 0; i < ndim; ++i) sizes[i] = view.sizes[dims[i]];
  }
  /// A view of the same sizes in this order; `strides` is where its strides go.
  View of(const View& view, int64_t* strides) const {
    for (int i = 0; i < ndim; ++i) strides[i] = view.strides[dims[i]];
    return {view.data, view.dtype, ndim, sizes, strides};
  }

  int ndim;
  int dims[kMaxDims];
  int64_t sizes[kMaxDims];
};

/// Memory for a packed copy of a view; `strides` is where its strides go.
View packed_like(const View& view, std::unique_ptr<char[]>& memory, int64_t* strides) {
  memory = std::make_unique_for_overwrite<char[]>(view.numel() * itemsize(view.dtype));
  int64_t stride = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= view.sizes[i];
  }
  return {memory.get(), view.dtype, view.ndim, view.sizes, strides};
}

/// Runs fill(data, n) on memory in the order of the elements of `out`, which is not packed, in memory.
template <class Fill>
void in_memory_order_of_strided(const View& out, Fill fill) {
  const int64_t n = out.numel();
  int64_t strides[kMaxDims], packed_strides[kMaxDims];
  MemoryOrder order(out);
  View ordered = order.of(out, strides);
  if (ordered.is_packed()) return fill(out.data, n);
  std::unique_ptr<char[]> memory;
  View packed = packed_like(ordered, memory, packed_strides);
  fill(packed.data, n);
  copy(packed, ordered);
}

/// The same for any view.
template <class Fill>
void in_memory_order(const View& out, Fill fill) {
  out.is_packed() ? fill(out.data, out.numel()) : in_memory_order_of_strided(out, fill);
}

}  // namespace

void random_uniform(Generator& generator, const View& out, double low, double high) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_uniform(generator, out.dtype, data, n, low, high); });
}

void random_normal(Generator& generator, const View& out, double mean, double std) {
  const int64_t n = out.numel();
  if (n == 0 && std >= 0) return;  // torch does not look at the type then
  if (out.is_packed()) return fill_normal(generator, out.dtype, out.data, n, mean, std, NormalStream::Blocks);
  in_memory_order_of_strided(out, [&](void* data, int64_t) {
    fill_normal(generator, out.dtype, data, n, mean, std, NormalStream::Elementwise);
  });
}

void random_integers(Generator& generator, const View& out, int64_t low, int64_t high) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_randint(generator, out.dtype, data, n, low, high); });
}

void random_integers_from(Generator& generator, const View& out, int64_t low) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_random_from(generator, out.dtype, data, n, low); });
}

void random_all_integers(Generator& generator, const View& out) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_random_full(generator, out.dtype, data, n); });
}

void random_bernoulli(Generator& generator, const View& out, double p) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_bernoulli(generator, out.dtype, data, n, p); });
}

void random_bernoulli_each(Generator& generator, const View& out, const View& p) {
  int64_t strides[kMaxDims], packed_strides[kMaxDims];
  std::unique_ptr<char[]> memory;
  const indexing::Snapshot given(p, out);
  const MemoryOrder order(out);
  View chances = order.of(*given, strides);
  if (!chances.is_packed()) {
    const View packed = packed_like(chances, memory, packed_strides);
    copy(chances, packed);
    chances = packed;
  }
  in_memory_order(out,
                  [&](void* data, int64_t n) { fill_bernoulli(generator, out.dtype, data, n, p.dtype, chances.data); });
}

void random_exponential(Generator& generator, const View& out, double lambda) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_exponential(generator, out.dtype, data, n, lambda); });
}

void random_geometric(Generator& generator, const View& out, double p) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_geometric(generator, out.dtype, data, n, p); });
}

void random_log_normal(Generator& generator, const View& out, double mean, double std) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_log_normal(generator, out.dtype, data, n, mean, std); });
}

void random_cauchy(Generator& generator, const View& out, double median, double sigma) {
  in_memory_order(out, [&](void* data, int64_t n) { fill_cauchy(generator, out.dtype, data, n, median, sigma); });
}

void random_permutation(Generator& generator, const View& out) { randperm(generator, out.as<int64_t>(), out.numel()); }

void random_poisson(Generator& generator, const View& rates) {
  fill_poisson(generator, rates.as<double>(), rates.numel());
}

void random_binomial(Generator& generator, const View& counts, const View& chances) {
  fill_binomial(generator, counts.as<double>(), chances.as<double>(), counts.numel());
}

bool has_negative(const View& values) {
  const int64_t n = values.numel();
  int64_t strides[kMaxDims];
  std::unique_ptr<char[]> memory;
  View wide = values;
  wide.dtype = DType::Float64;
  wide = packed_like(wide, memory, strides);
  copy(values, wide);
  return std::any_of(wide.as<double>(), wide.as<double>() + n, [](double value) { return value < 0; });
}

}  // namespace adjoint::cpu
