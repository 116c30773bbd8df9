"""Zeros, infinities, nan and subnormal numbers against torch: remainders, exponentials, sums, complex numbers."""

import itertools
import json
import math

import pytest
import torch

import adjoint

from .compare import Bound, assert_same, programs
from .processes import script

program, test_program = programs()

FLOATS = ("float32", "float64", "float16", "bfloat16")
PARTS = (0.0, 1.0, -2.5, math.inf, -math.inf, math.nan)
COMPLEX = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]


def numbers(dtype):
    info = torch.finfo(getattr(torch, dtype))
    few = [0.0, info.smallest_normal / 4, info.smallest_normal, 0.1, 1.5, 7.0, info.max / 2, info.max, math.inf]
    return [*few, *(-value for value in few), math.nan]


def texts(values):
    """Numbers that can be compared: the sign of a zero counts, that of nan does not."""
    return ["nan" if value != value else repr(value) for value in values]


def parts(values):
    """Complex numbers that can be compared: zeros have no sign."""
    return [texts((value.real + 0.0, value.imag + 0.0)) for value in values]


# ---- Division

DIVISIONS = {
    "remainder": lambda L, a, b: L.remainder(a, b),
    "fmod": lambda L, a, b: L.fmod(a, b),
    "floor_divide": lambda L, a, b: L.floor_divide(a, b),
    "floor": lambda L, a, b: L.div(a, b, rounding_mode="floor"),
    "trunc": lambda L, a, b: L.div(a, b, rounding_mode="trunc"),
}


def divided(name, dtype, left, right):
    """What torch makes of each pair alone: its vector loops give nan where a quotient overflows."""
    of = getattr(torch, dtype)
    quotients = [DIVISIONS[name](torch, torch.tensor([a], dtype=of), torch.tensor([b], dtype=of)) for a, b in
                 zip(left, right, strict=True)]  # fmt: skip
    return texts(torch.cat(quotients).tolist())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name, dtype):
    values, of = numbers(dtype), getattr(adjoint, dtype)
    if name == "trunc":  # torch rounds quotients of halves before it cuts them in long tensors, and not in short ones
        values = [value for value in values if abs(value) != 0.1]
    left, right = zip(*itertools.product(values, values), strict=True)
    expected = divided(name, dtype, left, right)
    a, b = adjoint.tensor(left, dtype=of), adjoint.tensor(right, dtype=of)
    call = DIVISIONS[name]
    assert texts(call(adjoint, a, b).tolist()) == expected
    strided = adjoint.stack([a, a], 1)[:, 0], adjoint.stack([b, b, b], 1)[:, 1]
    assert texts(call(adjoint, *strided).tolist()) == expected
    assert texts(call(adjoint, a[3:20], b[3:20]).tolist()) == expected[3:20]


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_by_numbers(dtype):
    for number in (math.inf, -math.inf, math.nan, 1.5, -1.5, 0.0):
        for name, call in DIVISIONS.items():
            results = []
            for library in (torch, adjoint):
                x = library.tensor(numbers(dtype), dtype=getattr(library, dtype))
                in_place = (
                    call(library, x, number) if name in ("floor", "trunc") else getattr(x.clone(), name + "_")(number)
                )
                results.append((texts(call(library, x, number).tolist()), texts(in_place.tolist())))
            assert results[0] == results[1], (name, number)
        left = [texts((number % library.tensor([2.0, -2.0, math.inf, 0.0])).tolist()) for library in (torch, adjoint)]
        assert left[0] == left[1]


def test_division_on_every_instruction_set():
    program = """
import json, math
import adjoint
x = adjoint.tensor([0.0, -2.0, 2.0, 1e-310, math.inf, math.nan, 7.0] * 9, dtype=adjoint.float64)
y = adjoint.tensor([math.inf, -math.inf, 3.0, -2.0] * 15 + [1.5, 0.0, -0.0], dtype=adjoint.float64)
results = [f(a, b) for f in (adjoint.remainder, adjoint.fmod) for a, b in ((x, y), (x.float(), y.float()))]
print(json.dumps([repr(result.tolist()) for result in results]))
"""
    seen = []
    for level in ("baseline", "avx2", "avx512"):
        seen.append(json.loads(script(program, environment={"ADJOINT_ISA": level}).stdout))
    assert seen[0] == seen[1] == seen[2]
    assert texts(eval(seen[0][0], {"nan": math.nan, "inf": math.inf})[:3]) == ["0.0", "-2.0", "2.0"]


