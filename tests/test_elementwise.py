"""Elementwise ops where the operator database has no samples: numbers in the place of tensors, bits, long quotients."""

import itertools
import math

import numpy as np
import pytest
import torch

import adjoint

from .compare import EXACT, Bound, assert_same

DTYPES = ("float64", "float32", "float16", "bfloat16")
EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 7.0, 1e-3, 1e30, -1e30, 123456.7]


def both(values, dtype):
    return [library.tensor(values, dtype=getattr(library, dtype)) for library in (torch, adjoint)]


def pairs():
    first, second = zip(*itertools.product(EDGES, EDGES), strict=True)
    return list(first), list(second)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "nextafter"])
def test_quotients_and_neighbours_at_the_edges(name, dtype):
    a, b = (both(values, dtype) for values in pairs())
    assert_same(getattr(adjoint, name)(a[1], b[1]), getattr(torch, name)(a[0], b[0]), bound=EXACT)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nextafter_steps_in_the_type(dtype):
    a, b = (both(values, dtype) for values in pairs())
    assert_same(adjoint.nextafter(a[1], b[1]), torch.nextafter(a[0], b[0]), bound=EXACT)


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_of_long_quotients(name):
    """Beyond the quick way, and at the end of a block."""
    random = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        a = (random.uniform(-1, 1, 1030) * 10.0 ** random.uniform(-3, 30, 1030)).astype(dtype)
        b = (random.uniform(-1, 1, 1030) * 10.0 ** random.uniform(-3, 3, 1030)).astype(dtype)
        got = getattr(adjoint, name)(adjoint.from_numpy(a), adjoint.from_numpy(b)).numpy()
        exact = np.fmod(a, b)
        if name == "remainder":
            exact = np.where((exact != 0) & ((exact < 0) != (b < 0)), exact + b, exact)
        np.testing.assert_array_equal(got, exact)


def test_complex_division_of_infinities():
    parts = [math.inf, -math.inf, math.nan, 0.0, 1.0, -2.0, 1e200]
    numbers = [complex(a, b) for a, b in itertools.product(parts, parts)]
    first, second = zip(*itertools.product(numbers, numbers), strict=True)
    a, b = both(first, "complex128"), both(second, "complex128")
    # With an absolute part, numbers are compared as wholes: one part may be lost beside the other.
    assert_same(a[1] / b[1], a[0] / b[0], bound=Bound(1e-12, 1e-300))


@pytest.mark.parametrize(
    "name", ["atan2", "maximum", "logaddexp", "hypot", "heaviside", "gcd", "igamma", "logical_and"]
)
def test_operands_that_must_be_tensors(name):
    x = adjoint.ones(2)
    for args in ((x, 1), (1, x), (1, 1)):
        with pytest.raises(TypeError, match=rf"{name}\(\): argument '\w+' \(position [12]\) must be Tensor, not int"):
            getattr(adjoint, name)(*args)


def test_operands_that_may_be_numbers():
    x = adjoint.ones(2, dtype=adjoint.int64)
    for name in ("fmod", "eq", "copysign"):
        getattr(adjoint, name)(x, 1)
        with pytest.raises(TypeError, match=rf"{name}\(\) received an invalid combination .* got \(int, Tensor\)"):
            getattr(adjoint, name)(1, x)
    for name in ("pow", "remainder", "xlogy", "bitwise_and"):
        getattr(adjoint, name)(1, x)
        with pytest.raises(TypeError, match=rf"{name}\(\) received an invalid combination .* got \(int, int\)"):
            getattr(adjoint, name)(1, 1)
    assert adjoint.add(3, 2).item() == 5


def test_derivatives_that_are_missing_are_missed_in_backward():
    for library in (torch, adjoint):
        a, x = (library.ones(2, dtype=library.float64, requires_grad=True) for _ in range(2))
        result = library.igamma(a, x)
        with pytest.raises(RuntimeError, match="the derivative for 'igamma: input' is not implemented"):
            result.sum().backward()
    assert not adjoint.special.bessel_j0(adjoint.ones(2, requires_grad=True)).requires_grad
