// The CPU's histograms, which kernels/search.h describes.
#pragma once

#include "kernels/search.h"

namespace adjoint::cpu {

std::pair<double, double> bounds(const View& in);
void histc(const View& in, double min, double max, const View& out);
void histogram(const View& points, const View* edges, bool even, const View* weight, const View& out);

}  // namespace adjoint::cpu
