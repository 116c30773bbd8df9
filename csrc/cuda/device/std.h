// What device code uses of the C++ library, which the run-time compiler does not have: it is given this file under the
// names of the headers.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
using size_t = decltype(sizeof(0));

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)

// What math.h asks of its compiler.
#define __builtin_fma(a, b, c) ::fma(a, b, c)
#define __builtin_signbit(x) ::signbit(x)

namespace std {

using ::size_t;

// ---- <type_traits>

template <bool condition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;

template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, signed char> || is_same_v<T, unsigned char> ||
    is_same_v<T, short> || is_same_v<T, unsigned short> || is_same_v<T, int> || is_same_v<T, unsigned int> ||
    is_same_v<T, long> || is_same_v<T, unsigned long> || is_same_v<T, long long> || is_same_v<T, unsigned long long>;
template <class T>
constexpr bool is_negative_less() {
  if constexpr (is_integral_v<T> || is_floating_point_v<T>) {
    return T(-1) < T(0);
  } else {
    return false;
  }
}
template <class T>
inline constexpr bool is_signed_v = is_negative_less<T>();

template <class T>
using make_unsigned_t = conditional_t<
    sizeof(T) == 1, unsigned char,
    conditional_t<sizeof(T) == 2, unsigned short, conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>>>;

template <size_t... numbers>
struct index_sequence {};

// ---- <limits>

template <class T>
struct numeric_limits {
  static constexpr T max() {
    return is_signed_v<T> ? static_cast<T>((make_unsigned_t<T>(1) << (8 * sizeof(T) - 1)) - 1)
                          : static_cast<T>(~make_unsigned_t<T>(0));
  }
  static constexpr T min() { return is_signed_v<T> ? static_cast<T>(-max() - 1) : T(0); }
  static constexpr T lowest() { return min(); }
  static constexpr bool has_infinity = false;
};
template <>
struct numeric_limits<bool> {
  static constexpr bool max() { return true; }
  static constexpr bool min() { return false; }
  static constexpr bool lowest() { return false; }
  static constexpr bool has_infinity = false;
};
template <>
struct numeric_limits<float> {
  static constexpr int digits = 24, max_exponent = 128;
  static constexpr bool has_infinity = true;
  static constexpr float max() { return 3.40282346638528859812e+38f; }
  static constexpr float lowest() { return -max(); }
  static constexpr float min() { return 1.17549435082228750797e-38f; }
  static constexpr float epsilon() { return 1.1920928955078125e-7f; }
  static constexpr float denorm_min() { return 1.40129846432481707092e-45f; }
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000u); }
};
template <>
struct numeric_limits<double> {
  static constexpr int digits = 53, max_exponent = 1024;
  static constexpr bool has_infinity = true;
  static constexpr double max() { return 1.79769313486231570815e+308; }
  static constexpr double lowest() { return -max(); }
  static constexpr double min() { return 2.22507385850720138309e-308; }
  static constexpr double epsilon() { return 2.22044604925031308085e-16; }
  static constexpr double denorm_min() { return 4.94065645841246544177e-324; }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ull); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000ull); }
};

// ---- <bit>, <cstring>

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
inline void* memcpy(void* to, const void* from, size_t size) { return ::memcpy(to, from, size); }

// ---- <cmath>

