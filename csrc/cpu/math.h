// Scalar functions of the op table (`fn::exp`, `fn::add`, ...) for every element type. The generated loops call these,
// and the compiler vectorises them: over the C library's vector math where ADJOINT_VECTOR_MATH is defined.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/dtype.h"
#include "core/scalar.h"
#include "cpu/float_exp.h"
#include "cpu/math_types.h"
#include "cpu/special.h"
#include "cpu/special_tables.h"
#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(exp)
ADJOINT_VECTOR_UNARY(exp2)
ADJOINT_VECTOR_UNARY(expm1)
ADJOINT_VECTOR_UNARY(log)
ADJOINT_VECTOR_UNARY(log2)
ADJOINT_VECTOR_UNARY(log10)
ADJOINT_VECTOR_UNARY(log1p)
ADJOINT_VECTOR_UNARY(sin)
ADJOINT_VECTOR_UNARY(cos)
ADJOINT_VECTOR_UNARY(tan)
ADJOINT_VECTOR_UNARY(asin)
ADJOINT_VECTOR_UNARY(acos)
ADJOINT_VECTOR_UNARY(atan)
ADJOINT_VECTOR_UNARY(sinh)
ADJOINT_VECTOR_UNARY(cosh)
ADJOINT_VECTOR_UNARY(tanh)
ADJOINT_VECTOR_UNARY(asinh)
ADJOINT_VECTOR_UNARY(acosh)
ADJOINT_VECTOR_UNARY(atanh)
ADJOINT_VECTOR_UNARY(erf)
ADJOINT_VECTOR_UNARY(erfc)
ADJOINT_VECTOR_BINARY(pow)
ADJOINT_VECTOR_BINARY(atan2)
ADJOINT_VECTOR_BINARY(hypot)

namespace adjoint::fn {
inline namespace ADJOINT_ISA {

// ---- arithmetic

template <class T>
inline T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a | b;
  } else if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
inline T sub(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a != b;
  } else if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}

template <class T>
inline T mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a & b;
  } else if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else if constexpr (Complex<T>) {
    // The plain formula: C++'s own recovers infinities at many times the cost.
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

template <Floating T>
inline T div(T a, T b) {
  return a / b;
}
template <Complex T>
inline T div(T a, T b) {
  // Smith's algorithm: scaled by the larger part of b, so that |b|^2 neither overflows nor underflows.
  // Choices instead of branches, so that the loop can be vectorised.
  using R = Real<T>;
  const bool wide = std::fabs(b.real()) >= std::fabs(b.imag()), zero = (b.real() == 0) & (b.imag() == 0);
  const R larger = wide ? b.real() : b.imag(), smaller = wide ? b.imag() : b.real();
  const R quotient = smaller / larger, ratio = zero ? R(0) : quotient;
  const R length = larger + smaller * ratio, scale = zero ? R(0) : length;
  const R along = wide ? a.real() : a.imag(), across = wide ? a.imag() : a.real();
  const R sum = along + across * ratio, left = across - along * ratio, right = along * ratio - across;
  const R turned = wide ? left : right;
  return T((zero ? along : sum) / scale, (zero ? across : turned) / scale);
}

template <class T>
inline T neg(T a) {
  if constexpr (Integer<T>) {
    return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(a));
  } else {
    return -a;
  }
}

