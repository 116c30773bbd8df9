// Reductions. `out` has the input's number of dimensions, with size 1 where a dimension is reduced, and any strides.
// Elements are converted to the output's type as they are read; results do not depend on the number of threads.
#pragma once

#include "kernels/view.h"

namespace adjoint::cpu {

void sum(const View& in, const View& out);
/// The sum of the elements that are not NaN, of floats.
void nansum(const View& in, const View& out);
void prod(const View& in, const View& out);
/// The greatest and the least element; a NaN wins over everything.
void amax(const View& in, const View& out);
void amin(const View& in, const View& out);
/// Both at once, into outputs of one dtype.
void aminmax(const View& in, const View& low, const View& high);
/// `out` is Bool or UInt8.
void any(const View& in, const View& out);
void all(const View& in, const View& out);

/// The first index of the greatest (least) element along `dim`, or of the first NaN. `out` and `indices` are Int64.
void argmax(const View& in, const View& out, int dim);
void argmin(const View& in, const View& out, int dim);
void max_with_index(const View& in, const View& values, const View& indices, int dim);
void min_with_index(const View& in, const View& values, const View& indices, int dim);

/// Sum of |x - mean|^2 over max(0, n - correction); `mean_out`, if not null, gets the mean (complex for complex input).
void var(const View& in, const View& out, double correction, const View* mean_out);
/// The vector p-norm of |x|, for any p including 0, inf and -inf; `out` is real.
void norm(const View& in, const View& out, double p);
/// log(sum(exp(x))), without overflow.
void logsumexp(const View& in, const View& out);

}  // namespace adjoint::cpu
