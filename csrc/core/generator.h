// The Mersenne Twister: draws, seeds and states, as torch's CPU generator has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace adjoint {

/// The bits of a 64-bit draw that a double in [0, 1) is made from.
inline constexpr uint64_t kMask53 = (uint64_t{1} << 53) - 1;

/// MT19937. The fills of cpu/random.h hold `mutex()` for a whole call; whoever draws directly while other threads may
/// draw holds it too. Seeding and the state functions take it themselves.
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed);

  /// Only the low 32 bits select the stream; `initial_seed` reports all 64.
  void manual_seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }

  uint32_t random() {
    if (next_ == end_) refill();
    return tempered_[next_++];
  }
  /// Two 32-bit draws, the first in the upper half.
  uint64_t random64() {
    uint64_t upper = random();
    return upper << 32 | random();
  }
  /// The next `count` 32-bit draws.
  void random_words(uint32_t* out, int64_t count);

  /// One standard normal number. They are made in pairs: the second waits in the cache for the next call.
  double normal();

  /// The bytes of torch.get_rng_state(): states can be exchanged with torch both ways.
  std::vector<uint8_t> get_state() const;
  void set_state(const uint8_t* bytes, size_t size);

  std::mutex& mutex() const { return mutex_; }

 private:
  static constexpr int kWords = 624;

  void refill();

  uint32_t state_[kWords];
  uint32_t tempered_[kWords];  ///< the outputs that belong to state_; those in [next_, end_) are still to be drawn
  int32_t next_;
  int32_t end_;
  uint64_t seed_;
  std::optional<double> cached_normal_;
  /// Part of the state that torch saves; none of the fills uses it, neither here nor there.
  std::optional<float> cached_float_normal_;
  mutable std::mutex mutex_;
};

/// The generator used where none is given.
Generator& default_generator();

/// A seed from the operating system.
uint64_t nondeterministic_seed();

}  // namespace adjoint
