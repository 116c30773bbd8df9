// A Python number on its way into a kernel.
#pragma once

#include "core/dtype.h"

namespace adjoint {

/// Trivial to construct: arrays of it lie on the stack of every op call.
struct Scalar {
  Category category;
  union {
    int64_t integer;  ///< for Bool and Integer
    double real;      ///< for Float and Complex
  };
  double imaginary;  ///< for Complex

  static Scalar of(bool v) {
    Scalar s;
    s.category = Category::Bool;
    s.integer = v;
    return s;
  }
  static Scalar of(int64_t v) {
    Scalar s;
    s.category = Category::Integer;
    s.integer = v;
    return s;
  }
  static Scalar of(double v) {
    Scalar s;
    s.category = Category::Float;
    s.real = v;
    return s;
  }
  static Scalar of(complex128 v) {
    Scalar s;
    s.category = Category::Complex;
    s.real = v.real();
    s.imaginary = v.imag();
    return s;
  }

  template <class T>
  T to() const {
    if (category <= Category::Integer) return convert<T>(integer);
    if (category == Category::Float) return convert<T>(real);
    return convert<T>(complex128(real, imaginary));
  }
};

}  // namespace adjoint
