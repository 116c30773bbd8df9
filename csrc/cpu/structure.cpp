// Triangles, turned rows and runs of places over raw views.
#include "cpu/structure.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cpu/copy.h"
#include "cpu/indexing.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

using namespace indexing;

/// Copies the columns [first, last) of a row and clears the others.
template <class W>
void keep_columns(const W* in, int64_t in_step, W* out, int64_t out_step, int64_t columns, int64_t first,
                  int64_t last) {
  if (columns == 0) return;
  if (in_step == 1 && out_step == 1) {
    std::memset(static_cast<void*>(out), 0, first * sizeof(W));
    if (in != out) std::memcpy(out + first, in + first, (last - first) * sizeof(W));
    std::memset(static_cast<void*>(out + last), 0, (columns - last) * sizeof(W));
    return;
  }
  for (int64_t c = 0; c < first; ++c) out[c * out_step] = W{};
  for (int64_t c = first; c < last; ++c) out[c * out_step] = in[c * in_step];
  for (int64_t c = last; c < columns; ++c) out[c * out_step] = W{};
}

void triangle(const char* op, const View& in, int64_t diagonal, const View& out, bool lower) {
  if (in.ndim < 2) {
    fail(op, ": input tensor must have at least 2 dimensions; got shape ", sizes_text(in), "; reshape it to a matrix");
  }
  check_same_dtype(op, in, out);
  check_same_sizes(op, in, out);
  const int last = in.ndim - 1;
  const int64_t columns = in.sizes[last], in_step = in.strides[last], out_step = out.strides[last];
  diagonal = std::clamp(diagonal, -in.sizes[last - 1], columns);
  const Walk<2> rows(last, in.sizes, {in.strides, out.strides}, Merge::No);
  dispatch_size(in.dtype, [&](auto word) {
    using W = decltype(word);
    parallel_for(
        rows.numel, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns)), [&](int64_t begin, int64_t end) {
          rows.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t* position) {
            for (int64_t i = 0; i < n; ++i) {
              const int64_t border = std::clamp<int64_t>(position[last - 1] + i + diagonal + lower, 0, columns);
              keep_columns(in.as<const W>() + at[0] + i * rows.inner_stride(0), in_step,
                           out.as<W>() + at[1] + i * rows.inner_stride(1), out_step, columns, lower ? 0 : border,
                           lower ? border : columns);
            }
          });
        });
  });
}

}  // namespace

void tril(const View& in, int64_t diagonal, const View& out) { triangle("tril", in, diagonal, out, true); }
void triu(const View& in, int64_t diagonal, const View& out) { triangle("triu", in, diagonal, out, false); }

void triangle_places(int64_t row, int64_t col, int64_t offset, bool lower, const View& out) {
  // Of row i the columns from first(i) up to last(i); other rows than those from `begin` to `end` have none.
  auto first = [&](int64_t i) { return lower ? 0 : std::clamp<int64_t>(i + offset, 0, col); };
  auto last = [&](int64_t i) { return lower ? std::clamp<int64_t>(i + offset + 1, 0, col) : col; };
  const int64_t begin = lower ? std::max<int64_t>(0, -offset) : 0, end = lower ? row : std::min(row, col - offset);
  auto write = [&](auto* rows) {
    using Index = std::remove_reference_t<decltype(*rows)>;
    Index* columns = rows + out.sizes[1];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = first(i), to = last(i);
      rows = std::fill_n(rows, to - from, static_cast<Index>(i));
      for (int64_t j = from; j < to; ++j) *columns++ = static_cast<Index>(j);
    }
  };
  out.dtype == DType::Int64 ? write(out.as<int64_t>()) : write(out.as<int32_t>());
}

void roll(const View& in, int dim, int64_t start, const View& out) {
  // Block by block, so that memory is written once from front to back.
  // By the result's strides: those of dimensions of size 1 may be anything in the input.
  const int64_t step = out.strides[dim] * itemsize(in.dtype), block = in.sizes[dim] * step;
  const int64_t first = (in.sizes[dim] - start) * step;
  const char* from = in.data;
  char* to = out.data;
  constexpr int64_t kGrainBytes = 1 << 17;
  parallel_for(out.numel() * itemsize(in.dtype) / block, kGrainBytes / block + 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin * block; i < end * block; i += block) {
      copy_bytes(from + i + block - first, to + i, first);
      copy_bytes(from + i, to + i + first, block - first);
    }
  });
}

int64_t total_repeats(const View& repeats) {
  const int64_t* count = repeats.as<const int64_t>();
  int64_t total = 0;
  for (int64_t i = 0, n = repeats.numel(); i < n; ++i) {
    if (count[i] < 0) fail("repeats can not be negative; got ", count[i], " at ", i);
    if (__builtin_add_overflow(total, count[i], &total))
      fail("repeat_interleave: the repeats add up to more than can be addressed");
  }
  return total;
}

void check_repeats(const View& repeats, int64_t expected) {
  const int64_t total = total_repeats(repeats);
  if (total != expected)
    fail("allocated size does not match required size; the repeats add up to ", total, ", output_size is ", expected);
}

void repeat_places(const View& repeats, const View& out) {
  const int64_t* count = repeats.as<const int64_t>();
  int64_t* to = out.as<int64_t>();
  for (int64_t i = 0, n = repeats.numel(); i < n; ++i) to = std::fill_n(to, count[i], i);
}

}  // namespace adjoint::cpu
