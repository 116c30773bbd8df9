"""Scans on the device against the CPU: by threads, warps, blocks, and in parts; every kind, both ways."""

import pytest

import adjoint as torch

from .test_reduce import check, numbers


@pytest.mark.parametrize("shape", [(3, 1), (50, 31), (3, 33), (5, 600), (2, 5000), (1, 70_001), (2000, 3), (4, 300, 5)])
@pytest.mark.parametrize("dim", [0, -1])
def test_shapes(shape, dim):
    x = numbers(*shape)
    check(lambda x: x.cumsum(dim), x)
    check(lambda x: x.cummax(dim), x)
    check(lambda x: torch.logcumsumexp(x, dim), x)


@pytest.mark.parametrize("shape", [(3, 40), (2, 3000), (700, 3)])
@pytest.mark.parametrize("dim", [0, 1])
def test_kinds(shape, dim):
    x = numbers(*shape)
    check(lambda x: (x / x.abs() * (1 + x / 100)).cumprod(dim), x)
    check(lambda x: x.cummin(dim), x)
    check(lambda x: x.cumsum(dim).flip(dim).cumsum(dim), x, rtol=1e-4, atol=1e-1)

    def gradient(x):
        x = (0.7 + x / 10).requires_grad_()
        return torch.autograd.grad(x.cumprod(dim).sum(), x)

    check(gradient, x, rtol=1e-3)


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.float64, torch.int64, torch.int8, torch.bool, torch.complex64, torch.complex128],
    ids=str,
)
@pytest.mark.parametrize("dim", [0, 1])
def test_types(dtype, dim):
    x = numbers(4, 90, dtype=dtype)
    check(lambda x: x.cumsum(dim), x)
    check(lambda x: x.cumprod(dim), x[:, :40] / 2 if dtype.is_floating_point or dtype.is_complex else x)
    if dtype.is_complex or dtype.is_floating_point:
        check(lambda x: torch.logcumsumexp(x, dim), x)
    if not dtype.is_complex:
        check(lambda x: x.cummax(dim), x)


def test_nans_ties_strides():
    x = torch.zeros(3, 700)
    x[0, 40] = x[0, 90] = float("nan")
    x[1, 30] = x[1, 500] = 5
    x[2, :300] = float("-inf")
    for dim in (0, 1):
        for view in (lambda x: x, lambda x: x.t(), lambda x: x[:, ::3], lambda x: x.flip(1)):
            check(lambda x, dim=dim, view=view: view(x).cummax(dim), x)
            check(lambda x, dim=dim, view=view: view(x).cumsum(dim), x)
            check(lambda x, dim=dim, view=view: torch.logcumsumexp(view(x), dim), x)


def test_empty():
    check(lambda x: x.cumsum(0), torch.zeros(0, 3))
    check(lambda x: x.cumsum(0), torch.tensor(2.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize(("shape", "dim"), [((2, 30), 1), ((3, 3000), 1), ((500, 4), 0), ((1, 40_000), 1)])
def test_recurrences(dtype, shape, dim):
    """Gradients of products are recurrences, from the end on; gradients of these, from the front."""

    def gradients(x):
        x = x.detach().requires_grad_()
        (first,) = torch.autograd.grad(x.cumprod(dim).abs().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first.abs() / (1 + first.abs())).sum(), x)
        return first.detach(), second

    x = 0.9 + numbers(*shape, dtype=dtype) / 50
    x[1 if shape[0] > 1 else 0, shape[1] // 2] = 0
    check(gradients, x, rtol=1e-3, atol=1e-3)
