// Functions of sixteen floats, for loops over whole arrays of them. These are intrinsics, because what they gain by is
// not to be had from a loop: a table that lies in registers (tanh), scaling in one instruction (exp), a look at how
// large the numbers of one vector are (sin, cos). They take half the time of the C library's vector functions, which
// read their constants again in every call. GCC 12 warns of some forms without a mask, so that kAll stands there.
#pragma once

#if defined(__AVX512BW__)

#include <immintrin.h>

#include <cstdint>

#include "cpu/isa.h"
#include "cpu/tanh_table.h"

namespace adjoint::fn {
inline namespace ADJOINT_ISA {

inline constexpr __mmask16 kAll = 0xffff;

/// y, with its sign turned over where `sign` has the top bit.
[[gnu::always_inline]] inline __m512 turned(__m512 y, __m512i sign) {
  return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(y), sign));
}

/// As own_exp of cpu/float_exp.h, to the bit.
struct ExpVectors {
  [[gnu::always_inline]] __m512 operator()(__m512 x) const {
    // A nan stays one: of two operands, the second is taken then.
    const __m512 below = _mm512_maskz_min_ps(kAll, _mm512_set1_ps(89), x);
    const __m512 bounded = _mm512_maskz_max_ps(kAll, _mm512_set1_ps(-104), below);
    const __m512 rounder = _mm512_set1_ps(0x1.8p23f);
    const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(bounded, _mm512_set1_ps(0x1.715476p0f), rounder), rounder);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.62e4p-1f), bounded);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.7f7d1cp-20f), r);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0x1.6a2368p-10f), r, _mm512_set1_ps(0x1.123a6ap-7f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.5558f4p-5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.55549p-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.fffffcp-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
    return _mm512_maskz_scalef_ps(kAll, p, n);
  }
};

/// 1 / (1 + exp(-x)).
struct SigmoidVectors {
  [[gnu::always_inline]] __m512 operator()(__m512 x) const {
    const __m512 one = _mm512_set1_ps(1);
    return _mm512_div_ps(one, _mm512_add_ps(one, ExpVectors()(turned(x, _mm512_set1_epi32(INT32_MIN)))));
  }
};

/// sin(x), or cos(x) = sin(x + pi/2), for |x| up to kNear: (-1)^n sin(r) with r = x - n pi, or x - (n - 1/2) pi.
template <bool cosine>
struct SinVectors {
  static constexpr bool kCosine = cosine;
  static constexpr float kNear = 0x1p17f;

  [[gnu::always_inline]] __m512 operator()(__m512 x) const {
    const __m512 rounder = _mm512_set1_ps(0x1.8p23f), one_over_pi = _mm512_set1_ps(0x1.45f306p-2f);
    const __m512i top = _mm512_set1_epi32(INT32_MIN);
    __m512 size = x, rounded, n;
    if constexpr (cosine) {
      rounded = _mm512_add_ps(_mm512_fmadd_ps(x, one_over_pi, _mm512_set1_ps(0.5f)), rounder);
      n = _mm512_sub_ps(_mm512_sub_ps(rounded, rounder), _mm512_set1_ps(0.5f));
    } else {
      size = _mm512_abs_ps(x);  // its sign is put back below, as that of -0 would be lost
      rounded = _mm512_fmadd_ps(size, one_over_pi, rounder);
      n = _mm512_sub_ps(rounded, rounder);
    }
    // Pi in three parts; the first product and difference are exact.
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.921fb6p1f), size);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(0x1.777a5cp-24f), r);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(0x1.ee59dap-49f), r);
    // The polynomial of least relative error for |r| up to pi/2, 6e-9. Its first coefficient is a little less than
    // that, so that no sine is rounded to more than 1.
    const __m512 square = _mm512_mul_ps(r, r);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0x1.5dbf46p-19f), square, _mm512_set1_ps(-0x1.9f70e2p-13f));
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(0x1.110edap-7f));
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(-0x1.55554cp-3f));
    const __m512 y = _mm512_fmadd_ps(p, _mm512_mul_ps(r, square), r);
    const __m512i odd = _mm512_maskz_slli_epi32(kAll, _mm512_castps_si512(rounded), 31);
    if constexpr (cosine) return turned(y, odd);
    return turned(y, _mm512_ternarylogic_epi32(odd, _mm512_castps_si512(x), top, 0x78));  // a ^ (b & c)
  }

  /// Which of them are larger than kNear, infinite or nan.
  [[gnu::always_inline]] static __mmask16 far(__m512 x) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(kNear), _CMP_NLE_UQ);
  }
};

/// Row by row of a table, see tools/tanh_table.py.
class TanhVectors {
 public:
  [[gnu::always_inline]] TanhVectors() {
#pragma GCC unroll 6
    for (int k = 0; k < kColumns; ++k) {
      low_[k] = _mm512_load_ps(tables::TANH[k]);
      high_[k] = _mm512_load_ps(tables::TANH[k] + 16);
    }
  }

  [[gnu::always_inline]] __m512 operator()(__m512 x) const {
    const __m512 size = _mm512_maskz_min_ps(kAll, _mm512_set1_ps(9.1f), _mm512_abs_ps(x));  // nan stays nan
    // Exponent and two bits of the mantissa say which row, and where its middle is; the first row has all small
    // numbers.
    const __m512i bits = _mm512_castps_si512(size);
    const __m512i row = _mm512_subs_epu16(_mm512_maskz_srli_epi32(kAll, bits, 21), _mm512_set1_epi32((123 << 2) - 1));
    const __mmask16 beyond_first = _mm512_cmp_ps_mask(size, _mm512_set1_ps(0.0625f), _CMP_GE_OQ);
    const __m512i middle = _mm512_maskz_ternarylogic_epi32(beyond_first, bits, _mm512_set1_epi32(-(1 << 21)),
                                                           _mm512_set1_epi32(1 << 20), 0xEA);  // (a & b) | c
    const __m512 r = _mm512_sub_ps(size, _mm512_castsi512_ps(middle));
    __m512 y = column<5>(row);
    y = _mm512_fmadd_ps(y, r, column<4>(row));
    y = _mm512_fmadd_ps(y, r, column<3>(row));
    y = _mm512_fmadd_ps(y, r, column<2>(row));
    y = _mm512_fmadd_ps(y, r, column<1>(row));
    y = _mm512_fmadd_ps(y, r, column<0>(row));
    const __m512i top = _mm512_set1_epi32(INT32_MIN);
    const __m512i result =
        _mm512_ternarylogic_epi32(_mm512_castps_si512(y), _mm512_castps_si512(x), top, 0xF8);  // a | (b & c)
    return _mm512_castsi512_ps(result);
  }

 private:
  static constexpr int kColumns = 6;

  template <int k>
  [[gnu::always_inline]] __m512 column(__m512i row) const {
    return _mm512_permutex2var_ps(low_[k], row, high_[k]);
  }

  __m512 low_[kColumns], high_[kColumns];
};

}  // namespace ADJOINT_ISA
}  // namespace adjoint::fn

#endif
