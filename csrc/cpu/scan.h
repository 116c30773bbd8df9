// Scans along one dimension: out[k] joins in[0] ... in[k]. All views have one shape; 0-d counts as one element.
#pragma once

#include "kernels/view.h"

namespace adjoint::cpu {

/// Accumulate in double (complex128, wrapping int64) and round each result to the output's type.
void cumsum(const View& in, const View& out, int dim);
void cumprod(const View& in, const View& out, int dim);
/// log(cumsum(exp(x))) without overflow; the angle of a complex sum goes on from that of its greatest element.
void logcumsumexp(const View& in, const View& out, int dim);
/// The greatest (least) element so far and its last index; a NaN wins. `indices` is Int64.
void cummax(const View& in, const View& values, const View& indices, int dim);
void cummin(const View& in, const View& values, const View& indices, int dim);

}  // namespace adjoint::cpu
