#include "ops/numbers.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint {

/// The name of an element type in torch's errors about values that do not fit: "int64_t", "c10::Half".
static const char* cpp_name(DType dtype) {
  switch (dtype) {
    case DType::Int64: return "int64_t";
    case DType::Int16: return "int16_t";
    case DType::Int8: return "int8_t";
    case DType::UInt8: return "uint8_t";
    case DType::UInt16: return "uint16_t";
    case DType::UInt32: return "uint32_t";
    case DType::UInt64: return "uint64_t";
    default: return info(dtype).c_name;
  }
}

/// The greatest number of a type of 8 bits.
static constexpr double greatest(DType dtype) {
  switch (dtype) {
    case DType::Float8E4M3FN: return 448;
    case DType::Float8E4M3FNUZ: return 240;
    case DType::Float8E8M0FNU: return 0x1p127;
    default: return 57344;
  }
}

void check_fits(const Scalar& value, DType dtype, const char* type_name) {
  if (dtype == DType::Bool) return;
  bool fits = true;
  double real = value.category <= Category::Integer ? static_cast<double>(value.integer) : value.real;
  if (!is_complex(dtype) && value.category == Category::Complex) fits = value.imaginary == 0;
  dispatch_any(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      constexpr double low = std::is_signed_v<T> ? -0x1p63 : 0, high = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
      const bool whole = value.category <= Category::Integer || (value.beyond && low == 0);
      if (!whole) fits = fits && real >= low && real < high;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      // A negative integer may stand for the unsigned number with the same bits.
      bool wraps = low == 0 && value.category <= Category::Integer;
      fits = fits && real >= (wraps ? -high : low) && real <= high;
    } else {
      constexpr bool half = std::is_same_v<T, Half> || std::is_same_v<T, ComplexHalf>;
      constexpr bool single = std::is_same_v<T, float> || std::is_same_v<T, complex64>;
      constexpr double high = half                          ? 65504.0
                              : single                      ? std::numeric_limits<float>::max()
                              : std::is_same_v<T, BFloat16> ? 0x1.fep127
                              : is_float8_v<T>              ? greatest(DTypeOf<T>::value)
                                                            : INFINITY;
      // Of the type without a sign, floats below the least one are too big, too; integers are not looked at.
      constexpr bool powers = std::is_same_v<T, Float8<Float8Format::E8M0FNU>>;
      constexpr double low = powers ? 0x1p-127 : -high;
      if (powers && value.category <= Category::Integer) return;
      auto too_big = [](double part) { return std::isfinite(part) && (part > high || part < low); };
      bool has_imaginary = is_complex(dtype) && value.category == Category::Complex;
      fits = fits && !too_big(real) && !(has_imaginary && too_big(value.imaginary));
    }
  });
  if (!fits) fail("value cannot be converted to type ", type_name ? type_name : cpp_name(dtype), " without overflow");
}

void check_fill(const Scalar& value, DType dtype) {
  check_fits(value, is_half(dtype) ? DType::Float64 : dtype == DType::Complex32 ? DType::Complex128 : dtype);
}

void fill_value(Tensor* tensor, const Scalar& value) {
  check_fill(value, tensor->dtype);
  fill(tensor, value);
}

}  // namespace adjoint

namespace adjoint::ops {

DType number_type(Category category) {
  switch (category) {
    case Category::Bool: return DType::Bool;
    case Category::Integer: return DType::Int64;
    case Category::Float: return default_dtype();
    case Category::Complex: return complex_type(default_dtype());
  }
  return default_dtype();
}

Scalar number_in(const Tensor* tensor) { return on(tensor->device).memory.read_back(tensor->view()); }

bool stays_on(Device device, const Value& value) {
  return works_behind(device) && !value.is_number() && value.tensor->ndim() == 0 && value.tensor->device == device;
}

static Scalar single_number(const char* op, const Value& value) {
  if (value.is_number()) return value.number;
  if (value.tensor->ndim() != 0)
    fail(op, "_ only supports a 0-dimensional value tensor, but got tensor with ", value.tensor->ndim(),
         " dimension(s).");
  return number_in(value.tensor);
}

Element::Element(const Scalar& value, DType dtype, DType range) {
  check_fits(value, range);
  dispatch_any(dtype, [&](auto tag) {
    using T = decltype(tag);
    *reinterpret_cast<T*>(bytes_) = value.to<T>();
  });
}

Element::Element(const char* op, const Value& value, DType dtype) : Element(single_number(op, value), dtype) {}

}  // namespace adjoint::ops
