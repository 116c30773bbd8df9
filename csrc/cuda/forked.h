// A process that was forked from one which uses a device cannot use it: the driver works in the one that began. What
// it has inherited of a device dies there without a word to the driver, and without a lock, which another thread may
// have held when the process was forked.
#pragma once

namespace adjoint::cuda {

/// Whether this process was forked after a device was in use.
bool forked();
/// Fails where it was.
void refuse_fork();

}  // namespace adjoint::cuda
