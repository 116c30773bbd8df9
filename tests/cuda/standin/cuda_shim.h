// CUDA C for a C++ compiler: what device code uses of the language, for blocks whose threads run one after the other.
// The stand-in driver runs each thread of a block on a stack of its own and switches at barriers (blocks.cpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "standin_thread.h"

// Where the driver keeps which thread runs; it says so when it loads a kernel.
extern "C" {
__attribute__((section(".data"))) StandinThread** standin_place = nullptr;  // what is not __shared__ is not in .bss
}

// Functions that are themselves not checked (checks.h), and tell who has called them.
#ifdef ADJOINT_STANDIN_CHECK
#define STANDIN_UNCHECKED __attribute__((no_sanitize("thread", "alignment", "bounds"), noinline))
#else
#define STANDIN_UNCHECKED
#endif
#define STANDIN_CALLER __builtin_return_address(0)

STANDIN_UNCHECKED inline StandinThread* standin_thread() { return *standin_place; }

#define threadIdx (standin_thread()->thread)
#define blockIdx (standin_thread()->block)
#define blockDim (standin_thread()->block_size)
#define gridDim (standin_thread()->grid_size)
#define warpSize 32

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __restrict__

STANDIN_UNCHECKED inline void __syncthreads() { standin_thread()->barrier(0, STANDIN_CALLER); }
STANDIN_UNCHECKED inline void __syncwarp(unsigned = ~0u) { standin_thread()->barrier(1, STANDIN_CALLER); }
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __trap() { __builtin_trap(); }

