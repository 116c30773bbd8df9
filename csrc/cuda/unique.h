// Elements told apart on a device, which kernels/unique.h describes.
#pragma once

#include <string>

#include "cuda/device/unique_args.h"
#include "kernels/unique.h"

namespace adjoint::cuda {

int64_t unique_elements(const View& in, bool consecutive, const View& values, const View* inverse, const View* counts);
int64_t unique_rows(const View& in, bool consecutive, const View& firsts, const View& inverse, const View& counts);

/// Numbers groups of equal neighbours among args.n > 0 items; returns how many there are, for which it waits. `of` is
/// what they are, in the words of device/unique.h.
int64_t number_groups(Device device, const std::string& of, UniqueArgs& args);

}  // namespace adjoint::cuda
