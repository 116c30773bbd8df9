// The element types: their sizes, their order of promotion, and the two half-precision structs.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"

namespace adjoint {

enum class DType : uint8_t {
  Float32,
  Float64,
  Float16,
  BFloat16,
  Complex64,
  Complex128,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt8,
  Bool,
};
inline constexpr int kDTypeCount = 12;

/// IEEE binary16, stored as bits; all arithmetic goes by way of float.
struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value);
  operator float() const;
};

/// The upper half of a float, rounded to nearest even.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = 0x7fc0;
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

#if defined(__FLT16_MAX__)
inline Half::Half(float value) {
  _Float16 narrow = static_cast<_Float16>(value);
  std::memcpy(&bits, &narrow, 2);
}
inline Half::operator float() const {
  _Float16 narrow;
  std::memcpy(&narrow, &bits, 2);
  return static_cast<float>(narrow);
}
#else
#error "a compiler with _Float16 is needed (GCC 12 or newer, Clang 15 or newer)"
#endif

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

/// Ordered so that the greater category wins in promotion.
enum class Category : uint8_t { Bool, Integer, Float, Complex };

struct DTypeInfo {
  const char* name;         ///< torch's name: "float32"
  const char* legacy_name;  ///< as torch's kernels call it in errors: "Float"
  const char* c_name;       ///< as some other messages of torch call it: "float"
  uint8_t size;             ///< bytes an element
  Category category;
};

inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"float32", "Float", "float", 4, Category::Float},
    {"float64", "Double", "double", 8, Category::Float},
    {"float16", "Half", "c10::Half", 2, Category::Float},
    {"bfloat16", "BFloat16", "c10::BFloat16", 2, Category::Float},
    {"complex64", "ComplexFloat", "c10::complex<float>", 8, Category::Complex},
    {"complex128", "ComplexDouble", "c10::complex<double>", 16, Category::Complex},
    {"int64", "Long", "long int", 8, Category::Integer},
    {"int32", "Int", "int", 4, Category::Integer},
    {"int16", "Short", "short int", 2, Category::Integer},
    {"int8", "Char", "signed char", 1, Category::Integer},
    {"uint8", "Byte", "unsigned char", 1, Category::Integer},
    {"bool", "Bool", "bool", 1, Category::Bool},
};

inline const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline int64_t itemsize(DType dtype) { return info(dtype).size; }
inline Category category(DType dtype) { return info(dtype).category; }
inline bool is_float(DType dtype) { return category(dtype) == Category::Float; }
inline bool is_complex(DType dtype) { return category(dtype) == Category::Complex; }
inline bool is_integral(DType dtype) { return category(dtype) <= Category::Integer; }
inline bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }
/// What elements are computed in: float32 for the half types, which have no loops of their own.
inline DType compute_type(DType dtype) { return is_half(dtype) ? DType::Float32 : dtype; }
/// What their sums are computed in: int64 for integers, too.
inline DType sum_type(DType dtype) { return is_integral(dtype) ? DType::Int64 : compute_type(dtype); }
/// Only floating and complex tensors can require a gradient.
inline bool is_differentiable(DType dtype) { return category(dtype) >= Category::Float; }

/// The type of the result of an operation between tensors of these types with dimensions (core/dtype.cpp).
DType promote(DType a, DType b);
/// complex64 -> float32, complex128 -> float64, others unchanged.
DType real_type(DType dtype);
/// float16/32, bfloat16 -> complex64, float64 -> complex128, complex unchanged.
DType complex_type(DType dtype);

template <class T>
struct DTypeOf;
// clang-format off: a table
#define ADJOINT_EACH_DTYPE(X)                                                                         \
  X(Float32, float) X(Float64, double) X(Float16, Half) X(BFloat16, BFloat16) X(Complex64, complex64) \
  X(Complex128, complex128) X(Int64, int64_t) X(Int32, int32_t) X(Int16, int16_t) X(Int8, int8_t)     \
  X(UInt8, uint8_t) X(Bool, bool)
// clang-format on
#define ADJOINT_DTYPE_OF(name, type)            \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
ADJOINT_EACH_DTYPE(ADJOINT_DTYPE_OF)
#undef ADJOINT_DTYPE_OF

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

/// Calls `f(T{})` with the C++ type of `dtype`: `dispatch(t.dtype, [&](auto tag) { using T = decltype(tag); ... })`.
template <class F>
auto dispatch(DType dtype, F&& f) {
  switch (dtype) {
#define ADJOINT_CASE(name, type) \
  case DType::name: return f(type{});
    ADJOINT_EACH_DTYPE(ADJOINT_CASE)
#undef ADJOINT_CASE
  }
  fail("unknown dtype");
}

/// Calls `f(double{})` for float64 and complex128, `f(float{})` for all others: of kernels that compute in these two.
template <class F>
auto dispatch_real(DType dtype, F&& f) {
  return dtype == DType::Float64 || dtype == DType::Complex128 ? f(double{}) : f(float{});
}

/// Converts one element between any two types the way torch's casts do (complex -> real drops the imaginary part).
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
    // Undefined in C++ for what does not fit: there it is what torch gives on x86, the least integer of a wider type,
    // cut to size. Signed types go by way of int32, uint8 by way of int64.
    using Wide = std::conditional_t<std::is_signed_v<To> && sizeof(To) <= 4, int32_t, int64_t>;
    constexpr Wide least = std::numeric_limits<Wide>::min();
    constexpr From limit = -static_cast<From>(least);
    return static_cast<To>(value >= -limit && value < limit ? static_cast<Wide>(value) : least);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace adjoint
