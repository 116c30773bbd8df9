// What the indexing kernels share: checks of shapes and indices, snapshots of inputs that overlap the output.
#include "cpu/indexing.h"

#include <atomic>
#include <iterator>

#include "cpu/copy.h"
#include "cpu/parallel.h"

namespace adjoint::cpu::indexing {
namespace {

struct Extent {
  const char* begin;
  const char* end;
};

/// The bytes between the first and the last element.
Extent extent(const View& view) {
  int64_t low = 0, high = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.sizes[d] == 0) return {view.data, view.data};
    int64_t reach = (view.sizes[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t size = itemsize(view.dtype);
  return {view.data + low * size, view.data + high * size};
}

}  // namespace

void contiguous_strides(const View& view, int64_t* strides) {
  int64_t step = 1;
  for (int d = view.ndim - 1; d >= 0; --d) {
    strides[d] = step;
    step *= view.sizes[d];
  }
}

Snapshot::Snapshot(const View& view, const View& written) : view_(view) {
  const Extent a = extent(view), b = extent(written);
  if (a.begin >= b.end || b.begin >= a.end) return;
  contiguous_strides(view, strides_);
  storage_ = std::make_unique_for_overwrite<char[]>(view.numel() * itemsize(view.dtype));
  view_.data = storage_.get();
  view_.strides = strides_;
  copy(view, view_);
}

Advanced::Advanced(const char* op, const View& in, int count, const View* const* indices, const View& out) {
  if (count < 1 || count > in.ndim) {
    fail(ErrorKind::Index, "too many indices for tensor of dimension ", in.ndim, " (", op, ": got ", count, ")");
  }
  for (int j = 0; j < count; ++j) {
    if (!indices[j]) fail(op, "(): Expected an index for each leading dimension; got none for dimension ", j);
    check_int64(op, *indices[j]);
    check_same_sizes(op, *indices[0], *indices[j]);
  }
  const View& first = *indices[0];
  bool fits = out.ndim == first.ndim + in.ndim - count;
  for (int d = 0; d < out.ndim && fits; ++d) {
    fits = out.sizes[d] == (d < first.ndim ? first.sizes[d] : in.sizes[d - first.ndim + count]);
  }
  if (!fits) {
    fail("shape mismatch: value tensor of shape ", sizes_text(out), " cannot be broadcast to indexing result (", op,
         ": ", count, " indices of shape ", sizes_text(first), " into ", sizes_text(in), ")");
  }
  const int64_t size = first.numel();
  for (int j = 0; j < count; ++j) {
    if (in.sizes[j] == 0 && size > 0) {
      fail(ErrorKind::Index, "index is out of bounds for dimension with size 0 (", op, ": the input is ",
           sizes_text(in), ", which has nothing to index in dimension ", j, ")");
    }
  }
  if (out.numel() == 0) return;
  for (int j = 0; j < count; ++j) {
    const int64_t extent = in.sizes[j];
    if (const int64_t* bad = find_outside(*indices[j], -extent, extent)) {
      fail(ErrorKind::Index, "index ", *bad, " is out of bounds for dimension ", j, " with size ", extent, " (", op,
           ": indices must lie in [", -extent, ", ", extent, "))");
    }
    (in.strides[j] < 0 ? low : high) += (extent - 1) * in.strides[j];
  }
  int64_t* folded = small_;
  if (size > static_cast<int64_t>(std::size(small_))) {
    heap_ = std::make_unique_for_overwrite<int64_t[]>(size);
    folded = heap_.get();
  }
  offsets = folded;
  contiguous_strides(first, offset_strides);
  for (int j = 0; j < count; ++j) {
    const Walk<2> walk(first.ndim, first.sizes, {indices[j]->strides, offset_strides});
    const int64_t* index = indices[j]->as<const int64_t>();
    const int64_t step = walk.inner_stride(0), extent = in.sizes[j], stride = in.strides[j];
    parallel_for(size, kGrain, [&](int64_t begin, int64_t end) {
      walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
        const int64_t* x = index + at[0];
        int64_t* to = folded + at[1];
        for (int64_t i = 0; i < n; ++i) {
          const int64_t value = x[i * step];
          const int64_t reach = (value < 0 ? value + extent : value) * stride;
          to[i] = j == 0 ? reach : to[i] + reach;
        }
      });
    });
  }
  for (int d = 0; d < out.ndim; ++d) {
    if (d < first.ndim) {
      strides[d] = 0;
    } else {
      offset_strides[d] = 0;
      strides[d] = in.strides[d - first.ndim + count];
    }
  }
}

