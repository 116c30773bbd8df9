// The thread pool: as many threads as CPUs this process may use, safe after fork.
#pragma once

#include <cstdint>

namespace adjoint {

/// Number of threads that parallel_for may use: ADJOINT_NUM_THREADS, else OMP_NUM_THREADS, else the CPUs in this
/// process's affinity mask.
int num_threads();
void set_num_threads(int count);

/// True inside the body of a parallel_for, where further calls run serially.
bool in_parallel();

namespace detail {
using ChunkFunction = void (*)(const void* body, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t grain, ChunkFunction function, const void* body);
}  // namespace detail

/// Runs body(begin, end) over a partition of [0, n) into chunks of at least `grain`; serial when n <= grain.
/// Chunk borders depend on n, grain and the thread count only. The body must not throw nor touch Python.
/// Nested calls run serially, and so do calls made while another thread is using the pool.
template <class Body>
inline void parallel_for(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  if (n <= grain) return static_cast<void>(body(int64_t{0}, n));
  detail::run_chunks(
      n, grain, [](const void* erased, int64_t begin, int64_t end) { (*static_cast<const Body*>(erased))(begin, end); },
      &body);
}

}  // namespace adjoint
