// Scans along one dimension: out[k] joins in[0] ... in[k]. All views have one shape; 0-d counts as one element.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

struct Scan {
  using Along = void(const View& in, const View& out, int dim);
  using Locating = void(const View& in, const View& values, const View& indices, int dim);

  /// Accumulate in double (complex128, wrapping int64) and round each result to the output's type.
  Along* cumsum;
  Along* cumprod;
  /// log(cumsum(exp(x))) without overflow; the angle of a complex sum goes on from that of its greatest element.
  Along* logcumsumexp;
  /// The greatest (least) element so far and its last index; a NaN wins. `indices` is Int64.
  Locating* cummax;
  Locating* cummin;
  /// y[i] = x[i] + weight y[i - 1] along `dim`, from the end where `reverse`; the weight between two neighbours stands
  /// at the later of them. All are contiguous and of one type.
  void (*recur)(const View& in, const View& weight, const View& out, int dim, bool reverse);
};

}  // namespace adjoint::kernels
