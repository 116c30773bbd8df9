// Operations that wait for a device: what torch.cuda.set_sync_debug_mode() asks to be told of.
#pragma once

namespace adjoint::cuda {

enum class WaitMode { Silent, Warn, Fail };

void set_wait_mode(WaitMode mode);
WaitMode wait_mode();
/// Before an operation that waits, and has begun nothing yet. What waits because a program says so, such as
/// torch.cuda.synchronize(), does not ask.
void note_wait();

}  // namespace adjoint::cuda
