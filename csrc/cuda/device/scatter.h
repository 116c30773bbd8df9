// Elements written at computed places. Where places occur more than once, one thread sees to all of it, in order.
#pragma once

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
struct Greatest {
  template <class T>
  static T of(T a, T b) {
    return a != a ? a : a > b ? a : b;
  }
};
struct Least {
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

enum class Direct { Fill, AddWhole, Claim, Claimed };

template <class Index>
inline void direct_add(Index* to, Index value) {
  using Word = std::conditional_t<sizeof(Index) == 8, unsigned long long, unsigned>;
  atomicAdd(reinterpret_cast<Word*>(to), static_cast<Word>(value));
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
  } else if constexpr (what == Direct::AddWhole) {
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

/// A thread has an element of an entry; those of an entry that is not the first of its slot have nothing to do.
template <class Op, class T, class Key, bool scaled>
inline void scatter_owners(const OwnerArgs& args) {
  using C = Compute<T>;
  const int64_t number = thread_number<int64_t>(), inner = args.rest.numel;
  int64_t i = number / inner;
  if (i >= args.n) return;
  const Key* keys = static_cast<const Key*>(args.keys);
  const Key key = keys[i];
  if (static_cast<int64_t>(key) >= args.none || (i > 0 && keys[i - 1] == key)) return;
  int64_t rest[2], to[1], from[1];
  walk_to(args.rest, number - i * inner, rest);
  walk_to(args.slot, static_cast<int64_t>(key), to);
  T* place = reinterpret_cast<T*>(args.dst) + to[0] + rest[0];
  const T* src = reinterpret_cast<const T*>(args.src) + rest[1];
  if constexpr (std::is_same_v<Op, Assign>) {
    while (i + 1 < args.n && keys[i + 1] == key) ++i;
    walk_to(args.entry, static_cast<int64_t>(args.places[i]), from);
    *place = src[from[0]];
  } else {
    C sum = args.include_self ? convert<C>(*place) : C(0);
    int64_t count = args.include_self;
    // Several at a time, whose loads need not wait for the sum.
    constexpr int kTogether = 8;
    for (int taken = kTogether; taken == kTogether; i += taken) {
      C fresh[kTogether];
      taken = 0;
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (taken < j || i + j >= args.n || keys[i + j] != key) continue;
        walk_to(args.entry, static_cast<int64_t>(args.places[i + j]), from);
        fresh[j] = convert<C>(src[from[0]]);
        ++taken;
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (j >= taken) continue;
        if constexpr (scaled) fresh[j] = fn::mul(fresh[j], args.alpha.template to<C>());
        sum = count == 0 ? fresh[j] : Op::of(sum, fresh[j]);
        ++count;
      }
    }
    if (args.mean) sum = divided(sum, count);
    *place = convert<T>(sum);
  }
}

}  // namespace adjoint::cuda
