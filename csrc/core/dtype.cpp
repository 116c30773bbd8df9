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

/// Floats of 8 bits meet no other type, unsigned integers none but the wider floats.
void check_promotion(DType a, DType b) {
  auto refuse = [&](const char* types) {
    fail("Promotion for ", types, " is not supported, attempted to promote ", info(a).legacy_name, " and ",
         info(b).legacy_name, "; convert one of them first, by .to(dtype)");
  };
  if (is_float8(a) || is_float8(b)) refuse("Float8 Types");
  if ((is_unsigned(a) && !is_float(b)) || (is_unsigned(b) && !is_float(a))) refuse("uint16, uint32, uint64 types");
}

}  // namespace

void refuse_stored(DType dtype) {
  fail(ErrorKind::NotImplemented, "not implemented for '", info(dtype).legacy_name,
       "': no loop computes with elements of this type; convert it first, by .to(dtype)");
}

DType real_type(DType dtype) {
  if (dtype == DType::Complex32) return DType::Float16;
  if (dtype == DType::Complex64) return DType::Float32;
  if (dtype == DType::Complex128) return DType::Float64;
  return dtype;
}

DType complex_type(DType dtype) {
  if (is_complex(dtype)) return dtype;
  if (dtype == DType::Float16) return DType::Complex32;
  if (is_stored(dtype)) fail("Unknown Complex ScalarType for ", info(dtype).legacy_name);
  return dtype == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_stored(a) || is_stored(b)) check_promotion(a, b);
  Category ca = category(a), cb = category(b);
  if (ca <= Category::Integer && cb <= Category::Integer) return promote_integers(a, b);
  if (ca <= Category::Integer) return b;
  if (cb <= Category::Integer) return a;
  DType real = promote_floats(real_type(a), real_type(b));
  return ca == Category::Complex || cb == Category::Complex ? complex_type(real) : real;
}

}  // namespace adjoint
