// Random numbers: a Mersenne Twister and the fills that draw from it, giving the numbers torch's CPU generator gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/dtype.h"

namespace adjoint {

/// MT19937. The fills below hold `mutex()` for a whole call; whoever draws directly while other threads may draw
/// holds it too. Seeding and the state functions take it themselves.
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

  std::optional<double> cached_normal() const { return cached_normal_; }
  void set_cached_normal(std::optional<double> value) { cached_normal_ = value; }
  /// Part of the state that torch saves; none of the fills uses it, neither here nor there.
  std::optional<float> cached_float_normal() const { return cached_float_normal_; }
  void set_cached_float_normal(std::optional<float> value) { cached_float_normal_ = value; }

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
  std::optional<float> cached_float_normal_;
  mutable std::mutex mutex_;
};

/// The generator used where none is given.
Generator& default_generator();

/// A seed from the operating system.
uint64_t nondeterministic_seed();

// Each fill writes n contiguous elements at `data`, in order, and checks its arguments before the first draw.

/// rand, uniform_: from [low, high). Complex tensors are filled as pairs of real numbers.
void fill_uniform(Generator& generator, DType dtype, void* data, int64_t n, double low = 0, double high = 1);

/// Which of torch's two normal streams to follow. It fills contiguous tensors of 16 elements and more in blocks,
/// and strided ones element by element: pass Elementwise when `data` is a buffer for such a tensor.
enum class NormalStream { Blocks, Elementwise };

/// randn, normal_. Complex tensors are filled as pairs of real numbers, each part with half of the variance.
void fill_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean = 0, double std = 1,
                 NormalStream stream = NormalStream::Blocks);

/// randint, random_(low, high): whole numbers from [low, high), into integer, bool and floating types.
void fill_randint(Generator& generator, DType dtype, void* data, int64_t n, int64_t low, int64_t high);

/// random_(low, None): from low up to the greatest value of the type, for floating types up to 2 ** (bits of
/// precision).
void fill_random_from(Generator& generator, DType dtype, void* data, int64_t n, int64_t low);

/// random_(): from 0 up to the greatest value of the type, for floating types up to 2 ** (bits of precision).
void fill_random_full(Generator& generator, DType dtype, void* data, int64_t n);

/// A random permutation of 0 ... n - 1.
void randperm(Generator& generator, int64_t* data, int64_t n);

/// bernoulli_(p), and with it dropout: one with probability p, else zero.
void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, double p);

/// bernoulli_(p), bernoulli(p) with a tensor of n probabilities. `data` and `p` may be the same memory.
void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, DType p_dtype, const void* p);

void fill_exponential(Generator& generator, DType dtype, void* data, int64_t n, double lambda = 1);
void fill_geometric(Generator& generator, DType dtype, void* data, int64_t n, double p);
void fill_log_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean = 1, double std = 2);
void fill_cauchy(Generator& generator, DType dtype, void* data, int64_t n, double median = 0, double sigma = 1);

}  // namespace adjoint
