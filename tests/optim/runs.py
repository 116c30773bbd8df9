"""Optimizers run for some steps in either library, and their results compared."""

import numpy as np
import torch

import adjoint
from tests import compare
from tests.compare import Bound

LIMITS = {"float32": 1e-5, "float64": 1e-10}

# The options that are tried for each optimizer: alone and in the combinations that meet in its formula.
OPTIONS = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.3, "maximize": True},
        {"weight_decay": 0.1, "maximize": True},
    ],
    "Adam": [
        {},
        {"amsgrad": True},
        {"weight_decay": 0.1, "maximize": True},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"betas": (0.3, 0.4), "eps": 1e-3, "amsgrad": True, "maximize": True},
    ],
    "AdamW": [{}, {"weight_decay": 0.2, "amsgrad": True}, {"maximize": True}],
    "NAdam": [
        {},
        {"weight_decay": 0.1, "maximize": True},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"momentum_decay": 0.1, "betas": (0.5, 0.7)},
    ],
    "RAdam": [
        {},
        {"weight_decay": 0.1, "maximize": True},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"betas": (0.5, 0.6)},
        {"betas": (0.0, 0.0)},
    ],
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}, {"betas": (0.5, 0.6)}],
    "Adagrad": [
        {},
        {"weight_decay": 0.1, "maximize": True},
        {"lr_decay": 0.1, "initial_accumulator_value": 0.5},
    ],
    "Adadelta": [{}, {"weight_decay": 0.1, "maximize": True}, {"rho": 0.5}],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True},
    ],
    "Rprop": [{}, {"maximize": True}, {"etas": (0.3, 1.5), "step_sizes": (0.005, 0.02)}],
    "ASGD": [{}, {"weight_decay": 0.1, "maximize": True}, {"lambd": 0.1, "alpha": 0.5, "t0": 3}],
    "Adafactor": [
        {},
        {"weight_decay": 0.1, "maximize": True},
        {"d": 2.0, "beta2_decay": -0.5, "eps": (1e-3, 1e-2)},
    ],
}
CASES = [(name, options) for name, choices in OPTIONS.items() for options in choices]
ELEMENTWISE = [name for name in OPTIONS if name != "Adafactor"]
SHAPES = ((3,), (2, 3), (), (2, 3, 2), (0,))


def case_id(value):
    if isinstance(value, dict):
        return ",".join(f"{key}={option}" for key, option in value.items()) or "default"
    return value


def values(shape, dtype, seed):
    """Numbers in the usual range, the same for both libraries."""
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return numbers + 1j * np.random.default_rng(seed + 1000).standard_normal(shape) if "complex" in dtype else numbers


def parameters(L, dtype, shapes=SHAPES):
    return [L.nn.Parameter(L.tensor(values(s, dtype, i), dtype=getattr(L, dtype))) for i, s in enumerate(shapes)]


def train(L, optimizer, params, steps, start=0):
    """Some steps on a bowl that is pushed about; the losses."""
    losses = []
    for i in range(start, start + steps):
        optimizer.zero_grad()
        parts = (L.view_as_real(p) if p.is_complex() else p for p in params)
        loss = sum(((p - 0.3) ** 2 * (1 + 0.1 * (i % 3)) + 1 + (0.7 * p + i).sin()).sum() for p in parts)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(L, name, options, dtype, steps=50, shapes=SHAPES, lr=0.02):
    """An optimizer's losses, parameters and states after some steps."""
    params = parameters(L, dtype, shapes)
    optimizer = getattr(L.optim, name)(params, lr=lr, **options)
    losses = train(L, optimizer, params, steps)
    return losses, params, optimizer.state_dict()["state"]


def assert_close(ours, theirs, limit):
    """Parameters, states or nested data of them: equal but for values, as compared with the largest of each, finite."""
    compare.assert_same(ours, theirs, bound=Bound(absolute=limit, largest=(1e-3, np.inf)))
    assert all(tensor.isfinite().all() for tensor in compare.tensors_in(theirs))


def assert_same_losses(ours, theirs, limit):
    compare.assert_same(ours, theirs, bound=Bound(limit))
    assert np.isfinite(theirs).all()


def assert_same_run(name, options, dtype, **settings):
    limit = LIMITS[dtype.replace("complex64", "float32").replace("complex128", "float64")]
    if name == "Adafactor":  # torch divides by the size of the parameter
        settings = {"shapes": SHAPES[:-1], **settings}
    losses, params, state = run(adjoint, name, options, dtype, **settings)
    expected_losses, expected_params, expected_state = run(torch, name, options, dtype, **settings)
    assert_same_losses(losses, expected_losses, limit)
    assert_close((params, state), (expected_params, expected_state), limit)


def convert(value, L):
    """A nested state_dict with its tensors moved to a library."""
    if isinstance(value, torch.Tensor | adjoint.Tensor):
        return L.tensor(value.tolist(), dtype=getattr(L, str(value.dtype).removeprefix("torch.")))
    if isinstance(value, dict):
        return {key: convert(item, L) for key, item in value.items()}
    if isinstance(value, list):
        return [convert(item, L) for item in value]
    return value
