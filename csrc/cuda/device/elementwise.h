// Elementwise kernels: `body<T>(params, inputs...)`, which stands before this file's use, for every element.
#pragma once

#include "cpu/math.h"
#include "elementwise_args.h"
#include "kernel.h"

namespace adjoint::cuda {

/// How an input lies: as many elements as there are threads need, one for all of them, or a number of the arguments; at
/// any strides, the elements of a thread side by side, or one for all that a thread has.
enum class Lies { Packed, Single, Number, Strided, Repeated };

/// Input `place` (0 is the output), stored as S.
template <class S, Lies lies, int place>
struct Input {
  using Stored = S;
  static constexpr Lies kLies = lies;
  static constexpr int kPlace = place;

  static const S* pointer(const PackedArgs& args) {
    if constexpr (lies == Lies::Number) {
      return reinterpret_cast<const S*>(args.numbers[place].bytes);
    } else {
      return reinterpret_cast<const S*>(args.data[place]);
    }
  }
};

template <class S, int width>
struct alignas(sizeof(S) * width) Vector {
  S values[width];
};

/// `width` elements of an input from `place` on, where it has several.
template <class In, int width, class Index>
struct Loaded {
  static constexpr int kCount = In::kLies == Lies::Packed || In::kLies == Lies::Strided ? width : 1;
  Vector<typename In::Stored, kCount> elements;

  Loaded(const PackedArgs& args, Index place) {
    const auto* from = In::pointer(args);
    if constexpr (In::kLies != Lies::Single && In::kLies != Lies::Number) from += place;
    elements = *reinterpret_cast<const Vector<typename In::Stored, kCount>*>(from);
  }
  typename In::Stored operator[](int i) const { return elements.values[kCount == 1 ? 0 : i]; }
};

template <int width, class T, class Result, class Out, class Body, class... Elements>
inline void compute_vector(Out* out, const Scalar* params, Body body, const Elements&... inputs) {
  Vector<Out, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i)
    results.values[i] = convert<Out>(fn::cast<Result>(body(params, convert<T>(inputs[i])...)));
  *reinterpret_cast<Vector<Out, width>*>(out) = results;
}

/// Each thread has `width` elements.
template <int width, class Index, class T, class Result, class Out, class... In, class Body>
inline void packed(const PackedArgs& args, Body body) {
  const Index numel = static_cast<Index>(args.numel);
  const Index first = thread_number<Index>() * width;
  Out* out = reinterpret_cast<Out*>(args.data[0]);
  if (first + width <= numel) {
    compute_vector<width, T, Result, Out>(out + first, args.params, body, Loaded<In, width, Index>(args, first)...);
  } else {
    for (Index i = first; i < numel; ++i)
      compute_vector<1, T, Result, Out>(out + i, args.params, body, Loaded<In, 1, Index>(args, i)...);
  }
}

/// Each thread has `width` elements, side by side in the last dimension, whose sizes and strides are counted in so
/// many.
template <int width, class Index, class T, class Result, class Out, class... In, class Body>
inline void strided(const StridedArgs& args, Body body) {
  constexpr int count = sizeof...(In) + 1;
  Index rest = thread_number<Index>();
  if (rest >= static_cast<Index>(args.numel / width)) return;
  Index offsets[count] = {};
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const Index size = static_cast<Index>(args.sizes[d]), quotient = rest / size, at = rest - quotient * size;
#pragma unroll
    for (int k = 0; k < count; ++k) offsets[k] += at * static_cast<Index>(args.strides[k][d]);
    rest = quotient;
  }
  compute_vector<width, T, Result, Out>(reinterpret_cast<Out*>(args.data[0]) + offsets[0], args.params, body,
                                        Loaded<In, width, Index>(args, offsets[In::kPlace])...);
}

}  // namespace adjoint::cuda
