// Approximants of the exponential of matrices, for every device.
#pragma once

namespace adjoint::kernels {

/// Coefficients of the diagonal Padé approximants of exp, and the norms up to which they are exact to rounding
/// (Higham, The scaling and squaring method for the matrix exponential revisited, 2005).
struct Pade {
  int degree;
  double limit;
  double coefficients[14];
};
inline constexpr Pade kPadeDouble[] = {
    {3, 1.495585217958292e-2, {120, 60, 12, 1}},
    {5, 2.539398330063230e-1, {30240, 15120, 3360, 420, 30, 1}},
    {7, 9.504178996162932e-1, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
    {9, 2.097847961257068, {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
    {13,
     5.371920351148152,
     {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
      670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}}};
inline constexpr Pade kPadeFloat[] = {{3, 4.258730016922831e-1, {120, 60, 12, 1}},
                                      {5, 1.880152677804762, {30240, 15120, 3360, 420, 30, 1}},
                                      {7, 3.925724783138660, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}}};

}  // namespace adjoint::kernels
