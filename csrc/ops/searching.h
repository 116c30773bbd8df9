// Elements told apart and counted: distinct values, histograms; and the indices of triangles.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "core/tensor.h"

namespace adjoint::ops {

/// The distinct elements in order (`consecutive`: one of each run), which of them each element of the input is, and
/// how often each occurs. The last two have no elements unless they are asked for. Every NaN counts for itself.
std::tuple<TensorPtr, TensorPtr, TensorPtr> unique(Tensor* input, bool return_inverse, bool return_counts,
                                                   bool consecutive);
/// The same for the rows of a matrix, ordered by their first difference: where the first of each is in place of it.
std::tuple<TensorPtr, TensorPtr, TensorPtr> unique_rows(Tensor* input, bool consecutive);

/// How many elements lie in each of `bins` equal parts of the range from `min` to `max`, which belongs to the last.
/// Equal bounds stand for the least and the greatest element.
TensorPtr histc(Tensor* input, int64_t bins, double min, double max);

/// How many points, the rows of `input`, or how much of their weight lies in each cell of the grid that the edges in
/// each dimension make; `even`: those are the same distance apart. The greatest edge belongs to the last bin.
TensorPtr histogram_cells(Tensor* input, const std::vector<Tensor*>& edges, bool even, std::optional<Tensor*> weight);

/// The coordinates (2, n) of the entries on and below (`lower`), or on and above, a diagonal, row by row.
TensorPtr triangle_indices(int64_t row, int64_t col, int64_t offset, bool lower, std::optional<DType> dtype,
                           Tensor* like);

}  // namespace adjoint::ops
