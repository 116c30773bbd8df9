// Elements kept or moved by their place alone on a device, which kernels/structure.h describes.
#pragma once

#include "kernels/structure.h"

namespace adjoint::cuda {

void tril(const View& in, int64_t diagonal, const View& out);
void triu(const View& in, int64_t diagonal, const View& out);
void triangle_places(int64_t row, int64_t col, int64_t offset, bool lower, const View& out);
void roll(const View& in, int dim, int64_t start, const View& out);
int64_t total_repeats(const View& repeats);
void check_repeats(const View& repeats, int64_t expected);
void repeat_places(const View& repeats, const View& out);

}  // namespace adjoint::cuda
