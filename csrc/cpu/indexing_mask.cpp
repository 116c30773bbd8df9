// Mask kernels: masked_fill, masked_select, masked_scatter, where, nonzero.
#include <algorithm>
#include <iterator>
#include <memory>

#include "cpu/copy.h"
#include "cpu/indexing.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

using namespace indexing;

void check_mask(const char* op, const View& mask, const View& view) {
  if (mask.dtype != DType::Bool) {
    fail(op, ": expected BoolTensor for mask; got ", info(mask.dtype).name, "; convert it with .bool()");
  }
  check_same_sizes(op, mask, view);
}

/// Says which elements are not zero from their bits alone: floating zeros differ in their sign only.
struct NonZero {
  uint64_t significant = ~uint64_t{0};

  explicit NonZero(DType dtype) {
    if (!is_differentiable(dtype)) return;
    switch (itemsize(real_part(dtype))) {
      case 2: significant = 0x7fff; break;
      case 4: significant = 0x7fffffff7fffffff; break;
      default: significant = 0x7fffffffffffffff;
    }
  }
  template <class U>
  U bits(Word<U> word) const {
    return word.bits & static_cast<U>(significant);
  }
  uint64_t bits(DoubleWord word) const { return (word.low | word.high) & significant; }
  template <class W>
  bool operator()(W word) const {
    return bits(word) != 0;
  }

 private:
  static DType real_part(DType dtype) {
    return dtype == DType::Complex64 ? DType::Float32 : dtype == DType::Complex128 ? DType::Float64 : dtype;
  }
};

template <class W>
int64_t count_part(const Walk<1>& walk, int64_t begin, int64_t end, const W* data, NonZero hit) {
  const int64_t step = walk.inner_stride(0);
  int64_t total = 0;
  walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
    const W* from = data + at[0];
    if (step != 1) {
      for (int64_t i = 0; i < n; ++i) total += hit(from[i * step]);
      return;
    }
    // Counted in words as wide as the elements, so that it vectorises; 255 is what the narrowest can hold.
    for (int64_t start = 0; start < n; start += 255) {
      const int64_t count = std::min<int64_t>(n - start, 255);
      decltype(hit.bits(*from)) part = 0;
      for (int64_t i = 0; i < count; ++i) part += hit.bits(from[start + i]) != 0;
      total += static_cast<int64_t>(part);
    }
  });
  return total;
}

/// The elements of a view in chunks, and how many nonzero ones come before each chunk.
class Tally {
 public:
  explicit Tally(const View& in) : numel_(in.numel()), chunks_((numel_ + kGrain - 1) / kGrain), starts_(small_) {
    if (chunks_ >= static_cast<int64_t>(std::size(small_))) {
      heap_ = std::make_unique_for_overwrite<int64_t[]>(chunks_ + 1);
      starts_ = heap_.get();
    }
    starts_[0] = 0;
    const Walk<1> walk(in.ndim, in.sizes, {in.strides});
    const NonZero hit(in.dtype);
    dispatch_size(in.dtype, [&](auto word) {
      const auto* data = in.as<const decltype(word)>();
      each_chunk(
          [&](int64_t c, int64_t begin, int64_t end) { starts_[c + 1] = count_part(walk, begin, end, data, hit); });
    });
    for (int64_t c = 0; c < chunks_; ++c) starts_[c + 1] += starts_[c];
  }
  Tally(const Tally&) = delete;

  int64_t total() const { return starts_[chunks_]; }

  /// Calls body(begin, end, first, last) for each chunk: its elements and the numbers of its nonzero ones.
  template <class F>
  void each(F&& body) const {
    each_chunk([&](int64_t c, int64_t begin, int64_t end) { body(begin, end, starts_[c], starts_[c + 1]); });
  }

 private:
  template <class F>
  void each_chunk(F&& body) const {
    parallel_for(chunks_, 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) body(c, c * kGrain, std::min((c + 1) * kGrain, numel_));
    });
  }

  int64_t numel_, chunks_;
  int64_t* starts_;
  int64_t small_[8];
  std::unique_ptr<int64_t[]> heap_;
};

// The choice as arithmetic: a random condition would defeat branch prediction.
template <class U>
Word<U> choose(bool first, Word<U> a, Word<U> b) {
  const U mask = static_cast<U>(-static_cast<U>(first));
  return {static_cast<U>(b.bits ^ ((a.bits ^ b.bits) & mask))};
}
DoubleWord choose(bool first, DoubleWord a, DoubleWord b) {
  const uint64_t mask = -static_cast<uint64_t>(first);
  return {b.low ^ ((a.low ^ b.low) & mask), b.high ^ ((a.high ^ b.high) & mask)};
}

