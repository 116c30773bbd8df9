// Note [Device memory]. The driver's own allocation takes as long as ten kernels, and freeing waits for all of them. So
// segments are taken from the driver and cut into blocks; a freed block is joined with free neighbours and kept with the
// stream on which it was used. What runs on one stream runs in order, so that a block can be given out again while
// kernels that use it are still to run. A storage that other streams use, too, waits for an event on each of them.
#include "cuda/allocator.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "core/error.h"
#include "cuda/runtime.h"

namespace adjoint::cuda {
namespace {

constexpr size_t kRound = 512;             // sizes of blocks are multiples of this
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
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }
};

/// The blocks of one stream of a device, or of a graph.
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
};

struct DeviceMemory {
  std::map<std::tuple<uint64_t, Stream, bool>, Pool> pools;
  std::vector<Waiting> waiting;
  MemoryStats stats{};
  uint64_t graph = 0;
};

std::mutex mutex;
DeviceMemory memories[kMaxDevices];

struct DeviceStorage : Storage {
  Block* block;
  Device device;
  std::vector<Stream> streams;  ///< others that use it
};

size_t rounded(size_t size, size_t step) { return (size + step - 1) / step * step; }

Pool& pool_of(DeviceMemory& memory, int device, Stream stream, bool small) {
  auto [entry, added] = memory.pools.try_emplace({memory.graph, stream, small});
  if (added) entry->second = {device, stream, memory.graph, small, {}};
  return entry->second;
}

void join(Block* block, Block* next) {
  block->size += next->size;
  block->after = next->after;
  if (next->after) next->after->before = block;
  delete next;
}

/// A block that nobody uses goes to its pool, joined with its neighbours.
void put_back(Block* block) {
  auto& free = block->pool->free;
  block->used = false;
  if (Block* next = block->after; next && !next->used) {
    free.erase(next);
    join(block, next);
  }
  if (Block* previous = block->before; previous && !previous->used) {
    free.erase(previous);
    join(previous, block);
    block = previous;
  }
  free.insert(block);
}

/// Blocks whose other streams are done.
void collect_waiting(DeviceMemory& memory) {
  std::erase_if(memory.waiting, [](Waiting& waiting) {
    std::erase_if(waiting.events, [](Event event) {
      if (driver().query_event(event) == kNotReady) return false;
      driver().destroy_event(event);
      return true;
    });
    if (!waiting.events.empty()) return false;
    waiting.block->used = true;
    put_back(waiting.block);
    return true;
  });
}

/// Segments that nobody uses go back to the driver: those of a graph, or, 0, all others.
void release_segments(DeviceMemory& memory, uint64_t graph = 0) {
  for (auto& [key, pool] : memory.pools) {
    if (std::get<0>(key) != graph) continue;
    std::erase_if(pool.free, [&](Block* block) {
      if (block->before || block->after) return false;
      check(driver().free(reinterpret_cast<Pointer>(block->data)), "freeing memory");
      memory.stats.reserved -= static_cast<int64_t>(block->size);
      --memory.stats.segments;
      ++memory.stats.segment_frees;
      delete block;
      return true;
    });
  }
}

std::string in_words(int64_t bytes) {
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return text.str();
}

[[noreturn]] void fail_memory(const DeviceMemory& memory, int device, size_t nbytes) {
  size_t free = 0, total = 0;
  driver().memory_info(&free, &total);
  fail(ErrorKind::OutOfDeviceMemory, "CUDA out of memory. Tried to allocate ",
       in_words(static_cast<int64_t>(nbytes)), ". GPU ", device, " has a total capacity of ",
       in_words(static_cast<int64_t>(total)), " of which ", in_words(static_cast<int64_t>(free)),
       " is free. Live tensors hold ", in_words(memory.stats.allocated), ", and ",
       in_words(memory.stats.reserved - memory.stats.allocated),
       " are kept for new ones; free tensors that are not needed, use a smaller batch, or "
       "torch.utils.checkpoint for what backward keeps");
}