#define ADJOINT_FLOAT_UNARY(name)                     \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }
ADJOINT_FLOAT_UNARY(fabs)
ADJOINT_FLOAT_UNARY(sqrt)
ADJOINT_FLOAT_UNARY(exp)
ADJOINT_FLOAT_UNARY(expm1)
ADJOINT_FLOAT_UNARY(log)
ADJOINT_FLOAT_UNARY(log1p)
ADJOINT_FLOAT_UNARY(sin)
ADJOINT_FLOAT_UNARY(cos)
ADJOINT_FLOAT_UNARY(sinh)
ADJOINT_FLOAT_UNARY(cosh)
ADJOINT_FLOAT_UNARY(tan)
ADJOINT_FLOAT_UNARY(tanh)
ADJOINT_FLOAT_UNARY(floor)
ADJOINT_FLOAT_UNARY(ceil)
ADJOINT_FLOAT_UNARY(trunc)
ADJOINT_FLOAT_UNARY(rint)
ADJOINT_FLOAT_UNARY(lgamma)
ADJOINT_FLOAT_UNARY(tgamma)
ADJOINT_FLOAT_UNARY(erf)
ADJOINT_FLOAT_UNARY(erfc)
ADJOINT_FLOAT_UNARY(asin)
ADJOINT_FLOAT_UNARY(acos)
ADJOINT_FLOAT_UNARY(atan)
ADJOINT_FLOAT_UNARY(asinh)
ADJOINT_FLOAT_UNARY(acosh)
ADJOINT_FLOAT_UNARY(atanh)
#undef ADJOINT_FLOAT_UNARY
template <class T>
inline bool isnan(T x) {
  return x != x;
}
template <class T>
inline bool isinf(T x) {
  return fabs(x) == numeric_limits<T>::infinity();
}
template <class T>
inline bool isfinite(T x) {
  return fabs(x) < numeric_limits<T>::infinity();
}
inline float abs(float x) { return ::fabsf(x); }
inline double abs(double x) { return ::fabs(x); }
inline float copysign(float a, float b) { return ::copysignf(a, b); }
inline double copysign(double a, double b) { return ::copysign(a, b); }
inline float fmax(float a, float b) { return ::fmaxf(a, b); }
inline double fmax(double a, double b) { return ::fmax(a, b); }
inline float fmod(float a, float b) { return ::fmodf(a, b); }
inline double fmod(double a, double b) { return ::fmod(a, b); }
inline float atan2(float a, float b) { return ::atan2f(a, b); }
inline double atan2(double a, double b) { return ::atan2(a, b); }
inline float hypot(float a, float b) { return ::hypotf(a, b); }
inline double hypot(double a, double b) { return ::hypot(a, b); }
inline float pow(float a, float b) { return ::powf(a, b); }
inline double pow(double a, double b) { return ::pow(a, b); }
inline float ldexp(float a, int b) { return ::ldexpf(a, b); }
inline double ldexp(double a, int b) { return ::ldexp(a, b); }
template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

// ---- <complex>

template <class R>
struct complex {
  using value_type = R;
  R re, im;

  complex() = default;
  constexpr complex(R real, R imag = R(0)) : re(real), im(imag) {}
  template <class Other>
  explicit constexpr complex(const complex<Other>& other)
      : re(static_cast<R>(other.re)), im(static_cast<R>(other.im)) {}
  constexpr R real() const { return re; }
  constexpr R imag() const { return im; }

