"""nn.grad, the gradients of convolutions as functions, against torch."""

import pytest

from ..compare import Bound, in_tensors, raised, same

OPTIONS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"dilation": 2, "padding": 2},
    {"groups": 2},
    {"stride": 3, "padding": 1, "dilation": 2, "groups": 2},
]


def data(L, dims, options):
    """Input, weight and a gradient of the result."""
    groups = options.get("groups", 1)
    sizes = (9, 8, 7)[:dims]
    input = L.sin(L.arange(2 * 4 * _product(sizes), dtype=L.float64)).reshape(2, 4, *sizes)
    kernel = (3, 2, 2)[:dims]
    weight = L.cos(L.arange(6 * (4 // groups) * _product(kernel), dtype=L.float64)).reshape(6, 4 // groups, *kernel)
    out = getattr(L.nn.functional, f"conv{dims}d")(input, weight, **options)
    return input, weight, L.sin(L.arange(out.numel(), dtype=L.float64) * 0.3).reshape(out.shape)


def _product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients(dims, options):
    def call(L):
        input, weight, grad = data(L, dims, options)
        of_input, of_weight = (getattr(L.nn.grad, f"conv{dims}d_{which}") for which in ("input", "weight"))
        return of_input(input.shape, weight, grad, **options), of_weight(input, weight.shape, grad, **options)

    same(call, bound=in_tensors(Bound(1e-12, 1e-12)))


def test_they_have_gradients_themselves():
    def call(L):
        input, weight, grad = (each.requires_grad_() for each in data(L, 2, {"stride": 2}))
        total = L.nn.grad.conv2d_input(input.shape, weight, grad, 2).square().sum()
        total = total + L.nn.grad.conv2d_weight(input, weight.shape, grad, 2).square().sum()
        return L.autograd.grad(total, (input, weight, grad))

    same(call, bound=in_tensors(Bound(1e-11, 1e-11)))


def test_sizes_that_do_not_fit():
    def call(L):
        _, weight, grad = data(L, 1, {})
        return [
            raised(lambda: L.nn.grad.conv1d_input((4, 9), weight, grad[0]), 60),
            raised(lambda: L.nn.grad.conv1d_input((2, 4, 12), weight, grad), 0),
            raised(lambda: L.nn.grad.conv1d_weight(L.ones(2, 4, 9, dtype=L.float64), (6, 4, 4), grad), 0),
        ]

    same(call)
