// How many freed bytes are worth keeping: a record of what was lately in use and lately asked for again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace adjoint {

/// Note [What is kept]
///
/// Fresh pages cost more than most arithmetic on them, so that freed blocks are kept; but only for a program that asks
/// for them again. Imagine a cache that never gives anything back: `idle_` is what it would hold. When it is drawn on,
/// the depth of the draw is what a real cache should have kept; the deepest draw of late is the *swing*.
///
/// - Memory that is used once (a file that is read, a large result) is never drawn again: the swing is nothing, and
///   what is freed goes back at once, but for a slack.
/// - A loop draws in each round what the round before freed: from its third round on, nothing is fresh. (Of the first
///   round nothing is kept, the second finds that out.)
/// - Blocks that do not fit what is asked for now, since sizes have changed, are bounded by the most that was lately in
///   use at the same time, and a quarter: a working set of 1 GB stays at 1.25 GB, whatever its sizes.
///
/// "Lately" is this epoch and the one before it (see Epochs in block_cache.cpp): a loop whose round takes less than an
/// epoch is measured in full, and an idle program gives back everything in two.
class Demand {
 public:
  explicit Demand(int64_t slack) : slack_(slack) {}

  void allocated(int64_t bytes) {
    live_ += bytes;
    idle_ = std::max<int64_t>(idle_ - bytes, 0);
    now_.peak = std::max(now_.peak, live_);
    now_.swing = std::max(now_.swing, std::max(now_.crest, before_.crest) - idle_);
  }

  void freed(int64_t bytes) {
    live_ -= bytes;
    idle_ += bytes;
    now_.crest = std::max(now_.crest, idle_);
  }

  void begin_epoch() {
    idle_ = std::min(idle_, allowance());
    before_ = now_;
    now_ = Epoch{live_, 0, idle_};
  }

  /// How many freed bytes may be kept now.
  int64_t allowance() const {
    const int64_t swing = std::max(now_.swing, before_.swing);
    const int64_t peak = std::max(now_.peak, before_.peak);
    return std::min(swing + swing / 4, peak + peak / 4 - live_) + slack_;
  }

  int64_t live() const { return live_; }

 private:
  struct Epoch {
    int64_t peak = 0;   ///< the most bytes in use at the same time
    int64_t swing = 0;  ///< the deepest draw on the imagined cache
    int64_t crest = 0;  ///< the most that it held
  };

  int64_t slack_;
  int64_t live_ = 0;
  int64_t idle_ = 0;
  Epoch now_, before_;
};

}  // namespace adjoint