/// Integer division by zero must not trap: it gives 0. INT_MIN / -1 wraps.
template <Integer T>
inline T trunc_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return neg(a);
  }
  return static_cast<T>(a / b);
}
template <Integer T>
inline T fmod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}
template <Integer T>
inline T floor_divide(T a, T b) {
  const T quotient = trunc_divide(a, b);
  return fmod(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
}
template <Integer T>
inline T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

template <Floating T>
inline T trunc_divide(T a, T b) {
  return std::trunc(a / b);
}
template <Floating T>
inline T fmod(T a, T b) {
  return std::fmod(a, b);
}
template <Floating T>
inline T remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/// As Python's: an infinite divisor leaves -1 where the signs differ, an infinite dividend has no quotient.
template <Floating T>
inline T floor_divide(T a, T b) {
  T quotient;
  if constexpr (sizeof(T) == sizeof(float)) {
    quotient = static_cast<T>(std::floor(static_cast<double>(a) / b));
  } else {
    // A quotient that was rounded up to an integer leaves a rest of the wrong sign.
    const T whole = std::floor(a / b), rest = __builtin_fma(-whole, b, a);
    const bool beyond = ((rest > 0) & (b < 0)) | ((rest < 0) & (b > 0));
    quotient = whole - (beyond & (std::fabs(whole) < T(4503599627370496.0)));
  }
  const T far = ((a > 0) & (b < 0)) | ((a < 0) & (b > 0)) ? T(-1) : quotient;
  const T finite = std::fabs(b) == std::numeric_limits<T>::infinity() ? far : quotient;
  const bool none = (std::fabs(a) == std::numeric_limits<T>::infinity()) & (b != 0);
  return none ? std::numeric_limits<T>::quiet_NaN() : finite;
}

/// Among truth values only False ** True is False.
inline bool pow(bool base, bool exponent) { return base || !exponent; }

template <Integer T>
inline T pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  }
  Wrapping<T> result = 1, square = static_cast<Wrapping<T>>(base);
  for (auto left = static_cast<std::make_unsigned_t<T>>(exponent); left != 0;) {
    if (left & 1) result *= square;
    square *= square;
    left = static_cast<std::make_unsigned_t<T>>(left >> 1);
  }
  return static_cast<T>(result);
}
inline float pow(float a, float b) { return ::powf(a, b); }
inline double pow(double a, double b) { return ::pow(a, b); }
template <Complex T>
inline T pow(T a, T b) {
  // Exact where it can be: by way of logarithms i ** 1 would have a real part.
  if (b == T(0)) return T(1);
  if (b == T(1)) return a;
  if (b == T(-1)) return div(T(1), a);
  if (a == T(0) && b.real() > 0) return T(0);
  return std::pow(a, b);
}

// ---- selection and comparison

template <class T>
inline T where(bool condition, T a, T b) {
  return condition ? a : b;
}
/// maximum and minimum let nan through; fmax and fmin prefer the number. Where b is a constant, its test for nan falls
/// away, and the rest is one instruction.
template <class T>
inline T maximum(T a, T b) {
  const T larger = b > a ? b : a;
  return b != b ? b : larger;
}
template <class T>
inline T minimum(T a, T b) {
  const T smaller = b < a ? b : a;
  return b != b ? b : smaller;
}
template <class T>
inline T fmax(T a, T b) {
  const T larger = a >= b ? a : b;
  return b != b ? a : larger;
}
template <class T>
inline T fmin(T a, T b) {
  const T smaller = a <= b ? a : b;
  return b != b ? a : smaller;
}

#define ADJOINT_COMPARISON(name, symbol) \
  template <class T>                     \
  inline bool name(T a, T b) {           \
    return a symbol b;                   \
  }
ADJOINT_COMPARISON(eq, ==)
ADJOINT_COMPARISON(ne, !=)
ADJOINT_COMPARISON(lt, <)
ADJOINT_COMPARISON(le, <=)
ADJOINT_COMPARISON(gt, >)
ADJOINT_COMPARISON(ge, >=)
#undef ADJOINT_COMPARISON

template <class T>
inline bool logical_not(T a) {
  return !cast<bool>(a);
}
template <class T>
inline bool logical_and(T a, T b) {
  return cast<bool>(a) & cast<bool>(b);
}
template <class T>
inline bool logical_or(T a, T b) {
  return cast<bool>(a) | cast<bool>(b);
}
template <class T>
inline bool logical_xor(T a, T b) {
  return cast<bool>(a) != cast<bool>(b);
}

// ---- bits

template <class T>
  requires std::is_integral_v<T>
inline T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
  requires std::is_integral_v<T>
inline T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
  requires std::is_integral_v<T>
inline T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
  requires std::is_integral_v<T>
