// Softmax along one dimension and its fused backward. All views have one shape; 0-d counts as one element.
#pragma once

#include "kernels/view.h"

namespace adjoint::cpu {

/// `out` is floating; the input is converted to it. Half types are computed in float.
void softmax(const View& in, const View& out, int dim);
void log_softmax(const View& in, const View& out, int dim);
/// gin = out * (g - sum(g * out)), for the result `out` of softmax.
void softmax_backward(const View& g, const View& out, const View& gin, int dim);
/// gin = g - exp(out) * sum(g), for the result `out` of log_softmax.
void log_softmax_backward(const View& g, const View& out, const View& gin, int dim);

/// One row of n > 0 elements in place; returns the logarithm of the sum of their exponentials.
float softmax_row(float* x, int64_t n);
double softmax_row(double* x, int64_t n);
/// x = exp(x - shift)
void exp_row(float* x, float shift, int64_t n);
void exp_row(double* x, double shift, int64_t n);

}  // namespace adjoint::cpu
