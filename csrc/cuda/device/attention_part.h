// Which rows of which head a block of the kernels of attention has.
#pragma once

#include "attention_args.h"
#include "kernel.h"

namespace adjoint::cuda {

/// What has the most to do under a causal mask comes first: the last tiles of queries, or the first of keys.
struct Part {
  int64_t head, batch, number, first;
  Part(const AttentionArgs& args, int rows, bool of_keys = false) {
    // There are fewer blocks than 2^31.
    const auto tiles = static_cast<unsigned>(args.tiles), heads = static_cast<unsigned>(args.heads);
    const unsigned tile = blockIdx.x % tiles, of_batch = blockIdx.x / tiles;
    first = static_cast<int64_t>(of_keys ? tile : tiles - 1 - tile) * rows;
    number = of_batch;
    batch = of_batch / heads;
    head = of_batch % heads;
  }
  template <class T>
  T* of(const HeadRows& rows) const {
    return reinterpret_cast<T*>(rows.data) + batch * rows.batch + head * rows.head;
  }
};

}  // namespace adjoint::cuda