/// What each lane of the warp holds.
template <class T>
struct StandinWarp {
  T all[32];
  STANDIN_UNCHECKED explicit StandinWarp(const T& mine) {
    standin_thread()->exchange(&mine, all, sizeof(T), STANDIN_CALLER);
  }
};
template <class T>
T standin_lane(T value, unsigned from) {
  return StandinWarp<T>(value).all[from & 31];
}
inline unsigned standin_this_lane() { return threadIdx.x % 32; }
template <class T>
T __shfl_sync(unsigned, T value, int from, int = 32) {
  return standin_lane(value, static_cast<unsigned>(from));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return standin_lane(value, standin_this_lane() ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, int = 32) {
  const unsigned lane = standin_this_lane() + delta;
  const T got = standin_lane(value, lane);
  return lane < 32 ? got : value;
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta, int = 32) {
  const unsigned lane = standin_this_lane();
  const T got = standin_lane(value, lane - delta);
  return lane >= delta ? got : value;
}
inline unsigned __ballot_sync(unsigned, int condition) {
  const StandinWarp<unsigned> conditions(condition != 0);
  unsigned bits = 0;
  for (unsigned i = 0; i < standin_thread()->lanes; ++i) bits |= conditions.all[i] << i;
  return bits;
}
inline unsigned __match_any_sync(unsigned, unsigned value) {
  const StandinWarp<unsigned> values(value);
  unsigned bits = 0;
  for (unsigned i = 0; i < standin_thread()->lanes; ++i) bits |= static_cast<unsigned>(values.all[i] == value) << i;
  return bits;
}
inline int __any_sync(unsigned mask, int condition) { return __ballot_sync(mask, condition) != 0; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }

// Threads of the stand-in never run at once.
template <class T, class F>
STANDIN_UNCHECKED T standin_atomic(T* place, F&& change) {
#ifdef ADJOINT_STANDIN_CHECK
  standin_thread()->access(place, sizeof(T), 2, STANDIN_CALLER);
#endif
  const T before = *place;
  *place = change(before);
  return before;
}
template <class T>
T atomicCAS(T* place, T expected, T desired) {
  return standin_atomic(place, [=](T before) { return before == expected ? desired : before; });
}
template <class T>
T atomicAdd(T* place, T value) {
  return standin_atomic(place, [=](T before) { return static_cast<T>(before + value); });
}
template <class T>
T atomicMax(T* place, T value) {
  return standin_atomic(place, [=](T before) { return std::max(before, value); });
}
template <class T>
T atomicMin(T* place, T value) {
  return standin_atomic(place, [=](T before) { return std::min(before, value); });
}
template <class T>
T atomicExch(T* place, T value) {
  return standin_atomic(place, [=](T) { return value; });
}
template <class T>
T atomicOr(T* place, T value) {
  return standin_atomic(place, [=](T before) { return static_cast<T>(before | value); });
}

inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
template <class T>
T __ldg(const T* place) {
  return *place;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline double sinpi(double x) { return std::sin(3.14159265358979323846 * x); }
inline double cospi(double x) { return std::cos(3.14159265358979323846 * x); }
inline float sinpif(float x) { return static_cast<float>(std::sin(3.14159265358979323846 * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(3.14159265358979323846 * x)); }

// Products by warps (csrc/cuda/device/warp_products.h): lanes show each other what they hold.
#define ADJOINT_WARP_PRODUCTS
namespace adjoint::cuda {

struct StandinWords {
  uint32_t words[4];
};

STANDIN_UNCHECKED inline void standin_row(const void* row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    standin_thread()->report("memory: misaligned row of a tile", STANDIN_CALLER);
}
inline void load_tiles(uint32_t (&tiles)[4], const void* row) {
  standin_row(row);
  const StandinWarp<const void*> rows(row);
  const unsigned lane = standin_this_lane();
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(&tiles[i], static_cast<const char*>(rows.all[8 * i + lane / 4]) + lane % 4 * 4, 4);
}
inline void load_turned_tiles(uint32_t (&tiles)[4], const void* row) {
  standin_row(row);
  const StandinWarp<const void*> rows(row);
  const unsigned lane = standin_this_lane();
  for (unsigned i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (unsigned k = 0; k < 2; ++k)
      std::memcpy(&pair[k], static_cast<const char*>(rows.all[8 * i + lane % 4 * 2 + k]) + lane / 4 * 2, 2);
    std::memcpy(&tiles[i], pair, 4);
  }
}

template <class Kind>
void multiply_tiles(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2], Kind) {
  constexpr unsigned kEach = 4 / sizeof(Kind), kWidth = 4 * kEach;  // numbers of a word, of a tile's row
  const StandinWarp<StandinWords> lefts(StandinWords{{left[0], left[1], left[2], left[3]}});
  const StandinWarp<StandinWords> rights(StandinWords{{right[0], right[1], 0, 0}});
  auto number = [](uint32_t word, unsigned place) {
    Kind parts[kEach];
    std::memcpy(parts, &word, 4);
    if constexpr (kEach == 1)
      return parts[0].value;
    else
      return static_cast<float>(parts[place]);
  };
  const unsigned lane = standin_this_lane();
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (unsigned k = 0; k < 2 * kWidth; ++k) {
      const unsigned holder = k % kWidth / kEach;
      const uint32_t a = lefts.all[row % 8 * 4 + holder].words[row / 8 + k / kWidth * 2];
      const uint32_t b = rights.all[column * 4 + holder].words[k / kWidth];
      sums[e] += number(a, k % kEach) * number(b, k % kEach);
    }
  }
}
template <class Kind>
uint32_t packed(float first, float second, Kind) {
  const Kind pair[2] = {Kind(first), Kind(second)};
  return std::bit_cast<uint32_t>(pair);
}
/// To 10 bits behind the point, halves away from zero.
inline uint32_t rounded(float value) { return (std::bit_cast<uint32_t>(value) + 0x1000u) & ~0x1fffu; }
inline float fast_exp2(float x) { return std::exp2(x); }

STANDIN_UNCHECKED inline void begin_copy(void* shared, const void* from, bool there) {
  standin_thread()->begin_copy(shared, there ? from : nullptr, STANDIN_CALLER);
}
STANDIN_UNCHECKED inline void close_group() { standin_thread()->close_group(); }
template <int open>
STANDIN_UNCHECKED void wait_for_groups() {
  standin_thread()->wait_for_groups(open, STANDIN_CALLER);
}

// Products by groups of warps (csrc/cuda/device/group_products.h), which find their operands by themselves.
struct PanelPart {
  const char* start;
};
struct PanelPlace {
  const char* start;
  STANDIN_UNCHECKED explicit PanelPlace(const void* place) : start(static_cast<const char*>(place)) {
    if (reinterpret_cast<uintptr_t>(place) % 1024 != 0)
      standin_thread()->report("memory: misaligned panel", STANDIN_CALLER);
  }
  PanelPart operator+(int bytes) const { return {start + bytes}; }
};
/// A number of a panel, which the bits of its address from 7 to 9 move to another piece of 16 bytes.
template <class Kind>
float panel_number(PanelPart part, unsigned row, unsigned column) {
  auto address = reinterpret_cast<uintptr_t>(part.start) + row / 8 * 1024 + row % 8 * 128 + column * sizeof(Kind);
  address ^= (address >> 7 & 7) << 4;
  return static_cast<float>(*reinterpret_cast<const Kind*>(address));
}
inline void show_copies() {}
inline void open_products() {}
inline void close_products() {}
template <int open>
void wait_for_products(float (&)[8][4]) {}
template <class Kind>
void add_panels(float (&sums)[8][4], PanelPart left, PanelPart right, Kind) {
  const unsigned lane = standin_this_lane(), warp = threadIdx.x / 32 % 4;
  for (unsigned half = 0; half < 2; ++half) {
    float lefts[16];
    for (unsigned k = 0; k < 16; ++k) lefts[k] = panel_number<Kind>(left, warp * 16 + lane / 4 + 8 * half, k);
    for (unsigned i = 0; i < 16; ++i) {
      for (unsigned k = 0; k < 16; ++k)
        sums[i / 2][2 * half + i % 2] += lefts[k] * panel_number<Kind>(right, i / 2 * 8 + lane % 4 * 2 + i % 2, k);
    }
  }
}
template <class Kind>
void multiply_panels(float (&sums)[8][4], PanelPart left, PanelPart right, Kind kind) {
  for (auto& four : sums) std::fill_n(four, 4, 0.0f);
  add_panels(sums, left, right, kind);
}
template <class Kind>
void add_held(float (&sums)[8][4], const uint32_t (&left)[4], PanelPart right, Kind) {
  const StandinWarp<StandinWords> lefts(StandinWords{{left[0], left[1], left[2], left[3]}});
  const unsigned lane = standin_this_lane();
  for (unsigned k = 0; k < 16; ++k) {
    float numbers[2];
    for (unsigned half = 0; half < 2; ++half) {
      Kind pair[2];
      std::memcpy(pair, &lefts.all[lane / 4 * 4 + k % 8 / 2].words[half + k / 8 * 2], 4);
      numbers[half] = static_cast<float>(pair[k % 2]);
    }
    for (unsigned i = 0; i < 16; ++i) {
      const float number = panel_number<Kind>(right, k, i / 2 * 8 + lane % 4 * 2 + i % 2);
      for (unsigned half = 0; half < 2; ++half) sums[i / 2][2 * half + i % 2] += numbers[half] * number;
    }
  }
}

}  // namespace adjoint::cuda

#define ADJOINT_KERNEL(Args, ...)                                                                                     \
  static void standin_kernel(const Args& args);                                                                       \
  extern "C" const size_t kernel_parameter_bytes = sizeof(Args);                                                      \
  extern "C" STANDIN_UNCHECKED void kernel(void** parameters) { standin_kernel(*static_cast<Args*>(parameters[0])); } \
  static void standin_kernel([[maybe_unused]] const Args& args)
#define ADJOINT_DYNAMIC_SHARED(T, name) T* name = reinterpret_cast<T*>(standin_thread()->shared)

// What the compiler calls before each access, and where it finds that one is wrong.
#ifdef ADJOINT_STANDIN_CHECK
#define STANDIN_ACCESS(name, bytes, how)                               \
  extern "C" STANDIN_UNCHECKED void __tsan_##name(const void* place) { \
    standin_thread()->access(place, bytes, how, STANDIN_CALLER);       \
  }
