// What kernels find wrong with values, such as an index that lies outside, and cannot throw.
//
// Note [Faults]. A kernel that meets such a value writes what it found into a record in the program's memory and goes
// on with a value that does no harm. The record is looked at by whoever waits for the device, who raises it; until then
// nothing waits. Each record has the number of a launch, under which the op and the line of the program are known.
#pragma once

#include <cstdint>

#include "cuda/device/fault.h"

namespace adjoint::cuda {

/// The record of a device, as kernels write it: in memory that both sides see.
Fault* fault_record(int index);
/// Fails where a kernel has found a fault, and clears the record.
void raise_fault(int index);

}  // namespace adjoint::cuda
