"""Every public callable says what it is: a signature, a sentence, and an example (tests/test_docs.py runs those)."""

import importlib
import inspect
import pydoc
import re
import types

import pytest

import adjoint
from adjoint import _help

from .documents import run_examples
from .processes import python

NAMES = """
    adjoint nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrize
    nn.utils.parametrizations nn.utils.prune nn.utils.stateless nn.parallel nn.attention
    nn.attention.bias nn.attention.flex_attention nn.attention.varlen optim optim.lr_scheduler
    optim.swa_utils linalg fft special autograd autograd.functional autograd.forward_ad autograd.graph
    autograd.profiler func utils utils.data utils.checkpoint utils.benchmark utils.dlpack utils.hooks
    utils.weak utils.flop_counter inspect distributions distributions.constraints
    distributions.transforms distributions.kl sparse random amp masked signal.windows quasirandom
    overrides library storage types testing serialization profiler hub futures functional cpu
    accelerator cuda cuda.graphs cuda.memory cuda.random cuda.streams
"""
MODULES = NAMES.split()


def public_callables(path):
    """The callables that a module offers, by name: its own, and those that torch has there, too."""
    if path == "Tensor":
        found = {name: inspect.getattr_static(adjoint.Tensor, name) for name in dir(adjoint.Tensor)}
        found = {name: getattr(adjoint.Tensor, name) for name, value in found.items() if callable(value)}
        return {name: value for name, value in found.items() if not name.startswith("_")}
    module = adjoint if path == "adjoint" else importlib.import_module(f"adjoint.{path}")
    names = set() if module is adjoint else set(getattr(module, "__all__", ()))
    names = names or {name for name in dir(module) if not name.startswith("_")}
    if module is adjoint:
        names |= {name for names in adjoint._LAZY_NAMES.values() for name in names if not name.startswith("_")}
    found = {}
    for name in sorted(names):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        own = isinstance(home, str) and home.partition(".")[0] in ("", "adjoint", "torch", "builtins")
        if callable(value) and not isinstance(value, types.ModuleType) and own and not _is_borrowed(module, value):
            found[name] = value
    return found


def _is_borrowed(module, value):
    """Whether a module has only imported a helper, which is no part of what it offers."""
    home = getattr(value, "__module__", None) or ""
    if isinstance(value, adjoint._C.Op) or not home.startswith("adjoint.") or hasattr(module, "__all__"):
        return False
    private = any(part.startswith("_") for part in home.split("."))
    inside = home.startswith(module.__name__) or module is adjoint
    return private and not inside


def faults(name, value):
    """What is missing of a callable's documentation, in words."""
    missing = []
    try:
        inspect.signature(value)
    except (TypeError, ValueError):
        missing.append("signature")
    text = value.__doc__ if isinstance(value.__doc__, str) else ""
    first = inspect.cleandoc(text).split("\n")[0]
    # A sentence, not the name again, nor a hint at where to look.
    if len(first.split()) < 3 or first.startswith((f"{name}(", "See ")) or re.fullmatch(rf"{name}\W*", first):
        missing.append("first line")
    if ">>>" not in text:
        missing.append("example")
    return missing


@pytest.mark.parametrize("path", [*MODULES, "Tensor"])
def test_every_callable_is_documented(path, capsys):
    found = public_callables(path)
    lacking = {name: faults(name, value) for name, value in found.items()}
    lacking = {name: missing for name, missing in lacking.items() if missing}
    with capsys.disabled():
        print(f"\n{path}: {len(found) - len(lacking)} of {len(found)} callables are documented", end="")
    assert not lacking, "\n".join(f"{path}.{name}: no {', '.join(missing)}" for name, missing in lacking.items())


def test_every_attribute_of_tensors_is_described():
    found = {name: inspect.getattr_static(adjoint.Tensor, name) for name in dir(adjoint.Tensor) if name[0] != "_"}
    attributes = {name: value for name, value in found.items() if inspect.isdatadescriptor(value)}
    assert {"shape", "grad", "is_cuda"} <= attributes.keys()
    assert [name for name, value in attributes.items() if len((value.__doc__ or "").split()) < 3] == []


