#include "core/generator.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <type_traits>

#include "core/error.h"

namespace adjoint {
namespace {

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

Generator::Generator(uint64_t seed, Device device) : device_(device) { manual_seed(seed); }

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  if (held_ && seed != seed_)
    fail(
        "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the "
        "original seed. Seed before the capture: a graph draws new numbers at each replay");
  if (held_) return;
  seed_ = seed;
  offset_ = 0;
  if (device_.type != DeviceType::Cpu) return;
  uint32_t* words = twister_.words;
  words[0] = static_cast<uint32_t>(seed);
  for (int i = 1; i < Twister::kWords; ++i) {
    words[i] = 1812433253u * (words[i - 1] ^ (words[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  twister_.next = twister_.end = 0;
  twister_.normal.reset();
  twister_.float_normal.reset();
}

Philox Generator::take(uint64_t fills) {
  std::lock_guard lock(mutex_);
  const Philox now = {seed_, offset_};
  offset_ += 4 * fills;
  return now;
}

uint64_t Generator::offset() const {
  std::lock_guard lock(mutex_);
  return offset_;
}

void Generator::set_offset(uint64_t offset) {
  if (offset % 4 != 0) fail("offset must be a multiple of 4; got ", offset);
  std::lock_guard lock(mutex_);
  if (held_)
    fail(
        "The state of a CUDA generator cannot be set during CUDA graph capture. Set it before: a graph draws new "
        "numbers at each replay");
  offset_ = offset;
}

void Generator::hold(bool held) {
  std::lock_guard lock(mutex_);
  held_ += held ? 1 : -1;
}

std::vector<uint8_t> Generator::get_state() const {
  std::lock_guard lock(mutex_);
  if (device_.type != DeviceType::Cpu) {
    const Philox saved = {seed_, offset_};
    std::vector<uint8_t> bytes(kDeviceStateBytes);
    std::memcpy(bytes.data(), &saved, kDeviceStateBytes);
    return bytes;
  }
  SavedState saved{};
  saved.seed = seed_;
  saved.left = twister_.end - twister_.next + 1;
  saved.seeded = 1;
  saved.next = static_cast<uint64_t>(twister_.next);
  std::copy_n(twister_.words, Twister::kWords, saved.words);
  saved.normal = twister_.normal.value_or(0);
  saved.has_normal = twister_.normal.has_value();
  saved.float_normal = twister_.float_normal.value_or(0);
  saved.has_float_normal = twister_.float_normal.has_value();
  std::vector<uint8_t> bytes(kStateBytes);
  std::memcpy(bytes.data(), &saved, kStateBytes);
  return bytes;
}

void Generator::set_state(const uint8_t* bytes, size_t size) {
  if (device_.type != DeviceType::Cpu) {
    // Files may hold the seed alone.
    if (size != kDeviceStateBytes && size != sizeof(uint64_t))
      fail("RNG state is wrong size; expected ", kDeviceStateBytes, " bytes, got ", size,
           "; pass what get_state of a generator of ", to_string(device_), " returned");
    Philox saved = {};
    std::memcpy(&saved, bytes, size);
    set_offset(saved.offset);
    std::lock_guard lock(mutex_);
    seed_ = saved.seed;
    return;
  }
  if (size != kStateBytes) {
    fail("set_state: Expected a CPUGeneratorImplState of size ", kStateBytes,
         " but found the input RNG state size to be ", size, "; pass what get_state returned");
  }
  SavedState saved;
  std::memcpy(&saved, bytes, kStateBytes);
  // With no draw left the position does not matter; else the draws that are left must lie inside of the state.
  constexpr int n = Twister::kWords;
  bool inside = saved.left >= 1 && saved.left <= n && saved.next <= n &&
                (saved.left == 1 || static_cast<int>(saved.next) + saved.left - 1 <= n);
  if (saved.seeded == 0 || !inside) {
    fail("set_state: Invalid mt19937 state; got left=", saved.left, ", next=", saved.next, ", seeded=", saved.seeded,
         "; pass what get_state returned");
  }
  std::lock_guard lock(mutex_);
  seed_ = saved.seed;
  twister_.next = static_cast<int32_t>(saved.next);
  twister_.end = twister_.next + saved.left - 1;
  for (int i = 0; i < n; ++i) {
    twister_.words[i] = static_cast<uint32_t>(saved.words[i]);
    twister_.draws[i] = tempered(twister_.words[i]);
  }
  twister_.normal = saved.has_normal ? std::optional(saved.normal) : std::nullopt;
  twister_.float_normal = saved.has_float_normal ? std::optional(saved.float_normal) : std::nullopt;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

namespace {

constexpr int kMost = 256;  // a device's number is a byte
std::atomic<Generator*> of_devices[kMost];
std::mutex making;
uint64_t seed_of_devices = Generator::kDefaultSeed;

}  // namespace

Generator& default_generator(Device device) {
  if (device.type != DeviceType::Cuda) return default_generator();
  std::atomic<Generator*>& place = of_devices[device.index];
  if (Generator* generator = place.load(std::memory_order_acquire)) [[likely]]
    return *generator;
  std::lock_guard lock(making);
  if (!place.load()) place.store(new Generator(seed_of_devices, device), std::memory_order_release);
  return *place.load();
}

void seed_devices(uint64_t seed) {
  std::lock_guard lock(making);
  seed_of_devices = seed;
  for (std::atomic<Generator*>& place : of_devices)
    if (Generator* generator = place.load()) generator->manual_seed(seed);
}

uint64_t nondeterministic_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace adjoint
