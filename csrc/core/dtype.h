// The element types: their sizes, their order of promotion, and the structs of those that C++ does not have.
//
// Note [Stored types]
//
// Twelve types are computed with: kernels have loops for them, which `dispatch` chooses among. The types after these
// are stored: tensors have them, and everything that moves elements without looking at them takes them by their size,
// but there are no loops over them. They are converted, chunk by chunk, to a type that is computed with (compute_type),
// in cpu/stored.cpp. An op says in its declaration which of them it takes; the others are refused before a kernel sees
// them (csrc/op/stored.h), and `dispatch` refuses what has slipped through. A single element of any type is what
// `dispatch_any` is for.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/float8.h"

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
  // Stored: see Note [Stored types].
  UInt16,
  UInt32,
  UInt64,
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  Float8E8M0FNU,
  Complex32,
};
inline constexpr int kComputedTypes = 12;
inline constexpr int kDTypeCount = 21;

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

#if defined(__aarch64__)
using NativeHalf = __fp16;  // GCC 12 has no other name for it in C++ there
#elif defined(__FLT16_MAX__)
using NativeHalf = _Float16;
#else
#error "a compiler with _Float16 is needed (GCC 12 or newer, Clang 15 or newer)"
#endif

inline Half::Half(float value) {
  const NativeHalf narrow = static_cast<NativeHalf>(value);
  std::memcpy(&bits, &narrow, 2);
}
inline Half::operator float() const {
  NativeHalf narrow;
  std::memcpy(&narrow, &bits, 2);
  return static_cast<float>(narrow);
}

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

/// A complex number of two float16.
struct ComplexHalf {
  Half real, imaginary;
  ComplexHalf() = default;
  explicit ComplexHalf(complex64 value) : real(value.real()), imaginary(value.imag()) {}
  operator complex64() const { return {float{real}, float{imaginary}}; }
};

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
    {"uint16", "UInt16", "unsigned short", 2, Category::Integer},
    {"uint32", "UInt32", "unsigned int", 4, Category::Integer},
    {"uint64", "UInt64", "unsigned long", 8, Category::Integer},
    {"float8_e4m3fn", "Float8_e4m3fn", "c10::Float8_e4m3fn", 1, Category::Float},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", 1, Category::Float},
    {"float8_e5m2", "Float8_e5m2", "c10::Float8_e5m2", 1, Category::Float},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz", 1, Category::Float},
    {"float8_e8m0fnu", "Float8_e8m0fnu", "c10::Float8_e8m0fnu", 1, Category::Float},
    {"complex32", "ComplexHalf", "c10::complex<c10::Half>", 4, Category::Complex},
};

inline const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline int64_t itemsize(DType dtype) { return info(dtype).size; }
inline Category category(DType dtype) { return info(dtype).category; }
inline bool is_float(DType dtype) { return category(dtype) == Category::Float; }
inline bool is_complex(DType dtype) { return category(dtype) == Category::Complex; }
inline bool is_integral(DType dtype) { return category(dtype) <= Category::Integer; }
inline bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }
/// Whether there are no loops over the type; see Note [Stored types].
inline constexpr bool is_stored(DType dtype) { return static_cast<int>(dtype) >= kComputedTypes; }
inline bool is_unsigned(DType dtype) { return dtype >= DType::UInt16 && dtype <= DType::UInt64; }
inline bool is_float8(DType dtype) { return dtype >= DType::Float8E4M3FN && dtype <= DType::Float8E8M0FNU; }
/// What elements are computed in: float32 for the half types, which have no loops of their own, and what stands for a
/// stored type. (int64 for uint64: sums and products of the two have the same bits.)
inline DType compute_type(DType dtype) {
  if (is_half(dtype)) return DType::Float32;
  if (!is_stored(dtype)) return dtype;
  return is_unsigned(dtype) ? DType::Int64 : is_float8(dtype) ? DType::Float32 : DType::Complex64;
}
/// What their sums are computed in: int64 for integers, too.
inline DType sum_type(DType dtype) { return is_integral(dtype) ? DType::Int64 : compute_type(dtype); }
/// Only floating and complex tensors can require a gradient.
inline bool is_differentiable(DType dtype) { return category(dtype) >= Category::Float; }

