// Sorting by unsigned keys: every dtype maps to integers of the same order, so that one sort serves all of them.
#include "cpu/sort.h"

#include "cpu/reduce_rows.h"
#include "cpu/words.h"

namespace adjoint::cpu {
namespace {

/// A key and the position it came from. Compared together, they make every sort stable.
template <class Key, class Index>
struct Entry {
  Key key;
  Index index;
  bool operator<(const Entry& other) const {
    // Branch-free for the narrow pair: both fit in one word.
    if constexpr (sizeof(Key) == 4) {
      return word() < other.word();
    } else {
      return key != other.key ? key < other.key : index < other.index;
    }
  }

 private:
  uint64_t word() const { return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(index); }
};
using Narrow = Entry<uint32_t, uint32_t>;
using Wide = Entry<uint64_t, int64_t>;

/// An unsigned integer that orders as the element does: NaN greatest, the two zeros equal.
template <class Key, class T>
Key key_of(T value) {
  if constexpr (is_half_v<T>) {
    return key_of<Key>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
    Bits bits = std::bit_cast<Bits>(value + T(0));
    // Without branches: signs are as good as random. All bits of a negative number change, else the sign only.
    Bits change = static_cast<Bits>(-(bits >> (sizeof(T) * 8 - 1))) | kSign;
    return value != value ? static_cast<Key>(~Key{0}) : static_cast<Key>(bits ^ change);
  } else if constexpr (is_complex_v<T>) {
    return 0;  // Refused before it comes to this.
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<Key>(static_cast<uint64_t>(value) ^ (uint64_t{1} << 63));
  } else {
    return static_cast<Key>(static_cast<uint32_t>(static_cast<int32_t>(value)) ^ (uint32_t{1} << 31));
  }
}

/// Fills entries from a slice; with `flip`, so that the greatest comes first.
template <class E>
using KeyFn = void (*)(const char* source, int64_t stride, int64_t n, bool flip, E* entries);

template <class E, class T>
void make_entries(const char* source, int64_t stride, int64_t n, bool flip, E* entries) {
  using Key = decltype(E::key);
  using Index = decltype(E::index);
  const T* from = reinterpret_cast<const T*>(source);
  Key mask = flip ? static_cast<Key>(~Key{0}) : Key{0};
  for (int64_t i = 0; i < n; ++i) {
    entries[i].key = static_cast<Key>(key_of<Key>(from[i * stride]) ^ mask);
    entries[i].index = static_cast<Index>(i);
  }
}

/// Of the entries of floats: no number has all bits set.
template <class E>
bool is_nan(const E& entry) {
  return entry.key == static_cast<decltype(E::key)>(~decltype(E::key){0});
}

/// Sorts by key, least significant byte first; a byte that all keys share costs no pass. The result is in `entries`.
template <class E>
void radix_sort(E* entries, E* spare, int64_t n) {
  constexpr int kBytes = sizeof(E::key);
  int64_t counts[kBytes][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int b = 0; b < kBytes; ++b) ++counts[b][entries[i].key >> (8 * b) & 255];
  }
  E* from = entries;
  E* to = spare;
  for (int b = 0; b < kBytes; ++b) {
    if (counts[b][from[0].key >> (8 * b) & 255] == n) continue;
    int64_t position = 0;
    for (int64_t& count : counts[b]) {
      int64_t here = count;
      count = position;
      position += here;
    }
    for (int64_t i = 0; i < n; ++i) to[counts[b][from[i].key >> (8 * b) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy(from, from + n, entries);
}

/// Below this a comparison sort wins over the passes of a radix sort.
constexpr int64_t kRadixFrom = 512;

template <class E>
void sort_entries(E* entries, int64_t n) {
  if (n >= kRadixFrom) {
    radix_sort(entries, entries + n, n);
  } else {
    std::sort(entries, entries + n);
  }
}

/// Leaves the k least of n entries, sorted, at the front.
template <class E>
void select_least(E* entries, int64_t n, int64_t k) {
  if (k > n / 4) {
    sort_entries(entries, n);
    return;
  }
  // Candidates gather at the front; each time they have doubled, the worse half is dropped and the bar is raised.
  int64_t room = std::min(n, std::max<int64_t>(2 * k, 64));
  int64_t held = k;
  E bar = *std::max_element(entries, entries + k);
  for (int64_t i = k; i < n; ++i) {
    if (!(entries[i] < bar)) continue;
    entries[held++] = entries[i];
    if (held == room) {
      std::nth_element(entries, entries + k - 1, entries + held);
      bar = entries[k - 1];
      held = k;
    }
  }
  std::partial_sort(entries, entries + k, entries + held);
}

/// Calls body(entries of one slice, offsets of that slice in the three views) for every slice; entries have room for
/// 2n.
template <class E, class Body>
void each_slice(const View& in, const Slices<3>& slices, bool flip, const Body& body) {
  KeyFn<E> make = dispatch(in.dtype, [](auto tag) -> KeyFn<E> { return make_entries<E, decltype(tag)>; });
  int64_t item = itemsize(in.dtype);
  int64_t bytes = 2 * slices.n * static_cast<int64_t>(sizeof(E));
  share_out_scratch(slices.outer.total * slices.lanes, slices.n * 8, bytes, [&](int64_t unit, char* scratch) {
    E* entries = reinterpret_cast<E*>(scratch);
    int64_t offset[3];
    slices.outer.locate(unit / slices.lanes, offset);
    for (int v = 0; v < 3; ++v) offset[v] += unit % slices.lanes * slices.lane_step[v];
    make(in.data + offset[0] * item, slices.step[0], slices.n, flip, entries);
    body(entries, offset);
  });
}

template <class W, class E>
void copy_chosen(const E* entries, int64_t k, const W* from, int64_t from_step, W* to, int64_t to_step) {
  for (int64_t i = 0; i < k; ++i) to[i * to_step] = from[static_cast<int64_t>(entries[i].index) * from_step];
}

/// Copies elements of `size` bytes from where `entries` say.
template <class E>
void copy_chosen(const E* entries, int64_t k, int64_t size, const char* from, int64_t from_step, char* to,
                 int64_t to_step) {
  dispatch_size(size, [&](auto word) {
    using W = decltype(word);
    copy_chosen(entries, k, reinterpret_cast<const W*>(from), from_step, reinterpret_cast<W*>(to), to_step);
  });
}

template <class E>
void write_indices(const E* entries, int64_t k, int64_t* to, int64_t step) {
  for (int64_t i = 0; i < k; ++i) to[i * step] = static_cast<int64_t>(entries[i].index);
}

/// Checks everything, then writes k chosen entries of each slice: `choose(entries, n)` returns where they begin.
template <class Choose>
void select(const char* op, const View& in, const View& values, const View& indices, int dim, int64_t k, bool flip,
            const Choose& choose) {
  check_ordered(op, in.dtype);
  check_dtype(op, "values", values, in.dtype);
  check_dtype(op, "indices", indices, DType::Int64);
  check_dim(op, in, dim);
  int64_t n = in.ndim == 0 ? 1 : in.sizes[dim];
  if (k < 0 || k > n) {
    fail(op, "(): selected index k out of range; got k = ", k, " for a dimension of size ", n, "; choose a smaller k");
  }
  // A 0-d input has its one element for an answer, even with k = 0.
  if (in.ndim == 0) k = 1;
  for (const View* out : {&values, &indices}) {
    bool fits = out->ndim == in.ndim;
    for (int d = 0; fits && d < in.ndim; ++d) fits = out->sizes[d] == (d == dim ? k : in.sizes[d]);
    if (!fits) {
      fail(op, ": expected outputs with the input's sizes, and ", k, " in dimension ", dim,
           "; they differ; allocate them so");
    }
  }
  Slices<3> slices({&in, &values, &indices}, dim);
  if (slices.empty() || k == 0) return;
  int64_t item = itemsize(in.dtype);
  auto write = [&](auto* entries, const int64_t* offset) {
    const auto* chosen = choose(entries, slices.n);
    copy_chosen(chosen, k, item, in.data + offset[0] * item, slices.step[0], values.data + offset[1] * item,
                slices.step[1]);
    write_indices(chosen, k, indices.as<int64_t>() + offset[2], slices.step[2]);
  };
  bool wide = item == 8 || slices.n > INT64_C(0xffffffff);
  if (wide) {
    each_slice<Wide>(in, slices, flip, write);
  } else {
    each_slice<Narrow>(in, slices, flip, write);
  }
}

}  // namespace

void sort(const View& in, const View& values, const View& indices, int dim, bool descending) {
  int64_t n = in.ndim == 0 || dim < 0 || dim >= in.ndim ? 1 : in.sizes[dim];
  select("sort", in, values, indices, dim, n, descending, [](auto* entries, int64_t count) {
    sort_entries(entries, count);
    return entries;
  });
}

void topk(const View& in, const View& values, const View& indices, int64_t k, int dim, bool largest) {
  select("topk", in, values, indices, dim, k, largest, [k](auto* entries, int64_t count) {
    if (k > 0) select_least(entries, count, k);
    return entries;
  });
}

void kthvalue(const View& in, const View& values, const View& indices, int64_t k, int dim) {
  int64_t n = in.ndim == 0 || dim < 0 || dim >= in.ndim ? 1 : in.sizes[dim];
  if (k < 1 || k > n) {
    fail("kthvalue(): selected number k out of range for dimension ", dim, "; got k = ", k, " for size ", n,
         "; choose k from 1 to the size");
  }
  select("kthvalue", in, values, indices, dim, 1, false, [k](auto* entries, int64_t count) {
    std::nth_element(entries, entries + k - 1, entries + count);
    return entries + k - 1;
  });
}

void median(const View& in, const View& values, const View& indices, int dim, bool ignore_nan) {
  bool has_nan = is_float(in.dtype);
  select("median", in, values, indices, dim, 1, false, [has_nan, ignore_nan](auto* entries, int64_t count) {
    using E = std::remove_pointer_t<decltype(entries)>;
    int64_t numbers = count;
    if (has_nan) {
      numbers -= std::count_if(entries, entries + count, is_nan<E>);
      if (numbers == 0 || (numbers < count && !ignore_nan)) return std::find_if(entries, entries + count, is_nan<E>);
    }
    E* middle = entries + (numbers - 1) / 2;
    std::nth_element(entries, middle, entries + count);
    return middle;
  });
}

void mode(const View& in, const View& values, const View& indices, int dim) {
  bool has_nan = is_float(in.dtype);
  select("mode", in, values, indices, dim, 1, false, [has_nan](auto* entries, int64_t count) {
    using E = std::remove_pointer_t<decltype(entries)>;
    sort_entries(entries, count);
    E* best = entries;
    int64_t most = 0;
    for (int64_t i = 0, run = 0; i < count; ++i) {
      bool again = i > 0 && entries[i].key == entries[i - 1].key && !(has_nan && is_nan(entries[i]));
      run = again ? run + 1 : 1;
      if (run < most || (run == most && entries[i].key != best->key)) continue;
      most = run;
      best = entries + i;
    }
    return best;
  });
}

}  // namespace adjoint::cpu
