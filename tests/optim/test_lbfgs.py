"""LBFGS: the same iterations, evaluations and state as torch, with and without line search."""

import pytest
import torch

import adjoint
from tests.compare import same

from . import runs

OPTIONS = [
    {},
    {"lr": 0.1},
    {"lr": 0.1, "max_eval": 5},
    {"max_iter": 1},
    {"history_size": 2, "max_iter": 4, "lr": 0.3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 4},
    {"line_search_fn": "strong_wolfe", "lr": 5.0},
    {"line_search_fn": "strong_wolfe", "lr": 50.0, "max_iter": 5, "max_eval": 9},
    {"line_search_fn": "strong_wolfe", "lr": 0.001, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "lr": 0.001, "max_iter": 5, "max_eval": 100},
]


def minimize(L, options, start=None, state=None, steps=4):
    """Steps on a quartic with coupled variables: the optimizer, its parameters, and the loss of every evaluation."""
    values = start or [[1.0, -2.0, 0.5], [[0.3]]]
    x, y = params = [L.nn.Parameter(L.tensor(value, dtype=L.float64)) for value in values]
    optimizer = L.optim.LBFGS(params, **options)
    if state:
        optimizer.load_state_dict(state)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = (x**4).sum() + ((x - y) ** 2).sum() + (x[0] * x[1] - 1) ** 2
        loss.backward()
        losses.append(loss.item())
        return loss

    returned = [optimizer.step(closure).item() for _ in range(steps)]
    return optimizer, params, losses, returned


@pytest.mark.parametrize("options", OPTIONS, ids=runs.case_id)
def test_iterations(options):
    (optimizer, params, losses, returned), theirs = (minimize(L, options) for L in (adjoint, torch))
    runs.assert_same_losses(losses, theirs[2], 1e-9)
    runs.assert_same_losses(returned, theirs[3], 1e-9)
    for ours, expected in zip(params, theirs[1], strict=True):
        runs.assert_close(ours, expected, 1e-9)
    state, expected = (o.state_dict()["state"][0] for o in (optimizer, theirs[0]))
    assert list(state) == list(expected)
    for name, value in expected.items():
        assert type(state[name]).__name__ == type(value).__name__, name
        if isinstance(value, list):
            assert len(state[name]) == len(value)
    assert (state["n_iter"], state["func_evals"]) == (expected["n_iter"], expected["func_evals"])


@pytest.mark.parametrize("options", [OPTIONS[1], OPTIONS[6]], ids=runs.case_id)
def test_state_moves_between_libraries(options):
    whole = minimize(torch, options, steps=4)[2]
    for first, second in ((torch, adjoint), (adjoint, torch)):
        optimizer, params, losses, _ = minimize(first, options, steps=2)
        start = [param.tolist() for param in params]
        losses += minimize(second, options, start, runs.convert(optimizer.state_dict(), second), steps=2)[2]
        runs.assert_same_losses(losses, whole, 1e-9)


def test_complex_parameters():
    def run(L):
        z = L.nn.Parameter(L.tensor([1.0 + 2.0j, -0.5j], dtype=L.complex128))
        optimizer = L.optim.LBFGS([z], lr=0.5, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = ((z - (0.3 + 0.1j)).abs() ** 4).sum()
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(3)], z

    (losses, z), (expected, w) = run(adjoint), run(torch)
    runs.assert_same_losses(losses, expected, 1e-8)
    runs.assert_close(z, w, 1e-8)


def test_parameters_without_gradient_stay():
    used, unused = adjoint.ones(2, requires_grad=True), adjoint.ones(2, requires_grad=True)
    optimizer = adjoint.optim.LBFGS([used, unused])

    def closure():
        optimizer.zero_grad()
        loss = (used * used).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert used.abs().max().item() < 1e-3
    assert unused.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("what", ["groups", "closure", "line search", "flat"])
def test_odd_use(what):
    def run(L):
        x = L.nn.Parameter(L.ones(2))
        if what == "groups":
            L.optim.LBFGS([{"params": [x]}, {"params": [L.nn.Parameter(L.ones(2))]}])
        optimizer = L.optim.LBFGS([x], line_search_fn="other" if what == "line search" else None)
        if what == "closure":
            optimizer.step()

        def closure():
            optimizer.zero_grad()
            loss = (x * x).sum() * (0 if what == "flat" else 1)
            loss.backward()
            return loss

        return optimizer.step(closure).item(), optimizer.state_dict()["state"]

    same(run)
