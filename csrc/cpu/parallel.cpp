// The thread pool. Workers claim numbered chunks of the current job from one atomic word; they spin briefly for the
// next job and then sleep. The pool is never destroyed: a process may exit while its workers sleep.
#include "cpu/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "core/error.h"

namespace adjoint {
namespace {

constexpr int kMaxThreads = 1024;
/// More chunks than threads even out threads that start late or are slowed by other processes.
constexpr int kChunksPerThread = 4;
/// About 100 microseconds: longer than the gap between two large operations of a running program and than most chunks
/// of work. A sleeper takes as long to wake, during which the others do its share.
constexpr int kSpins = 4000;

thread_local bool inside_parallel = false;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done()`; false when patience ran out.
template <class Done>
bool spin_until(Done done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    relax();
  }
  return done();
}

/// The pieces of [0, n) that one parallel_for hands out.
struct Job {
  int64_t n;
  uint32_t chunks;
  detail::ChunkFunction function;
  const void* body;

  int64_t border(uint32_t chunk) const {
    int64_t each = n / chunks;
    int64_t longer = n % chunks;
    return chunk * each + std::min<int64_t>(chunk, longer);
  }
  void run(uint32_t chunk) const { function(body, border(chunk), border(chunk + 1)); }
};

class Pool {
 public:
  /// Starts workers until `threads` are there, the caller counted. Fewer than asked for is not an error: the caller
  /// does whatever is left.
  void grow(int threads) {
    // Signals are for the interpreter's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; started_ < threads; ++started_) std::thread(&Pool::work, this, started_).detach();
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// False when another thread is using the pool.
  bool run(const Job& job, int threads) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    if (started_ < threads) grow(threads);
    job_ = job;
    limit_.store(threads, std::memory_order_relaxed);
    remaining_.store(job.chunks, std::memory_order_relaxed);
    claims_.store(uint64_t{job.chunks} << 32, std::memory_order_release);
    // Sequentially consistent with a worker's going to sleep: one of the two sees the other.
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
      std::lock_guard<std::mutex> lock(mutex_);
      wake_.notify_all();
    }
    inside_parallel = true;
    work_on_chunks<false>();
    inside_parallel = false;
    auto finished = [this] { return remaining_.load(std::memory_order_seq_cst) == 0; };
    if (!spin_until(finished)) {
      std::unique_lock<std::mutex> lock(mutex_);
      caller_sleeps_.store(true, std::memory_order_seq_cst);
      done_.wait(lock, finished);
      caller_sleeps_.store(false, std::memory_order_relaxed);
    }
    busy_.clear(std::memory_order_release);
    return true;
  }

 private:
  // Note [Claiming]. `claims_` holds the first unclaimed chunk in its lower half and the one behind the last in its
  // upper. The caller takes chunks from the front, workers from the back: what one thread has written of a tensor, it
  // mostly reads in the next job, out of its own cache. A worker reads the job only after it has claimed a chunk, and a
  // job cannot end while a claimed chunk is unfinished: however late a worker wakes, it never sees a job that is half
  // replaced.
  template <bool kFromBack>
  void work_on_chunks() {
    constexpr uint64_t kOneAtTheBack = uint64_t{1} << 32;
    uint64_t word = claims_.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t first = static_cast<uint32_t>(word), end = static_cast<uint32_t>(word >> 32);
      if (first >= end) return;
      const uint64_t rest = kFromBack ? word - kOneAtTheBack : word + 1;
      if (!claims_.compare_exchange_weak(word, rest, std::memory_order_acquire)) continue;
      job_.run(kFromBack ? end - 1 : first);
      if (remaining_.fetch_sub(1, std::memory_order_seq_cst) == 1 && caller_sleeps_.load(std::memory_order_seq_cst)) {
        std::lock_guard<std::mutex> lock(mutex_);
        done_.notify_one();
      }
      word = claims_.load(std::memory_order_acquire);
    }
  }

  void work(int number) {
    inside_parallel = true;
    uint64_t seen = 0;
    auto called = [&] { return epoch_.load(std::memory_order_seq_cst) != seen; };
    for (;;) {
      if (!spin_until(called)) {
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, called);
        sleepers_.fetch_sub(1, std::memory_order_relaxed);
      }
      seen = epoch_.load(std::memory_order_seq_cst);
      if (number < limit_.load(std::memory_order_relaxed)) work_on_chunks<true>();
    }
  }

  alignas(64) std::atomic<uint64_t> epoch_{0};
  std::atomic<int> limit_{0};
  Job job_{};
  alignas(64) std::atomic<uint64_t> claims_{0};
  alignas(64) std::atomic<uint32_t> remaining_{0};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<int> sleepers_{0};
  int started_ = 1;  ///< threads there are, the caller counted; guarded by busy_
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
};

std::atomic<Pool*> the_pool{nullptr};
std::atomic<int> thread_count{0};

/// Only the forking thread lives on in a child: the parent's pool is left alone and a new one made when needed.
void forget_pool() { the_pool.store(nullptr, std::memory_order_relaxed); }

/// Null when there is no memory for a pool.
Pool* pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current) return current;
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  static_cast<void>(registered);
  Pool* fresh = new (std::nothrow) Pool;
  if (!fresh || the_pool.compare_exchange_strong(current, fresh)) return fresh;
  delete fresh;
  return current;
}

/// A positive number at the start of an environment variable, else 0.
int count_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return 0;
  long value = std::strtol(text, nullptr, 10);
  return value > 0 ? static_cast<int>(std::min<long>(value, kMaxThreads)) : 0;
}

int default_thread_count() {
  if (int count = count_from_environment("ADJOINT_NUM_THREADS")) return count;
  if (int count = count_from_environment("OMP_NUM_THREADS")) return count;
#if defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0 && CPU_COUNT(&mask) > 0) return CPU_COUNT(&mask);
#endif
  return std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
}

}  // namespace

int num_threads() {
  int count = thread_count.load(std::memory_order_relaxed);
  if (count == 0) {
    int expected = 0;
    count = default_thread_count();
    if (!thread_count.compare_exchange_strong(expected, count)) count = expected;
  }
  return count;
}

void set_num_threads(int count) {
  if (count < 1) {
    fail("set_num_threads expects a positive integer; got ", count, "; pass 1 to run on the calling thread only");
  }
  thread_count.store(std::min(count, kMaxThreads), std::memory_order_relaxed);
}

bool in_parallel() { return inside_parallel; }

void detail::run_chunks(int64_t n, int64_t grain, ChunkFunction function, const void* body) {
  const int threads = num_threads();
  const int64_t most = threads == 1 ? 1 : int64_t{threads} * kChunksPerThread;
  const int64_t chunks = std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, most);
  const Job job{n, static_cast<uint32_t>(chunks), function, body};
  if (chunks > 1 && !inside_parallel) {
    Pool* workers = pool();
    if (workers && workers->run(job, static_cast<int>(std::min<int64_t>(threads, chunks)))) return;
  }
  for (uint32_t chunk = 0; chunk < job.chunks; ++chunk) job.run(chunk);
}

}  // namespace adjoint
