// A stable sort by digits of up to eight bits, from the least one on. One launch counts the digits of all passes; in a
// pass every element is read and written once.
//
// Note [Look-back]. Where a tile's elements of a digit go depends on how many of them there are in all tiles before it.
// Each tile tells its own counts as soon as it has them, then adds up those that others told, from its predecessor
// back to one that knows all before it, and tells the sum. A word is 0 while nothing is told, a count plus one, or,
// with the first bit set, the place behind the tile's elements. Tiles are numbered as blocks begin, so that those
// before a tile are under way whatever order the blocks run in.
#pragma once

#include "radix_args.h"
#include "running_sums.h"
#include "sort_keys.h"

namespace adjoint::cuda {

inline uint32_t* digit_starts(const RadixArgs& args, int pass) {
  return reinterpret_cast<uint32_t*>(args.state + 1) + pass * kDigits;
}
/// What a tile tells in this pass.
inline uint32_t* told_by(const RadixArgs& args, int64_t tile) {
  return digit_starts(args, args.passes) + (args.pass * args.tiles + tile) * kDigits;
}

template <class T>
inline KeyOf<T> radix_key(T element, bool flip) {
  const KeyOf<T> key = key_of(element);
  return flip ? static_cast<KeyOf<T>>(~key) : key;
}
/// Where the digits of a pass stand in keys, or in the numbers of rows.
struct DigitPlace {
  int shift;
  unsigned mask;
  DigitPlace(const RadixArgs& args, int pass) {
    const bool of_key = pass < args.key_passes;
    const int bits = of_key ? args.key_bits : args.row_bits;
    shift = (of_key ? pass : pass - args.key_passes) * bits;
    mask = (1u << bits) - 1u;
  }
  template <class Number>
  unsigned of(Number number) const {
    return static_cast<unsigned>(number >> shift) & mask;
  }
};

/// Counts of digits made into where they begin, by a warp for each pass; passes with one digit only are found.
inline void start_digits(const RadixArgs& args) {
  constexpr int kEach = kDigits / 32;
  const int pass = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (pass >= args.passes) return;
  uint32_t* starts = digit_starts(args, pass) + lane * kEach;
  uint32_t counts[kEach], sum = 0;
  bool all = false;
#pragma unroll
  for (int d = 0; d < kEach; ++d) {
    counts[d] = static_cast<volatile uint32_t*>(starts)[d];
    all = all || counts[d] == static_cast<uint32_t>(args.n);
    sum += counts[d];
  }
  uint32_t start = warp_running_sum(sum) - sum;
#pragma unroll
  for (int d = 0; d < kEach; ++d) {
    starts[d] = start;
    start += counts[d];
  }
  // Some pass must bring elements to where they are wanted.
  const bool skipped = __any_sync(~0u, all) && args.skips && pass > 0;
  if (lane == 0 && !skipped) atomicOr(&args.state->active, 1u << pass);
}

template <class T>
inline void radix_count(const RadixArgs& args) {
  ADJOINT_DYNAMIC_SHARED(unsigned, counts);
  __shared__ bool is_last;
  constexpr int kTogether = 8;
  const int counters = args.passes * kDigits * kDigitCopies;
  const unsigned copy = threadIdx.x % kDigitCopies;
  for (int i = static_cast<int>(threadIdx.x); i < counters; i += kCountThreads) counts[i] = 0;
  __syncthreads();
  auto count = [&](int pass, unsigned digit) {
    atomicAdd(&counts[(static_cast<unsigned>(pass) * kDigits + digit) * kDigitCopies + copy], 1u);
  };
  const T* in = static_cast<const T*>(args.in);
  const bool flip = args.flip != 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kCountThreads;
  for (int64_t first = thread_number<int64_t>(); first < args.n; first += kTogether * stride) {
    T elements[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j)
      if (first + j * stride < args.n) elements[j] = in[first + j * stride];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      if (first + j * stride >= args.n) break;
      const auto key = radix_key(elements[j], flip);
      for (int pass = 0; pass < args.key_passes; ++pass) count(pass, DigitPlace(args, pass).of(key));
    }
  }
  if (args.row) {
    for (int64_t row = thread_number<int64_t>(); row < args.n / args.row; row += stride)
      for (int pass = args.key_passes; pass < args.passes; ++pass) count(pass, DigitPlace(args, pass).of(row));
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < args.passes * kDigits; i += kCountThreads) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < kDigitCopies; ++c) sum += counts[i * kDigitCopies + c];
    if (i >= args.key_passes * kDigits) sum *= static_cast<unsigned>(args.row);
    if (sum) atomicAdd(digit_starts(args, 0) + i, sum);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&args.state->counted, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  start_digits(args);
}

