"""All functions that can be taken over, called with foreign objects or subclasses: what each tells, against torch."""

import inspect
import warnings

import pytest
import torch

import adjoint

from ..compare import LIBRARIES
from .test_helpers import at, listed
from .told import answering

# Told in other words: what torch has in Python asks before it knows what it is given, and NumPy's own methods.
OTHERS = {"__array__", "__array_wrap__", "__dlpack__", "__dlpack_device__", "__reduce_ex__", "__bool__", "__len__"}
OTHERS |= {"__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__", "__rsub__", "__rtruediv__", "__rfloordiv__"}
OTHERS |= {
    "__rmod__",
    "__rpow__",
    "__rmatmul__",
    "__rlshift__",
    "__rrshift__",
    "unravel_index",
    "lu",
    "chain_matmul",
    "tensordot",
}
OTHERS |= {"block_diag"}


def names():
    common = listed(torch) & listed(adjoint)
    return sorted(name for name in common if not OTHERS & set(name.split(".")))


THEIRS = torch.overrides.get_testing_overrides()


def required(function):
    """How many arguments a function must have at least."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(THEIRS[function]).parameters.values()
    return sum(p.kind in kinds and p.default is p.empty for p in parameters) or 1


def calls(name, f, plain, count):
    """Arguments that may be right for a function, from the likeliest on."""
    yield [f] * count
    yield [f] + [1] * (count - 1)
    yield [(f, f)] + [1] * (count - 1)
    yield [f, *[plain] * (count - 1)]
    yield [f, 1, f, f][:count]
    yield [f, f, 1, 1][:count]
    yield [f, (1,), (1,), 1][:count]
    yield ["i,i", f, f]


def told(L, name):
    """What comes of each of these calls: what was told, and the answer."""
    method = name.startswith("torch.Tensor.")
    Told, seen = answering(L, base=L.Tensor if method else object)
    f = L.ones(2).as_subclass(Told) if method else Told()
    function, outcomes = at(L, name.removeprefix("torch.")), []
    for args in calls(name, f, L.ones(2), required(at(torch, name.removeprefix("torch.")))):
        seen.clear()
        try:
            with warnings.catch_warnings(action="ignore"):
                answer = function(*args)
        except Exception as error:  # what torch refuses is not compared
            answer = error
        outcomes.append((list(seen), answer))
    return outcomes


def differences(name):
    """The first call that torch lets be taken over, and nothing else before it: as told there and here."""
    for theirs, ours in zip(*(told(L, name) for L in LIBRARIES), strict=True):
        if len(theirs[0]) == 1 and theirs[1] == -1:
            return None if ours == theirs else (theirs, ours)
    return "never told"


# Functions of which these calls are none.
NEVER = {"as_strided_scatter", "index_put", "index_put_", "index_reduce", "index_reduce_", "nonzero_static", "scatter"}
NEVER |= {"where", "tile", "__setitem__", "repeat", "repeat_interleave", "set_"}
NEVER |= {"scatter_", "scatter_reduce", "scatter_reduce_", "solve_triangular", "native_layer_norm"}
NEVER |= {"_coalesced_", "sparse_resize_", "sparse_resize_and_clear_", "record_stream"}


@pytest.mark.parametrize("part", range(12))
def test_as_torch_tells_them(part):
    chosen = names()[part::12]
    found = {name: differences(name) for name in chosen}
    wrong = {name: why for name, why in found.items() if why}
    assert len(chosen) > 90
    assert {name for name, why in wrong.items() if why == "never told"} <= {
        name for name in chosen if name.rpartition(".")[2] in NEVER
    }
    assert {name: why for name, why in wrong.items() if why != "never told"} == {}
