// Kernels that a device does not have: the values go to the program's memory, the CPU computes, and what has changed
// goes back. Each warns once, by its name.
#pragma once

#include <string>
#include <vector>

#include "kernels/backend.h"

namespace adjoint::cuda {

/// All kernels, computed so.
extern const Backend through_cpu;

/// The names of kernels, "reduce.sum", of which a table of the device has the CPU's way, or not.
std::vector<std::string> kernel_names(const Backend& table, bool native);

}  // namespace adjoint::cuda
