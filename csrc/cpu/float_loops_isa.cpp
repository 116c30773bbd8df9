// The loops of exponential, sigmoid, sine, cosine and hyperbolic tangent of floats with the widest vectors, which take
// the place of the generated ones. See Note [Instruction sets] in cpu/isa.h.
#include "cpu/float_vectors.h"
#include "cpu/loops.h"

namespace adjoint {
namespace {

#if defined(__AVX512BW__)

constexpr int64_t kWidth = 16;

/// y, and in the places `far` what the C library says of x. Neighbours do not change the bits of an element.
template <bool cosine>
[[gnu::noinline]] __m512 with_far(__m512 x, __mmask16 far, __m512 y) {
  alignas(64) float numbers[kWidth], results[kWidth];
  _mm512_store_ps(numbers, x);
  for (int i = 0; i < kWidth; ++i) results[i] = cosine ? ::cosf(numbers[i]) : ::sinf(numbers[i]);
  return _mm512_mask_load_ps(y, far, results);
}

template <class Function>
constexpr bool kOnlyNear = true;
template <bool cosine>
constexpr bool kOnlyNear<fn::SinVectors<cosine>> = false;

// result[i] = finish(function(x[i])), where finish gets the place of a vector and the mask of what is to be read there,
// too. Two functions: constants that two loops share would be read from memory in both of them.

/// Whole vectors from i on; the place of the first one that has numbers which are far, or of the rest.
template <class Function, class Finish>
[[gnu::noinline]] int64_t near_vectors(const float* x, float* result, int64_t i, int64_t n, Finish finish) {
  const Function function;
#pragma GCC unroll 2
  for (; i + kWidth <= n; i += kWidth) {
    const __m512 numbers = _mm512_loadu_ps(x + i);
    if constexpr (!kOnlyNear<Function>) {
      if (function.far(numbers)) break;
    }
    _mm512_storeu_ps(result + i, finish(function(numbers), i, fn::kAll));
  }
  return i;
}

/// The vector at i, which may be the rest or have numbers that are far.
template <class Function, class Finish>
[[gnu::noinline]] void any_vector(const float* x, float* result, int64_t i, int64_t n, Finish finish) {
  const Function function;
  const __mmask16 mask = i + kWidth <= n ? fn::kAll : static_cast<__mmask16>((1 << (n - i)) - 1);
  const __m512 numbers = _mm512_maskz_loadu_ps(mask, x + i);
  __m512 y = function(numbers);
  if constexpr (!kOnlyNear<Function>) {
    if (const __mmask16 far = function.far(numbers)) y = with_far<Function::kCosine>(numbers, far, y);
  }
  _mm512_mask_storeu_ps(result + i, mask, finish(y, i, mask));
}

template <class Function, class Finish>
void over_vectors(const float* x, float* result, int64_t n, Finish finish) {
  for (int64_t i = 0; i < n; i += kWidth) {
    if (i + kWidth <= n) i = near_vectors<Function>(x, result, i, n, finish);
    if (i < n) any_vector<Function>(x, result, i, n, finish);
  }
}

template <class Function>
void forward(char* const* arrays, int64_t n, const Scalar*) {
  over_vectors<Function>(reinterpret_cast<const float*>(arrays[1]), reinterpret_cast<float*>(arrays[0]), n,
                         [](__m512 y, int64_t, __mmask16) __attribute__((always_inline)) { return y; });
}

/// g times the slope, or its opposite.
template <class Slope, bool opposite>
void backward(char* const* arrays, int64_t n, const Scalar*) {
  const float* g = reinterpret_cast<const float*>(arrays[1]);
  over_vectors<Slope>(reinterpret_cast<const float*>(arrays[2]), reinterpret_cast<float*>(arrays[0]), n,
                      [=](__m512 slope, int64_t i, __mmask16 mask) __attribute__((always_inline)) {
                        const __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, g + i), slope);
                        return opposite ? fn::turned(product, _mm512_set1_epi32(INT32_MIN)) : product;
                      });
}

#endif

}  // namespace

template <Isa>
void register_float_loops() {
#if defined(__AVX512BW__)
  using Sin = fn::SinVectors<false>;
  using Cos = fn::SinVectors<true>;
  static constexpr LoopEntry entries[] = {
      {"exp", ResultKind::Same, 1, 0, DType::Float32, forward<fn::ExpVectors>},
      {"sigmoid", ResultKind::Same, 1, 0, DType::Float32, forward<fn::SigmoidVectors>},
      {"sin", ResultKind::Same, 1, 0, DType::Float32, forward<Sin>},
      {"sin.input", ResultKind::Same, 2, 0, DType::Float32, backward<Cos, false>},
      {"cos", ResultKind::Same, 1, 0, DType::Float32, forward<Cos>},
      {"cos.input", ResultKind::Same, 2, 0, DType::Float32, backward<Sin, true>},
      {"tanh", ResultKind::Same, 1, 0, DType::Float32, forward<fn::TanhVectors>},
  };
  for (const LoopEntry& entry : entries) entry.add();
#endif
}
template void register_float_loops<kIsa>();

}  // namespace adjoint
