// The parameter of reductions, as the program fills it and the device reads it.
#pragma once

#include <cstdint>

namespace adjoint::cuda {

inline constexpr int kReduceDims = 12;

/// Element r of output o lies at in[kept(o) + reduced(r)]. All strides are counted in elements, the last dimension is
/// the fastest.
struct ReduceArgs {
  const char* in[2];  ///< two inputs lie alike
  char* out[2];       ///< of which either may be null
  char* states;       ///< of parts, [outputs, parts], where there are several
  int64_t outputs, n;
  int64_t part;  ///< elements of a part
  int32_t parts;
  int32_t group;  ///< threads that have an output, as a power of two: 3 for 8 threads
  int32_t kept_dims, reduced_dims;
  int64_t kept_sizes[kReduceDims], kept_in[kReduceDims], kept_out[2][kReduceDims];
  int64_t reduced_sizes[kReduceDims], reduced_in[kReduceDims];
  double number;         ///< what the kind of reduction has for a parameter
  bool adds;             ///< to what the output holds
  const char* given[3];  ///< more inputs and outputs of some kinds, and how far apart their elements are
  char* taken[4];
  int64_t given_steps[3], taken_steps[4];
  int64_t channels_each;  ///< planes that share a statistic
  double numbers[2];
};

}  // namespace adjoint::cuda
