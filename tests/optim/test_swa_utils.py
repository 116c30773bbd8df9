"""Averaged models, their batch norms and the schedule of averaging, beside torch's."""

import copy
import inspect
import pickle

import pytest
import torch

import adjoint
from tests.compare import programs, same

from .schedules import optimizer, walk

program, test_program = programs()


def swa(L):
    return L.optim.swa_utils


def model(L, dtype="float64"):
    """Layers with parameters, float buffers and a counting buffer, all with known values."""
    made = L.nn.Sequential(L.nn.Linear(3, 2), L.nn.BatchNorm1d(2), L.nn.Linear(2, 1)).to(getattr(L, dtype))
    return change(L, made, 0)


def change(L, made, i):
    """New values for all parameters and buffers, as training would give."""
    with L.no_grad():
        for j, value in enumerate([*made.parameters(), *made.buffers()]):
            value.copy_((L.arange(value.numel()).reshape(value.shape) * 0.37 + i * 1.3 + j * 5 + 1).to(value.dtype))
    return made


AVERAGES = {
    "default": lambda L: {},
    "buffers": lambda L: {"use_buffers": True},
    "mean": lambda L: {"avg_fn": swa(L).get_swa_avg_fn()},
    "mean with buffers": lambda L: {"avg_fn": swa(L).get_swa_avg_fn(), "use_buffers": True},
    "mean of many": lambda L: {"multi_avg_fn": swa(L).get_swa_multi_avg_fn()},
    "decay": lambda L: {"avg_fn": swa(L).get_ema_avg_fn(0.9), "use_buffers": True},
    "decay of many": lambda L: {"multi_avg_fn": swa(L).get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "decay of many without buffers": lambda L: {"multi_avg_fn": swa(L).get_ema_multi_avg_fn()},
    "own": lambda L: {"avg_fn": lambda average, current, count: average + current * count},
    "on a device": lambda L: {"device": "cpu"},
}


def rounded(state):
    return {name: [float(f"{x:.5g}") for x in value.flatten().tolist()] for name, value in state.items()}


@pytest.mark.parametrize("name", AVERAGES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_averages(name, dtype):
    def run(L):
        made = model(L, dtype)
        averaged = swa(L).AveragedModel(made, **AVERAGES[name](L))
        taken = [rounded(averaged.state_dict())]
        for i in range(6):
            averaged.update_parameters(change(L, made, i**2))
            taken.append(rounded(averaged.state_dict()))
        x = L.ones(4, 3, dtype=getattr(L, dtype))
        return taken, repr(averaged), averaged.eval()(x).round(decimals=1).tolist(), list(averaged.state_dict())

    same(run)


@program
def own_average_of_lists(L):
    """Lists of tensors of one type each."""
    calls = []

    def update(averages, currents, count):
        shapes = [[tuple(value.shape) for value in values] for values in (averages, currents)]
        calls.append([int(count), str(averages[0].dtype), *shapes])
        for average, current in zip(averages, currents, strict=True):
            average.copy_(current)

    made = model(L)
    made[0].to(L.float32)
    averaged = swa(L).AveragedModel(made, multi_avg_fn=update, use_buffers=True)
    for i in range(3):
        averaged.update_parameters(change(L, made, i))
    return sorted(calls), rounded(averaged.state_dict())


def test_mean_of_lists_of_integers():
    """torch has no such means; those of single tensors are rounded down."""
    average = adjoint.tensor([1, 5])
    swa(adjoint).get_swa_multi_avg_fn()([average], [adjoint.tensor([6, 1])], 2)
    assert average.tolist() == [2, 3]


@program
def the_copy_is_apart(L):
    made = model(L)
    averaged = swa(L).AveragedModel(made)
    before = rounded(averaged.state_dict())
    change(L, made, 7)
    shared = {id(p) for p in made.parameters()} & {id(p) for p in averaged.parameters()}
    requires = [p.requires_grad for p in averaged.parameters()]
    return before == rounded(averaged.state_dict()), len(shared), requires, averaged.n_averaged, averaged.training


@program
def two_ways_of_averaging(L):
    swa(L).AveragedModel(model(L), avg_fn=max, multi_avg_fn=max)


@pytest.mark.parametrize("name", ["get_ema_avg_fn", "get_ema_multi_avg_fn"])
@pytest.mark.parametrize("decay", [1.5, -0.1, 0, 1, "a"])
def test_decay(name, decay):
    def run(L):
        getattr(swa(L), name)(decay)

    same(run)


FUNCTIONS = ["get_ema_avg_fn", "get_swa_avg_fn", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn"]
TYPES = ["float32", "float64", "complex128"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, dtype) for name in FUNCTIONS for dtype in TYPES), *((name, "int64") for name in FUNCTIONS[:3])],
)
def test_functions(name, dtype):
    def run(L):
        average, current = ((L.arange(4) * i + 3).to(getattr(L, dtype)) for i in (3, 8))
        result = average.clone()
        update = getattr(swa(L), name)()
        if "multi" in name:
            for count in (1, L.tensor(2)):
                update([result], [current], count)
        else:
            for count in (1, L.tensor(2)):
                result = update(result, current, count)
        return str(result.dtype), [[round(x.real, 5), round(x.imag, 5)] for x in result.tolist()]

    same(run)


