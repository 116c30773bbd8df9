"""Stubs are true: every call of every op that other tests make fits the types of its stub, and so does its result."""

import ast
import sys
from pathlib import Path

import pytest

import adjoint

from .compare import outcome
from .samples import find
from .stub_reader import accepts, fits, functions
from .test_op_table import NAMES, samples_by_name

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import stubs


@pytest.fixture(scope="module")
def declared():
    """The functions of the stubs, by the names that samples have."""
    texts = stubs.Stubs(adjoint).files(filled=True)
    found = functions(texts["_C.pyi"])
    for path, text in texts.items():
        space = path.removesuffix(".pyi").removesuffix("__init__").replace("/", ".")
        found |= {f"{space}.{name}".lstrip("."): trees for name, trees in functions(text).items() if path != "_C.pyi"}
    return found


def problems(trees, name, method):
    """What is wrong with the stub of one function or method."""
    for sample in samples_by_name()[name]:
        args, kwargs, _ = sample.make(adjoint, None, "contiguous")
        result = outcome(lambda L: find(L, name)(*args, **kwargs), adjoint, look=None)  # noqa: B023 - called at once
        if result.error is not None or (method and not (args and isinstance(args[0], adjoint.Tensor))):
            continue
        fitting = [tree for tree in trees if accepts(tree, args, kwargs)]
        if not fitting:
            yield f"refuses {sample!r}"
        elif not fits(result.value, fitting[0].returns):
            yield f"says {ast.unparse(fitting[0].returns)} of {sample!r}, which is {type(result.value).__name__}"


def test_calls_of_every_op_fit_their_stubs(declared):
    wrong, seen = [], 0
    for name in NAMES:
        own = f"Tensor.{name.removeprefix('Tensor.')}"
        first = declared[name][0].args.args[:1] if name in declared else []
        is_method = not first or first[0].arg == "input"  # where() is a method of another argument
        for key, method in ((name, False), (own, True))[: 1 + is_method]:
            if key in declared:
                seen += 1
                wrong += [f"{key} {what}" for what in problems(declared[key], name, method)]
    assert wrong == []
    assert seen > 600
