"""Conversions between types give torch's values, those that do not fit among them."""

import math
import warnings

import pytest
import torch

import adjoint

from .processes import script

SOURCES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
TARGETS = ["int64", "int32", "int16", "int8", "uint8", "bool"]
EDGES = [2.0**power + step for power in (7, 8, 15, 16, 31, 32, 62, 63) for step in (-1.5, -1, -0.5, 0, 0.5, 1)]
VALUES = [0.0, -0.0, 0.5, 1.5, 1e15 + 3, 1e30, math.nan, math.inf]
VALUES = [sign * value for value in EDGES + VALUES for sign in (1, -1)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_values_that_do_not_fit_become_what_torch_makes_of_them(source, target):
    def convert(library, select):
        values = library.tensor(VALUES, dtype=library.float64).to(getattr(library, source))
        return select(values).to(getattr(library, target)).tolist()

    layouts = {
        "contiguous": lambda x: x,
        "strided": lambda x: x[::3],
        "long": lambda x: x.repeat(50),
        "scalars": lambda x: x[7],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that imaginary parts are dropped
        for name, select in layouts.items():
            assert convert(adjoint, select) == convert(torch, select), name


# Each library warns once in a process.
IMAGINARY = """
import sys, warnings
library = __import__(sys.argv[1])
x, real = library.tensor([[1 + 2j, 3 - 1j]]), library.float32
calls = {
    "sum": lambda: x.sum(dtype=real),
    "sum of rows": lambda: x.sum(1, dtype=library.int64),
    "mean": lambda: x.mean(dtype=real),
    "prod": lambda: x.prod(dtype=real),
    "prod of rows": lambda: x.prod(1, dtype=real),
    "cumsum": lambda: x.cumsum(0, dtype=real),
    "cumprod": lambda: x.cumprod(0, dtype=real),
    "softmax": lambda: x.softmax(0, dtype=real),
    "copy_": lambda: library.zeros(1, 2).copy_(x),
    "to": lambda: x.to(float),
    "type_as": lambda: x.type_as(library.ones(1)),
    "int": lambda: x.int(),
    "nothing": lambda: (x.sum(dtype=library.bool), x.sum(dtype=library.complex128), x.bool(), x.cdouble()),
    "meta": lambda: x.to("meta").to(real),
    "gradients": lambda: (library.ones(2, requires_grad=True) * x).abs().sum().backward(),
    "casts back": lambda: library.ones(2, requires_grad=True).to(x.dtype).real.sum().backward(),
}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    calls[sys.argv[2]]()
    print(len(caught), *(str(w.message)[:58] for w in caught))
    calls["sum"](), calls["copy_"]()
    print(len(caught))
"""


WARN = ("sum of rows", "mean", "prod", "prod of rows", "cumsum", "cumprod", "softmax", "to", "type_as", "int")


@pytest.mark.parametrize("name", [*WARN, "nothing", "meta", "gradients", "casts back"])
def test_losing_imaginary_parts_warns_once(name):
    # Two calls of torch, which takes long to import, stand for the others.
    for library in ("adjoint", "torch") if name in ("to", "nothing") else ("adjoint",):
        first, after = script(IMAGINARY, library, name).stdout.splitlines()
        words = "Casting complex values to real discards the imaginary part"
        assert (first, after) == (f"1 {words}" if name in WARN else "0", "1")