inline constexpr uint32_t kAllBefore = 1u << 31;

/// Where the elements of a digit go that a tile has `count` of.
inline uint32_t look_back(const RadixArgs& args, int64_t tile, unsigned digit, uint32_t count) {
  uint32_t before = 0;
  for (int64_t t = tile - 1;;) {
    uint32_t told[kLookedAt];
#pragma unroll
    for (int k = 0; k < kLookedAt; ++k)
      told[k] = t >= k ? static_cast<const volatile uint32_t*>(told_by(args, t - k))[digit] : 0;
    bool known = true, all = false;
    int64_t seen = 0;
#pragma unroll
    for (int k = 0; k < kLookedAt; ++k) {
      known = known && told[k] != 0;
      if (!known || all) continue;
      all = told[k] >= kAllBefore;
      before += all ? told[k] - kAllBefore : told[k] - 1;
      ++seen;
    }
    if (all) break;
    t -= seen;
  }
  *static_cast<volatile uint32_t*>(told_by(args, tile) + digit) = kAllBefore + before + count;
  return before;
}

/// The lanes whose digit is the same as this one's.
inline unsigned same_digit(unsigned digit) {
  unsigned same = ~0u;
#pragma unroll
  for (unsigned bit = 1; bit < kDigits; bit *= 2) {
#ifdef __CUDACC__
    // The compiler would look at the bit twice.
    asm volatile(
        "{.reg .pred one; .reg .b32 ones; and.b32 ones, %1, %2; setp.ne.u32 one, ones, 0;"
        " vote.sync.ballot.b32 ones, one, -1; @!one not.b32 ones, ones; and.b32 %0, %0, ones;}"
        : "+r"(same)
        : "r"(digit), "r"(bit));
#else
    const bool one = (digit & bit) != 0;
    const unsigned ones = __ballot_sync(~0u, one);
    same &= one ? ones : ~ones;
#endif
  }
  return same;
}

