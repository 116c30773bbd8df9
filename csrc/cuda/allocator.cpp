// Note [Device memory]. The driver's own allocation takes as long as ten kernels, and freeing waits for all of them. So
// segments are taken from the driver and cut into blocks; a freed block is joined with free neighbours and kept with
// the stream on which it was used. What runs on one stream runs in order, so that a block can be given out again while
// kernels that use it are still to run. A storage that other streams use, too, waits for an event on each of them.
#include "cuda/allocator.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "cuda/forked.h"
#include "cuda/out_of_memory.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

constexpr size_t kRound = 512;              // sizes of blocks are multiples of this
constexpr size_t kSmall = size_t{1} << 20;  // blocks up to this are cut from segments of ...
constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kMedium = size_t{10} << 20;  // ... and those up to this from ...
constexpr size_t kMediumSegment = size_t{20} << 20;
constexpr size_t kLargeRound = size_t{2} << 20;  // larger ones have a segment, of a multiple of this

struct Pool;

/// Part of a segment. Those of one segment are linked in the order of their addresses.
struct Block {
  Pool* pool;
  char* data;
  size_t size;
  Block *before = nullptr, *after = nullptr;
  bool used = false;
  size_t requested = 0;
  Origin origin = 0;  ///< of what uses a large one
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }
};

/// The blocks of one stream of a device, of all programs or of a pool: a graph's, or one that was asked for.
struct Pool {
  int device;
  Stream stream;
  uint64_t graph;
  bool small;
  std::set<Block*, BySize> free;
};

struct Waiting {
  Block* block;
  std::vector<Event> events;
  std::vector<Stream> streams;  ///< whose events are still to be recorded: none can be while a graph is captured
};

struct DeviceMemory {
  std::map<std::tuple<uint64_t, Stream, bool>, Pool> pools;
  std::vector<Waiting> waiting;
  MemoryStats stats{};
  size_t limit = SIZE_MAX;  ///< of the bytes that are reserved
  /// Graphs that are being captured: the thread, and the pool. The last one of a thread is that whose memory it takes.
  std::vector<std::pair<std::thread::id, uint64_t>> captures;

  bool is_captured() const { return !captures.empty(); }
  /// The pool of the graph that this thread captures, or the one that it has chosen; 0: none.
  uint64_t pool_here(uint64_t chosen) const {
    for (auto capture = captures.rbegin(); capture != captures.rend(); ++capture)
      if (capture->first == std::this_thread::get_id()) return capture->second;
    return chosen;
  }
};

std::mutex mutex;
std::map<Block*, Pool*> all_segments;  // by their first blocks, which stay while the segment does
DeviceMemory memories[kMaxDevices];
std::set<uint64_t> ended;  // pools that nobody uses: what they leave is given back when it is free
thread_local std::unique_ptr<uint64_t[]> chosen_pools;  // by device

struct DeviceStorage : Storage {
  Block* block;
  Device device;
  std::vector<Stream> streams;  ///< others that use it
};

/// Counts for blocks of a pool, and for all.
template <class F>
void count(DeviceMemory& memory, const Pool& pool, F&& f) {
  f(pool.small ? memory.stats.small : memory.stats.large);
  f(memory.stats.both);
}
int64_t signed_size(size_t size) { return static_cast<int64_t>(size); }

/// A free block that shares its segment with others comes, or goes.
void count_split(DeviceMemory& memory, const Block* block, bool comes) {
  if (!block->before && !block->after) return;
  count(memory, *block->pool, [&](PoolStats& stats) {
    comes ? stats.split.add(signed_size(block->size)) : stats.split.take(signed_size(block->size));
    comes ? stats.split_blocks.add(1) : stats.split_blocks.take(1);
  });
}
void put_free(DeviceMemory& memory, Block* block) {
  block->pool->free.insert(block);
  count_split(memory, block, true);
}
void take_free(DeviceMemory& memory, Block* block) {
  block->pool->free.erase(block);
  count_split(memory, block, false);
}

/// PYTORCH_NO_CUDA_MEMORY_CACHING=1: each storage is an allocation of the driver's, of just its size, which waits for
/// the device when it goes. Slow: so that tools see which bytes a tensor has.
bool uncached() {
  static const bool is = is_set("PYTORCH_NO_CUDA_MEMORY_CACHING");
  return is;
}

size_t rounded(size_t size, size_t step) { return (size + step - 1) / step * step; }

Pool& pool_of(DeviceMemory& memory, int device, Stream stream, bool small) {
  const uint64_t graph = memory.pool_here(chosen_pools ? chosen_pools[static_cast<size_t>(device)] : 0);
  auto [entry, added] = memory.pools.try_emplace({graph, stream, small});
  if (added) entry->second = {device, stream, graph, small, {}};
  return entry->second;
}

void join(Block* block, Block* next) {
  block->size += next->size;
  block->after = next->after;
  if (next->after) next->after->before = block;
  delete next;
}

