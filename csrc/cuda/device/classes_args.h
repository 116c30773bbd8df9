// The parameter of kernels over the scores of classes.
#pragma once

#include "fault.h"

namespace adjoint::cuda {

inline constexpr int kClassThreads = 512;

struct ClassArgs {
  const void* scores;
  const void* slopes;  ///< of the way back: the gradient of the loss
  const int64_t* target;
  const double* weight;  ///< of each class; null: 1
  void* loss;            ///< of the way back: the gradient in the scores
  void* total;
  void* sums;     ///< two numbers for each row, or null: the scores are logarithms of probabilities
  double* parts;  ///< the sums of blocks: of the terms, and of the weights
  int64_t n, count, inner, ignored, blocks;
  int32_t each, mean;
  FaultRecord fault;
};

}  // namespace adjoint::cuda
