// Elementwise kernels over many tensors at once.
#pragma once

#include "elementwise.h"
#include "many_args.h"

namespace adjoint::cuda {

/// As `packed`, for the tensor that the block belongs to.
template <int width, class Index, class T, class Result, class Out, class... In, class Body>
inline void packed_many(const ManyArgs& args, Body body) {
  constexpr int operands = sizeof...(In) + 1;
  int low = 0, high = args.tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (args.first_block[middle] <= blockIdx.x ? low : high) = middle;
  }
  PackedArgs one;
#pragma unroll
  for (int i = 0; i < operands; ++i) {
    one.data[i] = args.places[low * operands + i];
    one.numbers[i] = args.numbers[i];
  }
  const Index numel = static_cast<Index>(args.sizes[low]);
  const Index first = (static_cast<Index>(blockIdx.x - args.first_block[low]) * static_cast<Index>(blockDim.x) +
                       static_cast<Index>(threadIdx.x)) *
                      width;
  Out* out = reinterpret_cast<Out*>(one.data[0]);
  if (first + width <= numel) {
    compute_vector<width, T, Result, Out>(out + first, args.params, body, Loaded<In, width, Index>(one, first)...);
  } else {
    for (Index i = first; i < numel; ++i)
      compute_vector<1, T, Result, Out>(out + i, args.params, body, Loaded<In, 1, Index>(one, i)...);
  }
}

}  // namespace adjoint::cuda
