"""A step that runs out of memory changes nothing, whichever allocation fails, and can be taken again."""

import re

import numpy as np
import pytest

import adjoint
from adjoint import optim
from tests.compare import EXACT, VALUES, difference, plain

from .runs import OPTIONS

CASES = [(name, options) for name, choices in OPTIONS.items() for options in (choices[0], choices[-1])]
CASES += [("Adam", {"foreach": True}), ("Adam", {"fused": True}), ("AdamW", {"amsgrad": True, "foreach": False})]
MATRICES = [("Muon", {}), ("Muon", {"nesterov": False, "weight_decay": 0.0})]
FAILED = re.compile(r"you tried to allocate (\d+) bytes; live tensors hold (\d+) bytes")


def picture(optimizer):
    """The parameters and the states as they are now."""
    params = [param for group in optimizer.param_groups for param in group["params"]]
    index = {id(param): i for i, param in enumerate(params)}
    return plain((params, {index[id(key)]: own for key, own in optimizer.state.items()}), VALUES)


def make_param(shape, dtype, seed, strided=False):
    values = np.random.default_rng(seed).standard_normal((2, *shape))
    param, grad = (adjoint.tensor(item).to(dtype) for item in values)
    if strided:
        param = param.t().contiguous().t()
        grad = adjoint.stack([grad, grad], dim=-1)[..., 0]
    param.requires_grad_()
    param.grad = grad
    return param


def make(name, options, dtype, shapes):
    """An optimizer of two groups, the second with other options where there are some."""
    params = [make_param(shape, dtype, seed, strided=seed == 1) for seed, shape in enumerate(shapes)]
    groups = [{"params": params[:2]}, {"params": params[2:], "weight_decay": 0.01, "lr": 0.02}]
    if name == "Rprop":
        del groups[1]["weight_decay"]
    return getattr(optim, name)(groups, **options)


def step_through(optimizer, expected, step):
    """Takes a step with ever more memory: each allocation that needs more than there was before fails once."""
    before = picture(optimizer)
    base = limit = adjoint.memory_stats()["current"]
    failures = 0
    while True:
        adjoint.set_memory_limit(limit)
        try:
            step(optimizer)
        except RuntimeError as error:
            adjoint.set_memory_limit(None)
            asked, held = map(int, FAILED.search(str(error)).groups())
            assert held + asked > limit
            limit = held + asked
            failures += 1
            changed = difference(picture(optimizer), before, EXACT)
            assert changed is None, f"{changed}, though it failed at {asked} bytes beyond {held - base}"
            continue
        finally:
            adjoint.set_memory_limit(None)
        assert difference(picture(optimizer), expected, EXACT) is None
        return failures


def check(make_one, step, least):
    """Two steps, the first of which makes the states, beside those of an optimizer with all the memory it wants."""
    reference, limited = make_one(), make_one()
    failures = 0
    for _ in range(2):
        step(reference)
        failures += step_through(limited, picture(reference), step)
    assert failures >= least


@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.bfloat16, adjoint.float64], ids=str)
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value))
def test_all_parameters_or_none(name, options, dtype):
    shapes = [(3, 50), (20, 30), (7,), (40, 11), (5, 6)]
    # A native step of plain SGD needs memory for strided parameters alone.
    check(lambda: make(name, options, dtype, shapes), lambda optimizer: optimizer.step(), 1)


@pytest.mark.parametrize(("name", "options"), MATRICES, ids=lambda value: str(value))
def test_all_matrices_or_none(name, options):
    shapes = [(3, 50), (20, 30), (7, 2), (40, 11)]
    check(lambda: make(name, options, adjoint.float32, shapes), lambda optimizer: optimizer.step(), 5)


@pytest.mark.parametrize("dtype", [adjoint.complex64, adjoint.complex128], ids=str)
def test_complex_parameters(dtype):
    check(lambda: make("Adam", {}, dtype, [(3, 5), (20, 30), (7,)]), lambda optimizer: optimizer.step(), 3)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_differentiable_steps(name):
    def make_one():
        params = [make_param((40, 30), adjoint.float32, seed).detach().requires_grad_() for seed in range(3)]
        copies = [param.clone() for param in params]
        for copy in copies:
            copy.retain_grad()
            copy.grad = copy.detach() * 0.5
        return getattr(optim, name)(copies, lr=0.1, differentiable=True)

    check(make_one, lambda optimizer: optimizer.step(), 3)


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}], ids=str)
def test_lbfgs(options):
    def make_one():
        return optim.LBFGS([make_param((30, 20), adjoint.float32, 0), make_param((7,), adjoint.float32, 1)], **options)

    def step(optimizer):
        def closure():
            optimizer.zero_grad()
            first, second = optimizer.param_groups[0]["params"]
            loss = (first**4).sum() + (second - 1).square().sum() * first.square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    check(make_one, step, 5)


def test_a_state_that_was_there_comes_back():
    """Of torch's state files, SGD finds None in place of a first momentum."""
    params = [make_param((20, 30), adjoint.float32, seed) for seed in range(2)]
    optimizer = optim.SGD(params, lr=0.1, momentum=0.9)
    optimizer.state[params[0]] = {"momentum_buffer": None, "mine": 1}
    adjoint.set_memory_limit(adjoint.memory_stats()["current"] + 2400)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        optimizer.step()
    adjoint.set_memory_limit(None)
    assert dict(optimizer.state) == {params[0]: {"momentum_buffer": None, "mine": 1}}
    optimizer.step()
    assert set(optimizer.state[params[0]]) == {"momentum_buffer", "mine"}
