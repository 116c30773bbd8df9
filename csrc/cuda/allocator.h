// Memory of the devices: blocks that were freed are kept for the stream on which they were used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "core/origin.h"
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

/// Something that is counted: how much there is, the most that there was, and the sums of what came and went.
struct Counter {
  int64_t now = 0, peak = 0, came = 0, went = 0;
  void add(int64_t amount) {
    now += amount;
    came += amount;
    if (now > peak) peak = now;
  }
  void take(int64_t amount) {
    now -= amount;
    went += amount;
  }
};
/// What a device's allocator has done so far, for small blocks and for large ones.
struct PoolStats {
  Counter allocated;  ///< bytes of live storages, rounded up to blocks
  Counter requested;  ///< the same as they asked
  Counter active;     ///< bytes of blocks that live storages or streams use
  Counter reserved;   ///< bytes from the driver
  Counter split;      ///< free bytes in segments that are partly in use
  Counter allocations, active_blocks, segments, split_blocks;
};
struct MemoryStats {
  PoolStats small, large, both;
  int64_t retries = 0, failures = 0;
};
MemoryStats memory_stats(int index);
void reset_peaks(int index);
/// The most bytes that are taken from a device's driver; more are out of memory.
void limit_memory(int index, size_t bytes);
/// SIZE_MAX where there is no limit.
size_t memory_limit(int index);
/// Forgets the sums of what came and went.
void reset_sums(int index);

/// A segment and the blocks that it is cut into.
struct BlockInfo {
  const char* data;
  size_t size, requested;
  bool used;
  Origin origin;  ///< the line of the program that uses a large block
};
struct SegmentInfo {
  int device;
  Stream stream;
  uint64_t graph;
  bool small;
  std::vector<BlockInfo> blocks;
};
std::vector<SegmentInfo> snapshot();
/// Gives what no storage uses back to the driver.
void empty_cache();
/// A storage is used on another stream, too: it is not given to others before that has come so far.
void record_stream(Storage* storage, Stream stream);
/// While this thread captures a graph its memory comes from segments of their own, which stay with the graph.
void begin_capture_pool(int index, uint64_t pool);
void end_capture_pool(int index, std::thread::id capturer, uint64_t pool);
/// This thread's memory of a device comes from a pool from now on, unless it captures a graph; 0: from no pool. Gives
/// the one of before.
uint64_t choose_pool(int index, uint64_t pool);
/// Somebody uses a pool, which may have been freed before: what is free there stays.
void begin_pool(uint64_t pool);
/// Nobody uses a pool any more: its memory goes back as it gets free.
void free_pool(uint64_t pool);

}  // namespace adjoint::cuda