inline T bitwise_not(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
/// Shifts by a negative amount or by the whole width shift everything out.
template <Integer T>
inline T bitwise_left_shift(T a, T b) {
  const bool inside = b >= 0 && b < static_cast<T>(8 * sizeof(T));
  return inside ? static_cast<T>(static_cast<Wrapping<T>>(a) << (b & T(8 * sizeof(T) - 1))) : T(0);
}
template <Integer T>
inline T bitwise_right_shift(T a, T b) {
  const bool inside = b >= 0 && b < static_cast<T>(8 * sizeof(T));
  return inside ? static_cast<T>(a >> (b & T(8 * sizeof(T) - 1))) : a < 0 ? static_cast<T>(-1) : T(0);
}

// ---- parts and signs

template <class T>
inline Real<T> real(T a) {
  if constexpr (Complex<T>) {
    return a.real();
  } else {
    return a;
  }
}
template <class T>
inline Real<T> imag(T a) {
  if constexpr (Complex<T>) {
    return a.imag();
  } else {
    return Real<T>(0);
  }
}
template <class T>
inline T conj(T a) {
  if constexpr (Complex<T>) {
    return T(a.real(), -a.imag());
  } else {
    return a;
  }
}
template <class T>
inline Real<T> abs(T a) {
  if constexpr (Complex<T>) {
    return std::hypot(a.real(), a.imag());
  } else if constexpr (Floating<T>) {
    return std::fabs(a);
  } else if constexpr (std::is_signed_v<T>) {
    return a < 0 ? neg(a) : a;
  } else {
    return a;
  }
}
template <class T>
inline T sign(T a) {
  return static_cast<T>((a > T(0)) - (a < T(0)));
}
template <class T>
inline T sgn(T a) {
  if constexpr (Complex<T>) {
    const auto size = abs(a);
    const auto real = a.real() / size, imag = a.imag() / size;
    return T(size == 0 ? 0 : real, size == 0 ? 0 : imag);
  } else {
    return sign(a);
  }
}
template <class T>
inline Real<T> angle(T a) {
  if constexpr (Complex<T>) {
    return std::atan2(a.imag(), a.real());
  } else {
    return a != a ? a : a < 0 ? Real<T>(3.14159265358979323846) : Real<T>(0);
  }
}
template <class T>
inline bool isnan(T a) {
  return a != a;
}
template <class T>
inline bool isinf(T a) {
  if constexpr (Complex<T>) {
    return isinf(a.real()) || isinf(a.imag());
  } else if constexpr (Floating<T>) {
    return std::fabs(a) == std::numeric_limits<T>::infinity();
  } else {
    return false;
  }
}
template <class T>
inline bool isfinite(T a) {
  if constexpr (Complex<T>) {
    return isfinite(a.real()) && isfinite(a.imag());
  } else if constexpr (Floating<T>) {
    return std::fabs(a) < std::numeric_limits<T>::infinity();
  } else {
    return true;
  }
}
template <class T>
inline bool isposinf(T a) {
  return isinf(a) & (a > T(0));
}
template <class T>
inline bool isneginf(T a) {
  return isinf(a) & (a < T(0));
}
template <class T>
inline bool signbit(T a) {
  if constexpr (Floating<T>) {
    return __builtin_signbit(a) != 0;
  } else {
    return a < T(0);
  }
}

// ---- rounding: integers are round already

#define ADJOINT_ROUNDING(name, function) \
  template <class T>                     \
  inline T name(T a) {                   \
    if constexpr (Floating<T>) {         \
      return std::function(a);           \
    } else {                             \
      return a;                          \
    }                                    \
  }
ADJOINT_ROUNDING(floor, floor)
ADJOINT_ROUNDING(ceil, ceil)
ADJOINT_ROUNDING(trunc, trunc)
ADJOINT_ROUNDING(round, rint)
#undef ADJOINT_ROUNDING

// ---- exponentials, trigonometry

#define ADJOINT_REAL_MATH(name)                       \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }
#define ADJOINT_MATH(name) \
  ADJOINT_REAL_MATH(name)  \
  template <Complex T>     \
  inline T name(T x) {     \
    return std::name(x);   \
  }
ADJOINT_MATH(exp)
ADJOINT_MATH(log)
ADJOINT_MATH(log10)
ADJOINT_MATH(sqrt)
ADJOINT_MATH(sin)
ADJOINT_MATH(cos)
ADJOINT_MATH(tan)
ADJOINT_MATH(asin)
ADJOINT_MATH(acos)
ADJOINT_MATH(atan)
ADJOINT_MATH(sinh)
ADJOINT_MATH(cosh)
ADJOINT_MATH(tanh)
ADJOINT_MATH(asinh)
ADJOINT_MATH(acosh)
ADJOINT_MATH(atanh)
ADJOINT_REAL_MATH(exp2)
ADJOINT_REAL_MATH(expm1)
ADJOINT_REAL_MATH(log2)
ADJOINT_REAL_MATH(log1p)
ADJOINT_REAL_MATH(erf)
ADJOINT_REAL_MATH(erfc)
#undef ADJOINT_MATH
#undef ADJOINT_REAL_MATH

/// exp in loops that call no other function: between calls, constants of ours would be read again for every vector.
template <class T>
inline T lone_exp(T x) {
#ifdef ADJOINT_OWN_EXP
  if constexpr (std::is_same_v<T, float>) return own_exp(x);
#endif
  return exp(x);
}

template <Complex T>
inline T exp2(T x) {
  return std::exp(x * Real<T>(0.693147180559945309417));
}
template <Complex T>
inline T log2(T x) {
  return std::log(x) * Real<T>(1.442695040888963407360);
}
template <Complex T>
inline T expm1(T x) {
  const auto half = std::sin(x.imag() / 2);
  return T(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag()));
}
template <Complex T>
inline T log1p(T x) {
  const auto re = x.real(), im = x.imag();
  const auto excess = re * (2 + re) + im * im;  // |1 + x|^2 - 1
  // Far from zero there is nothing to gain, and near -1 the excess has lost its digits.
  if (!(std::fabs(excess) < 0.5)) return std::log(T(1 + re, im));  // the sign of a zero im says which side of the cut
  return T(std::log1p(excess) / 2, std::atan2(im, 1 + re));
}