template <class W, int kA, int kB>
void select_row(const uint8_t* condition, const W* a, const W* b, W* out, int64_t n) {
  // `out` may be `a` or `b` itself, which the vectoriser cannot tell from an overlap that matters.
  ADJOINT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = choose(condition[i] != 0, a[i * kA], b[i * kB]);
}

/// The loop for packed condition and output and these strides of a and b, or nullptr.
template <class W>
auto packed_select(int64_t a_step, int64_t b_step) -> decltype(&select_row<W, 1, 1>) {
  if ((a_step | b_step) & ~int64_t{1}) return nullptr;
  if (a_step) return b_step ? select_row<W, 1, 1> : select_row<W, 1, 0>;
  return b_step ? select_row<W, 0, 1> : select_row<W, 0, 0>;
}

template <class W>
void where_part(const Walk<4>& walk, int64_t begin, int64_t end, const uint8_t* condition, const W* a, const W* b,
                W* out) {
  const int64_t c_step = walk.inner_stride(0), a_step = walk.inner_stride(1), b_step = walk.inner_stride(2),
                out_step = walk.inner_stride(3);
  const auto packed = c_step == 1 && out_step == 1 ? packed_select<W>(a_step, b_step) : nullptr;
  walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
    const uint8_t* test = condition + at[0];
    const W *x = a + at[1], *y = b + at[2];
    W* to = out + at[3];
    if (packed) return packed(test, x, y, to, n);
    for (int64_t i = 0; i < n; ++i) to[i * out_step] = choose(test[i * c_step] != 0, x[i * a_step], y[i * b_step]);
  });
}

/// One stretch of each_masked; returns the number of the next element of `flat`. Parameters by value: see gather_row.
template <class W, class Move>
inline int64_t masked_row(W* element, int64_t step, const uint8_t* mask, int64_t mask_step, W* flat, int64_t flat_step,
                          int64_t next, int64_t last, int64_t n, Move move) {
  for (int64_t i = 0; i < n && next < last; ++i) {
    next += move(element[i * step], flat[next * flat_step], mask[i * mask_step] != 0);
  }
  return next;
}

/// Calls move(element of `view`, element of `flat`) for the elements under the mask, in row-major order.
template <class W, class Move>
void each_masked(const Tally& tally, const View& view, const View& mask, const View& flat, Move move) {
  const Walk<2> walk(view.ndim, view.sizes, {view.strides, mask.strides});
  const int64_t step = walk.inner_stride(0), mask_step = walk.inner_stride(1), flat_step = flat.strides[0];
  tally.each([&](int64_t begin, int64_t end, int64_t next, int64_t last) {
    walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
      next = masked_row(view.as<W>() + at[0], step, mask.as<const uint8_t>() + at[1], mask_step, flat.as<W>(),
                        flat_step, next, last, n, move);
    });
  });
}

}  // namespace

void masked_fill(const View& dst, const View& mask, const void* value) {
  check_mask("masked_fill", mask, dst);
  static constexpr int64_t zeros[kMaxDims] = {};
  where(mask, {static_cast<char*>(const_cast<void*>(value)), dst.dtype, dst.ndim, dst.sizes, zeros}, dst, dst);
}

void where(const View& condition, const View& a, const View& b, const View& out) {
  if (condition.dtype != DType::Bool) {
    fail("where expected condition to be a boolean tensor, but got a tensor with dtype ",
         info(condition.dtype).legacy_name, "; convert it with .bool()");
  }
  check_same_dtype("where", a, b);
  check_same_dtype("where", a, out);
  for (const View* view : {&condition, &a, &b}) check_same_sizes("where", *view, out);
  const Walk<4> walk(out.ndim, out.sizes, {condition.strides, a.strides, b.strides, out.strides});
  dispatch_size(out.dtype, [&](auto word) {
    using W = decltype(word);
    parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
      where_part(walk, begin, end, condition.as<const uint8_t>(), a.as<const W>(), b.as<const W>(), out.as<W>());
    });
  });
}

