// The driver of the generated loops: runs a contiguous loop over strided views, in cache-sized chunks.
#include "cpu/elementwise.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "cpu/copy.h"
#include "cpu/copy_isa.h"
#include "cpu/parallel.h"
#include "cpu/words.h"

namespace adjoint::cpu {

using kernels::kMaxInputs;

namespace {

constexpr int64_t kChunk = 1024;
constexpr int64_t kMaxItemsize = 16;
/// Elements worth a thread of their own.
constexpr int64_t kGrain = 32768;
/// Rows at least this long are run one by one, so that packed operands can be used where they lie.
constexpr int64_t kLongRow = 128;
constexpr int64_t kShortRow = 32;
/// The same where no operand needs a conversion or a gap closed.
constexpr int64_t kDirectRow = 8;

/// One array of the computation: array 0 is the output.
struct Array {
  char* data;
  const int64_t* strides;
  DType dtype;     ///< in memory
  DType computed;  ///< in the loop
  bool packed;     ///< element i of the result lies at data[i]
  bool constant;   ///< one element for all
};

bool is_constant(const View& view) {
  for (int d = 0; d < view.ndim; ++d) {
    if (view.sizes[d] != 1 && view.strides[d] != 0) return false;
  }
  return true;
}

/// Sizes and, for each operand, strides of the same computation over as few dimensions as will do.
struct Geometry {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxInputs + 1][kMaxDims];
};

/// Orders the dimensions so that the output is walked in the order of its memory, then merges those that are walked as
/// one by every operand.
void coalesce(const View& out, const View* inputs, int count, Geometry& g) {
  int order[kMaxDims];
  int kept = 0;
  for (int d = 0; d < out.ndim; ++d) {
    if (out.sizes[d] == 1) continue;
    int at = kept++;
    auto magnitude = [&](int dim) { return out.strides[dim] < 0 ? -out.strides[dim] : out.strides[dim]; };
    for (; at > 0 && magnitude(order[at - 1]) < magnitude(d); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  auto stride = [&](int operand, int dim) { return operand ? inputs[operand - 1].strides[dim] : out.strides[dim]; };
  for (int k = 0; k < kept; ++k) {
    const int d = order[k];
    bool merged = g.ndim > 0;
    for (int i = 0; merged && i <= count; ++i) merged = g.strides[i][g.ndim - 1] == stride(i, d) * out.sizes[d];
    if (!merged) g.sizes[g.ndim++] = 1;
    g.sizes[g.ndim - 1] *= out.sizes[d];
    for (int i = 0; i <= count; ++i) g.strides[i][g.ndim - 1] = stride(i, d);
  }
}

/// The place of an element: its index in each dimension but the last, its index in the last.
struct Position {
  int64_t index[kMaxDims];

  Position(const Geometry& g, int64_t flat) {
    for (int d = g.ndim - 1; d >= 0; --d) {
      index[d] = flat % g.sizes[d];
      flat /= g.sizes[d];
    }
  }
  void advance(const Geometry& g, int64_t steps) {
    int d = g.ndim - 1;
    index[d] += steps;
    for (; d > 0 && index[d] == g.sizes[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
  int64_t left_in_row(const Geometry& g) const { return g.sizes[g.ndim - 1] - index[g.ndim - 1]; }
  char* address(const Array& operand, int ndim) const {
    int64_t offset = 0;
    for (int d = 0; d < ndim; ++d) offset += index[d] * operand.strides[d];
    return operand.data + offset * itemsize(operand.dtype);
  }
};

/// Calls f(address of the first element, elements, elements done before) for each part of a row in [at, at + n).
template <class F>
void each_row(const Geometry& g, Position at, const Array& operand, int64_t n, F&& f) {
  const int last = g.ndim - 1;
  const int64_t step = last > 0 ? operand.strides[last - 1] * itemsize(operand.dtype) : 0;
  int64_t m = std::min(n, at.left_in_row(g));
  f(at.address(operand, g.ndim), m, int64_t{0});
  char* row = nullptr;
  for (int64_t done = m; done < n; done += m) {
    at.advance(g, m);
    // Only the first row of a group of rows needs its address worked out in full.
    row = row && at.index[last - 1] != 0 ? row + step : at.address(operand, g.ndim);
    m = std::min(n - done, g.sizes[last]);
    f(row, m, done);
  }
}

/// Packs elements [at, at + n) of an operand into `packed`. Short rows are moved here: a call for each would cost more.
void pack(const Geometry& g, const Position& at, const Array& operand, int64_t n, char* packed) {
  const int64_t size = itemsize(operand.dtype), stride = operand.strides[g.ndim - 1];
  dispatch_size(size, [&](auto tag) {
    using Element = decltype(tag);
    each_row(g, at, operand, n, [&](const char* row, int64_t m, int64_t done) {
      if (m >= kShortRow) return gather_strided(row, stride, size, packed + done * size, m);
      move_words(reinterpret_cast<const Element*>(row), stride, reinterpret_cast<Element*>(packed) + done, 1, m);
    });
  });
}

/// The reverse of pack.
void unpack(const Geometry& g, const Position& at, const Array& operand, int64_t n, const char* packed) {
  const int64_t size = itemsize(operand.dtype), stride = operand.strides[g.ndim - 1];
  dispatch_size(size, [&](auto tag) {
    using Element = decltype(tag);
    each_row(g, at, operand, n, [&](char* row, int64_t m, int64_t done) {
      if (m >= kShortRow) return scatter_strided(packed + done * size, row, stride, size, m);
      move_words(reinterpret_cast<const Element*>(packed) + done, 1, reinterpret_cast<Element*>(row), stride, m);
    });
  });
}

/// Room for one chunk of each operand, and for one before or after its conversion.
struct Buffers {
  alignas(64) char chunk[kMaxInputs + 1][kChunk * kMaxItemsize];
  alignas(64) char raw[kChunk * kMaxItemsize];
};

/// Elements [begin, begin + n) of an operand as the loop wants them: where they lie if possible, else in `chunk`.
char* fetch(const Geometry& g, const Position& at, const Array& operand, int64_t begin, int64_t n, char* chunk,
            char* raw) {
  const int64_t size = itemsize(operand.dtype);
  char* source = raw;
  if (operand.packed) {
    source = operand.data + begin * size;
  } else if (operand.strides[g.ndim - 1] == 1 && n <= at.left_in_row(g)) {
    source = at.address(operand, g.ndim);
  } else {
    if (operand.dtype == operand.computed) source = chunk;
    pack(g, at, operand, n, source);
  }
  if (operand.dtype == operand.computed) return source;
  convert_contiguous(operand.dtype, source, operand.computed, chunk, n);
  return chunk;
}

/// Writes what the loop left in `chunk` to elements [begin, begin + n) of the output.
void store(const Geometry& g, const Position& at, const Array& out, int64_t begin, int64_t n, char* chunk, char* raw) {
  const int64_t size = itemsize(out.dtype);
  if (out.packed) return convert_contiguous(out.computed, chunk, out.dtype, out.data + begin * size, n);
  char* source = chunk;
  if (out.dtype != out.computed) {
    convert_contiguous(out.computed, chunk, out.dtype, raw, n);
    source = raw;
  }
  unpack(g, at, out, n, source);
}

/// Whether every row of the operand is the same row.
bool repeats_rows(const Geometry& g, const Array& operand) {
  for (int d = 0; d < g.ndim - 1; ++d) {
    if (operand.strides[d] != 0) return false;
  }
  return true;
}

/// Elements [begin, end) of the computation, chunk by chunk.
void run_range(Loop loop, const Scalar* params, const Geometry& g, const Array* operands, int count, int64_t begin,
               int64_t end) {
  Buffers buffers;
  char* arrays[kMaxInputs + 1];
  bool ready[kMaxInputs + 1] = {};
  const Array& out = operands[0];
  const int64_t out_size = itemsize(out.dtype), row = g.sizes[g.ndim - 1];
  const bool by_rows = row >= kLongRow;
  // Chunks of whole rows, so that what repeats by the row repeats by the chunk, and is fetched once.
  const int64_t chunk = by_rows ? kChunk : kChunk / row * row;
  Position at(g, begin);
  for (int i = 1; i <= count; ++i) {
    ready[i] = operands[i].constant || (!by_rows && repeats_rows(g, operands[i]));
    if (ready[i]) {
      const int64_t n = std::min(chunk, end - begin);
      arrays[i] = fetch(g, at, operands[i], begin, n, buffers.chunk[i], buffers.raw);
    }
  }
  while (begin < end) {
    int64_t n = std::min(chunk, end - begin);
    if (by_rows) n = std::min(n, at.left_in_row(g));
    for (int i = 1; i <= count; ++i) {
      if (!ready[i]) arrays[i] = fetch(g, at, operands[i], begin, n, buffers.chunk[i], buffers.raw);
    }
    const bool direct =
        out.dtype == out.computed && (out.packed || (out.strides[g.ndim - 1] == 1 && n <= at.left_in_row(g)));
    arrays[0] = !direct ? buffers.chunk[0] : out.packed ? out.data + begin * out_size : at.address(out, g.ndim);
    loop(arrays, n, params);
    if (!direct) store(g, at, out, begin, n, buffers.chunk[0], buffers.raw);
    begin += n;
    if (n <= at.left_in_row(g)) {
      at.advance(g, n);
    } else {
      at = Position(g, begin);
    }
  }
}

// Fill whole vectors, at least `bytes`, with one element.
template <class U>
void repeat(Word<U> element, char* to, int64_t bytes) {
  constexpr uint64_t everywhere = ~uint64_t{0} / static_cast<U>(~U{0});  // 1, 0x0000000100000001, ...
  chosen<CopyLoops>.fill_words(to, element.bits * everywhere, (bytes + 63) / 64 * 8);
}
void repeat(DoubleWord element, char* to, int64_t bytes) {
  std::fill_n(reinterpret_cast<DoubleWord*>(to), bytes / sizeof(element), element);
}

/// Whether rows can be run where they lie: every operand packed along the row or, if an input, one element for it.
bool runs_by_rows(const Geometry& g, const Array* operands, int count) {
  const int last = g.ndim - 1;
  bool fits = last > 0 && g.sizes[last] >= kDirectRow, chunks_fit = g.sizes[last] < kLongRow;
  for (int i = 0; fits && i <= count; ++i) {
    const int64_t step = operands[i].strides[last];
    fits = operands[i].dtype == operands[i].computed && (step == 1 || (step == 0 && i > 0));
    chunks_fit = chunks_fit && (operands[i].packed || repeats_rows(g, operands[i]));
  }
  return fits && !chunks_fit;
}

/// Rows [begin, end) of such operands. What is one element for a row is repeated in a chunk.
void run_rows(Loop loop, const Scalar* params, const Geometry& g, const Array* operands, int count, int64_t begin,
              int64_t end) {
  const int last = g.ndim - 1;
  const int64_t row = g.sizes[last];
  Buffers buffers;
  char *first[kMaxInputs + 1], *rows[kMaxInputs + 1];
  int64_t size[kMaxInputs + 1], step[kMaxInputs + 1];
  bool repeated[kMaxInputs + 1], any_repeated = false;
  for (int i = 0; i <= count; ++i) {
    size[i] = itemsize(operands[i].dtype);
    step[i] = operands[i].strides[last - 1] * size[i];
    repeated[i] = operands[i].strides[last] == 0;
    any_repeated |= repeated[i];
  }
  const int64_t chunk = any_repeated ? std::min(row, kChunk) : row;
  for (Position at(g, begin * row); begin < end;) {
    // The rows of one group are a fixed step apart.
    const int64_t group = std::min(end - begin, g.sizes[last - 1] - at.index[last - 1]);
    for (int i = 0; i <= count; ++i) first[i] = at.address(operands[i], last);
    for (int64_t r = 0; r < group; ++r) {
      for (int i = 0; i <= count; first[i] += step[i], ++i) {
        rows[i] = repeated[i] ? buffers.chunk[i] : first[i];
        if (!repeated[i]) continue;
        dispatch_size(size[i], [&](auto tag) {
          std::memcpy(&tag, first[i], sizeof(tag));
          repeat(tag, rows[i], chunk * size[i]);
        });
      }
      for (int64_t done = 0;;) {
        loop(rows, std::min(chunk, row - done), params);
        if ((done += chunk) >= row) break;
        for (int i = 0; i <= count; ++i) rows[i] += repeated[i] ? 0 : chunk * size[i];
      }
    }
    begin += group;
    if (begin < end) at = Position(g, begin * row);
  }
}

/// All operands packed and of the loop's type: nothing to prepare.
void run_packed(Loop loop, const Scalar* params, const Array* operands, int count, int64_t n) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    char* arrays[kMaxInputs + 1];
    for (int i = 0; i <= count; ++i) arrays[i] = operands[i].data + begin * itemsize(operands[i].dtype);
    loop(arrays, end - begin, params);
  });
}

/// Fills a chunk with n copies of the one element of a constant operand, converted.
void repeat_constant(const Array& operand, int64_t n, char* chunk) {
  alignas(16) char converted[kMaxItemsize];
  const char* element = operand.data;
  if (operand.dtype != operand.computed) {
    convert_contiguous(operand.dtype, operand.data, operand.computed, converted, 1);
    element = converted;
  }
  dispatch_size(itemsize(operand.computed), [&](auto tag) {
    std::memcpy(&tag, element, sizeof(tag));
    std::fill_n(reinterpret_cast<decltype(tag)*>(chunk), n, tag);
  });
}

/// One chunk, packed but for constants, as `x * 2` of a small tensor: no geometry to work out.
void run_small(Loop loop, const Scalar* params, const Array* operands, int count, int64_t n) {
  Buffers buffers;
  char* arrays[kMaxInputs + 1];
  for (int i = 0; i <= count; ++i) {
    arrays[i] = operands[i].constant ? buffers.chunk[i] : operands[i].data;
    if (operands[i].constant) repeat_constant(operands[i], n, arrays[i]);
  }
  loop(arrays, n, params);
}

}  // namespace

void elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params) {
  const bool half = is_half(compute);
  const bool own = half && kernel.loops[static_cast<int>(compute)] &&
                   std::all_of(inputs, inputs + kernel.inputs, [&](const View& in) { return in.dtype == compute; });
  const DType type = own ? compute : compute_type(compute);
  const Loop loop = kernel.loops[static_cast<int>(type)];
  if (!loop) {
    fail(ErrorKind::NotImplemented, "\"", kernel.name, "\" not implemented for '", info(compute).legacy_name,
         "'; convert the input to another dtype, such as float32, first");
  }
  const int64_t n = out.numel();
  if (n == 0) return;
  const int count = kernel.inputs;
  const DType result = kernel.result == ResultKind::Bool   ? DType::Bool
                       : kernel.result == ResultKind::Real ? real_type(type)
                                                           : type;
  Array operands[kMaxInputs + 1];
  bool packed = true, flat = true, ready = true;
  for (int i = 0; i <= count; ++i) {
    const View& view = i ? inputs[i - 1] : out;
    Array& o = operands[i];
    o = {view.data, view.strides, view.dtype, i ? type : result, view.is_packed(), false};
    if (!o.packed && i) o.constant = is_constant(view);
    packed = packed && o.packed && o.dtype == o.computed;
    flat = flat && (o.packed || o.constant);
    ready = ready && (o.constant || o.dtype == o.computed);
  }
  if (packed) return run_packed(loop, params, operands, count, n);
  if (flat && ready && n <= kChunk) return run_small(loop, params, operands, count, n);

  Geometry geometry;
  if (flat) {
    geometry.ndim = 1;
    geometry.sizes[0] = n;
    for (int i = 0; i <= count; ++i) geometry.strides[i][0] = operands[i].constant ? 0 : 1;
  } else {
    coalesce(out, inputs, count, geometry);
    // Packed means in the order of the output's memory, which may differ from the order of its dimensions.
    int64_t expected = 1;
    for (int i = 0; i <= count; ++i) operands[i].packed = true;
    for (int d = geometry.ndim - 1; d >= 0; expected *= geometry.sizes[d--]) {
      for (int i = 0; i <= count; ++i) operands[i].packed &= geometry.strides[i][d] == expected;
    }
  }
  for (int i = 0; i <= count; ++i) operands[i].strides = geometry.strides[i];
  if (runs_by_rows(geometry, operands, count)) {
    const int64_t row = geometry.sizes[geometry.ndim - 1];
    parallel_for(n / row, std::max<int64_t>(1, kGrain / row),
                 [&](int64_t begin, int64_t end) { run_rows(loop, params, geometry, operands, count, begin, end); });
    return;
  }
  parallel_for(n, kGrain,
               [&](int64_t begin, int64_t end) { run_range(loop, params, geometry, operands, count, begin, end); });
}

}  // namespace adjoint::cpu