inline float atan2(float a, float b) { return ::atan2f(a, b); }
inline double atan2(double a, double b) { return ::atan2(a, b); }
inline float hypot(float a, float b) { return ::hypotf(a, b); }
inline double hypot(double a, double b) { return ::hypot(a, b); }
template <Floating T>
inline T copysign(T a, T b) {
  return std::copysign(a, b);
}

// ---- special functions: inlined, or plain calls to kernels/special_*.cpp in double precision

/// The integer type of the bits of T, and how many of them are behind the exponent.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
template <class T>
inline constexpr int kMantissaBits = std::numeric_limits<T>::digits - 1;

#include "cpu/special_inline.h"

#define ADJOINT_SPECIAL_UNARY(name)          \
  template <Floating T>                      \
  inline T name(T x) {                       \
    return static_cast<T>(name##_double(x)); \
  }
#define ADJOINT_SPECIAL_BINARY(name)            \
  template <Floating T>                         \
  inline T name(T a, T x) {                     \
    return static_cast<T>(name##_double(a, x)); \
  }
ADJOINT_SPECIAL_UNARY(airy_ai)
ADJOINT_SPECIAL_BINARY(zeta)
#undef ADJOINT_SPECIAL_UNARY
#undef ADJOINT_SPECIAL_BINARY

template <Floating T>
inline T igamma(T a, T x) {
  return static_cast<T>(igamma_double(a, x, std::numeric_limits<T>::epsilon() / 4));
}
template <Floating T>
inline T igammac(T a, T x) {
  return static_cast<T>(igammac_double(a, x, std::numeric_limits<T>::epsilon() / 4));
}
inline double lgamma(double x) {
#ifdef __GLIBC__
  int sign;  // the plain lgamma writes its sign into a global: a race between threads
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}
template <Floating T>
inline T polygamma(T order, T x) {
  if (order == 0) return digamma(x);
  if (order == 1) return trigamma(x);
  return static_cast<T>(polygamma_double(order, x));
}

// ---- numbers as they are represented

template <Floating T>
inline T nextafter(T a, T b) {
  using Bits = std::make_unsigned_t<BitsOf<T>>;         // of zeros they may wrap around
  const Bits step = (b > a) == (a > 0) ? 1 : ~Bits(0);  // the bits grow with the size
  const T next = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) + step));
  const T least = std::copysign(std::numeric_limits<T>::denorm_min(), b);
  const T moved = a == 0 ? least : next;
  return (a != a) | (b != b) ? a + b : a == b ? b : moved;
}
/// Numbers too small for a full mantissa are scaled by 2^kMantissaBits first.
template <Floating T>
inline bool is_small(T a) {
  return std::fabs(a) < std::numeric_limits<T>::min();
}
template <Floating T>
inline T scaled_up(T a) {
  constexpr T scale = static_cast<T>(int64_t{1} << kMantissaBits<T>);
  return is_small(a) ? a * scale : a;
}
/// a = mantissa * 2^exponent with the mantissa in [1/2, 1).
template <Floating T>
inline T mantissa(T a) {
  constexpr BitsOf<T> bias = std::numeric_limits<T>::max_exponent - 2;
  constexpr BitsOf<T> field = (BitsOf<T>(2) * std::numeric_limits<T>::max_exponent - 1) << kMantissaBits<T>;
  const BitsOf<T> bits = (std::bit_cast<BitsOf<T>>(scaled_up(a)) & ~field) | (bias << kMantissaBits<T>);
  return (a == 0) | !isfinite(a) ? a : std::bit_cast<T>(bits);
}
template <Floating T>
inline T exponent(T a) {
  constexpr BitsOf<T> bias = std::numeric_limits<T>::max_exponent - 2;
  constexpr BitsOf<T> mask = BitsOf<T>(2) * std::numeric_limits<T>::max_exponent - 1;
  const BitsOf<T> field = (std::bit_cast<BitsOf<T>>(scaled_up(a)) >> kMantissaBits<T>)&mask;
  const BitsOf<T> value = field - bias - (is_small(a) ? kMantissaBits<T> : 0);
  return (a == 0) | !isfinite(a) ? T(0) : static_cast<T>(value);
}
/// a * 2^b; in one step where b is whole, so that neither factor overflows.
template <Floating T>
inline T ldexp(T a, T b) {
  constexpr T most = 10000;
  return b == std::floor(b) && std::fabs(b) < most ? std::ldexp(a, static_cast<int>(b)) : a * exp2(b);
}
template <Complex T>
inline T ldexp(T a, T b) {
  return mul(a, exp2(b));
}

