// What the special functions share: constants, and polynomials.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace adjoint::fn {

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The polynomial with these coefficients, lowest first, by Horner's rule.
template <size_t N>
inline double polynomial(const double (&coefficients)[N], double x) {
  double sum = 0;
  for (size_t i = N; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace adjoint::fn
