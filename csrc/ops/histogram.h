// Histograms: how many elements, or points, lie in each bin.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor.h"

namespace adjoint::ops {

/// How many elements lie in each of `bins` equal parts of the range from `min` to `max`, which belongs to the last.
/// Equal bounds stand for the least and the greatest element.
TensorPtr histc(Tensor* input, int64_t bins, double min, double max);

/// How many points, the rows of `input`, or how much of their weight lies in each cell of the grid that the edges in
/// each dimension make; `even`: those are the same distance apart. The greatest edge belongs to the last bin.
TensorPtr histogram_cells(Tensor* input, const std::vector<Tensor*>& edges, bool even, std::optional<Tensor*> weight);

}  // namespace adjoint::ops