Block* new_segment(DeviceMemory& memory, Pool& pool, size_t size) {
  const size_t taken = pool.small ? kSmallSegment : size < kMedium ? kMediumSegment : rounded(size, kLargeRound);
  Pointer address = 0;
  Result result = driver().allocate(&address, taken);
  if (result == kOutOfMemory) {
    ++memory.stats.retries;
    check(driver().synchronize(), "waiting for memory");
    collect_waiting(memory);
    release_segments(memory);
    result = driver().allocate(&address, taken);
  }
  if (result == kOutOfMemory) fail_memory(memory, pool.device, size);
  check(result, "allocating memory");
  MemoryStats& stats = memory.stats;
  stats.reserved += static_cast<int64_t>(taken);
  stats.reserved_peak = std::max(stats.reserved_peak, stats.reserved);
  ++stats.segments;
  ++stats.segment_allocations;
  return new Block{&pool, reinterpret_cast<char*>(address), taken};
}

Block* take_block(int device, size_t nbytes) {
  DeviceMemory& memory = memories[device];
  if (!memory.waiting.empty()) collect_waiting(memory);
  const size_t size = rounded(std::max<size_t>(nbytes, 1), kRound);
  Pool& pool = pool_of(memory, device, current_stream(device), size <= kSmall);
  Block wanted{&pool, nullptr, size};
  Block* block;
  if (auto entry = pool.free.lower_bound(&wanted); entry != pool.free.end()) {
    block = *entry;
    pool.free.erase(entry);
  } else {
    block = new_segment(memory, pool, size);
  }
  const size_t left = block->size - size;
  if (left >= (pool.small ? kRound : kSmall)) {
    auto* rest = new Block{&pool, block->data + size, left, block, block->after};
    if (block->after) block->after->before = rest;
    block->after = rest;
    block->size = size;
    pool.free.insert(rest);
  }
  block->used = true;
  block->requested = nbytes;
  MemoryStats& stats = memory.stats;
  stats.allocated += static_cast<int64_t>(block->size);
  stats.allocated_peak = std::max(stats.allocated_peak, stats.allocated);
  stats.requested += static_cast<int64_t>(nbytes);
  ++stats.active_blocks;
  ++stats.allocations;
  return block;
}

void destroy(Storage* base) {
  auto* storage = static_cast<DeviceStorage*>(base);
  if (Block* block = storage->block) {
    std::lock_guard lock(mutex);
    DeviceMemory& memory = memories[storage->device.index];
    memory.stats.allocated -= static_cast<int64_t>(block->size);
    memory.stats.requested -= static_cast<int64_t>(block->requested);
    --memory.stats.active_blocks;
    ++memory.stats.frees;
    if (storage->streams.empty()) {
      put_back(block);
    } else {
      use(storage->device);
      Waiting waiting{block, {}};
      for (Stream stream : storage->streams) {
        Event event = nullptr;
        constexpr unsigned kWithoutTimes = 2;
        if (driver().create_event(&event, kWithoutTimes) != kSuccess) continue;
        driver().record_event(event, stream);
        waiting.events.push_back(event);
      }
      memory.waiting.push_back(std::move(waiting));
    }
  }
  delete storage;
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

void reset_peaks(int index) {
  std::lock_guard lock(mutex);
  MemoryStats& stats = memories[index].stats;
  stats.allocated_peak = stats.allocated;
  stats.reserved_peak = stats.reserved;
}

void empty_cache() {
  for (int index = 0; index < device_count(); ++index) {
    if (memories[index].stats.segments == 0) continue;
    use(index);
    check(driver().synchronize(), "waiting for a device");
    std::lock_guard lock(mutex);
    collect_waiting(memories[index]);
    release_segments(memories[index]);
  }
}

void record_stream(Storage* base, Stream stream) {
  auto* storage = static_cast<DeviceStorage*>(base);
  if (!storage->block || stream == storage->block->pool->stream) return;
  if (std::ranges::find(storage->streams, stream) == storage->streams.end()) storage->streams.push_back(stream);
}

void begin_capture_pool(int index, uint64_t pool) {
  std::lock_guard lock(mutex);
  memories[index].graph = pool;
}
void end_capture_pool(int index) { begin_capture_pool(index, 0); }

void free_pool(uint64_t graph) {
  std::lock_guard lock(mutex);
  for (int index = 0; index < device_count(); ++index) {
    if (memories[index].pools.empty()) continue;
    use(index);
    release_segments(memories[index], graph);
  }
}

}  // namespace adjoint::cuda
