#include "core/dtype.h"

namespace adjoint {
namespace {

DType promote_integers(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  // uint8 holds what no smaller signed type does.
  if (a == DType::UInt8) std::swap(a, b);
  if (b == DType::UInt8) return a == DType::Int8 ? DType::Int16 : a;
  return itemsize(a) >= itemsize(b) ? a : b;
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Float64 || b == DType::Float64) return DType::Float64;
  return DType::Float32;  // float32 with a half type, or float16 with bfloat16
}

}  // namespace

DType real_type(DType dtype) {
  if (dtype == DType::Complex64) return DType::Float32;
  if (dtype == DType::Complex128) return DType::Float64;
  return dtype;
}

DType complex_type(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  Category ca = category(a), cb = category(b);
  if (ca <= Category::Integer && cb <= Category::Integer) return promote_integers(a, b);
  if (ca <= Category::Integer) return b;
  if (cb <= Category::Integer) return a;
  DType real = promote_floats(real_type(a), real_type(b));
  return ca == Category::Complex || cb == Category::Complex ? complex_type(real) : real;
}

}  // namespace adjoint