def test_averaged_models_are_saved():
    made = model(adjoint)
    averaged = swa(adjoint).AveragedModel(made, use_buffers=True)
    for i in range(3):
        averaged.update_parameters(change(adjoint, made, i))
    other = swa(adjoint).AveragedModel(model(adjoint), use_buffers=True)
    other.load_state_dict(averaged.state_dict())
    for copied in (other, copy.deepcopy(averaged), pickle.loads(pickle.dumps(averaged))):
        copied.update_parameters(made)
        assert copied.n_averaged == 4
    averaged.update_parameters(made)
    assert rounded(averaged.state_dict()) == rounded(other.state_dict())


# ---- batch norms


def batches(L):
    return [L.arange(12, dtype=L.float64).reshape(4, 3) * (i + 1) % 7 for i in range(3)]


BATCHES = {
    "tensors": batches,
    "lists": lambda L: [[x, 3] for x in batches(L)],
    "tuples": lambda L: [(x, None) for x in batches(L)],
    "generator": lambda L: (x for x in batches(L)),
    "none": lambda L: [],
    "empty lists": lambda L: [[]],
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_update_bn(name, training, device):
    def run(L):
        made = model(L).train(training)
        made[1].momentum = 0.3
        swa(L).update_bn(BATCHES[name](L), made, device)
        return rounded(made.state_dict()), made.training, made[1].training, made[1].momentum, L.is_grad_enabled()

    same(run)


@program
def without_batch_norms_nothing_runs(L):
    return swa(L).update_bn([3], L.nn.Linear(2, 2))


def test_update_bn_that_fails_leaves_the_momenta():
    def broken():
        yield from batches(adjoint)
        raise OSError("no more")

    made = model(adjoint).eval()
    with pytest.raises(OSError, match="no more"):
        swa(adjoint).update_bn(broken(), made)
    assert made[1].momentum == 0.1
    assert not made.training


# ---- the schedule

SCHEDULES = {
    "default": ((0.05,), {}),
    "cosine": ((0.05, 5), {}),
    "linear": ((0.05, 7, "linear"), {}),
    "one each": (([0.05, 0.9],), {"anneal_epochs": 3}),
    "pair": (((0.05, 0.9),), {"anneal_strategy": "linear"}),
    "at once": ((0.05, 0), {}),
    "at once, linear": ((0.05, 0, "linear"), {}),
    "in one": ((0.05, 1), {}),
    "unknown strategy": ((0.05, 3, "x"), {}),
    "negative": ((0.05, -1), {}),
    "fraction": ((0.05, 1.5), {}),
    "too few": (([0.05],), {}),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name):
    args, kwargs = SCHEDULES[name]

    def run(L):
        scheduler = swa(L).SWALR(optimizer(L), *args, **kwargs)
        return scheduler.state_dict(), walk(scheduler, 20), scheduler.state_dict()

    same(run)


@program
def schedule_without_optimizer(L):
    swa(L).SWALR(3, 0.1)


@pytest.mark.parametrize("epoch", [0, 3, 12])
def test_later_start(epoch):
    def run(L):
        optim = optimizer(L)
        for group in optim.param_groups:
            group["initial_lr"] = 1.0
        return walk(swa(L).SWALR(optim, 0.05, 4, last_epoch=epoch), 8)

    same(run)


@program
def schedule_after_another(L):
    optim = optimizer(L)
    first = L.optim.lr_scheduler.ExponentialLR(optim, 0.9)
    second = swa(L).SWALR(optim, 0.05, 5)
    return walk(first, 6), walk(second, 8)


@program
def schedule_at_an_epoch(L):
    scheduler = swa(L).SWALR(optimizer(L), 0.05, 5)
    scheduler.optimizer.step()
    scheduler.step(3)
    return scheduler.get_last_lr(), scheduler.get_lr()


def test_state_moves_between_libraries():
    expected = walk(swa(torch).SWALR(optimizer(torch), 0.05, 9), 12)[-1]
    for first, second in ((adjoint, torch), (torch, adjoint)):
        scheduler = swa(first).SWALR(optimizer(first), 0.05, 9)
        walk(scheduler, 4)
        saved = [scheduler.state_dict(), scheduler.optimizer.state_dict()["param_groups"]]
        optim = optimizer(second, lr=7.0)
        scheduler = swa(second).SWALR(optim, 0.3, 2, "linear")
        scheduler.load_state_dict(saved[0])
        optim.load_state_dict({"state": {}, "param_groups": saved[1]})
        assert walk(scheduler, 8)[-1] == expected


def test_names_and_signatures():
    assert sorted(swa(adjoint).__all__) == sorted(swa(torch).__all__)
    for name in swa(torch).__all__:
        described = [
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(swa(L), name)).parameters.values()]
            for L in (adjoint, torch)
        ]
        assert described[0] == described[1], name
