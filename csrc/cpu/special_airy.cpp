// Airy's function: a series near zero; beyond it decays on the right, and is a wave on the left.
#include "cpu/math.h"
#include "cpu/special_series.h"

namespace adjoint::fn {

double airy_ai_double(double x) {
  constexpr double edge = 3;
  constexpr double edge_phase = 3.46410161513775458705;  // 2/3 edge^(3/2)
  if (!(std::fabs(x) < kInf)) return kNan;
  if (std::fabs(x) <= edge) return chebyshev<tables::AIRY_MIDDLE>(x / edge);
  const double size = std::fabs(x);
  const double phase = 2.0 / 3 * size * std::sqrt(size);
  const double root = std::sqrt(kPi) * std::sqrt(std::sqrt(size));
  const double t = edge_phase / phase;
  if (x > 0) return chebyshev<tables::AIRY_FAR>(2 * t - 1) * std::exp(-phase) / (2 * root);
  const double p = chebyshev<tables::AIRY_P>(2 * t * t - 1);
  const double q = chebyshev<tables::AIRY_Q>(2 * t * t - 1) / phase;
  const double angle = phase + kPi / 4;
  return (p * std::sin(angle) - q * std::cos(angle)) / root;
}

}  // namespace adjoint::fn
