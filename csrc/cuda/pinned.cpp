#include "cuda/pinned.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "cuda/forked.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

struct Use {
  int device;
  Event event;
};
struct PinnedBlock {
  char* data;
  size_t size;
  std::vector<Use> uses;  ///< that may not be done yet
  bool captured = false;  ///< by a graph
};
struct PinnedStorage : Storage {
  PinnedBlock* block;
};

std::mutex mutex;
std::map<const char*, PinnedBlock*> blocks;  // all, by address
std::multimap<size_t, PinnedBlock*> kept;    // those that no storage uses
std::map<const char*, size_t> registered;    // memory of the program's own, by address
PinnedStats stats;
int64_t signed_size(size_t size) { return static_cast<int64_t>(size); }
size_t size_for(size_t nbytes) { return std::bit_ceil(nbytes < 512 ? size_t{512} : nbytes); }

bool is_free(PinnedBlock& block) {
  if (block.captured) return false;
  const RelaxedCapture relaxed;  // to ask for events ends a capture otherwise
  std::erase_if(block.uses, [](const Use& use) {
    if (driver().query_event(use.event) != kSuccess) return false;
    driver().destroy_event(use.event);
    return true;
  });
  return block.uses.empty();
}

PinnedBlock* take(size_t size) {
  auto [first, last] = kept.equal_range(size);
  for (auto entry = first; entry != last; ++entry) {
    if (!is_free(*entry->second)) continue;
    PinnedBlock* block = entry->second;
    kept.erase(entry);
    return block;
  }
  return nullptr;
}

PinnedBlock* block_of(const void* address) {
  const char* place = static_cast<const char*>(address);
  auto after = blocks.upper_bound(place);
  if (after == blocks.begin()) return nullptr;
  PinnedBlock* block = std::prev(after)->second;
  return place < block->data + block->size ? block : nullptr;
}

bool is_registered(const void* address) {
  const char* place = static_cast<const char*>(address);
  auto after = registered.upper_bound(place);
  return after != registered.begin() && place < std::prev(after)->first + std::prev(after)->second;
}

void destroy(Storage* base) {
  auto* storage = static_cast<PinnedStorage*>(base);
  if (storage->block && !forked()) {
    std::lock_guard lock(mutex);
    kept.emplace(storage->block->size, storage->block);
    stats.used.take(1);
    stats.used_bytes.take(signed_size(storage->block->size));
  }
  delete storage;
}

/// Zeros, for who still looks at memory that a smaller tensor has left.
void discard(char* data, size_t nbytes) { std::fill_n(data, nbytes, '\0'); }

}  // namespace

Storage* allocate_pinned(size_t nbytes) {
  static constexpr StorageOwner owner = {destroy, false, discard};
  use(current_device());
  auto storage = std::make_unique<PinnedStorage>();
  storage->refs = 1;
  storage->nbytes = nbytes;
  storage->owner = &owner;
  if (nbytes == 0) return storage.release();
  std::lock_guard lock(mutex);
  const size_t size = size_for(nbytes);
  PinnedBlock* block = take(size);
  if (!block) {
    void* memory = nullptr;
    const RelaxedCapture relaxed;
    const Result result = driver().allocate_host(&memory, size, kPinnedForAllContexts);
    if (result == kOutOfMemory)
      fail("CUDA error: pinned memory: can't allocate ", size,
           " bytes; pin less at a time, or leave pin_memory out: copies work without");
    check(result, "allocating pinned memory");
    block = new PinnedBlock{static_cast<char*>(memory), size, {}, false};
    blocks.emplace(block->data, block);
    stats.blocks.add(1);
    stats.bytes.add(signed_size(size));
  }
  stats.used.add(1);
  stats.used_bytes.add(signed_size(size));
  storage->block = block;
  storage->data = block->data;
  return storage.release();
}

bool is_pinned(const void* address) {
  std::lock_guard lock(mutex);
  return block_of(address) != nullptr || is_registered(address);
}

bool note_pinned_use(const void* address, int index, Stream stream) {
  std::lock_guard lock(mutex);
  PinnedBlock* block = block_of(address);
  if (!block) return false;
  if (is_capturing(index)) {
    block->captured = true;
    return true;
  }
  is_free(*block);  // so that events do not pile up
  Event event = make_event(index, false, false);
  record(index, event, stream);
  block->uses.push_back({index, event});
  return true;
}

PinnedStats pinned_stats() {
  std::lock_guard lock(mutex);
  return stats;
}
void reset_pinned_peaks() {
  std::lock_guard lock(mutex);
  for (Counter* counter : {&stats.bytes, &stats.blocks, &stats.used_bytes, &stats.used}) counter->peak = counter->now;
}
void reset_pinned_sums() {
  std::lock_guard lock(mutex);
  for (Counter* counter : {&stats.bytes, &stats.blocks, &stats.used_bytes, &stats.used})
    counter->came = counter->went = 0;
}

Result register_host(void* address, size_t nbytes, unsigned flags) {
  use(current_device());
  const Result result = driver().register_host(address, nbytes, flags);
  std::lock_guard lock(mutex);
  if (result == kSuccess) registered[static_cast<const char*>(address)] = nbytes;
  return result;
}
Result unregister_host(void* address) {
  use(current_device());
  const Result result = driver().unregister_host(address);
  std::lock_guard lock(mutex);
  if (result == kSuccess) registered.erase(static_cast<const char*>(address));
  return result;
}

void empty_pinned_cache() {
  use(current_device());
  std::lock_guard lock(mutex);
  std::erase_if(kept, [](const auto& entry) {
    PinnedBlock* block = entry.second;
    if (!is_free(*block)) return false;
    check(driver().free_host(block->data), "freeing pinned memory");
    blocks.erase(block->data);
    stats.blocks.take(1);
    stats.bytes.take(signed_size(block->size));
    delete block;
    return true;
  });
}

}  // namespace adjoint::cuda
