// Elements read at computed places: each thread has one word of the output.
#pragma once

#include "gather_args.h"
#include "walk.h"

namespace adjoint::cuda {

template <class Word, class Index, int count, bool wraps>
inline void gather(const GatherArgs& args) {
  const Index number = thread_number<Index>();
  if (number >= static_cast<Index>(args.walk.numel)) return;
  Index at[count + 2];
  walk_to(args.walk, number, at);
  int64_t place = static_cast<int64_t>(at[1]);
#pragma unroll
  for (int k = 0; k < count; ++k)
    place += checked_index<wraps>(args.index[k][at[k + 2]], args.size[k], args.fault, args.dim[k]) * args.step[k];
  reinterpret_cast<Word*>(args.out)[at[0]] = reinterpret_cast<const Word*>(args.in)[place];
}

}  // namespace adjoint::cuda
