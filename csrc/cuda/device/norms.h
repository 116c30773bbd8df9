// Norms of many tensors: each block sums over a chunk, then a block for each tensor over what its chunks gave.
#pragma once

#include "update.h"

namespace adjoint::cuda {

/// What is added up, and what becomes of the sum.
enum class NormKind { Sum, Squares, Greatest };

template <NormKind kind, class T>
inline T joined(T a, T b) {
  if constexpr (kind == NormKind::Greatest) {
    return fn::maximum(a, b);
  } else {
    return a + b;
  }
}

/// Over all threads of a block, in an order that does not change; the first one has the result.
template <NormKind kind, class T>
inline T joined_in_block(T mine) {
  __shared__ T warps[32];
  for (int step = 16; step > 0; step /= 2) mine = joined<kind>(mine, __shfl_xor_sync(0xffffffffu, mine, step));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < static_cast<int>(blockDim.x) / 32; ++i) mine = joined<kind>(mine, warps[i]);
  return mine;
}

template <NormKind kind, class T>
inline void norm_of_chunk(const NormArgs& args) {
  T total = 0;
  for_chunk<1, 0, T, T>(args.list, [&](T* value) {
    const T size = kind == NormKind::Squares ? *value * *value : std::fabs(*value);
    total = joined<kind>(total, size);
  });
  total = joined_in_block<kind>(total);
  if (threadIdx.x == 0) reinterpret_cast<T*>(args.partial)[blockIdx.x] = total;
}

template <NormKind kind, class T>
inline void norm_of_chunks(const NormArgs& args) {
  const T* partial = reinterpret_cast<const T*>(args.partial);
  T total = 0;
  for (uint32_t i = args.list.first_block[blockIdx.x] + threadIdx.x; i < args.list.first_block[blockIdx.x + 1];
       i += blockDim.x)
    total = joined<kind>(total, partial[i]);
  total = joined_in_block<kind>(total);
  if (threadIdx.x == 0)
    reinterpret_cast<T*>(args.out)[blockIdx.x] = kind == NormKind::Squares ? std::sqrt(total) : total;
}

}  // namespace adjoint::cuda
