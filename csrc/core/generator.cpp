// The Mersenne Twister's recurrence, vectorised, and its state in torch's layout.
#include "core/generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <type_traits>

#include "core/error.h"
#include "cpu/vector_math.h"

namespace adjoint {
namespace {

inline uint32_t twist(uint32_t current, uint32_t following, uint32_t ahead) {
  uint32_t mixed = (current & 0x80000000u) | (following & 0x7fffffffu);
  return ahead ^ (mixed >> 1) ^ (-(following & 1u) & 0x9908b0dfu);
}

ADJOINT_CLONES void temper(const uint32_t* __restrict state, uint32_t* __restrict out, int count) {
  for (int i = 0; i < count; ++i) {
    uint32_t word = state[i];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    out[i] = word ^ (word >> 18);
  }
}

ADJOINT_CLONES void advance_state(uint32_t* state) {
  constexpr int n = 624, m = 397;
  for (int i = 0; i < n - m; ++i) state[i] = twist(state[i], state[i + 1], state[i + m]);
  for (int i = n - m; i < n - 1; ++i) state[i] = twist(state[i], state[i + 1], state[i + m - n]);
  state[n - 1] = twist(state[n - 1], state[0], state[m - 1]);
}

/// The layout of torch's saved state; zero is what torch writes into the unused fields.
struct SavedState {
  uint64_t seed;
  int32_t left;  ///< draws until the next refill, and one more
  int32_t seeded;
  uint64_t next;
  uint64_t words[624];
  double unused_before;
  double normal;
  double unused_after;
  int32_t has_normal;
  int32_t padding;
  float float_normal;
  uint8_t has_float_normal;
  uint8_t end_padding[3];
};
static_assert(sizeof(SavedState) == Generator::kStateBytes);
static_assert(std::is_trivially_copyable_v<SavedState>);

}  // namespace

Generator::Generator(uint64_t seed) { manual_seed(seed); }

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (int i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  next_ = end_ = 0;
  cached_normal_.reset();
  cached_float_normal_.reset();
}

void Generator::refill() {
  advance_state(state_);
  temper(state_, tempered_, kWords);
  next_ = 0;
  end_ = kWords;
}

void Generator::random_words(uint32_t* out, int64_t count) {
  while (count > 0) {
    if (next_ == end_) refill();
    int64_t taken = std::min<int64_t>(count, end_ - next_);
    std::memcpy(out, tempered_ + next_, static_cast<size_t>(taken) * sizeof(uint32_t));
    next_ += static_cast<int32_t>(taken);
    out += taken;
    count -= taken;
  }
}

double Generator::normal() {
  if (cached_normal_) {
    double value = *cached_normal_;
    cached_normal_.reset();
    return value;
  }
  double turn = static_cast<double>(random64() & kMask53) * 0x1p-53;
  double depth = static_cast<double>(random64() & kMask53) * 0x1p-53;
  double radius = std::sqrt(-2 * std::log1p(-depth));
  double angle = 2 * std::numbers::pi * turn;
  cached_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

std::vector<uint8_t> Generator::get_state() const {
  std::lock_guard lock(mutex_);
  SavedState saved{};
  saved.seed = seed_;
  saved.left = end_ - next_ + 1;
  saved.seeded = 1;
  saved.next = static_cast<uint64_t>(next_);
  std::copy(state_, state_ + kWords, saved.words);
  saved.normal = cached_normal_.value_or(0);
  saved.has_normal = cached_normal_.has_value();
  saved.float_normal = cached_float_normal_.value_or(0);
  saved.has_float_normal = cached_float_normal_.has_value();
  std::vector<uint8_t> bytes(kStateBytes);
  std::memcpy(bytes.data(), &saved, kStateBytes);
  return bytes;
}

void Generator::set_state(const uint8_t* bytes, size_t size) {
  if (size != kStateBytes) {
    fail("set_state: Expected a CPUGeneratorImplState of size ", kStateBytes,
         " but found the input RNG state size to be ", size, "; pass what get_state returned");
  }
  SavedState saved;
  std::memcpy(&saved, bytes, kStateBytes);
  // With no draw left the position does not matter; else the draws that are left must lie inside of the state.
  bool inside = saved.left >= 1 && saved.left <= kWords && saved.next <= kWords &&
                (saved.left == 1 || static_cast<int>(saved.next) + saved.left - 1 <= kWords);
  if (saved.seeded == 0 || !inside) {
    fail("set_state: Invalid mt19937 state; got left=", saved.left, ", next=", saved.next, ", seeded=", saved.seeded,
         "; pass what get_state returned");
  }
  std::lock_guard lock(mutex_);
  seed_ = saved.seed;
  next_ = static_cast<int32_t>(saved.next);
  end_ = next_ + saved.left - 1;
  for (int i = 0; i < kWords; ++i) state_[i] = static_cast<uint32_t>(saved.words[i]);
  temper(state_, tempered_, kWords);
  cached_normal_.reset();
  cached_float_normal_.reset();
  if (saved.has_normal) cached_normal_ = saved.normal;
  if (saved.has_float_normal) cached_float_normal_ = saved.float_normal;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

uint64_t nondeterministic_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace adjoint
