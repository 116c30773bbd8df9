#include "cpu/copy_isa.h"

#include <cstring>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace adjoint::cpu {
namespace {

template <class From, class To>
void convert_packed(const void* src, void* dst, int64_t n) {
  // A bool is read as the byte it is: that vectorises, and is defined whatever the byte.
  using Read = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
  const Read* __restrict in = static_cast<const Read*>(src);
  To* __restrict out = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
}

// Between float16 and float the processor's own instructions are used where it has them.
template <>
void convert_packed<Half, float>(const void* src, void* dst, int64_t n) {
  const Half* __restrict in = static_cast<const Half*>(src);
  float* __restrict out = static_cast<float*>(dst);
  int64_t i = 0;
#if defined(__AVX512F__)
  // GCC takes the forms without a mask for uses of what was never set.
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(out + i,
                     _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
  }
#endif
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  for (; i < n; ++i) out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(in[i].bits)));
#else
  for (; i < n; ++i) out[i] = in[i];
#endif
}

template <>
void convert_packed<float, Half>(const void* src, void* dst, int64_t n) {
  const float* __restrict in = static_cast<const float*>(src);
  Half* __restrict out = static_cast<Half*>(dst);
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    __m256i narrow = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), narrow);
  }
#endif
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    __m128i narrow = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), narrow);
  }
  for (; i < n; ++i) {
    out[i].bits = static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(in[i]), _MM_FROUND_TO_NEAREST_INT)));
  }
#else
  for (; i < n; ++i) out[i] = Half(in[i]);
#endif
}

void fill_words(char* dst, uint64_t word, int64_t words) {
  typedef uint64_t Vector __attribute__((vector_size(64)));
  const Vector repeated = Vector{} + word;
  int64_t i = 0;
  for (; i + 8 <= words; i += 8) std::memcpy(dst + i * 8, &repeated, 64);
  for (; i < words; ++i) std::memcpy(dst + i * 8, &word, 8);
}

template <class From, class To>
constexpr CopyLoops::Convert conversion() {
  constexpr bool half = std::is_same_v<From, Half> || std::is_same_v<To, Half>;
  constexpr bool single = std::is_same_v<From, float> || std::is_same_v<To, float>;
  if constexpr ((half && !single) || same_bytes(DTypeOf<From>::value, DTypeOf<To>::value)) {
    return nullptr;
  } else {
    return convert_packed<From, To>;
  }
}

/// Conversions of one type to all.
template <class From>
constexpr void add_conversions(CopyLoops& loops) {
  auto& row = loops.convert[static_cast<int>(DTypeOf<From>::value)];
#define ADJOINT_ADD(name, type) row[static_cast<int>(DType::name)] = conversion<From, type>();
  ADJOINT_EACH_DTYPE(ADJOINT_ADD)
#undef ADJOINT_ADD
}

constexpr CopyLoops kLoops = [] {
  CopyLoops loops = {.convert = {}, .fill_words = fill_words};
#define ADJOINT_ADD(name, type) add_conversions<type>(loops);
  ADJOINT_EACH_DTYPE(ADJOINT_ADD)
#undef ADJOINT_ADD
  return loops;
}();

}  // namespace

template <Isa>
CopyLoops CopyLoops::compiled() {
  return kLoops;
}
template CopyLoops CopyLoops::compiled<kIsa>();

}  // namespace adjoint::cpu
