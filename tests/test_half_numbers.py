"""Half types and numbers: which ops round a number to the half type first, and which compute with all of it."""

import itertools

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import programs, same

program, test_program = programs()
SIZE = 256  # whole vectors, because torch rounds once more in what is left over

NUMBER = 1.3337
OPS = {
    "add": lambda L, x, y: x + y,
    "sub": lambda L, x, y: x - y,
    "mul": lambda L, x, y: x * y,
    "div": lambda L, x, y: x / y,
    "floor_divide": lambda L, x, y: x // y,
    "remainder": lambda L, x, y: x % y,
    "fmod": lambda L, x, y: L.fmod(x, y),
    "pow": lambda L, x, y: L.pow(x.abs() if isinstance(x, L.Tensor) else x, y),
    "eq": lambda L, x, y: x == y,
    "gt": lambda L, x, y: x > y,
    "hypot": lambda L, x, y: L.hypot(x, L.as_tensor(y)),
    "maximum": lambda L, x, y: L.maximum(x, L.as_tensor(y)),
    "clamp": lambda L, x, y: x.clamp(-y, y),
    "lerp": lambda L, x, y: L.lerp(x, x * 3, y),
    "add with alpha": lambda L, x, y: L.add(x, x * 3, alpha=NUMBER),
    "sub with alpha": lambda L, x, y: L.sub(x, x * 3, alpha=NUMBER),
    "rsub with alpha": lambda L, x, y: L.rsub(x, x * 3, alpha=NUMBER),
    "add_ with alpha": lambda L, x, y: x.clone().add_(x * 3, alpha=-NUMBER),
    "add of a number with alpha": lambda L, x, y: L.add(x, 0.3337, alpha=NUMBER),
    "addcmul": lambda L, x, y: L.addcmul(x, x * 3, x, value=NUMBER),
    "addcdiv": lambda L, x, y: L.addcdiv(x, x * 3, x, value=NUMBER),
    "hardshrink": lambda L, x, y: L.nn.functional.hardshrink(x, NUMBER),
    "softshrink": lambda L, x, y: L.nn.functional.softshrink(x, NUMBER),
    "leaky_relu": lambda L, x, y: L.nn.functional.leaky_relu(x, NUMBER),
    "elu": lambda L, x, y: L.nn.functional.elu(x, NUMBER),
}
SWAPPED = {
    "number + x": lambda L, x, y: y + x,
    "number - x": lambda L, x, y: y - x,
    "number * x": lambda L, x, y: y * x,
    "number / x": lambda L, x, y: y / x,
}


def values(L, dtype):
    numbers = np.random.default_rng(0).standard_normal(SIZE) * 3
    numbers[:4] = [1.3337, -1.3337, 1.335, 2.0]  # some that a rounded number equals
    return L.tensor(numbers.tolist()).to(getattr(L, dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["number", "float32", "float64", "int64"])
@pytest.mark.parametrize("name", [*OPS, *SWAPPED])
def test_number(name, kind, dtype):
    """The other operand as a number, and as a tensor without dimensions."""
    function = (OPS | SWAPPED)[name]
    number = 1001 if kind == "int64" else NUMBER  # an integer of more digits than bfloat16 has
    results = []
    for L in (adjoint, torch):
        other = number if kind == "number" else L.tensor(number, dtype=getattr(L, kind))
        if name == "clamp" and kind != "number":  # promotes
            other = other.to(getattr(L, dtype))
        result = function(L, values(L, dtype), other)
        results.append((str(result.dtype), result.float().tolist()))
    assert results[0] == results[1]


@program
def alpha_in_gradients(L):
    """The gradient is that of the exact number, as of a product."""
    x = values(L, "bfloat16").requires_grad_()
    y = values(L, "bfloat16").requires_grad_()
    L.add(x, y, alpha=NUMBER).backward(values(L, "bfloat16"))
    return x.grad, y.grad


@program
def steps_in_half(L):
    ends = []
    for dtype in ("bfloat16", "float16"):
        param = L.nn.Parameter(values(L, dtype))
        optimizer = L.optim.SGD([param], lr=0.0123, momentum=0.9, weight_decay=0.01)
        for i in range(5):
            param.grad = values(L, dtype) * (i + 1)
            optimizer.step()
        ends.append(param.detach())
    return ends


FLOATS = ["float32", "float64", "bfloat16", "complex64"]
LERPS = [*itertools.product(FLOATS, [*FLOATS, "int64"])]


@pytest.mark.parametrize(("first", "second"), LERPS)
def test_lerp_does_not_promote(first, second):
    """Types of the operands: the same result or refusal as torch's, also in place and with weights of every kind."""
    for shape in ((2,), ()):
        for weight in (0.5, first, second):

            def run(L, shape=shape, weight=weight, end=second):
                x, y = L.ones(2, dtype=getattr(L, first)), L.full(shape, 3, dtype=getattr(L, end))
                w = weight if weight == 0.5 else L.ones(shape, dtype=getattr(L, weight))
                return L.lerp(x, y, w)

            same(run)
            same(lambda L, run=run: run(L, end=first))
    if "float" in first and "float" in second:
        same(lambda L: L.ones(2, dtype=getattr(L, first)).lerp_(L.ones(2, dtype=getattr(L, second)), 0.25))
