// What the reduction-like kernels share: runs of elements in the accumulation type, coalesced loops, shared-out work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/view.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {

/// Converts `n` elements, `stride` apart, into the accumulation type A: one table instead of a kernel per dtype.
template <class A>
using LoadFn = void (*)(const char* source, int64_t stride, int64_t n, A* target);
/// The way back: rounds `n` values of A into elements `stride` apart.
template <class A>
using StoreFn = void (*)(const A* source, int64_t n, char* target, int64_t stride);

/// A is one of float, double, int32_t, int64_t, complex64, complex128, bool.
template <class A>
LoadFn<A> loader(DType dtype);
template <class A>
StoreFn<A> storer(DType dtype);

/// TurnLoops of elements of any type; false where there is none for it.
template <class A>
bool turn_rows(const A* source, int64_t n, int64_t rows, A* target);

/// Reads runs of a view as A, without a copy where the elements are contiguous and of type A already.
template <class A>
class Reader {
 public:
  explicit Reader(DType dtype) : load_(loader<A>(dtype)), direct_(dtype == DTypeOf<A>::value) {}
  Reader(DType dtype, LoadFn<A> load) : load_(load), direct_(dtype == DTypeOf<A>::value) {}

  bool direct(int64_t stride) const { return direct_ && stride == 1; }
  void load(const char* source, int64_t stride, int64_t n, A* target) const { load_(source, stride, n, target); }
  /// The run itself, or its conversion in `buffer`.
  const A* run(const char* source, int64_t stride, int64_t n, A* buffer) const {
    if (direct(stride)) return reinterpret_cast<const A*>(source);
    load_(source, stride, n, buffer);
    return buffer;
  }

 private:
  LoadFn<A> load_;
  bool direct_;
};

/// Writes runs of A; `target` lets a kernel compute in place where no conversion is needed.
template <class A>
class Writer {
 public:
  explicit Writer(DType dtype) : store_(storer<A>(dtype)), direct_(dtype == DTypeOf<A>::value) {}

  bool direct(int64_t stride) const { return direct_ && stride == 1; }
  void store(const A* source, int64_t n, char* target, int64_t stride) const { store_(source, n, target, stride); }

 private:
  StoreFn<A> store_;
  bool direct_;
};

/// An index space walked by N views at once: sizes, and each view's strides in elements, outermost first.
template <int N>
struct Dims {
  int count = 0;
  int64_t total = 1;
  int64_t size[kMaxDims];
  int64_t stride[N][kMaxDims];

  void add(int64_t extent, const int64_t (&steps)[N]) {
    total *= extent;
    if (extent == 1) return;
    size[count] = extent;
    for (int v = 0; v < N; ++v) stride[v][count] = steps[v];
    ++count;
  }

  /// Orders the dimensions by the first view's stride, largest first, and merges those that one stride can walk.
  void coalesce() {
    for (int i = 1; i < count; ++i) {
      for (int j = i; j > 0 && distance(j - 1) < distance(j); --j) swap(j - 1, j);
    }
    int last = 0;
    for (int i = 1; i < count; ++i) {
      bool merges = true;
      for (int v = 0; v < N; ++v) merges &= stride[v][last] == stride[v][i] * size[i];
      if (merges) {
        size[last] *= size[i];
      } else {
        ++last;
        size[last] = size[i];
      }
      for (int v = 0; v < N; ++v) stride[v][last] = stride[v][i];
    }
    if (count > 0) count = last + 1;
  }

  /// Takes the innermost dimension out: its extent (1 if there is none) and its strides.
  int64_t pop(int64_t (&steps)[N]) {
    for (int v = 0; v < N; ++v) steps[v] = 0;
    if (count == 0) return 1;
    --count;
    for (int v = 0; v < N; ++v) steps[v] = stride[v][count];
    total = total == 0 ? outer_total() : total / size[count];
    return size[count];
  }

