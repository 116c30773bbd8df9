#include "cpu/random_isa.h"

#include <cmath>
#include <numbers>

#include "cpu/random_draws_isa.h"
#include "cpu/vector_math.h"

// Floats only: doubles use the scalar functions, as torch does.
ADJOINT_VECTOR_FLOAT(log)
ADJOINT_VECTOR_FLOAT(sin)
ADJOINT_VECTOR_FLOAT(cos)

namespace adjoint::cpu {
namespace {

void pair_words(const uint32_t* __restrict words, uint64_t* __restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
}

void unit_floats(const uint32_t* __restrict words, float* __restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f;
}

void unit_doubles(const uint64_t* __restrict bits, double* __restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(static_cast<int64_t>(bits[i] & kMask53)) * 0x1p-53;
}

/// One rounding for the product and the sum, as in torch: the last bit depends on it.
template <class Real>
void stretch(Real* values, int64_t n, Real low, Real high) {
  for (int64_t i = 0; i < n; ++i) {
    Real value = std::fma(values[i], high - low, low);
    values[i] = value == high ? low : value;
  }
}

void normal_blocks(float* values, int64_t blocks, float mean, float std) {
  constexpr int64_t group = 32, half = kNormalBlock / 2;
  constexpr float two_pi = 2 * std::numbers::pi_v<float>;
  float radius[group * half], angle[group * half], sine[group * half];
  for (int64_t start = 0; start < blocks; start += group) {
    float* first = values + start * kNormalBlock;
    int64_t count = blocks - start < group ? blocks - start : group;
    for (int64_t b = 0; b < count; ++b) {
      for (int64_t i = 0; i < half; ++i) {
        radius[b * half + i] = 1.0f - first[b * kNormalBlock + i];
        angle[b * half + i] = two_pi * first[b * kNormalBlock + half + i];
      }
    }
    // The sine and the cosine have a loop each: together they would become calls of the scalar sincosf.
    for (int64_t i = 0; i < count * half; ++i) radius[i] = __builtin_sqrtf(-2.0f * logf(radius[i]));
    for (int64_t i = 0; i < count * half; ++i) sine[i] = sinf(angle[i]);
    for (int64_t i = 0; i < count * half; ++i) angle[i] = cosf(angle[i]);
    for (int64_t b = 0; b < count; ++b) {
      for (int64_t i = 0; i < half; ++i) {
        first[b * kNormalBlock + i] = radius[b * half + i] * angle[b * half + i] * std + mean;
        first[b * kNormalBlock + half + i] = radius[b * half + i] * sine[b * half + i] * std + mean;
      }
    }
  }
}

template <class Bits>
void mark_below(const uint64_t* __restrict bits, uint64_t threshold, Bits one, Bits* __restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<int64_t>(bits[i] & kMask53) < static_cast<int64_t>(threshold) ? one : Bits{0};
  }
}

void mark_below(const uint64_t* bits, uint64_t threshold, uint64_t one, int64_t size, void* out, int64_t n) {
  switch (size) {
    case 1: return mark_below(bits, threshold, static_cast<uint8_t>(one), static_cast<uint8_t*>(out), n);
    case 2: return mark_below(bits, threshold, static_cast<uint16_t>(one), static_cast<uint16_t*>(out), n);
    case 4: return mark_below(bits, threshold, static_cast<uint32_t>(one), static_cast<uint32_t*>(out), n);
    default: return mark_below(bits, threshold, one, static_cast<uint64_t*>(out), n);
  }
}

constexpr RandomLoops kLoops = {.pair_words = pair_words,
                                .unit_floats = unit_floats,
                                .unit_doubles = unit_doubles,
                                .stretch_floats = stretch<float>,
                                .stretch_doubles = stretch<double>,
                                .normal_blocks = normal_blocks,
                                .mark_below = mark_below};

}  // namespace

template <Isa>
RandomLoops RandomLoops::compiled() {
  return kLoops;
}
template RandomLoops RandomLoops::compiled<kIsa>();

}  // namespace adjoint::cpu
