// The parameters of the kernels of ctc.h.
#pragma once

#include <cstdint>

#include "fault.h"

namespace adjoint::cuda {

inline constexpr int kListNumbers = 480;  ///< that fit into a launch's parameters

/// Numbers that travel with the launch: nobody waits for a copy.
struct ListArgs {
  int64_t* to;
  int64_t count;
  int64_t values[kListNumbers];
};

struct CtcArgs {
  const void *scores, *grad, *losses;
  const int64_t* labels;
  const int64_t *lengths, *label_counts, *label_starts;  ///< on the device
  void *alpha, *beta;                                    ///< the likelihoods of beginnings and of ends
  void* out;
  int32_t* next;   ///< where each label of a sequence occurs again, or -1
  int32_t* first;  ///< whether it has not occurred before
  int64_t times, batch, classes, blank, states, label_count;
  int32_t zero_infinity;
  FaultRecord fault;
};

}  // namespace adjoint::cuda
