// One step over the arrays of many tensors: `body(uniforms, values)` changes one element of each array.
#pragma once

#include "cpu/math.h"
#include "kernel.h"
#include "update_args.h"

namespace adjoint::cuda {

/// What a block works on.
struct Chunk {
  int tensor;
  int64_t begin, end;
};

template <class Stored>
inline Chunk chunk_of(const TensorList& list) {
  constexpr int64_t length = kChunkBytes / static_cast<int64_t>(sizeof(Stored));
  int low = 0, high = list.tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.first_block[middle] <= blockIdx.x ? low : high) = middle;
  }
  const int64_t begin = static_cast<int64_t>(blockIdx.x - list.first_block[low]) * length;
  return {low, begin, std::min(begin + length, list.sizes[low])};
}

/// Runs body(values) for each element of a chunk; `written` has a bit for each array that is stored.
template <int arrays, unsigned written, class T, class Stored, class Body>
inline void for_chunk(const TensorList& list, Body body) {
  constexpr int width = 16 / static_cast<int>(sizeof(Stored));
  struct alignas(16) Elements {
    Stored values[width];
  };
  const Chunk chunk = chunk_of<Stored>(list);
  Stored* data[arrays];
  uintptr_t places = 0;
#pragma unroll
  for (int a = 0; a < arrays; ++a) {
    data[a] = reinterpret_cast<Stored*>(list.places[chunk.tensor * arrays + a]);
    places |= reinterpret_cast<uintptr_t>(data[a]);
  }
  int64_t rest = chunk.begin;
  if (places % 16 == 0) {
    rest += (chunk.end - chunk.begin) / width * width;
    for (int64_t i = chunk.begin + threadIdx.x * width; i < rest; i += blockDim.x * width) {
      Elements loaded[arrays];
#pragma unroll
      for (int a = 0; a < arrays; ++a) loaded[a] = *reinterpret_cast<const Elements*>(data[a] + i);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        T values[arrays];
#pragma unroll
        for (int a = 0; a < arrays; ++a) values[a] = convert<T>(loaded[a].values[k]);
        body(values);
#pragma unroll
        for (int a = 0; a < arrays; ++a) loaded[a].values[k] = convert<Stored>(values[a]);
      }
#pragma unroll
      for (int a = 0; a < arrays; ++a)
        if (written >> a & 1) *reinterpret_cast<Elements*>(data[a] + i) = loaded[a];
    }
  }
  for (int64_t i = rest + threadIdx.x; i < chunk.end; i += blockDim.x) {
    T values[arrays];
#pragma unroll
    for (int a = 0; a < arrays; ++a) values[a] = convert<T>(data[a][i]);
    body(values);
#pragma unroll
    for (int a = 0; a < arrays; ++a)
      if (written >> a & 1) data[a][i] = convert<Stored>(values[a]);
  }
}

template <int arrays, unsigned written, int uniforms, class T, class Stored, class Body>
inline void update_chunk(const UpdateArgs& args, Body body) {
  const char* from = args.uniforms;
  if (args.prepared) from = args.prepared + chunk_of<Stored>(args.list).tensor * 8 * kUniforms;
  T known[uniforms > 0 ? uniforms : 1];
#pragma unroll
  for (int i = 0; i < uniforms; ++i) known[i] = reinterpret_cast<const T*>(from)[i];
  for_chunk<arrays, written, T, Stored>(args.list, [&](T* values) { body(known, values); });
}

/// A thread has a tensor; S is the type of its 0-d states.
template <class S, class T, class Prepare>
inline void prepare_uniforms(const PrepareArgs& args, Prepare prepare) {
  const int tensor = thread_number<int>();
  if (tensor >= args.tensors) return;
  double numbers[kUniforms], kept[kUniforms] = {}, uniforms[kUniforms] = {};
  for (int i = 0; i < kUniforms; ++i) {
    const char* place = args.number_places[i];
    numbers[i] = !place                     ? args.numbers[i]
                 : args.number_is_double[i] ? *reinterpret_cast<const double*>(place)
                                            : static_cast<double>(*reinterpret_cast<const float*>(place));
  }
  char* const* places = args.places + tensor * args.kept;
  for (int i = 0; i < args.kept; ++i) kept[i] = static_cast<double>(*reinterpret_cast<const S*>(places[i]));
  prepare(kept, (args.first[tensor / 32] >> tensor % 32 & 1) != 0, numbers, uniforms);
  for (int i = 0; i < args.kept; ++i) *reinterpret_cast<S*>(places[i]) = static_cast<S>(kept[i]);
  T* out = reinterpret_cast<T*>(args.prepared + tensor * 8 * kUniforms);
  for (int i = 0; i < kUniforms; ++i) out[i] = static_cast<T>(uniforms[i]);
}

/// Multiplies by a number on the device, and notes what is not finite.
template <class T, class Stored>
inline void unscale_chunk(const UnscaleArgs& args) {
  const T inverse = static_cast<T>(*args.inverse);
  bool finite = true;
  for_chunk<1, 1, T, Stored>(args.list, [&](T* value) {
    finite = finite && std::fabs(*value) <= std::numeric_limits<T>::max();
    *value = *value * inverse;
  });
  if (!finite) *args.found = 1;
}

}  // namespace adjoint::cuda
