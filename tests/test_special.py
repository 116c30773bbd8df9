"""Special functions against values in 40 digits: torch's own are good to six or seven here and there."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import adjoint
from adjoint import special

mpmath.mp.dps = 40
FEW = 40
BOUND = {"float64": 1e-13, "float32": 2e-6}


def spread(low, high):
    return np.random.default_rng(0).uniform(low, high, FEW)


def powers_of_ten(low, high):
    return 10.0 ** spread(low, high)


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def quantile(p):
    with mpmath.workdps(80):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


# The function, its exact value, points, and whether errors are relative: near zeros of a wave they are not.
UNARY = {
    "erfinv": (adjoint.erfinv, mpmath.erfinv, [*spread(-1, 1), *(1 - powers_of_ten(-6, -1))], True),
    "erfcx": (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [*spread(-4, 4), *spread(4, 30)], True),
    "ndtri": (special.ndtri, quantile, [*spread(0, 1), *powers_of_ten(-37, -1)], True),
    "log_ndtr": (special.log_ndtr, lambda x: mpmath.log(normal(x)), spread(-50, 4), True),
    "lgamma": (adjoint.lgamma, mpmath.loggamma, [*spread(0.01, 30), *powers_of_ten(1, 5)], True),
    "digamma": (adjoint.digamma, mpmath.digamma, spread(2, 30), True),
    "digamma below 0": (adjoint.digamma, mpmath.digamma, spread(-8.8, -8.2), False),
    "trigamma": (lambda x: adjoint.polygamma(1, x), lambda x: mpmath.psi(1, x), spread(-3, 30), True),
    "polygamma": (lambda x: adjoint.polygamma(3, x), lambda x: mpmath.psi(3, x), spread(-3, 30), True),
    "i0": (special.i0, lambda x: mpmath.besseli(0, x), [*spread(-9, 9), *spread(9, 40)], True),
    "i1e": (special.i1e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), [*spread(-9, 9), *spread(9, 99)], True),
    "k0": (special.modified_bessel_k0, lambda x: mpmath.besselk(0, x), [*powers_of_ten(-9, 0), *spread(0, 9)], True),
    "k1": (special.modified_bessel_k1, lambda x: mpmath.besselk(1, x), [*powers_of_ten(-9, 0), *spread(0, 9)], True),
    "j0": (special.bessel_j0, lambda x: mpmath.besselj(0, x), [*spread(-6, 6), *spread(6, 90)], False),
    "j1": (special.bessel_j1, lambda x: mpmath.besselj(1, x), [*spread(-6, 6), *spread(6, 90)], False),
    "y0": (special.bessel_y0, lambda x: mpmath.bessely(0, x), [*spread(0.1, 6), *spread(6, 90)], False),
    "y1": (special.bessel_y1, lambda x: mpmath.bessely(1, x), [*spread(0.5, 6), *spread(6, 90)], False),
    "airy_ai": (special.airy_ai, mpmath.airyai, [*spread(-12, 3), *spread(3, 9)], False),
}


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", UNARY)
def test_close_to_the_exact_value(name, dtype):
    function, exact, points, relative = UNARY[name]
    x = np.array(points, dtype=dtype)
    got = function(adjoint.from_numpy(x)).numpy()
    assert got.dtype == x.dtype
    expected = np.array([float(exact(mpf(float(value)))) for value in x])
    size = np.abs(expected) if relative else np.maximum(np.abs(expected), 1)
    # The argument itself is rounded: what the function makes of that is no fault of it.
    assert (np.abs(got - expected) / size).max() < BOUND[dtype] * (4 if name in ("erfcx", "digamma below 0") else 1)


@pytest.mark.parametrize("dtype", BOUND)
def test_incomplete_gamma_functions(dtype):
    a = np.array([*spread(0.01, 4), *spread(4, 60), *powers_of_ten(2, 4)], dtype=dtype)
    near = np.random.default_rng(1).uniform(0.6, 1.5, len(a)).astype(dtype)
    x = a * near
    for function, low, high in ((adjoint.igamma, 0, "x"), (adjoint.igammac, "x", mpmath.inf)):
        got = function(adjoint.from_numpy(a), adjoint.from_numpy(x)).numpy()
        for first, second, value in zip(a.tolist(), x.tolist(), got.tolist(), strict=True):
            bounds = [mpf(second) if bound == "x" else bound for bound in (low, high)]
            exact = mpmath.gammainc(mpf(first), *bounds, regularized=True)
            assert abs(value - exact) < BOUND[dtype], (first, second)


@pytest.mark.parametrize("dtype", BOUND)
def test_zeta(dtype):
    for s in (1.5, 2.0, 7.25, 20.0):
        q = np.array([*spread(0.1, 2), *spread(2, 50)], dtype=dtype)
        got = special.zeta(s, adjoint.from_numpy(q)).numpy()
        expected = np.array([float(mpmath.zeta(s, mpf(float(value)))) for value in q])
        ordinary = (expected < 1e37) & (expected > 1e-37)
        assert (np.abs(got - expected) / expected)[ordinary].max() < BOUND[dtype]
