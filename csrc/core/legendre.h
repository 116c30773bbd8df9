// Gauss-Legendre quadrature.
#pragma once

#include <cmath>

namespace adjoint {

/// The zeros of the Legendre polynomial of a degree, and their weights, on [0, 1].
template <int points>
struct LegendreNodes {
  double at[points], weight[points];
};

template <int points>
inline LegendreNodes<points> legendre_nodes() {
  constexpr double pi = 3.14159265358979323846;
  LegendreNodes<points> nodes;
  for (int i = 0; i < points; ++i) {
    double x = std::cos(pi * (i + 0.75) / (points + 0.5)), slope = 0;
    for (int step = 0; step < 6; ++step) {
      double before = 1, value = x;
      for (int n = 2; n <= points; ++n) {
        const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
        before = value;
        value = next;
      }
      slope = points * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    nodes.at[i] = (1 + x) / 2;
    nodes.weight[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return nodes;
}

}  // namespace adjoint
