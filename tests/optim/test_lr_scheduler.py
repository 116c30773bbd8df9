"""Schedules of learning rates beside torch's: the same rates, momenta and states."""

import copy
import pickle

import pytest
import torch

import adjoint
from tests.compare import programs, same

from .schedules import (
    CASES,
    COMBINED,
    PLATEAUS,
    Decay,
    build,
    everything,
    loss,
    optimizer,
    options,
    parameter,
    schedule,
    snapshot,
    walk,
)

program, test_program = programs()


@pytest.mark.parametrize("name", CASES)
def test_trajectory(name):
    def run(L):
        scheduler = build(L, name, optimizer(L))
        return scheduler.state_dict(), walk(scheduler, 60), scheduler.state_dict()

    same(run)


@pytest.mark.parametrize("name", PLATEAUS)
def test_plateau(name):
    def run(L):
        scheduler = schedule(L, "ReduceLROnPlateau")(optimizer(L), **PLATEAUS[name])
        return scheduler.state_dict(), walk(scheduler, 60, loss), scheduler.state_dict(), scheduler.in_cooldown

    same(run)


@pytest.mark.parametrize("name", COMBINED)
def test_combined(name):
    def run(L):
        scheduler = COMBINED[name](L, optimizer(L))
        return scheduler.state_dict(), walk(scheduler, 60), scheduler.state_dict()

    same(run)


# ---- times that are given, and schedules taken up again


@pytest.mark.parametrize("name", CASES)
def test_given_epochs(name):
    def run(L):
        scheduler = build(L, name, optimizer(L))
        scheduler.optimizer.step()
        taken = []
        for epoch in (3, 0, 10, 10.0, 44, 7, 59):
            scheduler.step(epoch)
            taken.append(snapshot(scheduler))
            scheduler.step()
            taken.append(snapshot(scheduler))
        return taken, scheduler.state_dict()

    same(run)


@pytest.mark.parametrize(("start", "factor"), [(9, 1), (4, 2), (1, 3), (5, 4)])
def test_given_fractions_of_epochs(start, factor):
    def run(L):
        scheduler = schedule(L, "CosineAnnealingWarmRestarts")(optimizer(L), start, factor)
        taken = []
        for i in range(300):
            scheduler.step(i / 7)
            taken.append((scheduler.get_last_lr(), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch))
        return taken

    same(run)


@pytest.mark.parametrize("epoch", [-2, 0, 1, 4, 7, 12, 13, 14, 60])
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("one cycle")])
def test_later_start(name, epoch):
    """With `last_epoch`, which takes the initial rates from the groups."""

    def run(L):
        kind, args, kwargs = copy.deepcopy(CASES[name])
        optim = optimizer(L)
        for group in optim.param_groups:
            group["initial_lr"] = group["lr"] * 2
        scheduler = schedule(L, kind)(optim, *args, **kwargs, last_epoch=epoch)
        return walk(scheduler, 5), scheduler.state_dict()

    same(run)


@program
def later_start_of_one_cycle(L):
    """The groups hold what it needs, when they come from an optimizer that it ran before."""
    optim = optimizer(L)
    scheduler = build(L, "one cycle", optim)
    walk(scheduler, 20)
    again = optimizer(L)
    again.load_state_dict(optim.state_dict())
    return walk(schedule(L, "OneCycleLR")(again, 3.0, 60, last_epoch=20), 5)


@program
def later_start_of_a_sequence(L):
    optim = optimizer(L)
    for group in optim.param_groups:
        group["initial_lr"] = group["lr"] * 2
    parts = [schedule(L, "ConstantLR")(optim, 0.5, 4, 3), schedule(L, "ExponentialLR")(optim, 0.9, 3)]
    return walk(schedule(L, "SequentialLR")(optim, parts, [3], last_epoch=3), 5)


@program
def initial_rate_is_kept(L):
    optim = optimizer(L)
    optim.param_groups[0]["initial_lr"] = 3.0
    return walk(build(L, "lambda", optim), 3)


@program
def two_schedules_in_turn(L):
    optim = optimizer(L)
    first, second = build(L, "constant", optim), build(L, "exponential", optim)
    taken = []
    for _ in range(12):
        optim.step()
        first.step()
        second.step()
        taken.append((options(optim), first.get_last_lr(), second.get_last_lr()))
    return taken


@pytest.mark.parametrize("name", [*CASES, *COMBINED])
@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # of a chain in a sequence, as in torch
def test_state_moves_between_libraries(name):
    """Steps in one library and then in the other: as all of them in one."""
    expected = walk(everything(torch, optimizer(torch))[name](), 31)[-1]
    for first, second in ((adjoint, torch), (torch, adjoint), (adjoint, adjoint)):
        scheduler = everything(first, optimizer(first))[name]()
        walk(scheduler, 11)
        saved = copy.deepcopy([scheduler.state_dict(), scheduler.optimizer.state_dict()["param_groups"]])
        optim = optimizer(second, lr=7.0)
        scheduler = everything(second, optim)[name]()
        scheduler.load_state_dict(saved[0])
        optim.load_state_dict({"state": {}, "param_groups": saved[1]})
        assert walk(scheduler, 20)[-1] == expected


