"""Training programs as people write them: the same source and seed give torch's losses, outputs and printed text."""

import contextlib
import importlib
import inspect
import io

import numpy as np
import pytest
import torch

import adjoint

FIELDS = ("data", "vision", "sequences", "generative", "learning", "science", "mechanics", "research", "tutorials")
BOUNDS = {"float64": 1e-9, "float32": 1e-4}
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


def assert_close(ours, theirs, bound, what):
    """Asserts the same structure and types, numbers within the bound, everything else equal."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, adjoint.Tensor), f"{what}: {type(ours)}"
        assert (str(ours.dtype), tuple(ours.shape)) == (str(theirs.dtype), tuple(theirs.shape)), what
        ours, theirs = ours.tolist(), theirs.tolist()
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), what
        for key, value in theirs.items():
            assert_close(ours[key], value, bound, f"{what}[{key!r}]")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), what
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_close(one, other, bound, f"{what}[{i}]")
    elif isinstance(theirs, float | complex):
        np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound, err_msg=what)
    else:
        assert ours == theirs, what


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, dtype):
    (ours, our_text), (theirs, their_text) = (run(PROGRAMS[name], library, dtype) for library in (adjoint, torch))
    assert_close(ours, theirs, BOUNDS[dtype], name)
    if dtype == "float64":  # what is printed of float32 may round to another last digit
        assert our_text == their_text
