// The types of elements as the loops see them: what is real, complex, exact; parameters and results in them.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/scalar.h"
#include "cpu/isa.h"

namespace adjoint::fn {
inline namespace ADJOINT_ISA {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
/// float for complex64, double for complex128, T itself for the others.
template <class T>
using Real = typename RealOf<T>::type;

template <class A, class B>
struct CommonOf;
template <class T>
struct CommonOf<T, T> {
  using type = T;
};
template <class T>
  requires(!std::is_same_v<T, bool>)
struct CommonOf<bool, T> {
  using type = T;
};
template <class T>
  requires(!std::is_same_v<T, bool>)
struct CommonOf<T, bool> {
  using type = T;
};
template <class R>
struct CommonOf<R, std::complex<R>> {
  using type = std::complex<R>;
};
template <class R>
struct CommonOf<std::complex<R>, R> {
  using type = std::complex<R>;
};
/// The type of an operation between a condition or a real part and a value.
template <class A, class B>
using Common = typename CommonOf<A, B>::type;

/// Signed overflow is undefined in C++: integers compute in this type, where it wraps.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
concept Floating = std::is_floating_point_v<T>;
template <class T>
concept Complex = is_complex_v<T>;

/// Element i of an array. Complex numbers are read and written by their parts, or the loop would not be vectorised.
template <class T, class Stored>
inline T load(const Stored* array, int64_t i) {
  if constexpr (Complex<T>) {
    const auto* parts = reinterpret_cast<const Real<T>*>(array);
    return T(parts[2 * i], parts[2 * i + 1]);
  } else {
    return static_cast<T>(array[i]);
  }
}
template <class Stored, class T>
inline void store(Stored* array, int64_t i, T value) {
  if constexpr (Complex<T>) {
    auto* parts = reinterpret_cast<Real<T>*>(array);
    parts[2 * i] = value.real();
    parts[2 * i + 1] = value.imag();
  } else {
    array[i] = Stored(value);
  }
}

template <class To, class From>
inline To cast(From value) {
  if constexpr (std::is_same_v<To, bool> && !std::is_same_v<From, bool>) {
    return value != From(0);
  } else {
    return To(value);
  }
}

/// A complex constant of a rule. For real types its imaginary part has no effect on the real gradient.
template <class T>
inline T constant(double real, [[maybe_unused]] double imaginary) {
  if constexpr (Complex<T>) {
    return T(static_cast<Real<T>>(real), static_cast<Real<T>>(imaginary));
  } else {
    return static_cast<T>(real);
  }
}

/// A scalar parameter as T. Floats avoid Scalar::to, whose code the linker shares between instruction sets.
template <class T>
inline T param(const Scalar& scalar) {
  if constexpr (Floating<T>) {
    return scalar.category <= Category::Integer ? static_cast<T>(scalar.integer) : static_cast<T>(scalar.real);
  } else {
    return scalar.to<T>();
  }
}

}  // namespace ADJOINT_ISA
}  // namespace adjoint::fn