void masked_select(const View& in, const View& mask_view, const View& out) {
  check_mask("masked_select", mask_view, in);
  check_same_dtype("masked_select", in, out);
  const Snapshot mask(mask_view, out), source(in, out);
  const Tally tally(*mask);
  if (out.ndim != 1 || out.sizes[0] != tally.total()) {
    fail("masked_select: expected an output of shape [", tally.total(), "]; got ", sizes_text(out),
         "; allocate it anew");
  }
  dispatch_size(in.dtype, [&](auto word) {
    using W = decltype(word);
    // Written whether masked or not, and overwritten by the next one: random masks would defeat branch prediction.
    each_masked<W>(tally, *source, *mask, out, [](const W& element, W& flat, bool masked) {
      flat = element;
      return masked;
    });
  });
}

void masked_front(const View& in, const View& mask, const View& out) {
  const int64_t count = std::min(count_nonzero(mask), out.sizes[0]);
  masked_select(in, mask, {out.data, out.dtype, 1, &count, out.strides});
}

void masked_scatter(const View& dst, const View& mask_view, const View& src_view) {
  check_mask("masked_scatter", mask_view, dst);
  check_same_dtype("masked_scatter", dst, src_view);
  const View flat = at_least_1d(src_view);
  if (flat.ndim > 1)
    fail("masked_scatter: expected a flattened source; got shape ", sizes_text(flat), "; flatten it first");
  const Snapshot mask(mask_view, dst), src(flat, dst);
  const Tally tally(*mask);
  if (src->sizes[0] < tally.total()) {
    fail("Number of elements of source < number of ones in mask (masked_scatter: ", src->sizes[0], " < ", tally.total(),
         ")");
  }
  dispatch_size(dst.dtype, [&](auto word) {
    using W = decltype(word);
    each_masked<W>(tally, dst, *mask, *src, [](W& element, const W& from, bool masked) {
      element = choose(masked, from, element);
      return masked;
    });
  });
}

int64_t count_nonzero(const View& in) { return Tally(in).total(); }

void nonzero(const View& in_view, const View& out) {
  const Snapshot in(in_view, out);
  const Tally tally(*in);
  if (out.dtype != DType::Int64 || out.ndim != 2 || out.sizes[0] != tally.total() || out.sizes[1] != in->ndim) {
    fail("nonzero: expected an int64 output of shape [", tally.total(), ", ", in->ndim, "]; got ", info(out.dtype).name,
         " ", sizes_text(out), "; allocate it anew");
  }
  if (in->ndim == 0) return;
  const Walk<1> walk(in->ndim, in->sizes, {in->strides}, Merge::No);
  const NonZero hit(in->dtype);
  const int inner = in->ndim - 1;
  const int64_t step = walk.inner_stride(0), row_step = out.strides[0], column_step = out.strides[1];
  dispatch_size(in->dtype, [&](auto word) {
    using W = decltype(word);
    tally.each([&](int64_t begin, int64_t end, int64_t next, int64_t last) {
      constexpr int64_t kBlock = 256;
      int64_t found[kBlock];
      walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t* position) {
        for (int64_t start = 0; start < n && next < last; start += kBlock) {
          const W* from = in->as<const W>() + at[0] + start * step;
          const int64_t count = std::min(n - start, kBlock);
          int64_t hits = 0;
          for (int64_t i = 0; i < count; ++i) {
            found[hits] = position[inner] + start + i;
            hits += hit(from[i * step]);
          }
          hits = std::min(hits, last - next);
          int64_t* row = out.as<int64_t>() + next * row_step;
          for (int d = 0; d < inner; ++d) {
            for (int64_t j = 0; j < hits; ++j) row[j * row_step + d * column_step] = position[d];
          }
          for (int64_t j = 0; j < hits; ++j) row[j * row_step + inner * column_step] = found[j];
          next += hits;
        }
      });
    });
  });
}

void nonzero_static(const View& in, int64_t fill_value, const View& out) {
  const int64_t count = count_nonzero(in), rows[] = {count, in.ndim}, strides[] = {in.ndim, 1};
  const int64_t taken[] = {std::min(count, out.sizes[0]), in.ndim};
  const auto places = std::make_unique_for_overwrite<int64_t[]>(count * in.ndim);
  View found{reinterpret_cast<char*>(places.get()), DType::Int64, 2, rows, strides}, first = out;
  nonzero(in, found);
  fill(out, &fill_value);
  found.sizes = first.sizes = taken;
  copy(found, first);
}

}  // namespace adjoint::cpu
