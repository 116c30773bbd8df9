// Runs of contiguous numbers reduced with the widest vectors that the processor has.
#pragma once

#include <cstdint>

namespace adjoint::cpu {

/// The types in which elements are compared.
#define ADJOINT_EACH_ORDERED(X) X(float) X(double) X(int64_t) X(int32_t)

/// The greatest and the least of n > 0 elements; NaN if there is any. Then the same for each of `lanes` columns of
/// n > 0 rows that are `step` elements apart.
#define ADJOINT_DECLARE_EXTREMES(A)                                                  \
  A greatest_of_run(const A* x, int64_t n);                                          \
  A least_of_run(const A* x, int64_t n);                                             \
  void greatest_of_rows(const A* x, int64_t step, int64_t n, int64_t lanes, A* out); \
  void least_of_rows(const A* x, int64_t step, int64_t n, int64_t lanes, A* out);
ADJOINT_EACH_ORDERED(ADJOINT_DECLARE_EXTREMES)
#undef ADJOINT_DECLARE_EXTREMES

/// The sum of squares, in double.
double squares_of_run(const float* x, int64_t n);
/// out[i] = |x[i]|^p
void powers_of_run(const double* x, int64_t n, double p, double* out);

}  // namespace adjoint::cpu
