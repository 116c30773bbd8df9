// What errors say after they have said what is wrong: how arguments that do not fit could be made to. Built when an
// error is raised, and nowhere else.
#pragma once

#include <string>

#include "core/dtype.h"
#include "core/ints.h"
#include "core/shape.h"

namespace adjoint::ops::advice {

/// How two tensors get one type; `first` and `second` are what the sentence calls them.
std::string one_type(const char* first, DType a, const char* second, DType b);

/// Which of two matrices to transpose, so that the columns of the first are as many as the rows of the second.
std::string fitting_matrices(int64_t rows, int64_t columns, int64_t other_rows, int64_t other_columns);

/// What a linear layer takes, for rows of `columns` numbers where it wants `features`.
std::string fitting_features(int64_t rows, int64_t columns, int64_t features);

/// Where the channels of an image are expected, for sizes whose second is not `wanted`.
std::string fitting_channels(Sizes input, int64_t wanted);

/// Along which dimension tensors can be joined that cannot be along `dim`, if there is one.
std::string fitting_dimension(Sizes first, Sizes other, int dim);

/// Why sizes do not make so many elements; `known` is the product of those that are given.
std::string fitting_sizes(int64_t known, bool inferred, int64_t numel);

}  // namespace adjoint::ops::advice
