// Small blocks lie behind their storage and are kept by size when freed; larger ones are from cpu/block_cache.h. All
// calls hold the interpreter lock.
#include "cpu/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/error.h"
#include "cpu/block_cache.h"
#include "cpu/memory_limit.h"

namespace adjoint::cpu {
namespace {

constexpr size_t kSmallLimit = 1024;  // data up to this size lies inline behind the Storage
constexpr size_t kSmallStep = kReuseMemory ? 16 : 1;
constexpr size_t kSmallClasses = kSmallLimit / kSmallStep + 1;
constexpr size_t kKeptPerSmallClass = kReuseMemory ? 4096 : 0;
constexpr int64_t kNoLimit = INT64_MAX;

// A freed block's first word links to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};
struct SmallClass {
  FreeBlock* head = nullptr;
  size_t count = 0;
};
SmallClass small_classes[kSmallClasses];

int64_t current = 0, peak = 0;
int64_t chosen_limit = kNoLimit;
// The lesser of peak and limit: only beyond it is there anything to check or to note.
int64_t mark = 0;

/// `held`: by live storages.
[[noreturn]] void fail_memory(size_t nbytes, int64_t held) {
  const int64_t limit = memory_limit();
  std::ostringstream text;
  text << "DefaultCPUAllocator: can't allocate memory: you tried to allocate " << nbytes << " bytes; live tensors hold "
       << held << " bytes";
  if (limit != kNoLimit)
    text << " and may hold " << limit << ", by "
         << (limit == chosen_limit ? "set_memory_limit" : "the container's limit");
  text << "; free tensors that are not needed, use smaller ones"
       << (limit == chosen_limit && limit != kNoLimit ? ", or raise the limit" : "");
  throw Error(ErrorKind::Memory, text.str());
}

void pass_mark() {
  peak = std::max(peak, current);
  mark = std::min(peak, memory_limit());
}

/// Counts bytes that are about to be allocated.
void count_bytes(size_t nbytes) {
  current += static_cast<int64_t>(nbytes);
  if (current <= mark) return;
  if (current > memory_limit()) {
    current -= static_cast<int64_t>(nbytes);
    fail_memory(nbytes, current);
  }
  pass_mark();
}

size_t small_class(size_t nbytes) { return (nbytes + kSmallStep - 1) / kSmallStep; }

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

inline void free_small(Storage* storage, size_t cls) {
  SmallClass& list = small_classes[cls];
  if (list.count >= kKeptPerSmallClass) {
    PyObject_Free(storage);
    note_returned(sizeof(Storage) + cls * kSmallStep);
    return;
  }
  auto* block = reinterpret_cast<FreeBlock*>(storage);
  block->next = list.head;
  list.head = block;
  ++list.count;
}

/// Takes back what was counted unless the allocation succeeds.
class Counted {
 public:
  explicit Counted(size_t nbytes) : nbytes_(static_cast<int64_t>(nbytes)) { count_bytes(nbytes); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { current -= nbytes_; }
  void keep() { nbytes_ = 0; }

 private:
  int64_t nbytes_;
};

void destroy(Storage* storage) {
  const size_t nbytes = storage->nbytes;
  current -= static_cast<int64_t>(nbytes);
  if (nbytes > kSmallLimit) free_block(storage->data, nbytes);
  free_small(storage, nbytes > kSmallLimit ? 0 : small_class(nbytes));
}

/// Zeros; whole pages of large blocks go back to the system, and come again when they are touched.
void discard(char* data, size_t nbytes) {
#if defined(__linux__)
  constexpr size_t kPage = 4096, kWorthwhile = 16 * kPage;
  if (nbytes >= kWorthwhile) {
    size_t before = -reinterpret_cast<uintptr_t>(data) % kPage;
    size_t pages = (nbytes - before) / kPage * kPage;
    if (madvise(data + before, pages, MADV_DONTNEED) == 0) {
      std::memset(data, 0, before);
      std::memset(data + before + pages, 0, nbytes - before - pages);
      return;
    }
  }
#endif
  std::memset(data, 0, nbytes);
}

constexpr StorageOwner kOwner = {destroy, false, discard};

}  // namespace

Storage* allocate(size_t nbytes, Device) {
  if (nbytes > (size_t{1} << 46)) fail_memory(nbytes, current);
  Counted counted(nbytes);
  if (nbytes <= kSmallLimit) {
    Storage* storage = allocate_small(small_class(nbytes));
    storage->refs = 1;
    storage->version = 0;
    storage->data = reinterpret_cast<char*>(storage + 1);
    storage->nbytes = nbytes;
    storage->saved = storage->noted = false;
    storage->owner = &kOwner;
    counted.keep();
    return storage;
  }
  Storage* storage = allocate_small(0);
  char* data = allocate_block(nbytes);
  if (!data) {
    empty_cache();
    data = allocate_block(nbytes);
  }
  if (!data) {
    free_small(storage, 0);
    fail_memory(nbytes, current - static_cast<int64_t>(nbytes));
  }
  *storage = Storage{1, 0, data, nbytes, false, false, &kOwner};
  counted.keep();
  return storage;
}

MemoryStats memory_stats() { return {current, peak, block_stats().cached}; }

void reset_peak_memory() {
  peak = current;
  pass_mark();
}

int64_t memory_limit() {
  static const int64_t granted = container_memory();
  return std::min(chosen_limit, granted);
}

void set_memory_limit(int64_t bytes) {
  chosen_limit = bytes;
  pass_mark();
  set_block_limit(bytes);
}

void empty_cache() {
  empty_block_cache();
  for (auto& list : small_classes) {
    while (list.head) {
      FreeBlock* block = list.head;
      list.head = block->next;
      PyObject_Free(block);
    }
    list.count = 0;
  }
}

}  // namespace adjoint::cpu
