"""Fifty steps of each optimizer give torch's losses, parameters and states, with every option and in every type."""

import pytest
import torch

import adjoint
from tests.compare import Bound, assert_same

from . import runs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), runs.CASES, ids=runs.case_id)
def test_trajectory(name, options, dtype):
    runs.assert_same_run(name, options, dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", runs.ELEMENTWISE)
def test_complex_trajectory(name, dtype):
    for options in (runs.OPTIONS[name][0], runs.OPTIONS[name][-1]):
        runs.assert_same_run(name, options, dtype, steps=20, shapes=((3,), (2, 2), (0,)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop"])
def test_half_precision_rounds_as_torch(name, dtype):
    """Each operation of the formula is rounded, as when torch runs them one by one."""

    def result(L):
        param = L.nn.Parameter(L.tensor([0.3, -1.2, 2.5, 0.01], dtype=getattr(L, dtype)))
        optimizer = getattr(L.optim, name)([param], lr=0.1)
        for i in range(5):
            grad = L.tensor([0.11, 0.5, -0.3, 1.7]) * (1 + i % 3) - 0.1 * i
            param.grad = grad.to(param.dtype)
            optimizer.step()
        return [tensor.tolist() for tensor in (param, *optimizer.state[param].values())]

    assert result(adjoint) == result(torch)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "ASGD"])
def test_default_dtype_of_step(name):
    """Where the default type is float64, so are the 0-d states."""

    def program(L):
        L.set_default_dtype(L.float64)
        try:
            return runs.run(L, name, runs.OPTIONS[name][-1], "float64", steps=10)
        finally:
            L.set_default_dtype(L.float32)

    (_, _, ours), (_, _, theirs) = program(adjoint), program(torch)
    runs.assert_close(ours, theirs, 1e-10)


@pytest.mark.parametrize("name", runs.OPTIONS)
def test_tensor_learning_rate(name):
    def result(L):
        params = runs.parameters(L, "float64", ((3,),))
        optimizer = getattr(L.optim, name)(params, lr=L.tensor(0.02, dtype=L.float64))
        runs.train(L, optimizer, params, 5)
        return params[0]

    runs.assert_close(result(adjoint), result(torch), 1e-10)


# Muon computes in bfloat16: a sum in another order may flip a last bit now and then.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nesterov": False},
        {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.5},
        {"adjust_lr_fn": "original", "momentum": 0.5},
        {"ns_steps": 2, "eps": 1e-2, "ns_coefficients": (2.0, -1.5, 0.5)},
    ],
    ids=runs.case_id,
)
def test_muon(options, dtype):
    shapes = ((2, 3), (5, 2), (4, 4), (1, 1))
    losses, params, state = runs.run(adjoint, "Muon", options, dtype, shapes=shapes)
    expected_losses, expected_params, expected_state = runs.run(torch, "Muon", options, dtype, shapes=shapes)
    runs.assert_same_losses(losses, expected_losses, 2**-9)
    for ours, theirs in zip(params, expected_params, strict=True):
        runs.assert_close(ours, theirs, 2**-8)
    runs.assert_close(state, expected_state, 2**-8)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_groups_with_options_of_their_own(name):
    def result(L):
        params = runs.parameters(L, "float64", ((3,), (2,), (4,)))
        groups = [
            {"params": params[:1]},
            {"params": params[1:2], "lr": 0.1},
            {"params": params[2], "weight_decay": 0.3},
        ]
        optimizer = getattr(L.optim, name)(groups, lr=0.01)
        runs.train(L, optimizer, params, 5)
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
        runs.train(L, optimizer, params, 5)
        return params

    for ours, theirs in zip(result(adjoint), result(torch), strict=True):
        runs.assert_close(ours, theirs, 1e-10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam"])
def test_many_parameters_that_joined_at_different_steps(name):
    """Parameters without a gradient are passed over: their steps lag behind those of the others."""

    def result(L):
        params = runs.parameters(L, "float64", ((3,),) * 100)
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(L.optim, name)(params, lr=0.01, **options)
        for i in range(6):
            for j, param in enumerate(params):
                param.grad = None if (i + j) % 3 == 0 else 0.1 * (j + 1) * param.detach()
            optimizer.step()
        return params, optimizer.state_dict()["state"]

    (ours, our_state), (theirs, their_state) = result(adjoint), result(torch)
    for a, b in zip(ours, theirs, strict=True):
        runs.assert_close(a, b, 1e-10)
    runs.assert_close(our_state, their_state, 1e-10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Rprop"])
def test_large_parameter(name):
    """Large enough to be shared between threads, and odd in size."""

    def result(L):
        param = L.nn.Parameter(L.linspace(0.5, 2, 300_007, dtype=L.float64))
        optimizer = getattr(L.optim, name)([param], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
        for i in range(3):
            param.grad = (param.detach() * (i + 1)).sin()
            optimizer.step()
        return param

    assert_same(result(adjoint), result(torch), bound=Bound(1e-10, 1e-12))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_training_a_module(name, dtype):
    """The same seed, model and loop: the same losses."""

    def losses(L):
        L.manual_seed(3)
        model = L.nn.Sequential(L.nn.Linear(4, 8), L.nn.Tanh(), L.nn.Linear(8, 1)).to(getattr(L, dtype))
        x = L.tensor(runs.values((32, 4), dtype, 7), dtype=getattr(L, dtype))
        y = x.pow(2).sum(1, keepdim=True).sin()
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(L.optim, name)(model.parameters(), lr=0.01, weight_decay=0.01, **options)
        found = []
        for _ in range(50):
            loss = L.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    runs.assert_same_losses(losses(adjoint), losses(torch), runs.LIMITS[dtype])