// ---- divisors

template <Integer T>
inline T gcd(T a, T b) {
  using Wide = std::make_unsigned_t<T>;
  Wide x = static_cast<Wide>(abs(a)), y = static_cast<Wide>(abs(b));
  while (y != 0) {
    const Wide rest = static_cast<Wide>(x % y);
    x = y;
    y = rest;
  }
  return static_cast<T>(x);
}
template <Integer T>
inline T lcm(T a, T b) {
  const T divisor = gcd(a, b);
  return divisor == 0 ? T(0) : abs(mul(trunc_divide(a, divisor), b));
}

// ---- mixed operands: a condition counts as 0 or 1, a real number as complex

#define ADJOINT_MIXED(name)                        \
  template <class A, class B>                      \
    requires(!std::is_same_v<A, B>)                \
  inline auto name(A a, B b) {                     \
    return name(Common<A, B>(a), Common<A, B>(b)); \
  }
ADJOINT_MIXED(add)
ADJOINT_MIXED(sub)
ADJOINT_MIXED(mul)
ADJOINT_MIXED(div)
ADJOINT_MIXED(pow)
ADJOINT_MIXED(eq)
ADJOINT_MIXED(ne)
#undef ADJOINT_MIXED
template <class A, class B>
  requires(!std::is_same_v<A, B>)
inline auto where(bool condition, A a, B b) {
  return condition ? Common<A, B>(a) : Common<A, B>(b);
}

}  // namespace ADJOINT_ISA
}  // namespace adjoint::fn
