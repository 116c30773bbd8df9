// Two homes for blocks. Up to 64 KB they come from malloc, and are kept in lists by size class. Larger ones are cut out
// of mappings of whole huge pages, and are kept as ranges of addresses: neighbours are joined and larger ranges cut, so
// that sizes serve one another. How much is kept: Note [What is kept] in demand.h.
#include "cpu/block_cache.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "core/ref.h"
#include "cpu/demand.h"
#include "cpu/memory_limit.h"

namespace adjoint {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kGrain = size_t{64} << 10;      // ranges are multiples of it
constexpr size_t kListLimit = size_t{64} << 10;  // larger blocks are ranges
constexpr int64_t kSlack = int64_t{16} << 20;
constexpr auto kEpoch = std::chrono::seconds(5);
constexpr int kEpochsAwake = 3;  // after the last block was kept: two until it is forgotten, and one that began before

// Left alone, malloc returns memory from its top only; it is asked for its other free pages after so many bytes.
constexpr size_t kReturned = size_t{32} << 20;
size_t returned = 0;

void trim_malloc() {
  returned = 0;
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
char* round_up(char* p, size_t unit) { return reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(p), unit)); }

/// Epochs of about five seconds. A thread counts them, and returns what has not been used for two; it ends when nothing
/// has been kept for a while.
class Epochs {
 public:
  /// Called whenever something is kept: epochs go on, for a while.
  void go_on() {
    if (left_.load(std::memory_order_relaxed) == kEpochsAwake) return;
    if (left_.exchange(kEpochsAwake, std::memory_order_relaxed) == 0) start();
  }
  uint32_t number() const { return number_.load(std::memory_order_relaxed); }
  /// In the child of a fork, which has no other threads.
  void stopped() { left_.store(0, std::memory_order_relaxed); }

 private:
  void start();
  void run();

  std::atomic<int> left_ = 0;
  std::atomic<uint32_t> number_ = 0;
};

/// Freed blocks of up to kListLimit, by size class: four per power of two, so that at most a quarter is waste.
class Lists {
 public:
  char* allocate(size_t nbytes) {
    const auto [index, size] = size_class(nbytes);
    demand_.allocated(size);
    if (Block* block = heads_[index]) {
      heads_[index] = block->next;
      kept_ -= size;
      ++reused_;
      return reinterpret_cast<char*>(block);
    }
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, static_cast<size_t>(size)) != 0) {
      demand_.freed(size);
      return nullptr;
    }
    ++fresh_;
    return static_cast<char*>(memory);
  }

  void free(char* data, size_t nbytes, Epochs& epochs) {
    const auto [index, size] = size_class(nbytes);
    demand_.freed(size);
    if (epochs.number() != epoch_) {
      epoch_ = epochs.number();
      demand_.begin_epoch();
      trim(demand_.allowance());
    }
    if (kept_ + size > demand_.allowance()) {
      give_back(data, size);
      return;
    }
    heads_[index] = new (data) Block{heads_[index]};
    kept_ += size;
    if (kept_ > kSlack) epochs.go_on();
  }

  /// Keeps at most so many bytes; the largest blocks go first.
  void trim(int64_t most) {
    for (int index = kClasses - 1; index >= 0; --index) {
      while (heads_[index] && kept_ > most) {
        Block* block = heads_[index];
        heads_[index] = block->next;
        kept_ -= class_size(index);
        give_back(reinterpret_cast<char*>(block), class_size(index));
      }
    }
  }

  int64_t kept() const { return kept_; }
  int64_t fresh() const { return fresh_; }
  int64_t reused() const { return reused_; }

 private:
  static constexpr int kClasses = (std::bit_width(kListLimit) - 1) * 4;
  /// A freed block's first word links to the next one of its class.
  struct Block {
    Block* next;
  };
  struct Class {
    int index;
    int64_t size;
  };
  static Class size_class(size_t nbytes) {
    const int power = std::bit_width(nbytes - 1) - 1;  // 2^power < nbytes <= 2^(power+1)
    const size_t step = size_t{1} << (power - 2);
    const size_t steps = (nbytes + step - 1) / step;  // 5..8
    return {power * 4 + static_cast<int>(steps - 5), static_cast<int64_t>(steps * step)};
  }
  static int64_t class_size(int index) { return int64_t{index % 4 + 5} << (index / 4 - 2); }

  void give_back(char* data, int64_t size) {
    std::free(data);
    note_returned(static_cast<size_t>(size));
  }

  Block* heads_[kClasses] = {};
  Demand demand_{kSlack};
  int64_t kept_ = 0;
  int64_t fresh_ = 0;
  int64_t reused_ = 0;
  uint32_t epoch_ = 0;
};

