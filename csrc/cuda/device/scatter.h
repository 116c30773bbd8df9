// Elements written at computed places. Where places occur more than once, one thread sees to all of it, in order.
#pragma once

#include "block.h"
#include "cpu/math.h"
#include "scatter_args.h"
#include "walk.h"

namespace adjoint::cuda {

template <class T>
using Compute = std::conditional_t<is_half_v<T>, float, T>;

// What becomes of an old value when another one arrives. Integers wrap, and sums of truth values are their union.
struct Assign {
  template <class T>
  static T of(T, T b) {
    return b;
  }
};
struct Add {
  template <class T>
  static T of(T a, T b) {
    return fn::add(a, b);
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return fn::mul(a, b);
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a != a ? a : a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return a != a ? a : a < b ? a : b;
  }
};

/// Whether an index names a slot, counted from the front then; one that is skipped is no fault.
template <bool wraps>
inline bool names_slot(const NamedSlots& slots, int k, int64_t& value) {
  if (value == slots.skipped) return false;
  const int64_t size = slots.size[k];
  const bool inside = value < size && value >= (wraps ? -size : 0);
  if (!check(inside, slots.fault, FaultKind::Index, slots.dim[k], value, size)) return false;
  value += value < 0 ? size : 0;
  return true;
}

enum class Direct { Fill, AddNow, Claim, Claimed };

template <class T>
inline void direct_add(T* to, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    atomicAdd(to, value);
  } else {
    using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    atomicAdd(reinterpret_cast<Word*>(to), static_cast<Word>(value));
  }
}

/// Writes that need no order, and those of the entries that were the last to claim their slots.
template <Direct what, class T, class Index, int count, bool wraps>
inline void scatter_direct(const DirectArgs& args) {
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.walk.numel)) return;
  Index at[count + 4];
  walk_to(args.walk, number, at);
  int64_t place = static_cast<int64_t>(at[0]), slot = static_cast<int64_t>(at[2]);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    int64_t value = args.slots.index[k][at[k + 4]];
    if (!names_slot<wraps>(args.slots, k, value)) return;
    place += value * args.slots.step[k];
    slot += value * args.slots.number[k];
  }
  const int32_t entry = static_cast<int32_t>(at[3]) + 1;
  T* to = reinterpret_cast<T*>(args.dst) + place;
  if constexpr (what == Direct::Claim) {
    atomicMax(&args.claims[slot], entry);
  } else if constexpr (what == Direct::Fill) {
    *to = *reinterpret_cast<const T*>(args.value.bytes);
  } else if constexpr (what == Direct::AddNow) {
    direct_add(to, reinterpret_cast<const T*>(args.src)[at[1]]);
  } else {
    if (args.claims[slot] == entry) *to = reinterpret_cast<const T*>(args.src)[at[1]];
  }
}

/// A thread goes along a line, which no other one writes to.
template <class Op, class T, class Index>
inline void scatter_lines(const LineArgs& args) {
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.walk.numel)) return;
  Index at[3];
  walk_to(args.walk, number, at);
  T* dst = reinterpret_cast<T*>(args.dst) + at[0];
  const T* src = reinterpret_cast<const T*>(args.src) + at[1];
  const int64_t* index = args.index + at[2];
  for (int64_t i = 0; i < args.length; ++i) {
    const int64_t value = index[i * args.index_step];
    if (!check(value >= 0 && value < args.size, args.fault, FaultKind::Index, args.dim, value, args.size)) continue;
    T& slot = dst[value * args.dst_step];
    const T fresh = src[i * args.src_step];
    if constexpr (std::is_same_v<Op, Assign>) {
      slot = fresh;
    } else {
      slot = convert<T>(Op::of(convert<Compute<T>>(slot), convert<Compute<T>>(fresh)));
    }
  }
}

/// The value of another lane.
template <class T>
inline T of_lane(T value, int lane) {
  if constexpr (is_complex_v<T>) {
    return T(__shfl_sync(~0u, value.real(), lane), __shfl_sync(~0u, value.imag(), lane));
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(__shfl_sync(~0u, static_cast<int>(value), lane));
  } else {
    return __shfl_sync(~0u, value, lane);
  }
}