/// The type of the result of an operation between tensors of these types with dimensions (core/dtype.cpp).
DType promote(DType a, DType b);
/// complex32 -> float16, complex64 -> float32, complex128 -> float64, others unchanged.
DType real_type(DType dtype);
/// float16 -> complex32, float32, bfloat16 -> complex64, float64 -> complex128, complex unchanged.
DType complex_type(DType dtype);

template <class T>
struct DTypeOf;
// clang-format off: a table
#define ADJOINT_EACH_DTYPE(X)                                                                         \
  X(Float32, float) X(Float64, double) X(Float16, Half) X(BFloat16, BFloat16) X(Complex64, complex64) \
  X(Complex128, complex128) X(Int64, int64_t) X(Int32, int32_t) X(Int16, int16_t) X(Int8, int8_t)     \
  X(UInt8, uint8_t) X(Bool, bool)
#define ADJOINT_EACH_STORED_DTYPE(X)                                                                         \
  X(UInt16, uint16_t) X(UInt32, uint32_t) X(UInt64, uint64_t) X(Float8E4M3FN, Float8<Float8Format::E4M3FN>) \
  X(Float8E4M3FNUZ, Float8<Float8Format::E4M3FNUZ>) X(Float8E5M2, Float8<Float8Format::E5M2>)               \
  X(Float8E5M2FNUZ, Float8<Float8Format::E5M2FNUZ>) X(Float8E8M0FNU, Float8<Float8Format::E8M0FNU>)         \
  X(Complex32, ComplexHalf)
// clang-format on
#define ADJOINT_DTYPE_OF(name, type)            \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
ADJOINT_EACH_DTYPE(ADJOINT_DTYPE_OF)
ADJOINT_EACH_STORED_DTYPE(ADJOINT_DTYPE_OF)
#undef ADJOINT_DTYPE_OF

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
/// Floats that are computed with as float.
template <class T>
inline constexpr bool is_narrow_v = is_half_v<T> || is_float8_v<T>;
template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

/// Refuses a type that a kernel has no loop for.
[[noreturn]] void refuse_stored(DType dtype);

/// Calls `f(T{})` with the C++ type of `dtype`, which is computed with: `dispatch(t.dtype, [&](auto tag) { using T =
/// decltype(tag); ... })`.
template <class F>
auto dispatch(DType dtype, F&& f) {
  switch (dtype) {
#define ADJOINT_CASE(name, type) \
  case DType::name: return f(type{});
    ADJOINT_EACH_DTYPE(ADJOINT_CASE)
    default: refuse_stored(dtype);
  }
}
/// The same with stored types: for what is done with a single element.
template <class F>
auto dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    ADJOINT_EACH_DTYPE(ADJOINT_CASE)
    ADJOINT_EACH_STORED_DTYPE(ADJOINT_CASE)
  }
#undef ADJOINT_CASE
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
  } else if constexpr (is_narrow_v<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, ComplexHalf>) {
    return convert<To>(static_cast<complex64>(value));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return To(convert<complex64>(value));
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
  } else if constexpr (is_narrow_v<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Undefined in C++ for what does not fit: there it is what torch gives on x86, the least integer of a wider type,
    // cut to size. Signed types and uint16 go by way of int32, uint8 and uint32 by way of int64; uint64 has what is
    // above int64, too.
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (value >= From(0x1p63)) return static_cast<To>(convert<int64_t>(value - From(0x1p63))) ^ (To{1} << 63);
      return static_cast<To>(convert<int64_t>(value));
    }
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