/// Freed ranges of addresses. Has a lock of its own, since the thread of Epochs returns the memory of an idle program.
class Ranges {
 public:
  char* allocate(size_t nbytes) {
    const size_t size = round_up(nbytes, kGrain);
    std::lock_guard<std::mutex> lock(mutex_);
    demand_.allocated(static_cast<int64_t>(size));
    auto found = by_size_.lower_bound({size, nullptr});
    if (found != by_size_.end()) {
      auto [length, data] = *found;
      auto at = by_address_.find(data);
      if (length > size) {
        change(at, data + size, length - size);
      } else {
        remove(at);
      }
      ++reused_;
      return data;
    }
    char* data = allocate_fresh(size);
    if (!data) demand_.freed(static_cast<int64_t>(size));
    return data;
  }

  void free(char* data, size_t nbytes, Epochs& epochs) {
    const size_t size = round_up(nbytes, kGrain);
    std::lock_guard<std::mutex> lock(mutex_);
    demand_.freed(static_cast<int64_t>(size));
    keep(data, size);
    trim(std::min(demand_.allowance(), room()));
    if (kept_ > kSlack) epochs.go_on();
  }

  void begin_epoch() {
    std::lock_guard<std::mutex> lock(mutex_);
    demand_.begin_epoch();
    trim(demand_.allowance());
  }

  void empty() {
    std::lock_guard<std::mutex> lock(mutex_);
    trim(0);
  }

  void set_limit(int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes;
    trim(room());
  }

  void add_to(BlockStats& stats) {
    std::lock_guard<std::mutex> lock(mutex_);
    stats.cached += kept_;
    stats.fresh += fresh_;
    stats.reused += reused_;
  }

  /// Around a fork: the child must not find it locked by a thread that it does not have.
  std::mutex& mutex() { return mutex_; }

 private:
  using Place = std::map<char*, size_t>::iterator;

  /// How much may be kept beside the live blocks. A quarter of what the system grants is left to others in the process.
  int64_t room() const { return std::min(limit_, granted_ / 4 * 3) - demand_.live(); }

  char* allocate_fresh(size_t size) {
    const size_t length = round_up(size, kHugePage);
    granted_ = system_memory();
    trim(std::min(demand_.allowance(), room()) - static_cast<int64_t>(length - size));
    char* data = map(length);
    if (!data) return nullptr;
    if (length > size) keep(data + size, length - size);
    ++fresh_;
    return data;
  }

  /// Adds a range to the kept ones, and joins it with its neighbours.
  void keep(char* data, size_t size) {
    Place after = by_address_.lower_bound(data);
    Place before = after == by_address_.begin() ? by_address_.end() : std::prev(after);
    const bool joins_after = after != by_address_.end() && data + size == after->first;
    const bool joins_before = before != by_address_.end() && before->first + before->second == data;
    if (joins_before) {
      if (joins_after) {
        size += after->second;
        remove(after);
      }
      change(before, before->first, before->second + size);
    } else if (joins_after) {
      change(after, data, size + after->second);
    } else if (!add(data, size)) {
      // Not even memory to note it down: the pages go back, the addresses are lost.
      madvise(data, size, MADV_DONTNEED);
    }
  }

