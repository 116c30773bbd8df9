// CUDA C for a C++ compiler: what device code uses of the language, for blocks whose threads run one after the other.
// The stand-in driver runs each thread of a block on a stack of its own and switches at barriers (driver.cpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

struct StandinIndex {
  unsigned x, y, z;
};
// The driver sets these before each thread goes on.
struct StandinThread {
  StandinIndex thread, block, block_size, grid_size;
  char* shared;
  void (*barrier)(int scope);                               // 0: the block, 1: the warp
  void (*exchange)(const void* mine, void* all, int size);  // of a warp
  unsigned lanes;                                           // of this warp
};
// Where the driver keeps which thread runs; it says so when it loads a kernel.
extern "C" {
StandinThread** standin_place = nullptr;
}
inline StandinThread* standin_thread() { return *standin_place; }

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

inline void __syncthreads() { standin_thread()->barrier(0); }
inline void __syncwarp(unsigned = ~0u) { standin_thread()->barrier(1); }
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __trap() { __builtin_trap(); }

template <class T>
T standin_lane(T value, unsigned from) {
  T all[32];
  standin_thread()->exchange(&value, all, sizeof(T));
  return all[from & 31];
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
  const unsigned mine = condition != 0;
  unsigned all[32];
  standin_thread()->exchange(&mine, all, sizeof(mine));
  unsigned bits = 0;
  for (unsigned i = 0; i < standin_thread()->lanes; ++i) bits |= all[i] << i;
  return bits;
}
inline int __any_sync(unsigned mask, int condition) { return __ballot_sync(mask, condition) != 0; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }

// Threads of the stand-in never run at once.
template <class T>
T atomicCAS(T* place, T expected, T desired) {
  const T before = *place;
  if (before == expected) *place = desired;
  return before;
}
template <class T>
T atomicAdd(T* place, T value) {
  const T before = *place;
  *place = static_cast<T>(before + value);
  return before;
}
template <class T>
T atomicMax(T* place, T value) {
  const T before = *place;
  *place = std::max(before, value);
  return before;
}
template <class T>
T atomicMin(T* place, T value) {
  const T before = *place;
  *place = std::min(before, value);
  return before;
}
template <class T>
T atomicExch(T* place, T value) {
  const T before = *place;
  *place = value;
  return before;
}
template <class T>
T atomicOr(T* place, T value) {
  const T before = *place;
  *place = before | value;
  return before;
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

#define ADJOINT_KERNEL(Args, threads)                                                              \
  static void standin_kernel(const Args& args);                                                    \
  extern "C" const size_t kernel_parameter_bytes = sizeof(Args);                                   \
  extern "C" void kernel(void** parameters) { standin_kernel(*static_cast<Args*>(parameters[0])); } \
  static void standin_kernel([[maybe_unused]] const Args& args)
#define ADJOINT_DYNAMIC_SHARED(T, name) T* name = reinterpret_cast<T*>(standin_thread()->shared)
