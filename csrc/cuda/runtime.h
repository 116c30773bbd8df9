// The devices of this machine as a thread uses them: which one is current, and its stream.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

inline constexpr int kMaxDevices = 64;

/// One device, from its first use on.
struct DeviceState {
  DeviceNumber number;
  Context context;
  int capability;  ///< 90 for sm_90
  int multiprocessors;
  int shared_bytes;  ///< that a block may have where it asks for it
};

int device_count();
/// The device of new tensors on "cuda", thread by thread.
int current_device();
void set_current_device(int index);

/// Makes a device's context the one of this thread, and gives the device.
const DeviceState& use(int index);
inline const DeviceState& use(Device device) { return use(static_cast<int>(device.index)); }

/// What this thread launches on.
Stream current_stream(int index);
inline Stream current_stream(Device device) { return current_stream(static_cast<int>(device.index)); }
void set_current_stream(int index, Stream stream);

/// Waits for all work of a device, or of a stream.
void synchronize(int index);
void synchronize(int index, Stream stream);

/// Whether a variable of the environment is 1.
bool is_set(const char* name);
/// After a launch on the current stream of a device. With ADJOINT_CUDA_BLOCKING=1 or CUDA_LAUNCH_BLOCKING=1 it is
/// waited for, so that its error shows where it was made; but for a capture, in which nothing runs and a wait is an
/// error.
void finish_launch(Device device);

}  // namespace adjoint::cuda
