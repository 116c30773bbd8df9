"""Softmax on the device against the CPU: rows in registers and long ones, columns, strides, types."""

import pytest

import adjoint as torch

from .test_reduce import check, numbers


def both_ways(function):
    """The result and the gradient."""

    def run(x):
        x = x.detach().requires_grad_()
        out = function(x)
        (grad,) = torch.autograd.grad(out, x, (x.detach() * 2 + 1).to(out.dtype))
        return out.detach(), grad

    return run


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "shape", [(3, 1), (9, 31), (300, 8), (5, 1024), (2, 1025), (3, 5000), (2, 40_000), (1, 16_388)]
)
def test_rows(shape, log):
    function = torch.log_softmax if log else torch.softmax
    check(both_ways(lambda x: function(x, -1)), numbers(*shape))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape", [(31, 40), (1025, 3), (4, 300, 65), (2, 2, 7)])
def test_columns(shape, log):
    function = torch.log_softmax if log else torch.softmax
    check(both_ways(lambda x: function(x, -2)), numbers(*shape))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_types(dtype, dim):
    check(both_ways(lambda x: torch.softmax(x, dim)), numbers(40, 72, dtype=dtype))
    check(both_ways(lambda x: torch.log_softmax(x, dim)), numbers(40, 35, dtype=dtype))


def test_other_types():
    check(lambda x: torch.softmax(x, 1, dtype=torch.float32), numbers(5, 70, dtype=torch.int32))
    check(lambda x: torch.softmax(x, 0, dtype=torch.float32), numbers(5, 70, dtype=torch.float16))
    check(lambda x: torch.softmax(x, 0), torch.tensor(3.0))
    check(lambda x: torch.softmax(x, 0), torch.zeros(0, 3))


def test_strides():
    for view in (lambda x: x.permute(2, 0, 1), lambda x: x[:, ::2], lambda x: x.flip(2), lambda x: x[:, :, 1:]):
        for dim in range(3):
            check(lambda x, view=view, dim=dim: torch.softmax(view(x), dim), numbers(6, 10, 9))


@pytest.mark.parametrize("n", [5, 20_000])
@pytest.mark.parametrize("log", [False, True])
def test_infinities(n, log):
    function = torch.log_softmax if log else torch.softmax
    x = numbers(4, n)
    x[0] = float("-inf")
    x[1, 0] = float("inf")
    x[2, : n // 2] = float("-inf")
    x[3, 1] = float("nan")
    check(lambda x: function(x, 1), x)
    check(lambda x: function(x.t().contiguous(), 0), x)