  /// Where flat index `index` lies in each view, in elements.
  void locate(int64_t index, int64_t (&offsets)[N]) const {
    for (int v = 0; v < N; ++v) offsets[v] = 0;
    for (int i = count - 1; i >= 0 && index > 0; --i) {
      int64_t position = i == 0 ? index : index % size[i];
      if (i > 0) index /= size[i];
      for (int v = 0; v < N; ++v) offsets[v] += position * stride[v][i];
    }
  }

 private:
  /// Broadcast dimensions (stride 0) count as the farthest apart, so that real data stays innermost.
  uint64_t distance(int i) const {
    int64_t step = stride[0][i];
    return step == 0 ? UINT64_MAX : step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  }
  void swap(int i, int j) {
    std::swap(size[i], size[j]);
    for (int v = 0; v < N; ++v) std::swap(stride[v][i], stride[v][j]);
  }
  int64_t outer_total() const {
    int64_t n = 1;
    for (int i = 0; i < count; ++i) n *= size[i];
    return n;
  }
};

/// The slices of same-shaped views along one dimension: `outer.total * lanes` of them, `n` elements each.
template <int N>
struct Slices {
  int64_t n = 1;
  int64_t step[N] = {};
  int64_t lanes = 1;
  int64_t lane_step[N] = {};
  Dims<N> outer;

  Slices(const View* const (&views)[N], int dim) {
    const View& shape = *views[0];
    for (int d = 0; d < shape.ndim; ++d) {
      int64_t steps[N];
      for (int v = 0; v < N; ++v) steps[v] = views[v]->strides[d];
      if (d == dim) {
        n = shape.sizes[d];
        std::copy(steps, steps + N, step);
      } else {
        outer.add(shape.sizes[d], steps);
      }
    }
    if (outer.total == 0) return;
    outer.coalesce();
    lanes = outer.pop(lane_step);
  }

  bool empty() const { return n == 0 || outer.total == 0; }
};

/// Elements of work below which threads cost more than they bring.
inline constexpr int64_t kParallelWork = 32768;

/// Calls body(begin, end) over `units` pieces of about `work` elements each, on this thread if that is little.
template <class Body>
void share_out(int64_t units, int64_t work, const Body& body) {
  parallel_for(units, std::max<int64_t>(1, kParallelWork / std::max<int64_t>(1, work)), body);
}

/// The same for bodies body(unit, scratch) that need `bytes` of memory each; it is allocated before any work begins.
template <class Body>
void share_out_scratch(int64_t units, int64_t work, int64_t bytes, const Body& body) {
  constexpr int64_t kSmall = 8192;
  int64_t threads = 1;
  if (units > 1 && units * std::max<int64_t>(1, work) > kParallelWork)
    threads = std::min<int64_t>(num_threads(), units);
  bytes = (bytes + 63) / 64 * 64;
  alignas(64) char small[kSmall];
  std::unique_ptr<char[]> large;
  char* scratch = small;
  if (bytes * threads > kSmall) {
    large = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes * threads));
    scratch = large.get();
  }
  if (threads == 1) {
    for (int64_t unit = 0; unit < units; ++unit) body(unit, scratch);
    return;
  }
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t unit = units * t / threads; unit < units * (t + 1) / threads; ++unit)
        body(unit, scratch + t * bytes);
    }
  });
}

/// Fails unless `dim` is a dimension of `in` (0 for 0-d).
void check_dim(const char* op, const View& in, int dim);
/// Fails unless the views have one shape and `dim` is a dimension of it (0-d views count as one element, dim 0).
void check_same_shape(const char* op, const View& in, const View& out, int dim);
/// Fails unless `out` is `in` with some sizes replaced by 1.
void check_reduced_shape(const char* op, const View& in, const View& out);
/// Fails unless `view` has this dtype.
void check_dtype(const char* op, const char* name, const View& view, DType dtype);
/// Fails for complex dtypes.
void check_ordered(const char* op, DType dtype);

}  // namespace adjoint::cpu
