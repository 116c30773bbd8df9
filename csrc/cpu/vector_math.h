// Help for the compiler's vectoriser: the C library's vector functions, and loops for more than one instruction set.
#pragma once

#include <cstdint>

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

/// Before a function (not a template): compiled for three instruction sets, the best one chosen at load time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ADJOINT_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ADJOINT_CLONES
#endif

/// Before a loop: no element depends on another one, even where the output is one of the inputs.
#if defined(__clang__)
#define ADJOINT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ADJOINT_INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__)
namespace adjoint::cpu {

// What the processor has; safe before main().
inline bool cpu_has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
inline bool cpu_has_avx512() {
  return cpu_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace adjoint::cpu
#endif
