"""Training programs as people write them: the same source and seed give torch's losses, outputs and printed text."""

import contextlib
import importlib
import inspect
import io

import pytest
import torch

import adjoint

from .compare import Bound, assert_same

FIELDS = ("data", "vision", "sequences", "generative", "learning", "science", "mechanics", "research", "tutorials")
BOUNDS = {"float64": Bound(1e-9, 1e-9), "float32": Bound(1e-4, 1e-4)}
# Gradients of a bias before a batch norm are zero but for rounding, and Adam makes whole steps of them, which running
# means follow: they differ from processor to processor.
COARSE = {("gan_toggling_requires_grad", "float32"): Bound(1e-3, 1e-3)}
PROGRAMS = {
    name: function
    for field in FIELDS
    for name, function in vars(importlib.import_module(f"tests.programs_in_use.{field}")).items()
    if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["torch"]
}


def run(program, library, dtype):
    """What a program returns and prints with one library and default type."""
    before = library.get_default_dtype()
    library.set_default_dtype(getattr(library, dtype))
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            return program(library), printed.getvalue()
    finally:
        library.set_default_dtype(before)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, dtype):
    (ours, our_text), (theirs, their_text) = (run(PROGRAMS[name], library, dtype) for library in (adjoint, torch))
    assert_same(ours, theirs, bound=COARSE.get((name, dtype), BOUNDS[dtype]), what=name)
    if dtype == "float64":  # what is printed of float32 may round to another last digit
        assert our_text == their_text
