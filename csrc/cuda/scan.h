// Scans on a device.
#pragma once

#include "kernels/scan.h"

namespace adjoint::cuda {

void set_scan(kernels::Scan& table);

}  // namespace adjoint::cuda