std::string sizes_text(const View& view) {
  std::string text = "[";
  for (int d = 0; d < view.ndim; ++d) text += (d ? ", " : "") + std::to_string(view.sizes[d]);
  return text + "]";
}

View at_least_1d(const View& view) {
  static constexpr int64_t one[1] = {1};
  return view.ndim > 0 ? view : View{view.data, view.dtype, 1, one, one};
}

void check_int64(const char* op, const View& index) {
  if (index.dtype != DType::Int64) {
    fail(op, "(): Expected dtype int64 for index; got ", info(index.dtype).name, "; convert it with .long()");
  }
}

void check_same_dtype(const char* op, const View& a, const View& b) {
  if (a.dtype != b.dtype) {
    fail(op, "(): Expected both tensors to have the same dtype; got ", info(a.dtype).name, " and ", info(b.dtype).name,
         "; convert one with .to()");
  }
}

void fail_sizes(const char* op, const View& a, const View& b) {
  fail(op, "(): Expected tensors of the same shape; got ", sizes_text(a), " and ", sizes_text(b),
       "; expand them first");
}

const int64_t* find_outside(const View& index, int64_t low, int64_t high) {
  int64_t sizes[kMaxDims];
  for (int d = 0; d < index.ndim; ++d) sizes[d] = index.strides[d] == 0 && index.sizes[d] > 0 ? 1 : index.sizes[d];
  const Walk<1> walk(index.ndim, sizes, {index.strides});
  const int64_t* data = index.as<const int64_t>();
  const int64_t step = walk.inner_stride(0);
  const uint64_t base = static_cast<uint64_t>(low), last = static_cast<uint64_t>(high - low) - 1;
  // With y = x - low, one of y and last - y has its sign bit set exactly where x is outside: no branch, so it
  // vectorises.
  auto stray = [base, last](int64_t x) {
    const uint64_t y = static_cast<uint64_t>(x) - base;
    return y | (last - y);
  };
  std::atomic<bool> found = false;
  parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
    uint64_t strays = 0;
    walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
      const int64_t* x = data + at[0];
      const auto test = stray;
      uint64_t found_here = 0;  // a variable that only this loop knows can stay in a register
      if (step == 1) {
        for (int64_t i = 0; i < n; ++i) found_here |= test(x[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) found_here |= test(x[i * step]);
      }
      strays |= found_here;
    });
    if (strays >> 63) found.store(true, std::memory_order_relaxed);
  });
  if (!found.load(std::memory_order_relaxed)) return nullptr;
  const int64_t* culprit = nullptr;
  walk.run(0, walk.numel, [&](const int64_t* at, int64_t n, const int64_t*) {
    for (int64_t i = 0; i < n && !culprit; ++i) {
      if (stray(data[at[0] + i * step]) >> 63) culprit = data + at[0] + i * step;
    }
  });
  return culprit;
}

void check_index(ErrorKind kind, const char* lead, const char* op, const View& index, const View& in, int dim,
                 bool wraps) {
  const int64_t size = in.sizes[dim], low = wraps ? -size : 0;
  if (const int64_t* bad = find_outside(index, low, size)) {
    fail(kind, lead, "index ", *bad, " is out of bounds for dimension ", dim, " with size ", size, " (", op,
         ": indices must lie in [", low, ", ", size, "))");
  }
}

}  // namespace adjoint::cpu::indexing
