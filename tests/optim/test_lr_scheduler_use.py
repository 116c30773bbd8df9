"""Schedules of learning rates in use: order of steps, subclasses, groups added, arguments and their errors."""

import gc
import inspect
import warnings
import weakref

import pytest
import torch

import adjoint
from tests.compare import programs, same

from .schedules import (
    CASES,
    COMBINED,
    build,
    everything,
    inner,
    loss,
    optimizer,
    options,
    parameter,
    schedule,
    snapshot,
    walk,
    wave,
)

program, test_program = programs()


# ---- order of the steps


@program
def schedule_before_optimizer(L):
    scheduler = build(L, "step", optimizer(L))
    scheduler.step()
    scheduler.step()


@program
def optimizer_before_schedule(L):
    optim = optimizer(L)
    scheduler = build(L, "step", optim)
    optim.step()
    scheduler.step()
    build(L, "cosine", optim).step()
    return optim._opt_called, hasattr(optim.step, "_wrapped_by_lr_sched"), optim.step.__name__


@program
def step_of_the_optimizer_replaced(L):
    optim = optimizer(L)
    scheduler = build(L, "step", optim)
    optim.step = lambda: None
    scheduler.step()
    scheduler.step()


@program
def given_epoch_is_deprecated(L):
    scheduler = build(L, "exponential", optimizer(L))
    scheduler.optimizer.step()
    scheduler.step(3)
    scheduler.step(epoch=4)
    schedule(L, "ReduceLROnPlateau")(optimizer(L)).step(1.0, 5)
    return scheduler.get_last_lr()


@program
def hooks_and_closures_see_the_step(L):
    optim, log = optimizer(L), []
    optim.register_step_post_hook(lambda o, args, kwargs: log.append((o is optim, len(args), list(kwargs))))
    build(L, "step", optim)
    return optim.step(closure=lambda: 3), optim.step(lambda: 4), optim.step(), log


@pytest.mark.parametrize("name", [*CASES, "linear"])
def test_get_lr_outside_of_a_step(name):
    def run(L):
        scheduler = build(L, name, optimizer(L))
        first = scheduler.get_lr()
        walk(scheduler, 3)
        return first, scheduler.get_lr(), snapshot(scheduler)

    same(run)


def test_warnings_name_the_line_of_the_program():
    scheduler = build(adjoint, "step", optimizer(adjoint))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler.step(1)
        scheduler.get_lr()
    assert [w.filename for w in caught] == [__file__] * 3


def test_schedule_does_not_keep_the_optimizer():
    optim = optimizer(adjoint)
    build(adjoint, "step", optim)
    gc.disable()
    try:
        alive = weakref.ref(optim)
        del optim
        assert alive() is None
    finally:
        gc.enable()


# ---- subclasses


