// The parameter of the kernels of loss_labels.h.
#pragma once

#include <cstdint>

#include "fault.h"

namespace adjoint::cuda {

struct LabelArgs {
  const void *scores, *grad;
  const int64_t* labels;
  uint8_t* is_label;
  void* out;
  int64_t classes;
  FaultRecord fault;
};

}  // namespace adjoint::cuda
