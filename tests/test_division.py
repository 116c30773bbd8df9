"""div() with a rounding mode against torch."""

import itertools

import pytest
import torch

import adjoint

from .compare import Bound, check

DTYPES = ("float32", "float64", "int64", "int32", "float16")


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize(("left", "right"), list(itertools.product(DTYPES, DTYPES)))
def test_div(left, right, mode):
    def quotient(library):
        a = library.tensor([7, -7, 6, -5, 0, 3]).to(getattr(library, left))
        b = library.tensor([2, 2, -4, -3, 5, 3]).to(getattr(library, right))
        return library.div(a, b, rounding_mode=mode)

    check(quotient, Bound(1e-3, 1e-3))


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_forms(mode):
    check(lambda library: library.tensor([7.0, -7.0]).div(2, rounding_mode=mode))
    check(lambda library: library.tensor([7.0, -7.0]).divide(2, rounding_mode=mode))
    check(lambda library: library.tensor([7.0, -7.0]).div_(2, rounding_mode=mode))
    check(lambda library: library.div(library.tensor([7, -7]), 2, rounding_mode=mode))
    check(lambda library: library.div(library.tensor([7.0]), 2, rounding_mode=mode, out=library.zeros(1)))
    check(lambda library: library.div(library.tensor([7.0, 1.0]), library.tensor([0.0, 2.0]), rounding_mode=mode))


def test_errors():
    check(lambda library: library.div(library.tensor([7.0]), 2, rounding_mode="up"))
    check(lambda library: library.div(library.tensor([7]), 0, rounding_mode="floor"))


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_gradient(mode):
    gradients = []
    for library in (adjoint, torch):
        x = library.tensor([7.0, -7.0], requires_grad=True)
        library.div(x, 2, rounding_mode=mode).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]
