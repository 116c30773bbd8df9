"""Attention in one pass beside torch's: values, gradients, strides and names, with tiles that are full or not."""

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import Bound, assert_same

SIZES = [
    (2, 3, 5, 7, 4),
    (1, 1, 1, 1, 1),
    (2, 2, 70, 70, 8),
    (1, 2, 100, 33, 16),
    (1, 2, 33, 100, 3),
    (2, 1, 64, 64, 2),
]
# As compared with the largest element.
BOUNDS = {
    dtype: Bound(absolute=limit, largest=(1e-3, np.inf))
    for dtype, limit in (("float32", 1e-5), ("float64", 1e-13), ("bfloat16", 1e-2))
}


def results(L, sizes, dtype, needed=(True, True, True), **options):
    """The result and the gradients of what needs one."""
    batch, heads, rows, keys, size = sizes
    random = np.random.default_rng(0)
    # The heads of a row lie side by side, as when one projection makes them all.
    inputs = [random.normal(size=(batch, n, heads, size)) for n in (rows, keys, keys)]
    tensors = [
        L.tensor(values, dtype=getattr(L, dtype)).transpose(1, 2).requires_grad_(need)
        for values, need in zip(inputs, needed, strict=True)
    ]
    out = L.nn.functional.scaled_dot_product_attention(*tensors, **options)
    g = L.tensor(random.normal(size=tuple(out.shape)), dtype=out.dtype)
    gradients = L.autograd.grad(out, [tensor for tensor in tensors if tensor.requires_grad], g)
    return out, *gradients


def check(sizes, dtype, look=("strides",), **options):
    ours, theirs = (results(L, sizes, dtype, **options) for L in (adjoint, torch))
    assert_same(ours, theirs, bound=BOUNDS[dtype])
    assert_same(ours[0], theirs[0], look)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_beside_torch(sizes, dtype, is_causal):
    check(sizes, dtype, ("strides", "node"), is_causal=is_causal)


@pytest.mark.parametrize("needed", [(True, False, False), (False, True, False), (False, False, True)], ids=str)
def test_gradients_of_some(needed):
    check(SIZES[2], "float64", needed=needed, is_causal=True)


@pytest.mark.parametrize("scale", [0.0, -0.3, 2.0])
def test_scale(scale):
    check(SIZES[0], "float64", scale=scale)


def test_half_precision():
    check(SIZES[2], "bfloat16", is_causal=True)


def test_large_scores_do_not_overflow():
    for L in (adjoint, torch):
        q = L.full((1, 1, 40, 4), 1e3)
        assert L.allclose(L.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True), q)


def test_gradient_strides():
    """A gradient that is one number repeated, and the layout of the results."""
    strides = []
    for L in (adjoint, torch):
        tensors = [L.ones(2, 3, n, 4).requires_grad_() for n in (5, 7, 7)]
        L.nn.functional.scaled_dot_product_attention(*tensors).sum().backward()
        strides.append([tensor.grad.stride() for tensor in tensors])
    assert strides[0] == strides[1]


def test_second_gradients():
    adjoint.manual_seed(0)
    tensors = [adjoint.randn(1, 2, n, 3, dtype=adjoint.float64).requires_grad_() for n in (5, 6, 6)]

    def causal(*inputs):
        return adjoint.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)

    assert adjoint.autograd.gradcheck(causal, tensors)
    assert adjoint.autograd.gradgradcheck(causal, tensors)
