// Which rows of which head a block of the kernels of attention has.
#pragma once

#include "attention_args.h"
#include "kernel.h"

namespace adjoint::cuda {

/// The last tiles come first: a causal mask leaves the most to do there.
struct Part {
  int64_t head, batch, number, first;
  Part(const AttentionArgs& args, int rows) {
    number = blockIdx.x / args.tiles;
    first = (args.tiles - 1 - blockIdx.x % args.tiles) * rows;
    batch = number / args.heads;
    head = number % args.heads;
  }
  template <class T>
  T* of(const HeadRows& rows) const {
    return reinterpret_cast<T*>(rows.data) + batch * rows.batch + head * rows.head;
  }
};

}  // namespace adjoint::cuda
