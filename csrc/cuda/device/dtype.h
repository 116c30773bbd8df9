// The element types on a device, under the name of core/dtype.h.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace adjoint {

/// IEEE binary16, stored as bits; all arithmetic goes by way of float.
struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) {
#ifdef __CUDACC__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    bits = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
#endif
  }
  operator float() const {
#ifdef __CUDACC__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    return static_cast<float>(std::bit_cast<_Float16>(bits));
#endif
  }
};

/// The upper half of a float, rounded to nearest even.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = (word & 0x7fffffffu) > 0x7f800000u ? static_cast<uint16_t>(0x7fc0)
                                              : static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

enum class Category : uint8_t { Bool, Integer, Float, Complex };

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

/// float for complex64, double for complex128, T itself for the others.
template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

/// Converts one element between any two types, as core/dtype.h does it for the CPU.
template <class To, class From>
inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_half_v<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(static_cast<typename To::value_type>(value.real()), static_cast<typename To::value_type>(value.imag()));
    } else if constexpr (std::is_same_v<To, bool>) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (is_half_v<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr bool narrow = sizeof(To) == 2 || (std::is_signed_v<To> && sizeof(To) <= 4);
    using Wide = std::conditional_t<narrow, int32_t, int64_t>;
    constexpr Wide least = std::numeric_limits<Wide>::min();
    constexpr From limit = -static_cast<From>(least);
    return static_cast<To>(value >= -limit && value < limit ? static_cast<Wide>(value) : least);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace adjoint
