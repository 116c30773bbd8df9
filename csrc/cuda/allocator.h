// Memory of the devices: blocks that were freed are kept for the stream on which they were used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/storage.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

Storage* allocate(size_t nbytes, Device device);

/// Memory that lives as long as the variable; kernels that use it are launched on the device's current stream.
class Scratch {
 public:
  Scratch(size_t nbytes, Device device);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  char* data() const { return storage_->data; }

 private:
  Storage* storage_;
};

/// What a device's allocator has done so far, in bytes and counts.
struct MemoryStats {
  int64_t allocated, allocated_peak;  ///< by live storages, rounded up to blocks
  int64_t reserved, reserved_peak;    ///< from the driver
  int64_t requested;                  ///< by live storages, as they asked
  int64_t active_blocks, segments, allocations, frees, segment_allocations, segment_frees, retries;
};
MemoryStats memory_stats(int index);
void reset_peaks(int index);
/// Gives what no storage uses back to the driver.
void empty_cache();
/// A storage is used on another stream, too: it is not given to others before that has come so far.
void record_stream(Storage* storage, Stream stream);
/// While a graph is captured its memory comes from segments of its own, which stay with it.
void begin_capture_pool(int index, uint64_t pool);
void end_capture_pool(int index);
void free_pool(uint64_t pool);

}  // namespace adjoint::cuda