#define STANDIN_ACCESSES(bytes)                    \
  STANDIN_ACCESS(read##bytes, bytes, 0)            \
  STANDIN_ACCESS(write##bytes, bytes, 1)           \
  STANDIN_ACCESS(unaligned_read##bytes, bytes, 0)  \
  STANDIN_ACCESS(unaligned_write##bytes, bytes, 1) \
  STANDIN_ACCESS(volatile_read##bytes, bytes, 2)   \
  STANDIN_ACCESS(volatile_write##bytes, bytes, 2)  \
  STANDIN_ACCESS(unaligned_volatile_read##bytes, bytes, 2)
STANDIN_ACCESSES(1)
STANDIN_ACCESSES(2)
STANDIN_ACCESSES(4)
STANDIN_ACCESSES(8)
STANDIN_ACCESSES(16)
#define STANDIN_RANGE(name, how)                                                     \
  extern "C" STANDIN_UNCHECKED void __tsan_##name(const void* place, size_t bytes) { \
    standin_thread()->access(place, bytes, how, STANDIN_CALLER);                     \
  }
STANDIN_RANGE(read_range, 0)
STANDIN_RANGE(write_range, 1)
#define STANDIN_WRONG(name, what)                                             \
  extern "C" STANDIN_UNCHECKED void __ubsan_handle_##name(void*, uintptr_t) { \
    standin_thread()->report(what, STANDIN_CALLER);                           \
  }
STANDIN_WRONG(type_mismatch_v1, "memory: misaligned access")
STANDIN_WRONG(out_of_bounds, "memory: index outside of an array")
extern "C" STANDIN_UNCHECKED void __tsan_init() {}
#endif
