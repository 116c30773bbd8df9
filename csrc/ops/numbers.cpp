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
    default: return info(dtype).c_name;
  }
}

void check_fits(const Scalar& value, DType dtype, const char* type_name) {
  if (dtype == DType::Bool) return;
  bool fits = true;
  double real = value.category <= Category::Integer ? static_cast<double>(value.integer) : value.real;
  if (!is_complex(dtype) && value.category == Category::Complex) fits = value.imaginary == 0;
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, int64_t>) {
      if (value.category > Category::Integer) fits = fits && real >= -0x1p63 && real < 0x1p63;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      // A negative integer may stand for the unsigned number with the same bits.
      bool wraps = low == 0 && value.category <= Category::Integer;
      fits = fits && real >= (wraps ? -high : low) && real <= high;
    } else {
      constexpr bool half = std::is_same_v<T, Half>;
      constexpr bool single = std::is_same_v<T, float> || std::is_same_v<T, complex64>;
      constexpr double high = half                          ? 65504.0
                              : single                      ? std::numeric_limits<float>::max()
                              : std::is_same_v<T, BFloat16> ? 0x1.fep127
                                                            : INFINITY;
      auto too_big = [](double part) { return std::isfinite(part) && std::abs(part) > high; };
      bool has_imaginary = is_complex_v<T> && value.category == Category::Complex;
      fits = fits && !too_big(real) && !(has_imaginary && too_big(value.imaginary));
    }
  });
  if (!fits) fail("value cannot be converted to type ", type_name ? type_name : cpp_name(dtype), " without overflow");
}

void check_fill(const Scalar& value, DType dtype) {
  bool half = is_float(dtype) && itemsize(dtype) == 2;
  check_fits(value, half ? DType::Float64 : dtype);
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

static Scalar single_number(const char* op, const Value& value) {
  if (value.is_number()) return value.number;
  if (value.tensor->ndim() != 0)
    fail(op, "_ only supports a 0-dimensional value tensor, but got tensor with ", value.tensor->ndim(),
         " dimension(s).");
  return number_in(value.tensor);
}

Element::Element(const Scalar& value, DType dtype, DType range) {
  check_fits(value, range);
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    *reinterpret_cast<T*>(bytes_) = value.to<T>();
  });
}

Element::Element(const char* op, const Value& value, DType dtype) : Element(single_number(op, value), dtype) {}

}  // namespace adjoint::ops