@program
def own_schedule(L):
    class Halve(L.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            if not self._get_lr_called_within_step:
                raise RuntimeError("outside")
            return [base / 2**self.last_epoch for base in self.base_lrs]

    scheduler = Halve(optimizer(L))
    return walk(scheduler, 4), scheduler.state_dict()


@program
def own_schedule_with_a_closed_form(L):
    class Halve(L.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [group["lr"] / 2 for group in self.optimizer.param_groups]

        def _get_closed_form_lr(self):
            return [base * self.last_epoch for base in self.base_lrs]

    scheduler = Halve(optimizer(L))
    scheduler.optimizer.step()
    scheduler.step()
    scheduler.step(5)
    return snapshot(scheduler)


@pytest.mark.parametrize("name", [*CASES, *COMBINED])
def test_group_added_later(name):
    def run(L):
        optim = optimizer(L)
        scheduler = everything(L, optim)[name]()
        optim.step()
        optim.add_param_group({"params": [parameter(L)], "lr": 0.1})
        try:
            scheduler.step()
        except ValueError:  # torch's words are those of zip()
            return "ValueError"
        return options(optim), scheduler.get_last_lr()

    same(run)


def test_group_added_later_is_explained():
    optim = optimizer(adjoint)
    scheduler = build(adjoint, "lambda", optim)
    optim.step()
    optim.add_param_group({"params": [parameter(adjoint)]})
    with pytest.raises(ValueError, match="LambdaLR has learning rates for 2 groups; the optimizer has 3"):
        scheduler.step()


@pytest.mark.parametrize("low", [0.01, [0.01, 0.02]])
def test_group_added_later_on_a_plateau(low):
    def run(L):
        optim = optimizer(L)
        scheduler = schedule(L, "ReduceLROnPlateau")(optim, patience=0, factor=0.5, min_lr=low)
        optim.add_param_group({"params": [parameter(L)], "lr": 0.1})
        for _ in range(3):
            scheduler.step(1.0)
        return options(optim), scheduler.get_last_lr(), scheduler.state_dict()

    same(run)


# ---- arguments

BAD = {
    "StepLR": [(3,), ("a",), (0,)],
    "LambdaLR": [(3,), ([lambda e: 1],), ((lambda e: 1,) * 3,), (None,), ([1, 2],)],
    "MultiplicativeLR": [(3,), ([lambda e: 1],), ([1, 2],)],
    "MultiStepLR": [(3,), ([],), (["a"],)],
    "ConstantLR": [(1.5,), (-0.1,), ("a",), (0.0, 2)],
    "LinearLR": [(0,), (1.5,), (0.5, -1), (0.5, 1.5), (0.5, 1.0, 0)],
    "PolynomialLR": [(0,), ("a",)],
    "CosineAnnealingLR": [(0,), ("a",)],
    "CosineAnnealingWarmRestarts": [(0,), (1.5,), (5, 0), (5, 1.5), (5, 1, "a"), (True,)],
    "CyclicLR": [
        ([0.1], 1.0),
        (0.1, [1.0]),
        (0.1, 1.0, 0),
        (0.1, 1.0, -1),
        (0.1, 1.0, 2, None, "x"),
        (0.1, 1.0, 2, None, "x", 1.0, wave),
        (0.1, 1.0, 2, None, "triangular", 1.0, wave, "x"),
        (0.1, 1.0, 2, None, "triangular", 1.0, None, "x"),
        (0.1, 1.0, 2, None, "triangular", 1.0, None, "cycle", True, [0.1]),
        (0.1, 1.0, 2, None, "triangular", 1.0, None, "cycle", True, 0.1, [0.1]),
    ],
    "OneCycleLR": [
        (1.0,),
        (1.0, 0),
        (1.0, -3),
        (1.0, 3.5),
        (1.0, "a"),
        (1.0, None, 3),
        (1.0, None, None, 3),
        (1.0, None, 0, 3),
        (1.0, None, 3, 0),
        (1.0, None, 3.5, 3),
        (1.0, None, 3, 3.5),
        (1.0, 10, None, None, 2),
        (1.0, 10, None, None, 1),
        (1.0, 10, None, None, 0),
        (1.0, 10, None, None, -0.1),
        (1.0, 10, None, None, 1.0),
        (1.0, 10, None, None, 0.0),
        (1.0, 1),
        (1.0, 2),
        (1.0, 10, None, None, 0.3, "x"),
        ([1.0], 10),
        (1.0, 10, None, None, 0.3, "cos", True, [0.1]),
        (1.0, 10, None, None, 0.3, "cos", True, 0.1, [0.1]),
        (1.0, 10, None, None, 0.3, "cos", True, 0.1, 0.2, 0),
        (1.0, 10, 3, 3),
    ],
    "ReduceLROnPlateau": [("x",), ("min", 1.0), ("min", 0.1, 3, 0.1, "x"), ("min", 0.1, 3, 0.1, "rel", 0, [1])],
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, choices in BAD.items() for args in choices])
def test_odd_arguments(name, args):
    def run(L):
        scheduler = schedule(L, name)(optimizer(L), *args)
        return walk(scheduler, 3, *([loss] if name == "ReduceLROnPlateau" else []))

    same(run)


@pytest.mark.parametrize("name", [*BAD, "LRScheduler", "ExponentialLR"])
@pytest.mark.parametrize("optim", [3, None])
def test_no_optimizer(name, optim):
    arguments = {
        "CyclicLR": (0.1, 1.0),
        "OneCycleLR": (1.0, 10),
        "ReduceLROnPlateau": (),
        "LRScheduler": (),
        "MultiplicativeLR": (wave,),
        "MultiStepLR": ([1],),
    }
    same(lambda L: schedule(L, name)(optim, *arguments.get(name, (1,))))


@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR"])
def test_optimizer_without_momentum(name):
    same(lambda L: schedule(L, name)(optimizer(L, "Adagrad"), 0.1, 10))


@pytest.mark.parametrize("epoch", [0, 5])
def test_later_start_without_initial_rates(epoch):
    assert same(lambda L: schedule(L, "StepLR")(optimizer(L), 3, last_epoch=epoch)).kind == "KeyError"


@program
def base_class_has_no_rates(L):
    schedule(L, "LRScheduler")(optimizer(L))


@program
def more_steps_than_one_cycle_has(L):
    scheduler = schedule(L, "OneCycleLR")(optimizer(L), 1.0, 3)
    taken = walk(scheduler, 3)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Tried to step . times\. The specified number of total steps is 3"):
            scheduler.step()
    return taken, scheduler.state_dict()


@pytest.mark.parametrize("epoch", [-1, -0.5])
def test_negative_epoch(epoch):
    same(lambda L: build(L, "restarts", optimizer(L)).step(epoch))


@pytest.mark.parametrize("measure", ["a", None, [1.0]])
def test_measure_that_is_no_number(measure):
    same(lambda L: schedule(L, "ReduceLROnPlateau")(optimizer(L)).step(measure))


BAD_COMBINED = {
    "sequence of none": lambda L, o, q: schedule(L, "SequentialLR")(o, [], []),
    "too many milestones": lambda L, o, q: schedule(L, "SequentialLR")(o, inner(L, o, "step"), [1]),
    "too few milestones": lambda L, o, q: schedule(L, "SequentialLR")(o, inner(L, o, "step", "step"), []),
    "number first": lambda L, o, q: schedule(L, "SequentialLR")(o, [3, *inner(L, o, "step")], [1]),
    "number last": lambda L, o, q: schedule(L, "SequentialLR")(o, [*inner(L, o, "step"), 3], [1]),
    "other optimizer": lambda L, o, q: schedule(L, "SequentialLR")(q, inner(L, o, "step", "step"), [1]),
    "two optimizers": lambda L, o, q: schedule(L, "SequentialLR")(o, [*inner(L, o, "step"), *inner(L, q, "step")], [1]),
    "plateau": lambda L, o, q: schedule(L, "SequentialLR")(
        o, [*inner(L, o, "step"), schedule(L, "ReduceLROnPlateau")(o)], [1]
    ),
    "chain of none": lambda L, o, q: schedule(L, "ChainedScheduler")([]),
    "chain of none for an optimizer": lambda L, o, q: schedule(L, "ChainedScheduler")([], o),
    "chain of a number": lambda L, o, q: schedule(L, "ChainedScheduler")([3]),
    "chain with a number": lambda L, o, q: schedule(L, "ChainedScheduler")([*inner(L, o, "step"), 3]),
    "chain of no list": lambda L, o, q: schedule(L, "ChainedScheduler")(*inner(L, o, "step")),
    "chain of two optimizers": lambda L, o, q: schedule(L, "ChainedScheduler")(
        [*inner(L, o, "step"), *inner(L, q, "step")]
    ),
    "chain for another optimizer": lambda L, o, q: schedule(L, "ChainedScheduler")(inner(L, o, "step"), q),
    "chain with plateau": lambda L, o, q: schedule(L, "ChainedScheduler")([schedule(L, "ReduceLROnPlateau")(o)]),
    "sequence at an epoch": lambda L, o, q: schedule(L, "SequentialLR")(o, inner(L, o, "step"), []).step(3),
    "chain at an epoch": lambda L, o, q: schedule(L, "ChainedScheduler")(inner(L, o, "step")).step(3),
}


@pytest.mark.parametrize("name", BAD_COMBINED)
def test_odd_combinations(name):
    assert same(lambda L: BAD_COMBINED[name](L, optimizer(L), optimizer(L))).error is not None


@pytest.mark.parametrize("name", ["lambda", "multiplicative", "step", "cyclic", "sequence", "chain"])
@pytest.mark.parametrize("state", [{}, {"other": 3}], ids=str)
def test_odd_states(name, state):
    def run(L):
        scheduler = everything(L, optimizer(L))[name]()
        scheduler.load_state_dict(state)
        return scheduler.state_dict()

    same(run)


@program
def state_of_a_plateau_with_an_unknown_mode(L):
    schedule(L, "ReduceLROnPlateau")(optimizer(L)).load_state_dict({"mode": "x"})


def test_names_and_signatures():
    ours, theirs = adjoint.optim.lr_scheduler, torch.optim.lr_scheduler
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    assert ours._LRScheduler is ours.LRScheduler
    for name in theirs.__all__:
        described = [
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(m, name)).parameters.values()]
            for m in (ours, theirs)
        ]
        assert described[0] == described[1], name
        assert issubclass(getattr(ours, name), ours.LRScheduler)


