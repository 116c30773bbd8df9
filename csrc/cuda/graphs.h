// Graphs: work that is recorded once and launched as a whole.
//
// Note [Captured memory]. While a graph is captured, the thread's tensors come from segments of a pool, which stay when
// the tensors die: a launch of the graph writes there again. Graphs that never run at the same time may share a pool.
#pragma once

#include <cstdint>

#include "cuda/driver.h"

namespace adjoint::cuda {

/// A number for a pool that no other has.
uint64_t new_pool();

class CapturedGraph {
 public:
  CapturedGraph() = default;
  ~CapturedGraph() { reset(); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Begins to record what this thread queues on its current stream; `mode` is the driver's, such as kCaptureGlobal. 0
  /// for a pool of its own.
  void begin(uint64_t pool, int mode);
  void end();
  /// Queues the whole on the current stream.
  void launch();
  /// Gives up the graph and its memory.
  void reset();
  uint64_t pool() const;

 private:
  int device_ = 0;
  uint64_t pool_ = 0;
  Stream stream_ = nullptr;
  bool capturing_ = false;
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
};

}  // namespace adjoint::cuda
