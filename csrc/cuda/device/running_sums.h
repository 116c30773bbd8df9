// Sums over the threads of a block.
#pragma once

#include "kernel.h"

namespace adjoint::cuda {

/// The sum of the values of this lane and of those before it.
template <class T>
inline T warp_running_sum(T value) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const T before = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value = static_cast<T>(value + before);
  }
  return value;
}

/// The sum of the values of the threads before this one, and of all; `shared` has room for 33 numbers.
template <int threads, class T>
inline T block_sum_before(T value, T* shared, T& total) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const T running = warp_running_sum(value);
  __syncthreads();  // what is left there from the last call has been read
  if (lane == 31) shared[warp] = running;
  __syncthreads();
  if (warp == 0) {
    const T mine = lane < threads / 32 ? shared[lane] : T(0);
    const T sums = warp_running_sum(mine);
    shared[lane] = static_cast<T>(sums - mine);
    if (lane == 31) shared[32] = sums;
  }
  __syncthreads();
  total = shared[32];
  return static_cast<T>(shared[warp] + running - value);
}

}  // namespace adjoint::cuda
