// Blocks are kept by size class when freed: fresh pages cost more than most arithmetic. All calls hold the interpreter
// lock.
#include "core/storage.h"

#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/error.h"

namespace adjoint {
namespace {

constexpr size_t kSmallLimit = 1024;  // data up to this size lies inline behind the Storage
constexpr size_t kSmallStep = kReuseMemory ? 16 : 1;
constexpr size_t kSmallClasses = kSmallLimit / kSmallStep + 1;
constexpr size_t kKeptPerSmallClass = kReuseMemory ? 4096 : 0;
constexpr size_t kHugePage = size_t{2} << 20;

// A freed block's first word links to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};
struct SmallClass {
  FreeBlock* head = nullptr;
  size_t count = 0;
};

SmallClass small_classes[kSmallClasses];
// Large classes: four per power of two, so that at most a quarter of a block is waste.
std::vector<char*> large_classes[64 * 4];
MemoryStats stats = {};

size_t small_class(size_t nbytes) { return (nbytes + kSmallStep - 1) / kSmallStep; }

/// Rounds up to a size class; sets `index` to it.
size_t round_large(size_t nbytes, int* index) {
  int power = std::bit_width(nbytes - 1) - 1;  // 2^power < nbytes <= 2^(power+1)
  size_t step = size_t{1} << (power - 2);
  size_t steps = (nbytes + step - 1) / step;  // 5..8
  *index = power * 4 + static_cast<int>(steps - 5);
  return kReuseMemory ? steps * step : nbytes;
}

int64_t cache_limit() {
  static const int64_t limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 4;
  return limit;
}

char* allocate_block(size_t size) {
  size_t alignment = size >= kHugePage ? kHugePage : 64;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) {
    empty_cache();
    if (posix_memalign(&memory, alignment, size) != 0)
      fail(ErrorKind::Memory, "not enough memory: you tried to allocate ", size, " bytes; ", stats.current,
           " bytes are held by live tensors");
  }
#if defined(__linux__)
  if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
#endif
  return static_cast<char*>(memory);
}

Storage* allocate_small(size_t cls) {
  SmallClass& list = small_classes[cls];
  if (list.head) {
    FreeBlock* block = list.head;
    list.head = block->next;
    --list.count;
    return reinterpret_cast<Storage*>(block);
  }
  // CPython's allocator has no overhead per block at these sizes, and returns its arenas.
  void* memory = PyObject_Malloc(sizeof(Storage) + cls * kSmallStep);
  if (!memory) throw std::bad_alloc();
  return static_cast<Storage*>(memory);
}

void free_small(Storage* storage, size_t cls) {
  SmallClass& list = small_classes[cls];
  if (list.count >= kKeptPerSmallClass) {
    PyObject_Free(storage);
    return;
  }
  auto* block = reinterpret_cast<FreeBlock*>(storage);
  block->next = list.head;
  list.head = block;
  ++list.count;
}

void count_bytes(int64_t nbytes) {
  stats.current += nbytes;
  if (stats.current > stats.peak) stats.peak = stats.current;
}

}  // namespace

Storage* allocate_storage(size_t nbytes) {
  if (nbytes <= kSmallLimit) {
    Storage* storage = allocate_small(small_class(nbytes));
    storage->refs = 1;
    storage->version = 0;
    storage->data = reinterpret_cast<char*>(storage + 1);
    storage->nbytes = nbytes;
    storage->saved = storage->changed = false;
    storage->owner = nullptr;
    count_bytes(static_cast<int64_t>(nbytes));
    return storage;
  }
  if (nbytes > (size_t{1} << 46))
    fail(ErrorKind::Memory, "not enough memory: you tried to allocate ", nbytes, " bytes");
  int index;
  size_t size = round_large(nbytes, &index);
  char* data;
  auto& kept = large_classes[index];
  if (!kept.empty()) {
    data = kept.back();
    kept.pop_back();
    stats.cached -= static_cast<int64_t>(size);
  } else {
    data = allocate_block(size);
  }
  Storage* storage = allocate_small(0);
  *storage = Storage{1, 0, data, nbytes, false, false, nullptr};
  count_bytes(static_cast<int64_t>(nbytes));
  return storage;
}

Storage* adopt_memory(void* data, size_t nbytes, FreeMemory free_memory, void* context) {
  auto owner = std::make_unique<ForeignOwner>(free_memory, context);
  Storage* storage = allocate_small(0);
  *storage = Storage{1, 0, static_cast<char*>(data), nbytes, false, false, owner.release()};
  return storage;
}

void destroy_storage(Storage* storage) {
  if (storage->changed) [[unlikely]]
    forget_change(storage);
  if (ForeignOwner* owner = storage->owner) {
    owner->free_memory(owner->context);
    delete owner;
    free_small(storage, 0);
    return;
  }
  stats.current -= static_cast<int64_t>(storage->nbytes);
  if (storage->nbytes <= kSmallLimit) {
    free_small(storage, small_class(storage->nbytes));
    return;
  }
  int index;
  int64_t size = static_cast<int64_t>(round_large(storage->nbytes, &index));
  if (kReuseMemory && stats.cached + size <= cache_limit()) {
    large_classes[index].push_back(storage->data);
    stats.cached += size;
  } else {
    std::free(storage->data);
  }
  free_small(storage, 0);
}

MemoryStats memory_stats() { return stats; }
void reset_peak_memory() { stats.peak = stats.current; }

void empty_cache() {
  for (auto& kept : large_classes) {
    for (char* data : kept) std::free(data);
    kept.clear();
  }
  stats.cached = 0;
  for (auto& list : small_classes) {
    while (list.head) {
      FreeBlock* block = list.head;
      list.head = block->next;
      PyObject_Free(block);
    }
    list.count = 0;
  }
}

}  // namespace adjoint