@program
def a_half_by_a_number(L):
    return [L.div(L.full((20,), 9984.0, dtype=dtype), 10000.0, rounding_mode="trunc") for dtype in (L.half, L.bfloat16)]


# ---- Exponentials: subnormal results are kept


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [2, 16, 70, 1000])
def test_softmax_keeps_subnormal_numbers(size, dtype):
    low = {"float32": -104.0, "float64": -746.0}[dtype]
    results = []
    for library in (torch, adjoint):
        x = library.linspace(0, low, size, dtype=getattr(library, dtype))
        x[0] = 0.0
        columns = library.stack([x] * 5, 1)
        results.append([library.softmax(x, 0), library.softmax(columns, 0)[:, 2], library.softmax(x - 1, 0)])
    for expected, got in zip(*results, strict=True):
        assert_same(got, expected, bound=Bound(2e-5, 1e-44))
        assert [value > 0 for value in got.tolist()] == [value > 0 for value in expected.tolist()]


@pytest.mark.parametrize("name", ["softplus", "logsigmoid"])
def test_slopes_keep_subnormal_numbers(name):
    for dtype, far in (("float32", 89.0), ("float64", 715.0)):
        slopes = []
        for library in (torch, adjoint):
            x = library.tensor([far, -far, 50.0, -50.0, 40.0, -40.0, 0.0, math.inf, -math.inf, math.nan],
                               dtype=getattr(library, dtype), requires_grad=True)  # fmt: skip
            first = library.autograd.grad(getattr(library.nn.functional, name)(x).sum(), x, create_graph=True)[0]
            second = library.autograd.grad(first[2:7].sum(), x)[0]
            slopes.append((first.tolist(), second[2:7].tolist()))
        assert slopes[1][0] == pytest.approx(slopes[0][0], rel=1e-6, abs=0, nan_ok=True)
        assert slopes[1][1] == pytest.approx(slopes[0][1], rel=1e-5, abs=1e-15)


# ---- Sums begin with 0


@program
def sums_of_negative_zeros(L):
    z = L.tensor([[-0.0, -0.0]])
    columns = L.stack([z[0]] * 20)
    results = [z.sum(), z.mean(), z.sum(0), columns.sum(0), columns.sum(1), z.nansum(), z.cumsum(1), columns.cumsum(0)]
    results += [z.prod(1), z.cumprod(1), z.logcumsumexp(1), z.half().sum(), z.double().mean(), L.tensor(-0.0).sum()]
    return results


# ---- Complex numbers: the plain formulas, with complex divisors


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("call", [
    lambda L, x: x.mean(1), lambda L, x: x.sum(1), lambda L, x: x[:, 0] * x[:, 1], lambda L, x: x.cumprod(1),
    lambda L, x: x.cumsum(1), lambda L, x: x / 2, lambda L, x: x * 2, lambda L, x: x / 0, lambda L, x: 2 / x,
    lambda L, x: L.add(L.ones_like(x), x, alpha=2), lambda L, x: x / L.full((2,), 2.0),
    lambda L, x: x * L.full((2,), 2.0),
    lambda L, x: x**0, lambda L, x: x**1, lambda L, x: x**2, lambda L, x: x**-1, lambda L, x: x**0.5,
])  # fmt: skip
def test_complex_grid(call, dtype):
    pairs = list(itertools.product(COMPLEX, COMPLEX))
    results = []
    for library in (torch, adjoint):
        result = call(library, library.tensor(pairs, dtype=getattr(library, dtype))).flatten().tolist()
        results.append(parts([complex(round(value.real, 5), round(value.imag, 5)) for value in map(complex, result)]))
    assert results[0] == results[1]


@program
def the_cut_of_log1p(L):
    x = L.tensor([complex(-2.5, -0.0), complex(-2.5, 0.0), complex(-math.inf, -0.0), complex(3.0, -0.0)])
    return x.log1p().angle(), x.log1p().imag
