// Gamma numbers (G. Marsaglia and W. W. Tsang, 2000), in the arithmetic that torch uses, so that the same draws give
// the same numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/random_draws.h"
#include "cpu/random_views.h"

namespace adjoint::cpu {
namespace {

/// From (0, 1].
double positive_uniform(Generator& generator) {
  return 1 - static_cast<double>(draw_pair(generator) & kMask53) * 0x1p-53;
}

/// What is derived from the shape is rounded to its type; the rest is computed in double precision.
template <class T>
double gamma_number(Generator& generator, T shape) {
  double scale = 1;
  if (shape < 1) {  // one of shape + 1, made smaller
    scale = std::pow(positive_uniform(generator), static_cast<double>(1 / shape));
    shape += 1;
  }
  const T d = shape - 1.0f / 3.0f;
  const double c = 1 / std::sqrt(9.0 * d);
  while (true) {
    double x, root;
    do {
      x = draw_normal(generator);
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root, u = positive_uniform(generator), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

template <class T>
void fill_gamma(Generator& generator, T* shapes, int64_t n) {
  std::lock_guard lock(generator.mutex());
  for (int64_t i = 0; i < n; ++i) {
    const T least = std::numeric_limits<T>::min();
    const T drawn = shapes[i] > 0 ? static_cast<T>(gamma_number(generator, shapes[i])) : least;
    shapes[i] = drawn > least ? drawn : least;
  }
}

template <class T>
void fill_shares(double* numbers, int64_t length, int64_t n) {
  constexpr T least = std::numeric_limits<T>::min(), most = 1 - std::numeric_limits<T>::epsilon() / 2;
  for (double* row = numbers; row < numbers + n; row += length) {
    const double total = std::accumulate(row, row + length, 0.0);
    for (int64_t i = 0; i < length; ++i) row[i] = std::clamp(static_cast<T>(row[i] / total), least, most);
  }
}

}  // namespace

void shares(const View& numbers, int64_t length, DType type) {
  auto* data = numbers.as<double>();
  if (type == DType::Float32) return fill_shares<float>(data, length, numbers.numel());
  fill_shares<double>(data, length, numbers.numel());
}

void random_gamma(Generator& generator, const View& shapes) {
  if (shapes.dtype == DType::Float32) return fill_gamma(generator, shapes.as<float>(), shapes.numel());
  fill_gamma(generator, shapes.as<double>(), shapes.numel());
}

}  // namespace adjoint::cpu