def test_state_of_a_plateau_moves_between_libraries():
    expected = walk(schedule(torch, "ReduceLROnPlateau")(optimizer(torch), patience=1), 31, loss)[-1]
    for first, second in ((adjoint, torch), (torch, adjoint)):
        scheduler = schedule(first, "ReduceLROnPlateau")(optimizer(first), patience=1)
        walk(scheduler, 11, loss)
        saved = [scheduler.state_dict(), scheduler.optimizer.state_dict()["param_groups"]]
        optim = optimizer(second, lr=7.0)
        scheduler = schedule(second, "ReduceLROnPlateau")(optim, mode="max")
        scheduler.load_state_dict(saved[0])
        optim.load_state_dict({"state": {}, "param_groups": saved[1]})
        assert walk(scheduler, 20, lambda i: loss(i + 11))[-1] == expected


@program
def callable_objects_are_saved(L):
    kept = []
    for name in ("lambda object", "multiplicatives", "cyclic scaled by cycle", "cyclic scaled", "lambda"):
        state = build(L, name, optimizer(L)).state_dict()
        kept.append(state.get("lr_lambdas", state.get("_scale_fn_custom")))
    one, other = (schedule(L, "LambdaLR")(optimizer(L), Decay(rate)) for rate in (0.5, 0.9))
    state = one.state_dict()
    other.load_state_dict(state)
    wave = schedule(L, "CyclicLR")(optimizer(L), 0.1, 1.0, scale_fn=Decay(0.5))
    wave.load_state_dict(build(L, "cyclic scaled by cycle", optimizer(L)).state_dict())
    return kept, [f.rate for f in other.lr_lambdas], wave.scale_fn(2), list(state)


@pytest.mark.parametrize("copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", ["lambda object", "step", "milestones", "cosine", "cyclic", "one cycle", "chain"])
def test_copies(name, copied):
    optim = optimizer(adjoint)
    scheduler = everything(adjoint, optim)[name]()
    walk(scheduler, 5)
    other = copied(scheduler)
    assert other.optimizer is not optim
    assert walk(other, 5) == walk(scheduler, 5)


# ---- learning rates that are tensors


@pytest.mark.parametrize("name", [*CASES, *COMBINED])
def test_tensor_rates(name):
    def run(L):
        optim = L.optim.SGD([parameter(L)], lr=L.tensor(0.5, dtype=L.float64), momentum=0.9)
        optim.add_param_group({"params": [parameter(L)], "lr": L.tensor(0.25, dtype=L.float64)})
        held = [group["lr"] for group in optim.param_groups]
        scheduler = everything(L, optim)[name]()
        taken = []
        for _ in range(20):
            optim.step()
            scheduler.step()
            last = scheduler.get_last_lr()
            assert not any(a is b for a, b in zip(last, held, strict=True))
            taken.append([[float(lr) for lr in rates] for rates in (last, held)])
        kinds = [[type(group[key]).__name__ for key in ("lr", "initial_lr")] for group in optim.param_groups]
        kept = [group["lr"] is lr for group, lr in zip(optim.param_groups, held, strict=True)]
        return taken, kinds, kept, [[str(lr.dtype), lr.ndim] for lr in held]

    same(run)


@program
def tensor_rates_on_a_plateau(L):
    optim = L.optim.Adam([parameter(L)], lr=L.tensor(0.5))
    scheduler = schedule(L, "ReduceLROnPlateau")(optim, patience=1, factor=0.5)
    for i in range(20):
        scheduler.step(L.tensor(loss(i)))
    return optim.param_groups[0]["lr"], scheduler.get_last_lr()


@program
def rates_are_copies(L):
    scheduler = build(L, "lambda", L.optim.SGD([parameter(L)], lr=L.tensor(0.5)))
    scheduler.get_last_lr()[0].fill_(7)
    scheduler.base_lrs[0].fill_(7)
    return options(scheduler.optimizer)


# ---- momenta


@pytest.mark.parametrize("name", ["cyclic", "cyclic halved", "cyclic momenta", "one cycle", "one cycle of three"])
@pytest.mark.parametrize("kind", ["Adam", "NAdam", "RMSprop"])
def test_momentum_of_other_optimizers(kind, name):
    same(lambda L: walk(build(L, name, optimizer(L, kind)), 20))


@program
def without_momentum(L):
    return [
        walk(schedule(L, "CyclicLR")(optimizer(L, "Adagrad"), 0.1, 1.0, cycle_momentum=False), 3),
        walk(schedule(L, "OneCycleLR")(optimizer(L, "Adagrad"), 1.0, 10, cycle_momentum=False), 3),
    ]
