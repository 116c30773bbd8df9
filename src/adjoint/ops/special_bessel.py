"""Bessel functions, Airy's function and orthogonal polynomials: those special functions that have no gradients."""

from .language import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    elementwise,
    hermite_polynomial_h,
    hermite_polynomial_he,
    i0,
    i1,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)

# fmt: off

PLAIN = {"namespace": "special", "promote": "float", "inplace": False, "gradient": False}

elementwise("bessel_j0(input)", lambda input: bessel_j0(input), **PLAIN,
            doc="The Bessel function of the first kind, of order 0.")
elementwise("bessel_j1(input)", lambda input: bessel_j1(input), **PLAIN,
            doc="The Bessel function of the first kind, of order 1.")
elementwise("bessel_y0(input)", lambda input: bessel_y0(input), **PLAIN,
            doc="The Bessel function of the second kind, of order 0.")
elementwise("bessel_y1(input)", lambda input: bessel_y1(input), **PLAIN,
            doc="The Bessel function of the second kind, of order 1.")
elementwise("modified_bessel_i0(input)", lambda input: i0(input), **PLAIN,
            doc="The modified Bessel function of the first kind, of order 0.")
elementwise("modified_bessel_i1(input)", lambda input: i1(input), **PLAIN,
            doc="The modified Bessel function of the first kind, of order 1.")
elementwise("modified_bessel_k0(input)", lambda input: modified_bessel_k0(input), **PLAIN,
            doc="The modified Bessel function of the second kind, of order 0.")
elementwise("modified_bessel_k1(input)", lambda input: modified_bessel_k1(input), **PLAIN,
            doc="The modified Bessel function of the second kind, of order 1.")
elementwise("scaled_modified_bessel_k0(input)", lambda input: scaled_modified_bessel_k0(input), **PLAIN,
            doc="The function modified_bessel_k0() scaled by exp(x), which does not underflow.")
elementwise("scaled_modified_bessel_k1(input)", lambda input: scaled_modified_bessel_k1(input), **PLAIN,
            doc="The function modified_bessel_k1() scaled by exp(x), which does not underflow.")
elementwise("spherical_bessel_j0(input)", lambda input: spherical_bessel_j0(input), **PLAIN,
            doc="The spherical Bessel function sin(x) / x.")
elementwise("airy_ai(input)", lambda input: airy_ai(input), **PLAIN,
            doc="The Airy function Ai.")

# Polynomials of degree n; the shifted ones are those of 2x - 1.
POLYNOMIAL = {"numbers": "input n", **PLAIN}

elementwise("chebyshev_polynomial_t(input, n)", lambda input, n: chebyshev_polynomial_t(input, n), **POLYNOMIAL,
            doc="The Chebyshev polynomial of the first kind.")
elementwise("chebyshev_polynomial_u(input, n)", lambda input, n: chebyshev_polynomial_u(input, n), **POLYNOMIAL,
            doc="The Chebyshev polynomial of the second kind.")
elementwise("chebyshev_polynomial_v(input, n)", lambda input, n: chebyshev_polynomial_v(input, n), **POLYNOMIAL,
            doc="The Chebyshev polynomial of the third kind.")
elementwise("chebyshev_polynomial_w(input, n)", lambda input, n: chebyshev_polynomial_w(input, n), **POLYNOMIAL,
            doc="The Chebyshev polynomial of the fourth kind.")
elementwise("shifted_chebyshev_polynomial_t(input, n)",
            lambda input, n: chebyshev_polynomial_t(input + input - 1, n), **POLYNOMIAL,
            doc="chebyshev_polynomial_t(2 x - 1, n).")
elementwise("shifted_chebyshev_polynomial_u(input, n)",
            lambda input, n: chebyshev_polynomial_u(input + input - 1, n), **POLYNOMIAL,
            doc="chebyshev_polynomial_u(2 x - 1, n).")
elementwise("shifted_chebyshev_polynomial_v(input, n)",
            lambda input, n: chebyshev_polynomial_v(input + input - 1, n), **POLYNOMIAL,
            doc="chebyshev_polynomial_v(2 x - 1, n).")
elementwise("shifted_chebyshev_polynomial_w(input, n)",
            lambda input, n: chebyshev_polynomial_w(input + input - 1, n), **POLYNOMIAL,
            doc="chebyshev_polynomial_w(2 x - 1, n).")
elementwise("hermite_polynomial_h(input, n)", lambda input, n: hermite_polynomial_h(input, n), **POLYNOMIAL,
            doc="The physicist's Hermite polynomial.")
elementwise("hermite_polynomial_he(input, n)", lambda input, n: hermite_polynomial_he(input, n), **POLYNOMIAL,
            doc="The probabilist's Hermite polynomial.")
elementwise("laguerre_polynomial_l(input, n)", lambda input, n: laguerre_polynomial_l(input, n), **POLYNOMIAL,
            doc="The Laguerre polynomial.")
elementwise("legendre_polynomial_p(input, n)", lambda input, n: legendre_polynomial_p(input, n), **POLYNOMIAL,
            doc="The Legendre polynomial.")