/// Segments that nobody uses go back to the driver, but for those of graphs.
void release_segments(DeviceMemory& memory) {
  for (auto& [key, pool] : memory.pools) {
    if (pool.graph && !ended.contains(pool.graph)) continue;
    std::erase_if(pool.free, [&](Block* block) {
      if (block->before || block->after) return false;
      check(driver().free(reinterpret_cast<Pointer>(block->data)), "freeing memory");
      count(memory, pool, [&](PoolStats& stats) {
        stats.reserved.take(signed_size(block->size));
        stats.segments.take(1);
      });
      all_segments.erase(block);
      delete block;
      return true;
    });
  }
}

/// A block that nobody uses goes to its pool, joined with its neighbours.
void put_back(DeviceMemory& memory, Block* block) {
  count(memory, *block->pool, [&](PoolStats& stats) {
    stats.active.take(signed_size(block->size));
    stats.active_blocks.take(1);
  });
  block->used = false;
  if (Block* next = block->after; next && !next->used) {
    take_free(memory, next);
    join(block, next);
  }
  if (Block* previous = block->before; previous && !previous->used) {
    take_free(memory, previous);
    join(previous, block);
    block = previous;
  }
  put_free(memory, block);
  if (!uncached() || memory.is_captured()) return;  // freeing would end a capture
  use(block->pool->device);
  if (driver().synchronize() == kSuccess) release_segments(memory);
}

void record_events(Waiting& waiting) {
  for (Stream stream : std::exchange(waiting.streams, {})) {
    Event event = nullptr;
    if (driver().create_event(&event, kEventWithoutTimes) != kSuccess) continue;
    driver().record_event(event, stream);
    waiting.events.push_back(event);
  }
}

/// Blocks whose other streams are done.
void collect_waiting(DeviceMemory& memory) {
  if (memory.is_captured()) return;
  std::erase_if(memory.waiting, [&memory](Waiting& waiting) {
    record_events(waiting);
    std::erase_if(waiting.events, [](Event event) {
      if (driver().query_event(event) == kNotReady) return false;
      driver().destroy_event(event);
      return true;
    });
    if (!waiting.events.empty()) return false;
    put_back(memory, waiting.block);
    return true;
  });
}

/// Memory from the driver, as long as the device's limit is kept.
Result allocate_within(const DeviceMemory& memory, Pointer* address, size_t size) {
  const auto reserved = static_cast<size_t>(memory.stats.both.reserved.now);
  if (size > memory.limit || reserved > memory.limit - size) return kOutOfMemory;
  return driver().allocate(address, size);
}

/// Thrown up to where the lock is not held, and an error can say more.
struct NoMemory {};

Block* new_segment(DeviceMemory& memory, Pool& pool, size_t size) {
  const size_t taken = uncached()       ? size
                       : pool.small     ? kSmallSegment
                       : size < kMedium ? kMediumSegment
                                        : rounded(size, kLargeRound);
  Pointer address = 0;
  const RelaxedCapture relaxed;
  Result result = allocate_within(memory, &address, taken);
  if (result == kOutOfMemory && !memory.is_captured()) {  // waiting for the device would end a capture
    ++memory.stats.retries;
    check(driver().synchronize(), "waiting for memory");
    collect_waiting(memory);
    release_segments(memory);
    result = allocate_within(memory, &address, taken);
  }
  if (result == kOutOfMemory) {
    ++memory.stats.failures;
    throw NoMemory();
  }
  check(result, "allocating memory");
  count(memory, pool, [&](PoolStats& stats) {
    stats.reserved.add(signed_size(taken));
    stats.segments.add(1);
  });
  auto* block = new Block{&pool, reinterpret_cast<char*>(address), taken};
  all_segments.emplace(block, &pool);
  return block;
}

Block* take_block(int device, size_t nbytes) {
  DeviceMemory& memory = memories[device];
  if (!memory.waiting.empty()) collect_waiting(memory);
  const size_t size = uncached() ? nbytes : rounded(nbytes, kRound);
  Pool& pool = pool_of(memory, device, current_stream(device), size <= kSmall);
  Block wanted{&pool, nullptr, size};
  Block* block;
  if (auto entry = pool.free.lower_bound(&wanted); entry != pool.free.end()) {
    block = *entry;
    take_free(memory, block);
  } else {
    block = new_segment(memory, pool, size);
  }
  // Parts of any size would begin at any address.
  const size_t left = uncached() ? 0 : block->size - size;
  if (left >= (pool.small ? kRound : kSmall)) {
    auto* rest = new Block{&pool, block->data + size, left, block, block->after};
    if (block->after) block->after->before = rest;
    block->after = rest;
    block->size = size;
    put_free(memory, rest);
  }
  block->used = true;
  block->requested = nbytes;
  block->origin = pool.small ? 0 : origin_of_line();
  count(memory, pool, [&](PoolStats& stats) {
    stats.allocated.add(signed_size(block->size));
    stats.requested.add(signed_size(nbytes));
    stats.active.add(signed_size(block->size));
    stats.allocations.add(1);
    stats.active_blocks.add(1);
  });
  return block;
}

