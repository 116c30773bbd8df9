// The states of generators, as torch saves them: on the CPU that of a Mersenne Twister, of which cpu/random_draws.h
// draws; on devices a seed and an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/device.h"

namespace adjoint {

/// The words of MT19937, and the draws that they give.
struct Twister {
  static constexpr int kWords = 624;

  uint32_t words[kWords];
  uint32_t draws[kWords];  ///< what the words give; those in [next, end) are still to be drawn
  int32_t next;
  int32_t end;
  std::optional<double> normal;  ///< made in pairs: the second one waits for the next call
  /// Part of the state that torch saves; none of the fills uses it, neither here nor there.
  std::optional<float> float_normal;
};

/// The draw that a word of the state gives.
[[gnu::always_inline]] inline uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

/// Of a device's generator: what each number of one fill is made of, with the number's place (cuda/device/philox.h).
struct Philox {
  uint64_t seed;
  uint64_t offset;
};

/// MT19937. Whoever draws while other threads may draw holds `mutex()`, as the fills of cpu/random.h do for a whole
/// call. Seeding and the state functions take it themselves.
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;
  static constexpr size_t kDeviceStateBytes = 16;

  explicit Generator(uint64_t seed = kDefaultSeed, Device device = {});

  /// On the CPU only the low 32 bits select the stream; `initial_seed` reports all 64.
  void manual_seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }
  Device device() const { return device_; }

  /// Of a device: what the next fill draws from. Each fill has an offset of its own, however long it is; torch counts
  /// offsets in fours, and `fills` are taken at once.
  Philox take(uint64_t fills = 1);
  uint64_t offset() const;
  void set_offset(uint64_t offset);
  /// While a graph is captured its fills draw from no state: they will when it runs. A state that is set meanwhile
  /// would not be theirs, and is refused, but for the seed that there is.
  void hold(bool held);

  /// The bytes of torch.get_rng_state(): states can be exchanged with torch both ways.
  std::vector<uint8_t> get_state() const;
  void set_state(const uint8_t* bytes, size_t size);

  std::mutex& mutex() const { return mutex_; }
  Twister& twister() { return twister_; }

 private:
  uint64_t seed_;
  const Device device_;
  uint64_t offset_ = 0;
  int held_ = 0;  ///< by so many captures
  Twister twister_;
  mutable std::mutex mutex_;
};

/// The generator used where none is given.
Generator& default_generator();
/// The same for tensors of a device.
Generator& default_generator(Device device);
/// Seeds the default generators of all devices but the CPU, those of devices that nobody has used yet, too.
void seed_devices(uint64_t seed);

/// A seed from the operating system.
uint64_t nondeterministic_seed();

}  // namespace adjoint
