// The conversions of half_rows.h: binary16 with F16C instructions, eight at a time, and without; bfloat16 by its bits.
#include "cpu/half_rows.h"

#include "cpu/vector_math.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace adjoint::cpu {
namespace {

#if defined(__x86_64__)
const bool has_f16c = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
}();

const bool has_avx512 = cpu_has_avx512();

// GCC takes the forms without a mask for uses of what was never set.
/// Sixteen at a time; the rest is left to the narrower ones.
__attribute__((target("avx512f"))) int64_t widen_avx512(const Half* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(out + i,
                     _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
  }
  return i;
}

__attribute__((target("avx512f"))) int64_t narrow_avx512(const float* in, Half* out, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256i narrow = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), narrow);
  }
  return i;
}

__attribute__((target("avx,f16c"))) void widen_f16c(const Half* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  for (; i < n; ++i) out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(in[i].bits)));
}

__attribute__((target("avx,f16c"))) void narrow_f16c(const float* in, Half* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i narrow = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), narrow);
  }
  for (; i < n; ++i) {
    out[i].bits = static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(in[i]), _MM_FROUND_TO_NEAREST_INT)));
  }
}
#endif

}  // namespace

void widen_row(const Half* in, float* out, int64_t n) {
#if defined(__x86_64__)
  const int64_t done = has_avx512 ? widen_avx512(in, out, n) : 0;
  if (has_f16c) return widen_f16c(in + done, out + done, n - done);
#endif
  for (int64_t i = 0; i < n; ++i) out[i] = in[i];
}

void narrow_row(const float* in, Half* out, int64_t n) {
#if defined(__x86_64__)
  const int64_t done = has_avx512 ? narrow_avx512(in, out, n) : 0;
  if (has_f16c) return narrow_f16c(in + done, out + done, n - done);
#endif
  for (int64_t i = 0; i < n; ++i) out[i] = Half(in[i]);
}

ADJOINT_CLONES void widen_row(const BFloat16* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i];
}

ADJOINT_CLONES void narrow_row(const float* in, BFloat16* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = BFloat16(in[i]);
}

}  // namespace adjoint::cpu
