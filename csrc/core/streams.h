// Streams of devices as the tape knows them: by number, 0 for the one that a device has from the beginning.
#pragma once

#include <cstdint>
#include <functional>

#include "core/device.h"

namespace adjoint {

struct StreamFunctions {
  /// This thread's stream of a device.
  uint32_t (*current)(Device device);
  void (*choose)(Device device, uint32_t stream);
  /// What `later` gets from now on waits for what `first` has so far.
  void (*follow)(Device device, uint32_t first, uint32_t later);
  /// Whether what a stream gets goes into a graph.
  bool (*is_captured)(Device device, uint32_t stream);
  /// The stream uses a storage of the device, which may have been made on another one.
  void (*lend)(Storage* storage, Device device, uint32_t stream);
};
/// Those of the devices that have streams; null until a program uses another one than the first.
inline const StreamFunctions* stream_functions = nullptr;

/// What brings another thread to the devices and streams that this one uses; null where no device is in use.
inline std::function<void()> (*leave_place)() = nullptr;

/// The number of this thread's stream where a tensor is made.
inline uint32_t stream_of(Device device) {
  if (!stream_functions || device.type != DeviceType::Cuda) [[likely]]
    return 0;
  return stream_functions->current(device);
}

}  // namespace adjoint
