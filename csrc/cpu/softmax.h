// The CPU's softmax; kernels/softmax.h says what each function does.
#pragma once

#include "kernels/softmax.h"

namespace adjoint::cpu {

kernels::Softmax::Along softmax, log_softmax;
kernels::Softmax::Gradient softmax_backward, log_softmax_backward;

/// One row of n > 0 elements in place; returns the logarithm of the sum of their exponentials.
float softmax_row(float* x, int64_t n);
double softmax_row(double* x, int64_t n);
/// x = exp(x - shift)
void exp_row(float* x, float shift, int64_t n);
void exp_row(double* x, double shift, int64_t n);

}  // namespace adjoint::cpu
