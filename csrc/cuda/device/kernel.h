// What every kernel begins with: how it is declared, and where its thread stands.
#pragma once

#include <cstdint>

/// ADJOINT_KERNEL(Args, threads) { ... }: the kernel of a text, of one parameter `args`, in blocks of so many threads;
/// after these may stand how many blocks a multiprocessor is to have at once. Its name, which profilers show, comes
/// from outside.
#ifndef ADJOINT_KERNEL
#define ADJOINT_KERNEL(Args, ...) \
  extern "C" __global__ __launch_bounds__(__VA_ARGS__) void ADJOINT_KERNEL_NAME(const __grid_constant__ Args args)
#endif
/// Memory that the threads of a block share, as much of it as the launch says.
#ifndef ADJOINT_DYNAMIC_SHARED
#define ADJOINT_DYNAMIC_SHARED(T, name)                           \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(dynamic_shared)
#endif

namespace adjoint::cuda {

/// The number of this thread among all of the launch.
template <class Index>
inline Index thread_number() {
  return static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
}

}  // namespace adjoint::cuda