def published_ops():
    """The op objects of all modules and of Tensor."""
    modules = [importlib.import_module(f"adjoint.{path}") for path in MODULES if path != "adjoint"]
    places = [vars(adjoint), vars(adjoint.Tensor), *map(vars, modules)]
    return [value for place in places for value in place.values() if isinstance(value, adjoint._C.Op)]


def test_every_text_is_shown_and_tells_nothing_twice():
    """The texts of src/adjoint/ops/help belong to ops that are public, and repeat no sentence of a declaration."""
    shown = {_help.key_of(op): op for op in published_ops()}
    twins = {key.removesuffix("_") for key in shown}
    assert not _help.entries().keys() - shown.keys() - twins
    for name, (file, text) in _help.entries().items():
        assert ">>>" in text, f"{file}: {name} has no example"
        if not text.startswith(">>>") and name in shown and not name.endswith("_"):
            assert not _help._sentence(shown[name]), f"{file}: {name} has a sentence in its declaration, too"


def test_every_argument_of_an_op_is_named():
    """By its text or by the list that all ops share, unless it is obvious; and all words of the list are shown."""
    ops = {_help.key_of(op): op for op in published_ops() if not (op.__name__[0] == "_" or op.__name__[-2:] == "__")}
    unsaid = {key: _help.unexplained(op, op.__doc__) for key, op in ops.items()}
    assert {key: names for key, names in unsaid.items() if names} == {}
    shown = "\n".join(op.__doc__ for op in ops.values())
    meant = {f"- {name.rpartition('.')[2]}: {meaning}." for name, meaning in _help.ARGUMENTS.items()}
    assert [line for line in meant if line not in shown] == []


def test_examples_hold_in_torch():
    """The examples of ops, run by PyTorch: it prints the same."""
    for name, (_, text) in _help.entries().items():
        run_examples(f">>> import torch\n{text[text.index('>>>') :]}", f"torch: {name}", warned="ignore")


def test_forms_in_place_are_derived():
    text = adjoint.Tensor.exp_.__doc__
    assert text.startswith("e to the power of each element.")
    assert ">>> torch.tensor([0.0, 1.0, 2.0]).exp_()" in text
    # Where there is no such method the function is called.
    assert ">>> torch.selu_(torch.tensor([-1.0, 2.0]))" in adjoint.selu_.__doc__


def test_signatures_are_those_of_the_declarations():
    def signature(value):
        return str(inspect.signature(value))

    assert signature(adjoint.add) == "(input, other, *, alpha=1, out=None)"
    assert signature(adjoint.Tensor.add) == "(self, /, other, *, alpha=1, out=None)"
    assert signature(adjoint.ones(1).add_) == "(other, *, alpha=1)"
    assert signature(adjoint.sum) == "(input, dim=Ellipsis, keepdim=False, *, dtype=None, out=None)"
    assert signature(adjoint.Tensor.view) == "(self, /, *size, dtype=None)"
    assert signature(adjoint.tensor) == "(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)"
    assert signature(adjoint.Tensor.size) == "(self, /, dim=None)"


def test_help_is_loaded_by_those_who_ask():
    lines = ["import sys, adjoint", "assert 'adjoint._help' not in sys.modules", "adjoint.add.__doc__"]
    python("-c", "; ".join([*lines, "assert 'adjoint._help' in sys.modules"]))


def test_help_shows_signature_and_example():
    text = pydoc.plain(pydoc.render_doc(adjoint.add))
    assert "add(input, other, *, alpha=1, out=None)" in text
    assert ">>> torch.add(" in text


def test_a_program_may_set_the_docstring_of_an_op():
    before = adjoint.nn.functional.relu6.__doc__
    adjoint.nn.functional.relu6.__doc__ = "Mine."
    try:
        assert adjoint.nn.functional.relu6.__doc__ == "Mine."
    finally:
        del adjoint.nn.functional.relu6.__doc__
    assert adjoint.nn.functional.relu6.__doc__ == before
