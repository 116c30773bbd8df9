// Runs of contiguous floats reduced with the widest vectors that the processor has.
#pragma once

#include <cstdint>

namespace adjoint::kernels {

/// The greatest and the least of n > 0 elements; NaN if there is any.
float greatest_of_run(const float* x, int64_t n);
double greatest_of_run(const double* x, int64_t n);
float least_of_run(const float* x, int64_t n);
double least_of_run(const double* x, int64_t n);

/// The same for each of `lanes` columns of n > 0 rows that are `step` elements apart.
void greatest_of_rows(const float* x, int64_t step, int64_t n, int64_t lanes, float* out);
void greatest_of_rows(const double* x, int64_t step, int64_t n, int64_t lanes, double* out);
void least_of_rows(const float* x, int64_t step, int64_t n, int64_t lanes, float* out);
void least_of_rows(const double* x, int64_t step, int64_t n, int64_t lanes, double* out);

/// The sum of squares, in double.
double squares_of_run(const float* x, int64_t n);

}  // namespace adjoint::kernels
