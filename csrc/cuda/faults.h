// What kernels find wrong with values, such as an index that lies outside, and cannot throw.
//
// Note [Faults]. A kernel that meets such a value writes what it found into a record in the program's memory and goes
// on with a value that does no harm. The record is looked at by whoever waits for the device, who raises it; until then
// nothing waits. A kernel is given the number of the op and the line that launch it (Note [Origins] in core/origin.h),
// and leaves it in the record, so that the error names them.
#pragma once

#include <cstdint>

#include "cuda/device/fault.h"

namespace adjoint::cuda {

/// For the arguments of a kernel that is launched now: where it writes a fault, in memory that both sides see.
FaultRecord fault_record(int index);
/// Fails where a kernel has found a fault, and clears the record.
void raise_fault(int index);

}  // namespace adjoint::cuda
