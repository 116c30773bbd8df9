// Copies of long rows that begin at any addresses. What is written goes in vectors of 16 bytes; what is read are the
// two vectors that have the bytes, of which neighbours share one.
#pragma once

#include "copy_rows_args.h"
#include "kernel.h"

namespace adjoint::cuda {

struct alignas(16) Vector16 {
  uint32_t words[4];
};

/// 16 bytes, from byte 4 * word + bits / 8 of two vectors on.
template <int word>
inline Vector16 joined(const Vector16& a, const Vector16& b, unsigned bits) {
  auto at = [&](int i) { return i < 4 ? a.words[i % 4] : b.words[i % 4]; };
  Vector16 result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint64_t both = static_cast<uint64_t>(at(i + word + 1)) << 32 | at(i + word);
    result.words[i] = static_cast<uint32_t>(both >> bits);
  }
  return result;
}

inline Vector16 joined(const Vector16& a, const Vector16& b, unsigned word, unsigned bits) {
  switch (word) {  // the same for all of a row
    case 0: return joined<0>(a, b, bits);
    case 1: return joined<1>(a, b, bits);
    case 2: return joined<2>(a, b, bits);
    default: return joined<3>(a, b, bits);
  }
}

/// A block has a part of a row; the first and the last elements, which are no whole vectors, go one by one.
template <class Word>
inline void copy_rows(const CopyRowsArgs& args) {
  constexpr int kPer = 16 / sizeof(Word);
  const int64_t row = blockIdx.x / args.parts, part = blockIdx.x % args.parts;
  const Word* from = reinterpret_cast<const Word*>(args.from) + row * args.from_step;
  Word* to = reinterpret_cast<Word*>(args.to) + row * args.to_step;
  const auto begin = reinterpret_cast<uintptr_t>(from), end = begin + args.cols * sizeof(Word);
  const auto head = static_cast<int64_t>((16 - reinterpret_cast<uintptr_t>(to) % 16) % 16 / sizeof(Word));
  const int64_t vectors = (args.cols - head) / kPer, rest = head + vectors * kPer;
  if (part == 0 && threadIdx.x < head) to[threadIdx.x] = from[threadIdx.x];
  if (part == args.parts - 1 && rest + threadIdx.x < args.cols) to[rest + threadIdx.x] = from[rest + threadIdx.x];
  const auto shift = static_cast<unsigned>((begin + head * sizeof(Word)) % 16);
  const int64_t first = part * (kCopyThreads * kCopyEach) + threadIdx.x;
#pragma unroll
  for (int r = 0; r < kCopyEach; ++r) {
    const int64_t number = first + r * kCopyThreads;
    if (number >= vectors) break;
    const int64_t element = head + number * kPer;
    const uintptr_t place = begin + element * sizeof(Word) - shift;
    auto* vector = reinterpret_cast<Vector16*>(to + element);
    if (shift == 0) {
      *vector = *reinterpret_cast<const Vector16*>(place);
    } else if (place >= begin && place + 32 <= end) {
      const auto* pair = reinterpret_cast<const Vector16*>(place);
      *vector = joined(pair[0], pair[1], shift / 4, shift % 4 * 8);
    } else {
      for (int i = 0; i < kPer; ++i) to[element + i] = from[element + i];
    }
  }
}

}  // namespace adjoint::cuda
