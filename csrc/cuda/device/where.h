// out = condition ? a : b over words; operands as in elementwise kernels: the output, the condition, a, b.
#pragma once

#include "elementwise.h"
#include "walk_args.h"

namespace adjoint::cuda {

template <int width, class Word, class Condition, class A, class B, class Index>
inline void choose_vector(const PackedArgs& args, Index first) {
  const Loaded<Condition, width, Index> condition(args, first);
  const Loaded<A, width, Index> a(args, first);
  const Loaded<B, width, Index> b(args, first);
  Vector<Word, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i) results.values[i] = condition[i] ? a[i] : b[i];
  *reinterpret_cast<Vector<Word, width>*>(reinterpret_cast<Word*>(args.data[0]) + first) = results;
}

template <int width, class Index, class Word, class Condition, class A, class B>
inline void where_packed(const PackedArgs& args) {
  const Index numel = static_cast<Index>(args.numel), first = thread_number<Index>() * width;
  if (first + width <= numel) return choose_vector<width, Word, Condition, A, B>(args, first);
  for (Index i = first; i < numel; ++i) choose_vector<1, Word, Condition, A, B>(args, i);
}

template <class In, class Index>
inline typename In::Stored element_of(const PackedArgs& args, const Index* offsets) {
  return In::pointer(args)[In::kLies == Lies::Strided ? offsets[In::kPlace] : 0];
}

template <class Index, class Word, class Condition, class A, class B>
inline void where_strided(const StridedArgs& args) {
  Index rest = thread_number<Index>();
  if (rest >= static_cast<Index>(args.numel)) return;
  Index offsets[4] = {};
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const Index size = static_cast<Index>(args.sizes[d]), quotient = rest / size, at = rest - quotient * size;
#pragma unroll
    for (int k = 0; k < 4; ++k) offsets[k] += at * static_cast<Index>(args.strides[k][d]);
    rest = quotient;
  }
  reinterpret_cast<Word*>(args.data[0])[offsets[0]] =
      element_of<Condition>(args, offsets) ? element_of<A>(args, offsets) : element_of<B>(args, offsets);
}

}  // namespace adjoint::cuda