void destroy(Storage* base) {
  auto* storage = static_cast<DeviceStorage*>(base);
  if (Block* block = storage->block; block && !forked()) {
    std::lock_guard lock(mutex);
    DeviceMemory& memory = memories[storage->device.index];
    count(memory, *block->pool, [&](PoolStats& stats) {
      stats.allocated.take(signed_size(block->size));
      stats.requested.take(signed_size(block->requested));
      stats.allocations.take(1);
    });
    if (storage->streams.empty()) {
      put_back(memory, block);
    } else {
      Waiting waiting{block, {}, std::move(storage->streams)};
      if (!memory.is_captured()) {
        use(storage->device);
        record_events(waiting);
      }
      memory.waiting.push_back(std::move(waiting));
    }
  }
  delete storage;
}

template <class F>
void each_counter(MemoryStats& all, F&& f) {
  for (PoolStats* stats : {&all.small, &all.large, &all.both})
    for (Counter* counter : {&stats->allocated, &stats->requested, &stats->active, &stats->reserved, &stats->split,
                             &stats->allocations, &stats->active_blocks, &stats->segments, &stats->split_blocks})
      f(*counter);
}

}  // namespace

Storage* allocate(size_t nbytes, Device device) {
  static constexpr StorageOwner owner = {destroy, false};
  use(device);
  auto* storage = new DeviceStorage{};
  storage->refs = 1;
  storage->nbytes = nbytes;
  storage->owner = &owner;
  storage->device = device;
  if (nbytes == 0) return storage;
  try {
    std::lock_guard lock(mutex);
    storage->block = take_block(device.index, nbytes);
  } catch (const NoMemory&) {
    delete storage;
    fail_memory(device.index, nbytes);
  } catch (...) {
    delete storage;
    throw;
  }
  storage->data = storage->block->data;
  return storage;
}

Scratch::Scratch(size_t nbytes, Device device) : storage_(allocate(nbytes, device)) {}
Scratch::~Scratch() { release(storage_); }

MemoryStats memory_stats(int index) {
  std::lock_guard lock(mutex);
  return memories[index].stats;
}

size_t memory_limit(int index) {
  std::lock_guard lock(mutex);
  return memories[index].limit;
}
void limit_memory(int index, size_t bytes) {
  std::lock_guard lock(mutex);
  memories[index].limit = bytes;
}

void reset_peaks(int index) {
  std::lock_guard lock(mutex);
  each_counter(memories[index].stats, [](Counter& counter) { counter.peak = counter.now; });
}
void reset_sums(int index) {
  std::lock_guard lock(mutex);
  MemoryStats& stats = memories[index].stats;
  each_counter(stats, [](Counter& counter) { counter.came = counter.went = 0; });
  stats.retries = stats.failures = 0;
}

std::vector<SegmentInfo> snapshot() {
  std::lock_guard lock(mutex);
  std::vector<SegmentInfo> segments;
  for (const auto& [first, its_pool] : all_segments) {
    segments.push_back({its_pool->device, its_pool->stream, its_pool->graph, its_pool->small, {}});
    for (const Block* block = first; block; block = block->after)
      segments.back().blocks.push_back({block->data, block->size, block->requested, block->used, block->origin});
  }
  return segments;
}

void empty_cache() {
  for (int index = 0; index < device_count(); ++index) {
    if (memories[index].stats.both.segments.now == 0) continue;
    use(index);
    check(driver().synchronize(), "waiting for a device");
    std::lock_guard lock(mutex);
    collect_waiting(memories[index]);
    release_segments(memories[index]);
  }
}

void record_stream(Storage* base, Stream stream) {
  if (base->owner->destroy != destroy) return;  // others own the memory
  auto* storage = static_cast<DeviceStorage*>(base);
  std::lock_guard lock(mutex);
  if (!storage->block || stream == storage->block->pool->stream) return;
  if (std::ranges::find(storage->streams, stream) == storage->streams.end()) storage->streams.push_back(stream);
}

void begin_capture_pool(int index, uint64_t pool) {
  std::lock_guard lock(mutex);
  memories[index].captures.emplace_back(std::this_thread::get_id(), pool);
}
void end_capture_pool(int index, std::thread::id capturer, uint64_t pool) {
  std::lock_guard lock(mutex);
  auto& captures = memories[index].captures;
  const auto entry = std::ranges::find(captures, std::pair(capturer, pool));
  if (entry != captures.end()) captures.erase(entry);
}

uint64_t choose_pool(int index, uint64_t pool) {
  if (!chosen_pools) chosen_pools = std::make_unique<uint64_t[]>(kMaxDevices);
  return std::exchange(chosen_pools[static_cast<size_t>(index)], pool);
}

void begin_pool(uint64_t pool) {
  std::lock_guard lock(mutex);
  ended.erase(pool);
}
void free_pool(uint64_t graph) {
  for (int index = 0; index < device_count(); ++index) {
    std::lock_guard lock(mutex);
    DeviceMemory& memory = memories[index];
    const bool has = std::ranges::any_of(memory.pools, [&](const auto& entry) { return entry.second.graph == graph; });
    if (!has) continue;
    ended.insert(graph);
    if (memory.is_captured()) continue;  // waiting for the device would end the capture
    use(index);
    if (driver().synchronize() == kSuccess) release_segments(memory);
  }
}

}  // namespace adjoint::cuda
