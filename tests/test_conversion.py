"""Conversions between types give torch's values, those that do not fit among them."""

import math
import warnings

import pytest
import torch

import adjoint

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
