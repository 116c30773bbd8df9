// Scans on a device.
#pragma once

#include "kernels/scan.h"

namespace adjoint::cuda {

extern const kernels::Scan scan;

}  // namespace adjoint::cuda
