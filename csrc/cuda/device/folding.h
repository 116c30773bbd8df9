// Windows of planes as columns, and sums of columns back into planes: each thread has one element of what is written.
#pragma once

#include "core/dtype.h"
#include "folding_args.h"
#include "kernel.h"
#include "walk_args.h"

namespace adjoint::cuda {

template <class Word>
inline void unfold(const FoldArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  int64_t rest = number / args.blocks[1];
  const int64_t x = number - rest * args.blocks[1], y = rest % args.blocks[0];
  rest /= args.blocks[0];
  const int64_t column = rest % args.kernel[1];
  rest /= args.kernel[1];
  const int64_t row = rest % args.kernel[0], plane = rest / args.kernel[0];
  const int64_t at_y = y * args.stride[0] - args.padding[0] + row * args.dilation[0];
  const int64_t at_x = x * args.stride[1] - args.padding[1] + column * args.dilation[1];
  Word value{};
  if (at_y >= 0 && at_y < args.size[0] && at_x >= 0 && at_x < args.size[1])
    value = static_cast<const Word*>(args.in)[(plane * args.size[0] + at_y) * args.size[1] + at_x];
  static_cast<Word*>(args.out)[number] = value;
}

/// The block along an axis that has an element at a kernel's place k, or -1.
inline int64_t block_with(const FoldArgs& args, int axis, int64_t at, int64_t k) {
  const int64_t from = at + args.padding[axis] - k * args.dilation[axis];
  if (from < 0 || from % args.stride[axis] != 0) return -1;
  const int64_t block = from / args.stride[axis];
  return block < args.blocks[axis] ? block : -1;
}

template <class T>
inline void fold(const FoldArgs& args) {
  const int64_t number = thread_number<int64_t>();
  if (number >= args.numel) return;
  const int64_t line = number / args.size[1], x = number - line * args.size[1];
  const int64_t plane = line / args.size[0], y = line - plane * args.size[0];
  T sum = T(0);
  for (int64_t row = 0; row < args.kernel[0]; ++row) {
    const int64_t block_y = block_with(args, 0, y, row);
    if (block_y < 0) continue;
    for (int64_t column = 0; column < args.kernel[1]; ++column) {
      const int64_t block_x = block_with(args, 1, x, column);
      if (block_x < 0) continue;
      const int64_t place = (plane * args.kernel[0] + row) * args.kernel[1] + column;
      sum += static_cast<const T*>(args.in)[(place * args.blocks[0] + block_y) * args.blocks[1] + block_x];
    }
  }
  static_cast<T*>(args.out)[number] = sum;
}

}  // namespace adjoint::cuda