/// A warp goes along a line, 32 entries at a time; the first of those that name the same slot sees to all of them, and
/// of assignments the last.
template <class Op, class T>
inline void scatter_lines_by_warps(const LineArgs& args) {
  using C = Compute<T>;
  const int lane = threadIdx.x % 32;
  const int64_t line = thread_number<int64_t>() / 32;
  if (line >= args.walk.numel) return;  // all lanes of the warp
  int64_t at[3];
  walk_to(args.walk, line, at);
  T* dst = reinterpret_cast<T*>(args.dst) + at[0];
  const T* src = reinterpret_cast<const T*>(args.src) + at[1];
  const int64_t* index = args.index + at[2];
  constexpr unsigned kNone = ~0u;
  for (int64_t base = 0; base < args.length; base += 32) {
    const int64_t i = base + lane;
    unsigned slot = kNone;
    T fresh{};
    if (i < args.length) {
      const int64_t value = index[i * args.index_step];
      if (check(value >= 0 && value < args.size, args.fault, FaultKind::Index, args.dim, value, args.size))
        slot = static_cast<unsigned>(value);
      fresh = src[i * args.src_step];
    }
    const unsigned peers = __match_any_sync(~0u, slot);
    T* place = dst + static_cast<int64_t>(slot == kNone ? 0 : slot) * args.dst_step;
    if constexpr (std::is_same_v<Op, Assign>) {
      if (slot != kNone && lane == 31 - __clz(static_cast<int>(peers))) *place = fresh;
    } else {
      const bool owns = slot != kNone && lane == __ffs(static_cast<int>(peers)) - 1;
      C sum = owns ? convert<C>(*place) : C(0);
      unsigned rest = slot == kNone ? 0 : peers;
      while (__any_sync(~0u, rest != 0)) {
        const C next = of_lane(convert<C>(fresh), rest ? __ffs(static_cast<int>(rest)) - 1 : 0);
        if (owns && rest) sum = Op::of(sum, next);
        rest &= rest - 1;
      }
      if (owns) *place = convert<T>(sum);
    }
    __syncwarp();
  }
}

template <class Key, int count, bool wraps>
inline void number_slots(const SlotArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.walk.numel) return;
  int64_t at[count + 1];
  walk_to(args.walk, number, at);
  int64_t slot = at[0];
  bool named = true;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    int64_t value = args.slots.index[k][at[k + 1]];
    if (!names_slot<wraps>(args.slots, k, value)) named = false;
    slot += value * args.slots.number[k];
  }
  static_cast<Key*>(args.keys)[number] = static_cast<Key>(named ? slot : args.none);
}

template <class T>
inline T divided(T sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t whole = static_cast<int64_t>(sum), quotient = whole / count;
    return static_cast<T>(quotient - (whole % count < 0));
  } else if constexpr (is_complex_v<T>) {
    return sum / static_cast<typename T::value_type>(count);
  } else {
    return sum / static_cast<T>(count);
  }
}

/// What a thread has of entries: `width` neighbouring elements of each, as they are computed with.
template <class Op, class T, class Key, int width, bool scaled>
struct OwnedEntries {
  using C = Compute<T>;
  static constexpr int kTogether = 8;  // entries whose loads need not wait for one another

  const OwnerArgs& args;
  const Key* keys;
  int64_t from, to, column;  // of these elements in an entry, in a slot, and among those of the entry

  OwnedEntries(const OwnerArgs& its_args, int64_t its_column)
      : args(its_args), keys(static_cast<const Key*>(its_args.keys)), column(its_column) {
    int64_t rest[2];
    walk_to(args.rest, column * width, rest);
    to = rest[0];
    from = rest[1];
  }
  Packet<T, width> entry(int64_t i) const {
    int64_t at[1];
    walk_to(args.entry, static_cast<int64_t>(args.places[i]), at);
    return load_packet<width, true>(reinterpret_cast<const T*>(args.src) + at[0] + from);
  }
  T* slot(Key key) const {
    int64_t at[1];
    walk_to(args.slot, static_cast<int64_t>(key), at);
    return reinterpret_cast<T*>(args.dst) + at[0] + to;
  }
  C* part(int64_t number) const { return static_cast<C*>(args.parts) + (number * args.columns + column) * width; }

