"""Programs that run on both libraries: each is a function of the library and must give the same in torch and here."""

import math
import warnings

import pytest
import torch

import adjoint


def plain(value):
    """Results as plain Python data, tensors with their dtype and autograd state."""
    if isinstance(value, adjoint.Tensor | torch.Tensor):
        name = value.grad_fn.name() if value.grad_fn is not None else None
        data = value.detach().tolist()
        return ("tensor", str(value.dtype), tuple(value.shape), data, value.requires_grad, value.is_leaf, name)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def outcome(program, library):
    """What a program gives: its result, or the type and the opening words of what it raises; and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("value", plain(program(library)))
        except Exception as error:
            result = ("raised", type(error).__name__, str(error)[:40])
    # torch warns that create_graph=True leaks; here the cycle is collected, and there is nothing to warn of.
    messages = [
        str(w.message) for w in caught if "with create_graph=True will create a reference cycle" not in str(w.message)
    ]
    return result, [message[:60] for message in messages]


# Functions of the C library round the last bits in another way than torch's: four units in the last place.
CLOSE = {"torch.float64": 1e-15, "torch.complex128": 1e-15}
CLOSE_OTHERS = 5e-7


def agree(ours, theirs, close=CLOSE_OTHERS):
    """Whether two results of `plain` are the same, but for the last bits of floats."""
    if isinstance(ours, tuple) and ours[:1] == ("tensor",) and isinstance(theirs, tuple):
        close = CLOSE.get(ours[1], CLOSE_OTHERS)
    if isinstance(ours, list | tuple) and type(ours) is type(theirs):
        return len(ours) == len(theirs) and all(agree(a, b, close) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, dict) and type(ours) is type(theirs):
        return list(ours) == list(theirs) and all(agree(value, theirs[key], close) for key, value in ours.items())
    if isinstance(ours, complex) and isinstance(theirs, complex):
        return agree(ours.real, theirs.real, close) and agree(ours.imag, theirs.imag, close)
    if isinstance(ours, float) and isinstance(theirs, float) and ours and math.isfinite(ours):
        return math.isclose(ours, theirs, rel_tol=close)
    return repr(ours) == repr(theirs)


def same(program):
    """Asserts that both libraries give the same; a message here may go on where torch's ends."""
    (ours, our_warnings), (theirs, their_warnings) = outcome(program, adjoint), outcome(program, torch)
    if ours[0] == theirs[0] == "raised":
        ours = (*ours[:2], ours[2][: len(theirs[2])])
    assert agree(ours, theirs), f"adjoint: {ours}\ntorch: {theirs}"
    assert our_warnings == their_warnings
    return ours, our_warnings


def programs():
    """`program, test_program = programs()`: a decorator that collects programs, and the test that runs each of them."""
    collected = {}

    def program(function):
        assert collected.setdefault(function.__name__, function) is function, f"two programs {function.__name__}"
        return function

    @pytest.mark.parametrize("name", collected)
    def test_program(name):
        same(collected[name])

    return program, test_program


def raised(call):
    """The type and the first words of what a call raises, or its result."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)[:24]


def leaf(L, *values):
    return L.tensor(list(values), requires_grad=True)
