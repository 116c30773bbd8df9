"""Names of torch that are not here: all are in one table, say what to do when touched, and are in README.md."""

import builtins
import functools
import importlib
import json
import pickle
import sys
import traceback

import pytest
import torch

import adjoint
from adjoint import _absent_names

from .documents import ROOT
from .processes import script

sys.path.insert(0, str(ROOT / "tools"))
import absent

MODULES = [path for path in _absent_names.NAMES if path != "Tensor"]
# All names of these are there.
WHOLE = ["nn.utils", "func", "distributions", "amp", "cuda.amp"]


def module_of(package, path):
    return importlib.import_module(f"{package}.{path}") if path else sys.modules[package]


def absent_names(path):
    return {name for names in _absent_names.NAMES.get(path, {}).values() for name in names.split()}


@functools.cache
def torchs_names():
    """What torch's modules have in a process that has imported nothing else of it, by their paths."""
    program = f"""
import importlib, json, torch
paths = {[*MODULES, *WHOLE]}
print(json.dumps({{path: dir(importlib.import_module("torch." + path) if path else torch) for path in paths}}))
"""
    return json.loads(script(program).stdout)


@pytest.mark.parametrize("path", [*MODULES, *WHOLE])
def test_every_name_of_a_module_is_there_or_in_the_table(path):
    here = module_of("adjoint", path)
    names = [name for name in torchs_names()[path] if not name.startswith("_")]
    missing = {name for name in names if not hasattr(here, name)}
    assert missing - {"common_types"} == absent_names(path)


def test_every_name_of_tensors_is_there_or_in_the_table():
    names = [name for name in dir(torch.Tensor) if not name.startswith("_")]
    assert {name for name in names if not hasattr(adjoint.Tensor, name)} == absent_names("Tensor")
    assert not any(hasattr(adjoint.ones(1), name) for name in absent_names("Tensor"))


def test_better_answers_are_for_names_of_the_table():
    every = set().union(*map(absent_names, _absent_names.NAMES))
    assert not _absent_names.INSTEAD.keys() - every
    used = {kind for kinds in _absent_names.NAMES.values() for kind in kinds}
    assert used == _absent_names.KINDS.keys()


@pytest.mark.parametrize("path", MODULES)
def test_absent_names_say_what_to_do(path):
    module = module_of("adjoint", path)
    for name in absent_names(path):
        with pytest.raises(
            AttributeError, match=rf"^module '{module.__name__}' has no attribute '{name}' \(.*; "
        ) as it:
            getattr(module, name)
        assert it.value.name == name


def test_what_is_said():
    with pytest.raises(AttributeError) as error:
        _ = adjoint.symeig
    assert str(error.value) == (
        "module 'adjoint' has no attribute 'symeig' (functions that PyTorch itself has withdrawn: there, they raise). "
        "It will not come; use torch.linalg.eigh"
    )


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [
        ("", "sofmax", "softmax"),
        ("", "Tenser", "Tensor"),
        ("nn", "Linaer", "Linear"),
        ("nn", "Conv2D", "Conv2d"),
        ("nn.functional", "crossentropy", "cross_entropy"),
        ("optim", "Adan", "Adam"),
        ("optim.lr_scheduler", "StepRL", "StepLR"),
        ("linalg", "sdv", "svd"),
        ("distributions", "Nromal", "Normal"),
        ("utils.data", "Dataloader", "DataLoader"),
        ("autograd", "gradchek", "gradcheck"),
    ],
)
def test_misspelt_names_get_the_nearest(path, name, meant):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; did you mean .*'{meant}'"):
        getattr(module_of("adjoint", path), name)


@pytest.mark.parametrize(
    ("path", "name", "home"),
    [
        ("", "Linear", "torch.nn"),
        ("", "cross_entropy", "torch.nn.functional"),
        ("nn", "Adam", "torch.optim"),
        ("nn", "DataLoader", "torch.utils.data"),
        ("optim", "StepLR", "torch.optim.lr_scheduler"),
    ],
)
def test_names_of_other_modules_say_where_they_are(path, name, home):
    module = module_of("adjoint", path)
    with pytest.raises(
        AttributeError, match=f"^module '{module.__name__}' has no attribute '{name}'; it is in {home}$"
    ):
        getattr(module, name)


def test_names_without_a_neighbour_are_just_absent():
    for name in ("xyzzy", "_private", "__dunder__"):
        with pytest.raises(AttributeError) as error:
            getattr(adjoint, name)
        assert str(error.value) == f"module 'adjoint' has no attribute {name!r}"


def test_the_table_is_loaded_by_those_who_read_the_error():
    script(
        "import sys, adjoint, adjoint.nn, adjoint.optim; assert not hasattr(adjoint, 'eig'); "
        "assert 'adjoint._absent_names' not in sys.modules"
    )


def test_the_error_is_shown_and_pickled_as_one_of_python():
    with pytest.raises(AttributeError) as error:
        _ = adjoint.sofmax
    text = str(error.value)
    assert traceback.format_exception_only(error.value) == [f"AttributeError: {text}\n"]
    copy = pickle.loads(pickle.dumps(error.value))
    assert (type(copy), str(copy)) == (AttributeError, text)


def test_the_readme_has_the_list():
    text = (ROOT / "README.md").read_text()
    assert absent.with_list(text, _absent_names.readme_list()) == text, "run `python tools/absent.py`"


# ---- from adjoint import *


def test_a_star_import_hides_no_name_of_python():
    names: dict = {}
    exec("from adjoint import *", names)
    taken = names.keys() & set(dir(builtins)) - {"__builtins__", "__name__", "__doc__"}
    assert not taken
    assert names["softmax"] is adjoint.softmax
    assert names["GradScaler"] is adjoint.GradScaler
    assert "nn" not in names  # as in torch: a module is imported by its name


def test_a_star_import_gives_what_torch_gives():
    hidden = {name for name in torch.__all__ if hasattr(builtins, name)}
    assert {"abs", "sum", "max", "int", "range"} <= hidden
    given = set(torch.__all__) - hidden - absent_names("")
    assert given - set(adjoint.__all__) == {"export"}  # a module here