  /// False where there is no memory for the entry.
  bool add(char* data, size_t size) {
    try {
      Place at = by_address_.emplace(data, size).first;
      try {
        by_size_.emplace(size, data);
      } catch (const std::bad_alloc&) {
        by_address_.erase(at);
        return false;
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_ += static_cast<int64_t>(size);
    return true;
  }

  void remove(Place at) {
    kept_ -= static_cast<int64_t>(at->second);
    by_size_.erase({at->second, at->first});
    by_address_.erase(at);
  }

  /// Gives a kept range other borders. The entries are moved, so that this cannot fail.
  void change(Place at, char* data, size_t size) {
    kept_ += static_cast<int64_t>(size) - static_cast<int64_t>(at->second);
    auto sized = by_size_.extract({at->second, at->first});
    sized.value() = {size, data};
    by_size_.insert(std::move(sized));
    auto placed = by_address_.extract(at);
    placed.key() = data;
    placed.mapped() = size;
    by_address_.insert(std::move(placed));
  }

  /// Keeps at most so many bytes: the ends of the largest ranges go first, by whole huge pages. What is left around
  /// them stays, unless it comes to more than an eighth of the live blocks: to break up a huge page is slow.
  void trim(int64_t most) {
    most = std::max<int64_t>(most, 0);
    while (kept_ > most) {
      auto [size, data] = *by_size_.rbegin();
      char* begin = round_up(data, kHugePage);
      char* end = round_up(data + size + 1 - kHugePage, kHugePage);
      if (begin >= end) {
        if (kept_ <= most + demand_.live() / 8) return;
        begin = data;
        end = data + size;
      } else {
        const size_t wanted = round_up(static_cast<size_t>(kept_ - most), kHugePage);
        if (wanted < static_cast<size_t>(end - begin)) begin = end - wanted;
      }
      if (!release(by_address_.find(data), begin, end)) return;
    }
  }

  /// Returns a part of a kept range to the system.
  bool release(Place at, char* begin, char* end) {
    const auto [data, size] = *at;
    const auto behind = static_cast<size_t>(data + size - end);
    if (behind > 0 && !add(end, behind)) return false;
    if (munmap(begin, static_cast<size_t>(end - begin)) != 0) {
      if (behind > 0) remove(by_address_.find(end));
      return false;
    }
    if (begin > data) {
      change(at, data, static_cast<size_t>(begin - data));
    } else {
      remove(at);
    }
    return true;
  }

  /// Whole huge pages from the system; null where it has none.
  static char* map(size_t size) {
    char* data = map_anywhere(size);
    if (data && round_up(data, kHugePage) != data) {
      munmap(data, size);
      data = map_anywhere(size + kHugePage);
      if (data) {
        char* begin = round_up(data, kHugePage);
        if (begin > data) munmap(data, static_cast<size_t>(begin - data));
        munmap(begin + size, kHugePage - static_cast<size_t>(begin - data));
        data = begin;
      }
    }
#if defined(__linux__)
    if (data) madvise(data, size, MADV_HUGEPAGE);
#endif
    return data;
  }
  static char* map_anywhere(size_t size) {
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<char*>(data);
  }

  std::mutex mutex_;
  std::map<char*, size_t> by_address_;
  std::set<std::pair<size_t, char*>> by_size_;
  Demand demand_{kSlack};
  int64_t kept_ = 0;
  int64_t fresh_ = 0;
  int64_t reused_ = 0;
  int64_t limit_ = INT64_MAX;    ///< set by the program
  int64_t granted_ = INT64_MAX;  ///< by the system
};

/// All of the cache. Never destroyed: its thread may run while the process exits.
struct Cache {
  Lists lists;
  Ranges ranges;
  Epochs epochs;

  Cache() {
    pthread_atfork([] { get().ranges.mutex().lock(); }, [] { get().ranges.mutex().unlock(); },
                   [] {
                     get().ranges.mutex().unlock();
                     get().epochs.stopped();
                   });
  }
  static Cache& get() {
    static auto* cache = new Cache;
    return *cache;
  }
};

void Epochs::start() {
  // Signals are for the interpreter's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(&Epochs::run, this).detach();
  } catch (const std::system_error&) {
    left_.store(0, std::memory_order_relaxed);  // no thread to be had: tried again when the next block is kept
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Epochs::run() {
  do {
    std::this_thread::sleep_for(kEpoch);
    number_.fetch_add(1, std::memory_order_relaxed);
    Cache::get().ranges.begin_epoch();
  } while (left_.fetch_sub(1, std::memory_order_relaxed) > 1);
}

}  // namespace

char* allocate_block(size_t nbytes) {
  if constexpr (!kReuseMemory) {
    void* memory = nullptr;
    return posix_memalign(&memory, 64, nbytes) == 0 ? static_cast<char*>(memory) : nullptr;
  }
  Cache& cache = Cache::get();
  return nbytes <= kListLimit ? cache.lists.allocate(nbytes) : cache.ranges.allocate(nbytes);
}

void free_block(char* data, size_t nbytes) {
  if constexpr (!kReuseMemory) {
    std::free(data);
    return;
  }
  Cache& cache = Cache::get();
  if (nbytes <= kListLimit) {
    cache.lists.free(data, nbytes, cache.epochs);
  } else {
    cache.ranges.free(data, nbytes, cache.epochs);
  }
}

void note_returned(size_t nbytes) {
  returned += nbytes;
  if (returned >= kReturned) trim_malloc();
}

void empty_block_cache() {
  Cache::get().lists.trim(0);
  Cache::get().ranges.empty();
  trim_malloc();
}

void set_block_limit(int64_t bytes) { Cache::get().ranges.set_limit(bytes); }

BlockStats block_stats() {
  const Lists& lists = Cache::get().lists;
  BlockStats stats{lists.kept(), lists.fresh(), lists.reused()};
  Cache::get().ranges.add_to(stats);
  return stats;
}

}  // namespace adjoint
