// How the threads of a block bring what each of them has together: by shuffles in a warp, by shared memory beyond it.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel.h"

namespace adjoint::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class S, int width>
struct alignas(sizeof(S) * width <= 16 ? sizeof(S) * width : 16) Packet {
  S values[width];
};

/// `width` neighbours; where they lie at no multiple of their size, one after the other.
template <int width, bool aligned, class S>
inline Packet<S, width> load_packet(const S* from) {
  Packet<S, width> packet;
  if constexpr (aligned) {
    packet = *reinterpret_cast<const Packet<S, width>*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i) packet.values[i] = from[i];
  }
  return packet;
}
/// To memory of the device, not of the block.
template <bool aligned, class S, int width>
inline void store_packet(const Packet<S, width>& packet, S* to) {
#ifdef __CUDACC__
  if constexpr (aligned && sizeof(packet) == 16) {
    // The compiler may make several stores of an assignment.
    uint32_t words[4];
    std::memcpy(words, &packet, sizeof(words));
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
    return;
  }
#endif
  if constexpr (aligned) {
    *reinterpret_cast<Packet<S, width>*>(to) = packet;
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i) to[i] = packet.values[i];
  }
}

/// A plain struct whose words are each exchanged with another lane.
template <class State, class Exchange>
inline State exchanged(const State& mine, Exchange exchange) {
  static_assert(sizeof(State) % 4 == 0);
  struct Words {
    int words[sizeof(State) / 4];
  } all;
  std::memcpy(&all, &mine, sizeof(State));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(State) / 4); ++i) all.words[i] = exchange(all.words[i]);
  State other;
  std::memcpy(&other, &all, sizeof(State));
  return other;
}
/// What the lane of this mask, or so far below, has.
template <class State>
inline State shuffled(const State& mine, int mask) {
  return exchanged(mine, [=](int word) { return __shfl_xor_sync(kAllLanes, word, mask); });
}
template <class State>
inline State shuffled_up(const State& mine, unsigned distance) {
  return exchanged(mine, [=](int word) { return __shfl_up_sync(kAllLanes, word, distance); });
}

/// Joins the states of threads whose numbers differ in the bits from `low` to below `high` (both powers of two) only.
/// The threads that have none of these bits get the result. Joins are in the order of the threads.
template <int threads, class Op>
inline typename Op::State joined(typename Op::State state, unsigned low, unsigned high) {
  using State = typename Op::State;
  for (unsigned bit = low; bit < 32 && bit < high; bit *= 2) {
    const State other = shuffled(state, static_cast<int>(bit));
    state = (threadIdx.x & bit) ? Op::join(other, state) : Op::join(state, other);
  }
  if (high <= 32 || low >= high) return state;
  alignas(16) __shared__ char memory[threads * sizeof(State)];
  State* states = reinterpret_cast<State*>(memory);
  const unsigned least = low > 32 ? low : 32, own = low < 32 ? 31 & ~(low - 1) : 0;
  const bool counts = (threadIdx.x & own) == 0;
  if (counts) states[threadIdx.x] = state;
  __syncthreads();
  for (unsigned bit = least; bit < high; bit *= 2) {
    if (counts && (threadIdx.x & (2 * bit - 1) & ~(least - 1)) == 0) {
      state = Op::join(state, states[threadIdx.x + bit]);
      states[threadIdx.x] = state;
    }
    __syncthreads();
  }
  return state;
}

struct Sums {
  template <class A>
  struct Of {
    using State = A;
    static A join(A a, A b) { return a + b; }
  };
};
struct Greatest {
  template <class A>
  struct Of {
    using State = A;
    /// A NaN wins.
    static A join(A a, A b) { return a > b || a != a ? a : b; }
  };
};

/// Joined over a row's threads, `group` of them (a power of two up to all), and known to each of them.
template <int threads, int group, class Op>
inline typename Op::State joined_by_all(typename Op::State state) {
  using State = typename Op::State;
  if constexpr (group <= 32) {
#pragma unroll
    for (int bit = 1; bit < group; bit *= 2) {
      const State other = shuffled(state, bit);
      state = (threadIdx.x & bit) ? Op::join(other, state) : Op::join(state, other);
    }
    return state;
  } else {
    static_assert(group == threads);
    alignas(16) __shared__ char memory[32 * sizeof(State)];
    State* states = reinterpret_cast<State*>(memory);
    state = joined_by_all<threads, 32, Op>(state);
    __syncthreads();  // an earlier call may still be reading
    if (threadIdx.x % 32 == 0) states[threadIdx.x / 32] = state;
    __syncthreads();
    constexpr int warps = threads / 32;
    return joined_by_all<threads, warps, Op>(states[threadIdx.x % warps]);
  }
}

}  // namespace adjoint::cuda
