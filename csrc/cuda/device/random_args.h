// The parameters of random fills, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

#include "fault.h"
#include "philox.h"

namespace adjoint::cuda {

struct FillArgs {
  char* data;
  int64_t n;
  DrawKey key;
  double first, second;  ///< the parameters of the distribution
  int64_t low;           ///< whole numbers: so many from here on
  uint64_t length;
  const char* given;  ///< chances or counts, one for each element
  FaultRecord faults;
};

inline constexpr int kShuffleRounds = 12;
inline constexpr int kMostRanked = 1024;  ///< up to here an order is that of random keys

struct ShuffleArgs {
  int64_t* data;
  int64_t n;
  DrawKey key;
  int32_t left_bits, right_bits;  ///< of a number, which has at least as many values as there are elements
};

struct SharesArgs {
  double* data;
  int64_t rows, length;
};

struct NegativeArgs {
  const char* data;
  int64_t n;
  int32_t* found;
};

}  // namespace adjoint::cuda
