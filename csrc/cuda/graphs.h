// Graphs: work that is recorded once and launched as a whole.
//
// Note [Captured memory]. While a graph is captured, the thread's tensors come from segments of a pool, which stay when
// the tensors die: a launch of the graph writes there again. Graphs that never run at the same time may share a pool.
// A program may ask for a pool, too, for what it allocates (torch.cuda.MemPool).
//
// Note [Captured draws]. A graph that fills tensors at random draws new numbers each time: its fills read the seed, and
// the number of the first of them, from memory that each launch sets before the graph. The generator then stands where
// it would had the fills been called one by one; seeding it before a launch is seen by that launch. The capture itself
// draws nothing.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "core/generator.h"
#include "core/storage.h"
#include "cuda/device/philox.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

/// A number for a pool that no other has.
uint64_t new_pool();
/// Somebody uses a pool, or no longer does; the last one frees it.
void retain_pool(uint64_t pool);
void release_pool(uint64_t pool);
int pool_users(uint64_t pool);

class CapturedGraph {
 public:
  CapturedGraph() = default;
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Begins to record what this thread queues on its current stream; `mode` is the driver's, such as kCaptureGlobal. 0
  /// for a pool of its own.
  void begin(uint64_t pool, int mode);
  /// Lets fills of the capture draw from a generator, which must live as long as the graph. That of the device needs no
  /// word.
  void draw_from(Generator& generator);
  void end();
  /// Queues the whole on the current stream.
  void launch();
  /// Gives up the graph and its memory.
  void reset();
  uint64_t pool() const;
  /// What the next fill of the capture draws from.
  DrawKey next_draws(const Generator& generator);

 private:
  /// The fills that draw from a generator.
  struct Draws {
    Generator* generator;
    StoragePtr state;
    uint64_t fills = 0;
  };
  void hold_generators(bool held);

  int device_ = 0;
  uint64_t pool_ = 0;
  Stream stream_ = nullptr;
  std::thread::id capturer_;
  bool capturing_ = false;
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
  std::vector<Draws> draws_;
};

/// How many graphs the threads of this process capture now.
int running_captures();

/// What a fill on the current stream of a device draws from; the generator moves on by one fill.
DrawKey take_draws(Generator& generator, Device device);

}  // namespace adjoint::cuda
