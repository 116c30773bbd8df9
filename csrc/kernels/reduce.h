// Reductions. `out` has the input's number of dimensions, with size 1 where a dimension is reduced, and any strides.
// Elements are converted to the output's type as they are read; results do not depend on the number of threads.
#pragma once

#include "core/view.h"

namespace adjoint::kernels {

/// How the rows of a segment become one.
enum class Segments : uint8_t { Sum, Max, Min, Prod };

struct Reduce {
  using Whole = void(const View& in, const View& out);
  using Along = void(const View& in, const View& out, int dim);
  using Locating = void(const View& in, const View& values, const View& indices, int dim);

  Whole* sum;
  /// The sum over `count`; `out` is packed, of a floating or complex type.
  void (*mean)(const View& in, const View& out, double count);
  Whole* nansum;  ///< of the elements that are not NaN, of floats
  Whole* prod;
  /// The greatest and the least element; a NaN wins over everything.
  Whole* amax;
  Whole* amin;
  /// Both at once, into outputs of one dtype.
  void (*aminmax)(const View& in, const View& low, const View& high);
  /// `out` is Bool or UInt8.
  Whole* any;
  Whole* all;
  /// The first index of the greatest (least) element along `dim`, or of the first NaN. `out` and `indices` are Int64.
  Along* argmax;
  Along* argmin;
  Locating* max_with_index;
  Locating* min_with_index;
  /// Sum of |x - mean|^2 over max(0, n - correction), or with `root` its square root; `out` is packed. `mean`, if not
  /// null, gets the mean (complex for complex input).
  void (*var)(const View& in, const View& out, double correction, bool root, const View* mean);
  /// The vector p-norm of |x|, for any p including 0, inf and -inf; `out` is real.
  void (*norm)(const View& in, const View& out, double p);
  Whole* logsumexp;  ///< log(sum(exp(x))), without overflow
  /// Packed Float32 or Float64 of sizes [lines, rows, ...]: runs of rows are joined, those of a line between two
  /// neighbours of its row in `ends` (packed Int64 of [lines, count + 1]; what lies outside of the rows is left out).
  void (*segments)(const View& in, const View& ends, const View& out, Segments kind);
  /// NaN becomes zero, in place, in packed values of a floating type.
  void (*drop_nans)(const View& values);
};

}  // namespace adjoint::kernels
