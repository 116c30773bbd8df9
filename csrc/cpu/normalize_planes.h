// Normalising planes of contiguous elements: the sums and the scaling of which batch and group norm are made.
#pragma once

#include "core/view.h"

namespace adjoint::cpu {

/// `count` planes of `length` elements each, one after the other. What belongs to a plane (centers, factors, sums by
/// period) repeats after `period` planes: with the number of channels as the period, samples share it.
struct Planes {
  int64_t count;
  int64_t period;
  int64_t length;
};

// All views are contiguous and of real floating types; element types are converted on the way. Arrays of doubles have
// `period` elements.

/// The means over all planes that share them, and the sums of the squared distances to these.
void plane_moments(const View& in, const Planes& planes, double* means, double* squares);
/// Sums of g and of g (in - center), over all planes that share them.
void plane_products(const View& g, const View& in, const Planes& planes, const double* centers, double* g_sums,
                    double* products);
/// out = (in - center) factor + term
void plane_scale(const View& in, const Planes& planes, const double* centers, const double* factors,
                 const double* terms, const View& out);
/// out = g factor + (in - center) slope + term
void plane_scale_sum(const View& g, const View& in, const Planes& planes, const double* centers, const double* factors,
                     const double* slopes, const double* terms, const View& out);

}  // namespace adjoint::cpu
