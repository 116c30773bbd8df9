// A process that was forked from one which uses a device cannot use it: the driver works in the one that began.
#pragma once

namespace adjoint::cuda {

/// Whether this process was forked after a device was in use.
bool forked();
/// Fails where it was.
void refuse_fork();

}  // namespace adjoint::cuda
