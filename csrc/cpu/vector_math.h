// Help for the compiler's vectoriser: the C library's vector functions, loops without dependences, the width of
// vectors.
#pragma once

// These declare that a function of the C library has a vector version, which loops that call it then use under
// -fno-math-errno. A file names the functions whose vector versions it wants: their last bit may differ.
#ifdef ADJOINT_VECTOR_MATH
#define ADJOINT_VECTOR extern "C" __attribute__((simd("notinbranch")))
#define ADJOINT_VECTOR_FLOAT(name) ADJOINT_VECTOR float name##f(float) noexcept;
#define ADJOINT_VECTOR_UNARY(name) \
  ADJOINT_VECTOR_FLOAT(name)       \
  ADJOINT_VECTOR double name(double) noexcept;
#define ADJOINT_VECTOR_BINARY(name)                    \
  ADJOINT_VECTOR float name##f(float, float) noexcept; \
  ADJOINT_VECTOR double name(double, double) noexcept;
#else
#define ADJOINT_VECTOR_FLOAT(name)
#define ADJOINT_VECTOR_UNARY(name)
#define ADJOINT_VECTOR_BINARY(name)
#endif

/// Before a loop: no element depends on another one, even where the output is one of the inputs.
#if defined(__clang__)
#define ADJOINT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ADJOINT_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace adjoint::cpu {

/// Lane i of the result is lane `from[i]` of v: vectors of the compiler, whose lanes are a power of two.
template <class V, class Numbers>
[[gnu::always_inline]] inline void shuffle(const V& v, const Numbers& from, V& result) {
#if defined(__clang__)
  constexpr int lanes = sizeof(Numbers) / sizeof(from[0]);
  const V all = v;
  for (int i = 0; i < lanes; ++i) result[i] = all[from[i] & (lanes - 1)];
#else
  result = __builtin_shuffle(v, from);
#endif
}

/// Bytes in a vector of the instruction set that this file is compiled for.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

}  // namespace adjoint::cpu