/// Each warp has a stretch of the tile, which it goes through 32 elements at a time; lanes with the same digit find one
/// another, and the first of them counts all. The tile is put in order in shared memory: then neighbours write to
/// neighbouring places. `by_row`: digits are those of rows, which places tell.
template <class T, bool by_row>
inline void radix_pass(const RadixArgs& args) {
  constexpr int kWarps = kRadixThreads / 32, kEach = radix_each(sizeof(T)), kTile = kRadixThreads * kEach;
  constexpr int kBytes = kTile * static_cast<int>(sizeof(T) > 4 ? sizeof(T) : 4);
  static_assert(kBytes >= kWarps * kDigits * 4);
  alignas(16) __shared__ unsigned char memory[kBytes];
  __shared__ unsigned char digits[kTile];
  __shared__ unsigned away[kDigits], sums[33], ticket;  // away: how much further than in the tile a digit's elements go
  const unsigned active = args.state->active;
  if (!(active >> args.pass & 1u)) return;
  const unsigned later = active >> args.pass >> 1;
  const bool first = (active & ((1u << args.pass) - 1u)) == 0, to_out = __popc(later) % 2 == 0;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto* counts = reinterpret_cast<unsigned (*)[kDigits]>(memory);
  if (threadIdx.x == 0) ticket = atomicAdd(args.state->tickets + args.pass, 1u);
  for (unsigned d = lane; d < kDigits; d += 32) counts[warp][d] = 0;
  __syncthreads();
  const int64_t tile = ticket, tile_begin = tile * kTile;
  const int here = static_cast<int>(args.n - tile_begin < kTile ? args.n - tile_begin : kTile);
  const int begin = static_cast<int>(warp * (32 * kEach) + lane);

  const DigitPlace at(args, args.pass);
  const bool flip = args.flip != 0;
  const uint32_t row = static_cast<uint32_t>(args.row);

  T elements[kEach];
  uint32_t places[kEach], ranks[kEach];
  auto load_elements = [&] {
    const T* from = static_cast<const T*>(first ? args.in : to_out ? args.other : args.out) + tile_begin;
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      elements[r] = T();
      if (begin + r * 32 < here) elements[r] = from[begin + r * 32];
    }
  };
  auto load_places = [&] {
    const uint32_t* from = (to_out ? args.other_places : static_cast<const uint32_t*>(args.places)) + tile_begin;
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int i = begin + r * 32;
      places[r] = static_cast<uint32_t>(tile_begin) + static_cast<uint32_t>(i);
      if (!first && i < here) places[r] = from[i];
    }
  };
  if constexpr (by_row) {
    load_places();
  } else {
    load_elements();
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    unsigned digit;
    if constexpr (by_row) {
      digit = at.of(places[r] / row);
    } else {
      digit = at.of(radix_key(elements[r], flip));
    }
    if (begin + r * 32 >= here) digit = kDigits - 1;  // what lies behind the end comes last in the tile
    const unsigned same = same_digit(digit), before = __popc(same & ((1u << lane) - 1u));
    const unsigned counted = counts[warp][digit];
    __syncwarp();
    if (before == 0) counts[warp][digit] = counted + __popc(same);
    __syncwarp();
    ranks[r] = digit << 16 | (counted + before);
  }
  __syncthreads();

  const unsigned digit = threadIdx.x;  // of which this thread finds out where its elements go
  uint32_t mine = 0;
  if (digit < kDigits) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) mine += counts[w][digit];
    const uint32_t told = tile == 0 ? kAllBefore + digit_starts(args, args.pass)[digit] + mine : mine + 1;
    *static_cast<volatile uint32_t*>(told_by(args, tile) + digit) = told;
  }
  unsigned all;
  const unsigned start = block_sum_before<kRadixThreads>(mine, sums, all);
  if (digit < kDigits) {
    unsigned next = start;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const unsigned its = counts[w][digit];
      counts[w][digit] = next;
      next += its;
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const unsigned its = ranks[r] >> 16;
    ranks[r] = its << 16 | (counts[warp][its] + (ranks[r] & 0xffffu));
  }
  if constexpr (by_row) {
    load_elements();
  } else if (args.places) {
    load_places();
  }
  __syncthreads();
  T* ordered = reinterpret_cast<T*>(memory);
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    ordered[ranks[r] & 0xffffu] = elements[r];
    digits[ranks[r] & 0xffffu] = static_cast<unsigned char>(ranks[r] >> 16);
  }
  if (digit < kDigits)
    away[digit] = (tile == 0 ? digit_starts(args, args.pass)[digit] : look_back(args, tile, digit, mine)) - start;
  __syncthreads();
  T* to = static_cast<T*>(to_out ? args.out : args.other);
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int i = r * kRadixThreads + static_cast<int>(threadIdx.x);
    if (i < here) to[away[digits[i]] + static_cast<unsigned>(i)] = ordered[i];
  }
  if (!args.places) return;
  __syncthreads();
  uint32_t* ordered_places = reinterpret_cast<uint32_t*>(memory);
#pragma unroll
  for (int r = 0; r < kEach; ++r) ordered_places[ranks[r] & 0xffffu] = places[r];
  __syncthreads();
  auto write_places = [&](auto write) {
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int i = r * kRadixThreads + static_cast<int>(threadIdx.x);
      if (i < here) write(away[digits[i]] + static_cast<unsigned>(i), ordered_places[i]);
    }
  };
  if (args.wide && later == 0) {
    int64_t* wide = static_cast<int64_t*>(args.places);
    write_places([&](unsigned to, uint32_t place) { wide[to] = row ? place % row : place; });
  } else {
    uint32_t* narrow = to_out ? static_cast<uint32_t*>(args.places) : args.other_places;
    write_places([&](unsigned to, uint32_t place) { narrow[to] = place; });
  }
}

}  // namespace adjoint::cuda
