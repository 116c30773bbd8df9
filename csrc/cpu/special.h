// Special functions of the op table that are too long to inline into loops: plain calls, computed in double precision.
#pragma once

namespace adjoint::fn {

// ---- special_gamma.cpp
double polygamma_double(double order, double x);
double zeta_double(double s, double q);
/// `precision` is where their sums may stop.
double igamma_double(double a, double x, double precision);
double igammac_double(double a, double x, double precision);

// ---- special_airy.cpp
double airy_ai_double(double x);

// ---- special_polynomials.cpp; in the precision of the argument, for where they overflow is part of the result
float chebyshev_polynomial_t(float x, float n);
double chebyshev_polynomial_t(double x, double n);
float chebyshev_polynomial_u(float x, float n);
double chebyshev_polynomial_u(double x, double n);
float chebyshev_polynomial_v(float x, float n);
double chebyshev_polynomial_v(double x, double n);
float chebyshev_polynomial_w(float x, float n);
double chebyshev_polynomial_w(double x, double n);
float hermite_polynomial_h(float x, float n);
double hermite_polynomial_h(double x, double n);
float hermite_polynomial_he(float x, float n);
double hermite_polynomial_he(double x, double n);
float laguerre_polynomial_l(float x, float n);
double laguerre_polynomial_l(double x, double n);
float legendre_polynomial_p(float x, float n);
double legendre_polynomial_p(double x, double n);

}  // namespace adjoint::fn
