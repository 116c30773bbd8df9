// The parameters of optimizer steps over many tensors, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

// A launch takes parameters of 4 KB at most.
inline constexpr int kListTensors = 96;
inline constexpr int kListPlaces = 320;
inline constexpr int kUniforms = 16;          ///< as kMaxUpdateNumbers in cpu/update.h
inline constexpr int kChunkBytes = 16 << 10;  ///< of each array of a tensor: the work of a block

/// Tensors, each as several arrays of as many elements; blocks have chunks of them, in this order.
struct TensorList {
  int32_t tensors;
  uint32_t first_block[kListTensors + 1];
  int64_t sizes[kListTensors];
  char* places[kListPlaces];  ///< the arrays of the first tensor, then those of the next
};

struct UpdateArgs {
  TensorList list;
  const char* prepared;                     ///< null, or the uniforms of each tensor
  alignas(8) char uniforms[8 * kUniforms];  ///< those of all, in the type that is computed in
};

/// Computes the uniforms of each tensor from numbers and from its 0-d states, and steps these.
struct PrepareArgs {
  int32_t tensors;
  int32_t kept;  ///< 0-d states of each
  char* prepared;
  uint32_t first[(kListTensors + 31) / 32];  ///< a bit for each: this is its first step
  double numbers[kUniforms];
  const char* number_places[kUniforms];  ///< numbers that are on the device, in the place of the others
  uint8_t number_is_double[kUniforms];
  char* places[kListPlaces];  ///< the states of the first tensor, then those of the next
};

struct UnscaleArgs {
  TensorList list;
  const float* inverse;
  float* found;
};

struct NormArgs {
  TensorList list;
  char* partial;  ///< one for each block
  char* out;      ///< one for each tensor
};

static_assert(sizeof(UpdateArgs) <= 4096 && sizeof(PrepareArgs) <= 4096 && sizeof(UnscaleArgs) <= 4096);

}  // namespace adjoint::cuda
