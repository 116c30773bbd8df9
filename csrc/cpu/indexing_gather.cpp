// Indexing kernels that read at computed places: gather, index_select, take and advanced indexing.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/indexing.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

using namespace indexing;

/// Indices that were checked before.
struct Trusted {
  static bool admits(const int64_t*, int64_t) { return true; }
  static bool admits(int64_t) { return true; }
  static int64_t place(int64_t at) { return at; }
};

/// Indices that are checked as they are read: those of [low, size) are admitted, and negative ones count from the end.
template <bool kWraps>
struct Checked {
  int64_t size;

  bool admits(const int64_t* index, int64_t n) const {
    // With y = x - low, one of y and last - y has its sign bit set exactly where x is outside.
    const uint64_t shift = kWraps ? size : 0, last = shift + size - 1;
    uint64_t strays = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t y = static_cast<uint64_t>(index[i]) + shift;
      strays |= y | (last - y);
    }
    return !(strays >> 63);
  }
  bool admits(int64_t at) const { return admits(&at, 1); }
  int64_t place(int64_t at) const { return kWraps && at < 0 ? at + size : at; }
};

/// Indices that are checked at a time, so that they are still in the cache when they are used.
constexpr int64_t kBlock = 512;

/// to[i] = from[i + index[i] * step] for a stretch, with the three strides; false where an index is out of range.
/// Parameters by value: stores of words may alias anything, so what the loops need must not be read from memory.
template <class W, class Range>
inline bool gather_row(const int64_t* index, int64_t index_step, W* to, int64_t to_step, const W* from,
                       int64_t from_step, int64_t step, Range range, int64_t n) {
  if (index_step == 1 && to_step == 1) {
    for (; n > 0; n -= kBlock, index += kBlock, to += kBlock, from += kBlock * from_step) {
      const int64_t m = std::min(n, kBlock);
      if (!range.admits(index, m)) return false;
      if (from_step == 0 && step == 1) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i) to[i] = from[range.place(index[i])];
      } else {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i) to[i] = from[i * from_step + range.place(index[i]) * step];
      }
    }
    return true;
  }
  if (index_step != 0) {
    for (; n > 0; --n, index += index_step, to += to_step, from += from_step) {
      if (!range.admits(*index)) return false;
      *to = from[range.place(*index) * step];
    }
    return true;
  }
  if (!range.admits(*index)) return false;
  from += range.place(*index) * step;
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, n * sizeof(W));
  } else {
    for (; n > 0; --n, to += to_step, from += from_step) *to = *from;
  }
  return true;
}

/// A walk of (index, out, in); false where an index is out of range.
template <class Range>
bool gather_walk(const Walk<3>& walk, const int64_t* index, const View& out, const View& in, int64_t step,
                 Range range) {
  std::atomic<bool> inside = true;
  dispatch_size(in.dtype, [&](auto word) {
    using W = decltype(word);
    parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
      bool mine = true;
      walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
        mine &= gather_row(index + at[0], walk.inner_stride(0), out.as<W>() + at[1], walk.inner_stride(1),
                           in.as<const W>() + at[2], walk.inner_stride(2), step, range, n);
      });
      if (!mine) inside.store(false, std::memory_order_relaxed);
    });
  });
  return inside;
}

}  // namespace

void gather(const View& in_view, int dim, const View& index_view, const View& out_view) {
  const View in = at_least_1d(in_view), out = at_least_1d(out_view);
  const Snapshot index(at_least_1d(index_view), out);
  if (out.numel() == 0) return;
  const Snapshot source(in, out);
  const Unstepped from(*source, dim);
  const Walk<3> walk(in.ndim, out.sizes, {index->strides, out.strides, from.strides});
  const int64_t size = in.sizes[dim];
  if (size == 0 ||
      !gather_walk(walk, index->as<const int64_t>(), out, *source, source->strides[dim], Checked<false>{size}))
    check_index(ErrorKind::Runtime, "", "gather", *index, in, dim);
}

void index_select(const View& in_view, int dim, const View& index_view, const View& out_view) {
  const View in = at_least_1d(in_view), out = at_least_1d(out_view);
  const Snapshot index(at_least_1d(index_view), out);
  check_index(ErrorKind::Index, "index out of range in self; ", "index_select", *index, in, dim);
  if (out.numel() == 0) return;
  const Snapshot source(in, out);
  const Unstepped from(*source, dim);
  const Along along(*index, in.ndim, dim);
  const Walk<3> walk(in.ndim, out.sizes, {along.strides, out.strides, from.strides});
  gather_walk(walk, index->as<const int64_t>(), out, *source, source->strides[dim], Trusted());
}

void index_get(const View& in, int count, const View* const* indices, const View& out) {
  check_same_dtype("index", in, out);
  const Snapshot source(in, out);
  const Advanced plan("index", *source, count, indices, out);
  if (out.numel() == 0) return;
  const Walk<3> walk(out.ndim, out.sizes, {plan.offset_strides, out.strides, plan.strides});
  gather_walk(walk, plan.offsets, out, *source, 1, Trusted());
}

void take(const View& in_view, const View& index_view, const View& out) {
  const View in = at_least_1d(in_view);
  const int64_t size = in.sizes[0];
  if (out.numel() == 0) return;
  const Snapshot index(index_view, out), source(in, out);
  const int64_t still[kMaxDims] = {};
  const Walk<3> walk(out.ndim, out.sizes, {index->strides, out.strides, still});
  if (gather_walk(walk, index->as<const int64_t>(), out, *source, source->strides[0], Checked<true>{size})) return;
  const int64_t* bad = find_outside(*index, -size, size);
  fail(ErrorKind::Index, "out of range: tried to access index ", *bad, " on a tensor of ", size,
       " elements. (take: indices must lie in [", -size, ", ", size, "))");
}

}  // namespace adjoint::cpu
