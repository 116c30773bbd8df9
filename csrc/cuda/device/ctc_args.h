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
  void *alpha, *beta, *out;                              ///< of beginnings; of whole sequences through a state
  int32_t *next,
      *first;  ///< for each label of a sequence where it occurs next (-1), and whether it is the first of its kind
  int64_t times, batch, classes, blank, states, label_count;
  int32_t zero_infinity;
  Fault* fault;
};

}  // namespace adjoint::cuda
