// A Python number on its way into a kernel.
#pragma once

#include "core/dtype.h"

namespace adjoint {

/// Trivial to construct: arrays of it lie on the stack of every op call.
struct Scalar {
  Category category;
  bool beyond;  ///< an integer of 64 bits beyond int64: a Float here, with its bits in `imaginary`
  union {
    int64_t integer;  ///< for Bool and Integer
    double real;      ///< for Float and Complex
  };
  double imaginary;  ///< for Complex

  static Scalar of(bool v) {
    Scalar s;
    s.category = Category::Bool;
    s.beyond = false;
    s.integer = v;
    return s;
  }
  static Scalar of(int64_t v) {
    Scalar s;
    s.category = Category::Integer;
    s.beyond = false;
    s.integer = v;
    return s;
  }
  static Scalar of(double v) {
    Scalar s;
    s.category = Category::Float;
    s.beyond = false;
    s.real = v;
    return s;
  }
  static Scalar of(complex128 v) {
    Scalar s;
    s.category = Category::Complex;
    s.beyond = false;
    s.real = v.real();
    s.imaginary = v.imag();
    return s;
  }

  static Scalar of_unsigned(uint64_t v) {
    if (v >> 63 == 0) return of(static_cast<int64_t>(v));
    Scalar s = of(static_cast<double>(v));
    s.beyond = true;
    s.imaginary = std::bit_cast<double>(v);
    return s;
  }

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (beyond) return std::bit_cast<uint64_t>(imaginary);
    if (category <= Category::Integer) return convert<T>(integer);
    if (category == Category::Float) return convert<T>(real);
    return convert<T>(complex128(real, imaginary));
  }
};

}  // namespace adjoint