def bounds(L, group, own):
    """The options of a group that a schedule has set, and whether they are tensors of the user."""
    names = [name for name in group if "momentum" in name or "lr" in name]
    return {name: (round(float(group[name]), 5), any(group[name] is one for one in own)) for name in names}


def bounds_of(L, make):
    """A schedule between tensors, which change after it was made."""
    own = [L.tensor(value) for value in (0.1, 0.3, 0.8, 0.9)]
    optimizer = L.optim.SGD([L.nn.Parameter(L.ones(1))], lr=0.1, momentum=0.9)
    scheduler = make(L.optim.lr_scheduler, optimizer, *own)
    group, seen = optimizer.param_groups[0], []
    for value in (0.0, 5.0, 6.0):
        seen.append(bounds(L, group, own))
        optimizer.step()
        scheduler.step()
        for one in own:
            one.fill_(value)
    return seen, group["momentum"] is group["max_momentum"]


@program
def cyclic_rates_between_tensors(L):
    return bounds_of(L, lambda S, o, low, high, base, top: S.CyclicLR(o, low, high, 2, None, "triangular", 1.0, None,
                                                                     "cycle", True, base, top))  # fmt: skip


@program
def one_cycle_between_tensors(L):
    return bounds_of(L, lambda S, o, low, high, base, top: S.OneCycleLR(
        o, high, 10, base_momentum=[base], max_momentum=top))  # fmt: skip
