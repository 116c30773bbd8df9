// Strided copy: coalesces the dimensions, orders them by the destination, then copies by element size.
// Conversions run on packed chunks; strided operands are packed into a chunk on the stack, or unpacked from one.
#include "cpu/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "cpu/copy_isa.h"
#include "cpu/parallel.h"
#include "cpu/stored.h"
#include "cpu/vector_math.h"
#include "cpu/words.h"

namespace adjoint::cpu {
namespace {

/// Copies below this many bytes are not worth waking a thread for.
constexpr int64_t kParallelBytes = 1 << 18;
/// Elements in a staging chunk: two chunks of the widest type stay inside a first-level cache.
constexpr int64_t kChunk = 512;

// ---- Walks -----------------------------------------------------------------------------------------------------

/// A loop nest over two operands, outermost dimension first. Strides are counted in bytes.
struct Walk {
  const char* src;
  char* dst;
  int ndim;
  int64_t size[kMaxDims];
  int64_t from[kMaxDims];
  int64_t to[kMaxDims];

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= size[i];
    return n;
  }
};

/// Fills `walk` with the dimensions sorted by destination stride, all of those strides positive, and merged where
/// two neighbours are one run in both operands. False when there is nothing to copy.
bool plan(const View& dst, const char* src, const int64_t* src_strides, int64_t src_item, Walk& walk) {
  const int64_t dst_item = itemsize(dst.dtype);
  walk.src = src;
  walk.dst = dst.data;
  int n = 0;
  for (int i = 0; i < dst.ndim; ++i) {
    int64_t size = dst.sizes[i];
    if (size == 0) return false;
    if (size == 1) continue;
    int64_t from = src_strides ? src_strides[i] * src_item : 0;
    int64_t to = dst.strides[i] * dst_item;
    if (to < 0) {
      walk.dst += to * (size - 1);
      walk.src += from * (size - 1);
      to = -to;
      from = -from;
    }
    int at = n++;
    for (; at > 0 && (walk.to[at - 1] < to || (walk.to[at - 1] == to && std::abs(walk.from[at - 1]) < std::abs(from)));
         --at) {
      walk.size[at] = walk.size[at - 1];
      walk.from[at] = walk.from[at - 1];
      walk.to[at] = walk.to[at - 1];
    }
    walk.size[at] = size;
    walk.from[at] = from;
    walk.to[at] = to;
  }
  int last = 0;
  for (int i = 1; i < n; ++i) {
    if (walk.from[last] == walk.from[i] * walk.size[i] && walk.to[last] == walk.to[i] * walk.size[i]) {
      walk.size[last] *= walk.size[i];
    } else {
      walk.size[++last] = walk.size[i];
    }
    walk.from[last] = walk.from[i];
    walk.to[last] = walk.to[i];
  }
  walk.ndim = n == 0 ? 0 : last + 1;
  return true;
}

/// Calls visit(src, dst) for every index of the first `outer` dimensions.
template <class Visit>
inline void for_each_outer(const Walk& walk, int outer, Visit&& visit) {
  const char* src = walk.src;
  char* dst = walk.dst;
  if (outer == 0) return visit(src, dst);
  int64_t index[kMaxDims];
  std::fill_n(index, outer, 0);
  for (;;) {
    visit(src, dst);
    int d = outer - 1;
    for (; d >= 0; --d) {
      src += walk.from[d];
      dst += walk.to[d];
      if (++index[d] < walk.size[d]) break;
      src -= walk.from[d] * walk.size[d];
      dst -= walk.to[d] * walk.size[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

/// Splits the work over threads along one dimension: the outermost that is long enough, else the longest.
template <class Run>
void run_parallel(const Walk& walk, int64_t bytes, Run run) {
  if (bytes < 2 * kParallelBytes || num_threads() == 1) return run(walk);
  int longest = 0;
  int split = -1;
  const int64_t enough = 8 * num_threads();
  for (int i = 0; i < walk.ndim && split < 0; ++i) {
    if (walk.size[i] > walk.size[longest]) longest = i;
    if (walk.size[i] >= enough) split = i;
  }
  if (split < 0) split = longest;
  int64_t grain = std::max<int64_t>(1, walk.size[split] / std::max<int64_t>(1, bytes / kParallelBytes));
  parallel_for(walk.size[split], grain, [&walk, split, run](int64_t begin, int64_t end) {
    Walk part;
    part.ndim = walk.ndim;
    std::copy_n(walk.size, walk.ndim, part.size);
    std::copy_n(walk.from, walk.ndim, part.from);
    std::copy_n(walk.to, walk.ndim, part.to);
    part.size[split] = end - begin;
    part.src = walk.src + begin * walk.from[split];
    part.dst = walk.dst + begin * walk.to[split];
    run(part);
  });
}

// ---- Copies by element size --------------------------------------------------------------------------------------

/// Elements are moved through memcpy, which is one instruction and has no alignment or aliasing rules to break.
template <class T>
inline void move_one(const char* src, char* dst) {
  std::memcpy(dst, src, sizeof(T));
}

/// dst[i] = src[-i], both packed; a vector at a time.
template <class T>
void reverse_row(const char* __restrict src, char* __restrict dst, int64_t n) {
  constexpr int64_t item = sizeof(T);
  int64_t i = 0;
  if constexpr (item <= 8) {
    constexpr int64_t lanes = 16 / item;
    using Bits = typename T::Bits;
    typedef Bits Lanes __attribute__((vector_size(16)));
    Lanes backwards = {};
    for (int64_t lane = 0; lane < lanes; ++lane) backwards[lane] = static_cast<Bits>(lanes - 1 - lane);
#pragma GCC unroll 4
    for (; i + lanes <= n; i += lanes) {
      Lanes block;
      std::memcpy(&block, src - (i + lanes - 1) * item, 16);
      shuffle(block, backwards, block);
      std::memcpy(dst + i * item, &block, 16);
    }
  }
  for (; i < n; ++i) move_one<T>(src - i * item, dst + i * item);
}

/// dst[i] = *src.
template <class T>
void fill_row(const char* src, char* dst, int64_t n) {
  constexpr int64_t item = sizeof(T);
  int64_t done = 0;
  if constexpr (item <= 8) {
    uint64_t word;
    for (int64_t at = 0; at < 8; at += item) std::memcpy(reinterpret_cast<char*>(&word) + at, src, item);
    const int64_t words = n * item / 8;
    done = words * 8 / item;
    if (word == 0) {
      std::memset(dst, 0, words * 8);
    } else {
      chosen<CopyLoops>.fill_words(dst, word, words);
    }
  }
  for (; done < n; ++done) std::memcpy(dst + done * item, src, item);
}

/// dst[i] = src[2 i], which the compiler turns into vectors.
template <class T>
void take_every_other(const char* __restrict src, char* __restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) move_one<T>(src + 2 * i * sizeof(T), dst + i * sizeof(T));
}

/// Elements repeated more often than this are filled in one by one.
constexpr int64_t kFewRepeats = 16;

/// dst[i][k] = src[i] for k < times. The number is known when this is compiled, or 0.
template <class T, int64_t kTimes>
void repeat_row(const char* __restrict src, int64_t from, char* __restrict dst, int64_t any_times, int64_t n) {
  const int64_t times = kTimes ? kTimes : any_times;
  for (int64_t i = 0; i < n; ++i, src += from) {
    T value;
    std::memcpy(&value, src, sizeof(T));
    for (int64_t k = 0; k < times; ++k, dst += sizeof(T)) std::memcpy(dst, &value, sizeof(T));
  }
}

template <class T>
void copy_row(const char* __restrict src, int64_t from, char* __restrict dst, int64_t to, int64_t n) {
  constexpr int64_t item = sizeof(T);
  if (to == item) {
    if (from == item && n * item >= 64) return copy_bytes(src, dst, n * item);
    if (from == 0) {
      return fill_row<T>(src, dst, n);
    }
    if (from == -item) return reverse_row<T>(src, dst, n);
    if (from == 2 * item) return take_every_other<T>(src, dst, n);
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) move_one<T>(src + i * from, dst + i * item);
    return;
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) move_one<T>(src + i * from, dst + i * to);
}

/// tile[r][c] = src[c][r] for a whole tile, in registers where elements are 4 or 8 bytes.
template <class T, int64_t side>
inline void load_transposed(const char* src, int64_t from, T (&tile)[side][side]) {
  if constexpr (sizeof(T) == 4) {
    typedef uint32_t Four __attribute__((vector_size(16)));
    for (int64_t c = 0; c < side; c += 4) {
      for (int64_t r = 0; r < side; r += 4) {
        Four x[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) std::memcpy(&x[i], src + (c + i) * from + r * 4, 16);
        const Four low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
        const Four high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
        const Four low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
        const Four high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
        x[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
        x[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
        x[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
        x[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) std::memcpy(&tile[r + i][c], &x[i], 16);
      }
    }
  } else if constexpr (sizeof(T) == 8) {
    typedef uint64_t Two __attribute__((vector_size(16)));
    for (int64_t c = 0; c < side; c += 2) {
      for (int64_t r = 0; r < side; r += 2) {
        Two left, right;
        std::memcpy(&left, src + c * from + r * 8, 16);
        std::memcpy(&right, src + (c + 1) * from + r * 8, 16);
        const Two low = __builtin_shufflevector(left, right, 0, 2);
        const Two high = __builtin_shufflevector(left, right, 1, 3);
        std::memcpy(&tile[r][c], &low, 16);
        std::memcpy(&tile[r + 1][c], &high, 16);
      }
    }
  } else {
    T lines[side][side];
    for (int64_t c = 0; c < side; ++c) std::memcpy(lines[c], src + c * from, sizeof(lines[c]));
    for (int64_t r = 0; r < side; ++r) {
      for (int64_t c = 0; c < side; ++c) tile[r][c] = lines[c][r];
    }
  }
}

/// One square of a transposition, by way of a packed tile, so that every cache line is read and written whole
/// even when the strides are powers of two. `src` is packed along rows, `dst` along columns.
template <class T>
inline void transpose_tile(const char* src, int64_t from, char* dst, int64_t to, int64_t rows, int64_t cols) {
  constexpr int64_t side = 64 / sizeof(T);
  if (rows == side && cols == side) {
    alignas(64) T tile[side][side];
    load_transposed(src, from, tile);
    for (int64_t r = 0; r < side; ++r) std::memcpy(dst + r * to, tile[r], sizeof(tile[r]));
    return;
  }
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) move_one<T>(src + c * from + r * sizeof(T), dst + r * to + c * sizeof(T));
  }
}

template <class T>
void transpose(const char* src, int64_t from, char* dst, int64_t to, int64_t rows, int64_t cols) {
  constexpr int64_t item = sizeof(T);
  constexpr int64_t side = 64 / item;
  for (int64_t c = 0; c < cols; c += side) {
    for (int64_t r = 0; r < rows; r += side) {
      transpose_tile<T>(src + c * from + r * item, from, dst + r * to + c * item, to, std::min(side, rows - r),
                        std::min(side, cols - c));
    }
  }
}

/// The dimension other than the innermost along which the source is packed, forwards or backwards, while the
/// destination is packed along the innermost; -1 when the copy is not a transposition.
int transposed_dim(const Walk& walk, int64_t src_item, int64_t dst_item) {
  const int inner = walk.ndim - 1;
  if (inner < 1 || walk.to[inner] != dst_item || walk.from[inner] == src_item || walk.from[inner] == 0) return -1;
  for (int i = 0; i < inner; ++i) {
    if (std::abs(walk.from[i]) == src_item && walk.size[i] > 2) return i;
  }
  return -1;
}

template <class T>
void copy_walk_sized(const Walk& walk) {
  constexpr int64_t item = sizeof(T);
  if (walk.ndim == 0) return move_one<T>(walk.src, walk.dst);
  const int inner = walk.ndim - 1;
  const int across = transposed_dim(walk, item, item);
  if (across >= 0) {
    Walk outer;
    outer.src = walk.src;
    outer.dst = walk.dst;
    outer.ndim = 0;
    for (int i = 0; i < inner; ++i) {
      if (i == across) continue;
      outer.size[outer.ndim] = walk.size[i];
      outer.from[outer.ndim] = walk.from[i];
      outer.to[outer.ndim++] = walk.to[i];
    }
    int64_t to = walk.to[across];
    if (walk.from[across] < 0) {  // read forwards, written backwards
      outer.src += walk.from[across] * (walk.size[across] - 1);
      outer.dst += to * (walk.size[across] - 1);
      to = -to;
    }
    return for_each_outer(outer, outer.ndim, [&](const char* src, char* dst) {
      transpose<T>(src, walk.from[inner], dst, to, walk.size[across], walk.size[inner]);
    });
  }
  if (inner > 0 && walk.from[inner] == 0 && walk.to[inner] == item && walk.size[inner] <= kFewRepeats &&
      walk.to[inner - 1] == walk.size[inner] * item) {
    const int64_t times = walk.size[inner];
    const auto repeat = times == 2 ? repeat_row<T, 2> : times == 4 ? repeat_row<T, 4> : repeat_row<T, 0>;
    return for_each_outer(walk, inner - 1, [&](const char* src, char* dst) {
      repeat(src, walk.from[inner - 1], dst, times, walk.size[inner - 1]);
    });
  }
  for_each_outer(walk, inner, [&](const char* src, char* dst) {
    copy_row<T>(src, walk.from[inner], dst, walk.to[inner], walk.size[inner]);
  });
}

void copy_walk(const Walk& walk, int64_t item) {
  dispatch_size(item, [&](auto word) { copy_walk_sized<decltype(word)>(walk); });
}

Walk row_walk(const void* src, int64_t from, void* dst, int64_t to, int64_t n) {
  Walk walk;
  walk.src = static_cast<const char*>(src);
  walk.dst = static_cast<char*>(dst);
  walk.ndim = 1;
  walk.size[0] = n;
  walk.from[0] = from;
  walk.to[0] = to;
  return walk;
}

// ---- Converting copies -------------------------------------------------------------------------------------------

/// Whether the dimensions from `first` on lie packed in row-major order.
bool is_packed(const Walk& walk, const int64_t* strides, int first, int64_t item) {
  int64_t expected = item;
  for (int i = walk.ndim - 1; i >= first; --i) {
    if (strides[i] != expected) return false;
    expected *= walk.size[i];
  }
  return true;
}

/// Cuts the walk into slabs of at most kChunk elements and converts each: pack, convert, unpack.
void convert_slabs(const Walk& walk, DType from, DType to) {
  if (walk.ndim == 0) return convert_contiguous(from, walk.src, to, walk.dst, 1);
  const int64_t src_item = itemsize(from);
  const int64_t dst_item = itemsize(to);
  // A slab is `step` entries of dimension `cut` with all that lies inside it.
  int cut = walk.ndim - 1;
  int64_t inner_count = 1;
  while (cut > 0 && inner_count * walk.size[cut] <= kChunk) inner_count *= walk.size[cut--];
  const int64_t step = kChunk / inner_count;
  const bool src_packed = is_packed(walk, walk.from, cut, src_item);
  const bool dst_packed = is_packed(walk, walk.to, cut, dst_item);
  if (cut == 0 && src_packed && dst_packed) return convert_contiguous(from, walk.src, to, walk.dst, walk.numel());

  alignas(64) char src_chunk[kChunk * sizeof(DoubleWord)];
  alignas(64) char dst_chunk[kChunk * sizeof(DoubleWord)];
  Walk pack, unpack;
  pack.ndim = unpack.ndim = walk.ndim - cut;
  pack.dst = src_chunk;
  unpack.src = dst_chunk;
  int64_t run = 1;
  for (int i = pack.ndim - 1; i >= 0; --i) {
    pack.size[i] = unpack.size[i] = walk.size[cut + i];
    pack.from[i] = walk.from[cut + i];
    pack.to[i] = run * src_item;
    unpack.from[i] = run * dst_item;
    unpack.to[i] = walk.to[cut + i];
    run *= walk.size[cut + i];
  }
  for_each_outer(walk, cut, [&](const char* src, char* dst) {
    for (int64_t at = 0; at < walk.size[cut]; at += step) {
      pack.size[0] = unpack.size[0] = std::min(step, walk.size[cut] - at);
      pack.src = src + at * walk.from[cut];
      unpack.dst = dst + at * walk.to[cut];
      if (!src_packed) copy_walk(pack, src_item);
      convert_contiguous(from, src_packed ? pack.src : src_chunk, to, dst_packed ? unpack.dst : dst_chunk,
                         pack.size[0] * inner_count);
      if (!dst_packed) copy_walk(unpack, dst_item);
    }
  });
}

/// Transpositions are cut into strips along the innermost dimension first, so that a slab is a block of both.
void convert_walk(const Walk& walk, DType from, DType to) {
  constexpr int64_t strip = 32;
  const int inner = walk.ndim - 1;
  const int across = transposed_dim(walk, itemsize(from), itemsize(to));
  if (across < 0 || walk.size[inner] <= strip || walk.ndim == kMaxDims) return convert_slabs(walk, from, to);
  Walk strips = walk;
  strips.ndim = walk.ndim + 1;
  std::swap(strips.size[across], strips.size[inner - 1]);
  std::swap(strips.from[across], strips.from[inner - 1]);
  std::swap(strips.to[across], strips.to[inner - 1]);
  const int64_t whole = walk.size[inner] / strip;
  const int64_t rest = walk.size[inner] % strip;
  strips.size[inner + 1] = strip;
  strips.from[inner + 1] = walk.from[inner];
  strips.to[inner + 1] = walk.to[inner];
  strips.size[inner] = strips.size[inner - 1];
  strips.from[inner] = strips.from[inner - 1];
  strips.to[inner] = strips.to[inner - 1];
  strips.size[inner - 1] = whole;
  strips.from[inner - 1] = walk.from[inner] * strip;
  strips.to[inner - 1] = walk.to[inner] * strip;
  convert_slabs(strips, from, to);
  if (rest == 0) return;
  strips.size[inner - 1] = 1;
  strips.size[inner + 1] = rest;
  strips.src += whole * strips.from[inner - 1];
  strips.dst += whole * strips.to[inner - 1];
  convert_slabs(strips, from, to);
}

bool same_view(const View& a, const View& b) {
  return a.data == b.data && a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

}  // namespace

void copy_bytes(const char* src, char* dst, int64_t n) {
  // Where source and destination lie close together modulo a page, but not at the same place of it, what memcpy does
  // for long copies waits for its own stores, up to 20 times slower; what it does for short ones does not.
  constexpr int64_t kShort = 256;
  const uint64_t apart = (reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src)) % 4096;
  if (apart != 0 && (apart <= kShort || apart >= 4096 - kShort)) {
    for (; n > kShort; n -= kShort, src += kShort, dst += kShort) std::memcpy(dst, src, kShort);
  }
  std::memcpy(dst, src, n);
}

void convert_contiguous(DType from, const void* src, DType to, void* dst, int64_t n) {
  if (n <= 0) return;
  if (same_bytes(from, to)) {
    if (src != dst) std::memcpy(dst, src, n * itemsize(to));
    return;
  }
  if (const auto loop = chosen<CopyLoops>.convert[static_cast<int>(from)][static_cast<int>(to)])
    return loop(src, dst, n);
  if (is_stored(from) || is_stored(to)) return convert_stored(from, src, to, dst, n);
  // By way of float, in chunks: the hardware converts many at a time, but only between these two.
  float chunk[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    convert_contiguous(from, static_cast<const char*>(src) + i * itemsize(from), DType::Float32, chunk, count);
    convert_contiguous(DType::Float32, chunk, to, static_cast<char*>(dst) + i * itemsize(to), count);
  }
}

void gather_strided(const void* src, int64_t stride, int64_t itemsize, void* dst, int64_t n) {
  copy_walk(row_walk(src, stride * itemsize, dst, itemsize, n), itemsize);
}

void scatter_strided(const void* src, void* dst, int64_t stride, int64_t itemsize, int64_t n) {
  copy_walk(row_walk(src, itemsize, dst, stride * itemsize, n), itemsize);
}

void copy(const View& src, const View& dst) {
  Walk walk;
  if (!plan(dst, src.data, src.strides, itemsize(src.dtype), walk) || same_view(src, dst)) return;
  const int64_t item = itemsize(dst.dtype);
  const int64_t count = walk.numel();
  if (same_bytes(src.dtype, dst.dtype)) {
    return run_parallel(walk, count * item, [item](const Walk& part) { copy_walk(part, item); });
  }
  run_parallel(walk, count * std::max(item, itemsize(src.dtype)),
               [from = src.dtype, to = dst.dtype](const Walk& part) { convert_walk(part, from, to); });
}

/// Few elements that lie side by side: for these a plan costs more than the work.
static bool fill_few(const View& dst, const void* value) {
  constexpr int64_t kFew = 64;
  const int64_t n = dst.numel();
  if (n > kFew || !dst.is_packed()) return false;
  dispatch_size(dst.dtype, [&](auto tag) {
    using T = decltype(tag);
    T element;
    std::memcpy(&element, value, sizeof(T));
    std::fill_n(dst.as<T>(), n, element);
  });
  return true;
}

void fill(const View& dst, const void* value) {
  if (fill_few(dst, value)) return;
  Walk walk;
  if (!plan(dst, static_cast<const char*>(value), nullptr, 0, walk)) return;
  const int64_t item = itemsize(dst.dtype);
  run_parallel(walk, walk.numel() * item, [item](const Walk& part) { copy_walk(part, item); });
}

void clear(const View& dst) {
  constexpr int64_t kSmall = 4096;
  const int64_t bytes = dst.numel() * itemsize(dst.dtype);
  if (bytes <= kSmall) {
    std::memset(dst.data, 0, static_cast<size_t>(bytes));
  } else {
    const complex128 zero{};  // as large as any element
    fill(dst, &zero);
  }
}

void fill_unset(const View& dst) {
  dispatch_any(dst.dtype, [&](auto tag) {
    using T = decltype(tag);
    T value;
    if constexpr (std::is_integral_v<T>) {
      value = std::numeric_limits<T>::max();
    } else {
      value = convert<T>(std::numeric_limits<double>::quiet_NaN());
    }
    fill(dst, &value);
  });
}

void enumerate(const View& dst) {
  int64_t* data = dst.as<int64_t>();
  for (int64_t i = 0; i < dst.sizes[0]; ++i) data[i * dst.strides[0]] = i;
}

Scalar read(const View& from) {
  return dispatch_any(from.dtype, [&](auto tag) {
    using T = decltype(tag);
    T value = *from.as<T>();
    if constexpr (std::is_same_v<T, bool>)
      return Scalar::of(value);
    else if constexpr (std::is_same_v<T, uint64_t>)
      return Scalar::of_unsigned(value);
    else if constexpr (std::is_integral_v<T>)
      return Scalar::of(static_cast<int64_t>(value));
    else if constexpr (is_complex_v<T> || std::is_same_v<T, ComplexHalf>)
      return Scalar::of(convert<complex128>(value));
    else
      return Scalar::of(convert<double>(value));
  });
}

}  // namespace adjoint::cpu
