// Elements looked up and counted on a device, which kernels/search.h describes.
#pragma once

#include "kernels/search.h"

namespace adjoint::cuda {

void searchsorted(const View& sorted, const View& values, const View& out, bool right);
std::pair<int64_t, int64_t> least_and_greatest(const View& values);
void bincount(const View& values, const View& counts);
std::pair<double, double> bounds(const View& in);
void histc(const View& in, double min, double max, const View& out);
void histogram(const View& points, const View* edges, bool even, const View* weight, const View& out);

}  // namespace adjoint::cuda
