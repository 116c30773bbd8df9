"""The names of torch that public programs use: all are here but for families that come later, and each is exercised."""

import importlib
import types
from pathlib import Path

import pytest
import torch

import adjoint

from .api_programs import PROGRAMS
from .compare import Bound, same

LINES = (Path(__file__).parent / "api_in_use.txt").read_text().splitlines()
NAMES = [line.removeprefix("torch.") for line in LINES if not line.startswith("#")]

# Beginnings of the names that are not here yet, and why.
LATER: dict = {}


def later(name):
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in LATER)


def exists(library, name):
    """Whether a dotted name can be read, or imported where it is a module."""
    found, path = library, library.__name__
    for part in name.split("."):
        path += f".{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


HERE = [name for name in NAMES if not later(name)]


def test_the_list_is_of_torch():
    assert len(set(NAMES)) == len(NAMES) > 500
    assert [name for name in NAMES if not exists(torch, name)] == []


def test_names_exist_but_for_those_that_come_later():
    assert [name for name in HERE if not exists(adjoint, name)] == []
    assert [name for name in NAMES if later(name) and exists(adjoint, name)] == []  # no longer later
    assert [prefix for prefix in LATER if not any(n == prefix or n.startswith(f"{prefix}.") for n in NAMES)] == []


def test_each_name_has_a_program():
    assert sorted(HERE) == sorted(PROGRAMS)


def words(code):
    """Every attribute and string in a function, those of the functions inside it too."""
    found = set(code.co_names) | set(code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= words(constant)
        elif isinstance(constant, str):
            found |= set(constant.split("."))
    for name in code.co_names:  # helpers of the same file
        helper = next((vars(m)[name] for m in FAMILIES if isinstance(vars(m).get(name), types.FunctionType)), None)
        if helper is not None and helper.__code__ is not code:
            found |= words(helper.__code__)
    return found


FAMILIES = [importlib.import_module(f"{__package__}.api_programs.{n}") for n in ("tensor", "operators", "modules")]


@pytest.mark.parametrize("name", [name for name in HERE if not name.rpartition(".")[2].startswith("__")])
def test_program_reads_the_name(name):
    program = PROGRAMS[name]
    found = words(program.__code__)
    reads = getattr(program, "reads", "")
    found |= words(reads) if isinstance(reads, types.CodeType) else set(reads.split("."))
    assert name.rpartition(".")[2] in found


BOUND = Bound(2e-5, 1e-5)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_gives_the_same(name):
    assert same(PROGRAMS[name], bound=BOUND).error is None