  /// Adds the entries from i on that are of this slot, up to `last`, to what there is of others; returns how many.
  int64_t take(Packet<C, width>& sum, bool& any, Key key, int64_t i, int64_t last) const {
    const int64_t first = i;
    for (int taken = kTogether; taken == kTogether; i += taken) {
      Packet<T, width> fresh[kTogether];
      taken = 0;
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (taken < j || i + j >= last || keys[i + j] != key) continue;
        fresh[j] = entry(i + j);
        ++taken;
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (j >= taken) continue;
#pragma unroll
        for (int k = 0; k < width; ++k) {
          C value = convert<C>(fresh[j].values[k]);
          if constexpr (scaled) value = fn::mul(value, args.alpha.template to<C>());
          sum.values[k] = any ? Op::of(sum.values[k], value) : value;
        }
        any = true;
      }
    }
    return i - first;
  }
};

/// Whether a stretch of `args.part` entries, this one of them, is of a slot that began before.
template <class Key>
inline bool is_inside(const OwnerArgs& args, int64_t part) {
  const Key* keys = static_cast<const Key*>(args.keys);
  const int64_t first = part * args.part, last = first + args.part - 1;
  return last < args.n && keys[first - 1] == keys[last] && static_cast<int64_t>(keys[last]) < args.none;
}

/// A thread has some elements of the entries of a stretch, and adds them up if all are of a slot that began before.
template <class Op, class T, class Key, int width, bool scaled>
inline void sum_parts(const OwnerArgs& args) {
  const int64_t number = thread_number<int64_t>(), part = number / args.columns + 1;
  if (part >= args.n / args.part || !is_inside<Key>(args, part)) return;
  const OwnedEntries<Op, T, Key, width, scaled> entries(args, number - (part - 1) * args.columns);
  Packet<Compute<T>, width> sum;
  bool any = false;
  const int64_t first = part * args.part;
  entries.take(sum, any, entries.keys[first], first, first + args.part);
  store_packet<true>(sum, entries.part(part));
}

/// A thread has some elements of the slots whose first entries are among a few. Stretches of entries that belong to one
/// slot are added up by sum_parts() before, if they are long.
template <class Op, class T, class Key, int width, bool scaled>
inline void scatter_owners(const OwnerArgs& args) {
  using C = Compute<T>;
  const int64_t number = thread_number<int64_t>(), chunk = number / args.columns;
  int64_t i = chunk * kOwnedEntries;
  if (i >= args.n) return;
  const OwnedEntries<Op, T, Key, width, scaled> entries(args, number - chunk * args.columns);
  const Key* keys = entries.keys;
  const int64_t last = i + kOwnedEntries < args.n ? i + kOwnedEntries : args.n;
  while (i < last && i > 0 && keys[i] == keys[i - 1]) ++i;
  while (i < last && static_cast<int64_t>(keys[i]) < args.none) {
    const Key key = keys[i];
    T* place = entries.slot(key);
    if constexpr (std::is_same_v<Op, Assign>) {
      while (i + 1 < args.n && keys[i + 1] == key) ++i;
      store_packet<true>(entries.entry(i++), place);
    } else {
      Packet<C, width> sum;
      bool any = args.include_self != 0;
      if (any) {
        const Packet<T, width> own = load_packet<width, true>(place);
#pragma unroll
        for (int k = 0; k < width; ++k) sum.values[k] = convert<C>(own.values[k]);
      }
      const int64_t first = i;
      // Not beyond the last entry: what lies there may look like one more of this slot.
      const int64_t next = (i / args.part + 1) * args.part, next_part = args.parts && next < args.n ? next : args.n;
      i += entries.take(sum, any, key, i, next_part);
      if (i == next_part) {
        for (; i < args.n && keys[i] == key && is_inside<Key>(args, i / args.part); i += args.part) {
          const Packet<C, width> more = load_packet<width, true>(entries.part(i / args.part));
#pragma unroll
          for (int k = 0; k < width; ++k) sum.values[k] = Op::of(sum.values[k], more.values[k]);
        }
        i += entries.take(sum, any, key, i, args.n);
      }
      Packet<T, width> result;
#pragma unroll
      for (int k = 0; k < width; ++k) {
        C value = sum.values[k];
        if (args.mean) value = divided(value, i - first + (args.include_self ? 1 : 0));
        result.values[k] = convert<T>(value);
      }
      store_packet<true>(result, place);
    }
  }
}

}  // namespace adjoint::cuda