  friend constexpr complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend constexpr complex operator/(complex a, R b) { return {a.re / b, a.im / b}; }
  friend complex operator/(complex a, complex b) {
    const bool wide = fabs(b.re) >= fabs(b.im);
    const R ratio = wide ? b.im / b.re : b.re / b.im, scale = wide ? b.re + b.im * ratio : b.re * ratio + b.im;
    return wide ? complex((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
                : complex((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale);
  }
  friend constexpr complex operator-(complex a) { return {-a.re, -a.im}; }
  friend constexpr bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  constexpr complex& operator+=(complex b) { return *this = *this + b; }
  constexpr complex& operator*=(complex b) { return *this = *this * b; }
};

template <class R>
R abs(complex<R> z) {
  return hypot(z.re, z.im);
}
template <class R>
complex<R> exp(complex<R> z) {
  const R size = exp(z.re);
  if (z.im == 0) return {size, z.im};
  if (size == 0) return {copysign(R(0), cos(z.im)), copysign(R(0), sin(z.im))};
  return {size * cos(z.im), size * sin(z.im)};
}
template <class R>
complex<R> log(complex<R> z) {
  return {log(hypot(z.re, z.im)), atan2(z.im, z.re)};
}
template <class R>
complex<R> log10(complex<R> z) {
  const complex<R> natural = log(z);
  constexpr R scale = R(0.434294481903251827651);
  return {natural.re * scale, natural.im * scale};
}
template <class R>
complex<R> sqrt(complex<R> z) {
  if (z.re == 0 && z.im == 0) return {R(0), z.im};
  const R infinite = numeric_limits<R>::infinity();
  if (fabs(z.im) == infinite) return {infinite, z.im};
  const R half = sqrt((fabs(z.re) + hypot(z.re, z.im)) / 2);
  if (half == infinite) {
    return z.re > 0 ? complex<R>(z.re, copysign(R(0), z.im)) : complex<R>(R(0), copysign(infinite, z.im));
  }
  return z.re >= 0 ? complex<R>(half, z.im / (2 * half)) : complex<R>(fabs(z.im) / (2 * half), copysign(half, z.im));
}
template <class R>
complex<R> sinh(complex<R> z) {
  return {sinh(z.re) * cos(z.im), z.im == 0 ? z.im : cosh(z.re) * sin(z.im)};
}
template <class R>
complex<R> cosh(complex<R> z) {
  return {cosh(z.re) * cos(z.im), z.im == 0 || z.re == 0 ? z.re * z.im : sinh(z.re) * sin(z.im)};
}
template <class R>
complex<R> tanh(complex<R> z) {
  // Beyond 20 the real part is 1 to the last digit, and the formula would overflow.
  if (fabs(z.re) > 20) return {copysign(R(1), z.re), 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re))};
  const R t = tan(z.im), s = sinh(z.re), scale = 1 + t * t, root = sqrt(1 + s * s);
  const R below = 1 + scale * s * s;
  return {scale * root * s / below, t / below};
}
template <class R>
complex<R> times_i(complex<R> z) {
  return {-z.im, z.re};
}
template <class R>
complex<R> over_i(complex<R> z) {
  return {z.im, -z.re};
}
template <class R>
complex<R> sin(complex<R> z) {
  return over_i(sinh(times_i(z)));
}
template <class R>
complex<R> cos(complex<R> z) {
  return cosh(times_i(z));
}
template <class R>
complex<R> tan(complex<R> z) {
  return over_i(tanh(times_i(z)));
}
template <class R>
complex<R> asinh(complex<R> z) {
  // Kahan: by way of square roots on both sides of the cuts.
  const complex<R> above = sqrt(complex<R>(1 - z.im, z.re)), below = sqrt(complex<R>(1 + z.im, -z.re));
  const R re = above.re * below.im - above.im * below.re;
  const R size = log(fabs(z.re) + hypot(z.re, z.im)) + R(0.693147180559945309417) / 2;
  const bool huge = fabs(z.re) > R(1e8) || fabs(z.im) > R(1e8);
  const R real = huge ? copysign(size, z.re) : copysign(log(fabs(re) + sqrt(1 + re * re)), z.re);
  const bool small = fabs(re) < R(0.3);
  const R near = log1p(fabs(re) + re * re / (1 + sqrt(1 + re * re)));
  return {small && !huge ? copysign(near, z.re) : real, atan2(z.im, (above * below).re)};
}
template <class R>
complex<R> asin(complex<R> z) {
  return over_i(asinh(times_i(z)));
}
template <class R>
complex<R> acos(complex<R> z) {
  const complex<R> side = asin(z);
  return {R(1.57079632679489661923) - side.re, -side.im};
}
template <class R>
complex<R> acosh(complex<R> z) {
  const complex<R> turned = acos(z);
  return turned.im <= 0 ? complex<R>(-turned.im, turned.re) : complex<R>(turned.im, -turned.re);
}
template <class R>
complex<R> atanh(complex<R> z) {
  const R square = z.im * z.im, left = 1 - z.re, right = 1 + z.re;
  const R real = log1p(4 * z.re / (left * left + square)) / 4;
  return {real, atan2(2 * z.im, left * right - square) / 2};
}
template <class R>
complex<R> atan(complex<R> z) {
  return over_i(atanh(times_i(z)));
}
template <class R>
complex<R> pow(complex<R> a, complex<R> b) {
  return a == complex<R>(0) ? complex<R>(0) : exp(b * log(a));
}

}  // namespace std
