"""The same module in both libraries: its signature, repr, state, results, gradients and training compared.

A module is given as a function of the library: `lambda L: L.nn.Linear(3, 2)`. Inputs are NumPy arrays: those of floats
become tensors of the type under test that require grad, others tensors of their own type; whatever else stays as it is.
"""

import inspect

import numpy as np
import torch

import adjoint
from tests import compare
from tests.compare import Bound

BOUNDS = {"float64": Bound(1e-10, 1e-10), "float32": Bound(1e-5, 1e-5)}


def floats(*shape, seed=0):
    """Numbers from the normal distribution, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(shape)


def integers(high, *shape, seed=0):
    """Numbers below `high`."""
    return np.random.default_rng(seed).integers(0, high, shape)


def build(make, dtype="float32", seed=0):
    """(ours, theirs): the module made under one seed, with parameters of one type."""
    modules = []
    for library in (adjoint, torch):
        library.manual_seed(seed)
        modules.append(make(library).to(getattr(library, dtype)))
    return modules


def tensors(library, values, dtype="float32", requires_grad=True):
    """Inputs for one library; see the top of the file."""
    result = []
    for value in values:
        if isinstance(value, np.ndarray):
            value = library.from_numpy(value.astype(dtype if value.dtype.kind == "f" else value.dtype))  # a copy
            value.requires_grad_(requires_grad and value.is_floating_point())
        elif isinstance(value, (list, tuple)):
            value = type(value)(tensors(library, value, dtype, requires_grad))
        result.append(value)
    return result


def assert_same(ours, theirs, dtype="float32", what="result"):
    """Asserts that results are the same within the bound of the type under test."""
    compare.assert_same(ours, theirs, bound=compare.in_tensors(BOUNDS[dtype]), what=what)


def check_signature(name):
    """Asserts that nn.<name> takes the arguments of torch's: names, order, kinds, defaults."""

    def described(library):
        parameters = inspect.signature(getattr(library.nn, name)).parameters.values()
        return [(p.name, p.kind, repr(p.default).replace("adjoint.", "torch.")) for p in parameters]

    assert described(adjoint) == described(torch)


def library_of(value):
    """The library that made a tensor."""
    return adjoint if isinstance(value, adjoint.Tensor) else torch


def loss_of(result):
    """A number that depends on every float in a result: half the squared distance from numbers of no meaning."""
    if isinstance(result, (list, tuple)):
        return sum(loss_of(item) for item in result)
    if not getattr(result, "is_floating_point", bool)():
        return 0.0
    goal = np.cos(np.arange(result.numel())).reshape(tuple(result.shape))
    difference = result - library_of(result).from_numpy(goal).to(result.dtype)
    return (difference * difference).sum() / 2


def check(make, *inputs, dtypes=("float64", "float32"), call=lambda module, *args: module(*args), training=True):
    """Asserts that a module made by both libraries has the same repr, state, results, gradients and later state."""
    for dtype in dtypes:
        ours, theirs = build(make, dtype)
        assert repr(ours) == repr(theirs)
        assert_same(ours.state_dict(), theirs.state_dict(), dtype, "state_dict")
        seen = []
        for library, module in ((adjoint, ours), (torch, theirs)):
            library.manual_seed(1)
            args = tensors(library, inputs, dtype)
            result = call(module.train(training), *args)
            loss = loss_of(result)
            if getattr(loss, "requires_grad", False):
                loss.backward()
            grads = [arg.grad for arg in args if isinstance(arg, library.Tensor)]
            named = {name: p.grad for name, p in module.named_parameters()}
            seen.append((result, grads, named, module.state_dict()))
        for what, one, other in zip(("result", "input grads", "grads", "state after"), *seen, strict=True):
            assert_same(one, other, dtype, what)


def check_trajectory(make, *inputs, steps=50, lr=0.02, loss=loss_of):
    """Asserts that plain gradient descent on loss(module(*inputs)) gives torch's losses in both float types."""
    for dtype in BOUNDS:
        losses = []
        for library, module in zip((adjoint, torch), build(make, dtype), strict=True):
            library.manual_seed(1)
            args = tensors(library, inputs, dtype, requires_grad=False)
            curve = []
            for _ in range(steps):
                value = loss(module(*args))
                module.zero_grad()
                value.backward()
                with library.no_grad():
                    for parameter in module.parameters():
                        if parameter.grad is not None:
                            parameter -= lr * parameter.grad
                curve.append(value.item())
            losses.append(curve)
        compare.assert_same(*losses, bound=Bound(BOUNDS[dtype].relative), what=dtype)
