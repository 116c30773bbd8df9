"""Constructions of learning rate schedules in either library, and their steps."""

import copy


def parameter(L):
    return L.nn.Parameter(L.ones(1))


def optimizer(L, name="SGD", groups=2, lr=0.5, **options):
    """An optimizer with groups of different rates."""
    if name == "SGD":
        options.setdefault("momentum", 0.9)
    rates = [{"params": [parameter(L)], "lr": lr / (i + 1)} for i in range(groups)]
    return getattr(L.optim, name)(rates, **options)


def schedule(L, name):
    return getattr(L.optim.lr_scheduler, name)


class Decay:
    """A function of the epoch that remembers something."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, epoch):
        return self.rate**epoch


def wave(x):
    return 0.5 + 0.3 * (x % 7)


# Constructions by name: (schedule, arguments after the optimizer, keyword arguments).
CASES = {
    "lambda": ("LambdaLR", [lambda epoch: 0.95**epoch], {}),
    "lambdas": ("LambdaLR", [[lambda epoch: 0.95**epoch, lambda epoch: 1 / (1 + epoch)]], {}),
    "lambda object": ("LambdaLR", [Decay(0.9)], {}),
    "multiplicative": ("MultiplicativeLR", [lambda epoch: 1 - 1 / (epoch + 2)], {}),
    "multiplicatives": ("MultiplicativeLR", [(lambda epoch: 0.95, Decay(0.999))], {}),
    "step": ("StepLR", [7], {}),
    "step by 1": ("StepLR", [1], {"gamma": 0.9}),
    "milestones": ("MultiStepLR", [[30, 5, 17, 17]], {}),
    "milestones with gamma": ("MultiStepLR", [(1, 2, 40)], {"gamma": 0.3}),
    "constant": ("ConstantLR", [], {}),
    "constant with factor": ("ConstantLR", [0.2, 33], {}),
    "constant for 0": ("ConstantLR", [0.2, 0], {}),
    "linear": ("LinearLR", [], {}),
    "linear down": ("LinearLR", [1.0, 0.1, 40], {}),
    "linear to 0": ("LinearLR", [0.9, 0.0, 20], {}),
    "exponential": ("ExponentialLR", [0.93], {}),
    "polynomial": ("PolynomialLR", [], {}),
    "polynomial squared": ("PolynomialLR", [45, 2.0], {}),
    "polynomial root": ("PolynomialLR", [100, 0.5], {}),
    "cosine": ("CosineAnnealingLR", [13], {}),
    "cosine with bottom": ("CosineAnnealingLR", [80, 0.01], {}),
    "cosine by 1": ("CosineAnnealingLR", [1, 0.1], {}),
    "restarts": ("CosineAnnealingWarmRestarts", [9], {}),
    "longer restarts": ("CosineAnnealingWarmRestarts", [4, 2, 0.003], {}),
    "restarts by 3": ("CosineAnnealingWarmRestarts", [1], {"T_mult": 3, "eta_min": 1}),
    "cyclic": ("CyclicLR", [0.01, 0.6, 8], {}),
    "cyclic halved": ("CyclicLR", [0.01, [0.6, 0.3], 3], {"mode": "triangular2", "step_size_down": 7}),
    "cyclic decaying": ("CyclicLR", [[0.1, 0.2], 0.9, 5], {"mode": "exp_range", "gamma": 0.97}),
    "cyclic scaled": ("CyclicLR", [0.1, 0.9, 5], {"scale_fn": wave, "scale_mode": "iterations"}),
    "cyclic scaled by cycle": ("CyclicLR", [0.1, 0.9, 5], {"scale_fn": Decay(0.7)}),
    "cyclic without momentum": ("CyclicLR", [0.1, 0.9, 5], {"cycle_momentum": False}),
    "cyclic momenta": ("CyclicLR", [0.1, 0.9, 5], {"base_momentum": [0.1, 0.2], "max_momentum": (0.3, 0.5)}),
    "cyclic in defaults": ("CyclicLR", [0.1, 0.9], {}),
    "one cycle": ("OneCycleLR", [1.0], {"total_steps": 60}),
    "one cycle by epochs": ("OneCycleLR", [1.0], {"epochs": 10, "steps_per_epoch": 7, "anneal_strategy": "linear"}),
    "one cycle of three": ("OneCycleLR", [[1.0, 2.0]], {"total_steps": 64, "three_phase": True, "pct_start": 0.4}),
    "one cycle linear of three": (
        "OneCycleLR",
        [1.0, 60],
        {"three_phase": True, "anneal_strategy": "linear", "div_factor": 5, "final_div_factor": 10.0},
    ),
    "one cycle without momentum": ("OneCycleLR", [1.0, 60], {"cycle_momentum": False, "pct_start": 0.01}),
    "one cycle momenta": (
        "OneCycleLR",
        [1.0, 60],
        {"base_momentum": [0.1, 0.2], "max_momentum": (0.3, 0.5), "pct_start": 0.9},
    ),
}


def build(L, name, optim):
    kind, args, kwargs = copy.deepcopy(CASES[name])
    return schedule(L, kind)(optim, *args, **kwargs)


def options(optim):
    return [{key: value for key, value in group.items() if key != "params"} for group in optim.param_groups]


def snapshot(scheduler):
    """What is to be equal at every step."""
    return options(scheduler.optimizer), scheduler.get_last_lr(), getattr(scheduler, "last_epoch", None)


def walk(scheduler, steps, *measures):
    """Snapshots over some steps."""
    taken = [snapshot(scheduler)]
    for i in range(steps):
        scheduler.optimizer.step()
        scheduler.step(*(measure(i) for measure in measures))
        taken.append(snapshot(scheduler))
    return taken


def loss(i):
    """A measure that improves, stays and worsens."""
    return [5.0, 3.0, 2.9999, 3.0, 3.0, 3.5, 2.0, 2.0, 2.0, 2.0, 1.9, -1.0, -1.0, -1.0][i % 14] - i // 14 * 0.01


PLATEAUS = {
    "default": {},
    "patience": {"patience": 2, "factor": 0.5},
    "max": {"mode": "max", "patience": 1, "factor": 0.9},
    "absolute": {"threshold_mode": "abs", "threshold": 0.05, "patience": 1},
    "absolute max": {"mode": "max", "threshold_mode": "abs", "threshold": 0.5, "patience": 0, "factor": 0.8},
    "cooldown": {"patience": 0, "cooldown": 3, "factor": 0.7},
    "lowest": {"patience": 0, "min_lr": 0.1, "factor": 0.7},
    "lowest of each": {"patience": 0, "min_lr": [0.1, 0.01], "factor": 0.7},
    "eps": {"patience": 0, "eps": 0.05, "factor": 0.7},
}


def inner(L, optim, *names):
    return [build(L, name, optim) for name in names]


COMBINED = {
    "sequence": lambda L, o: schedule(L, "SequentialLR")(o, inner(L, o, "constant", "exponential"), [20]),
    "sequence of many": lambda L, o: schedule(L, "SequentialLR")(
        o, inner(L, o, "linear", "cosine", "step", "polynomial squared", "milestones"), [5, 15, 16, 40]
    ),
    "sequence of others": lambda L, o: schedule(L, "SequentialLR")(
        o, inner(L, o, "lambda", "restarts", "one cycle", "lambdas"), [5, 15, 40]
    ),
    "sequence with a cycle": lambda L, o: schedule(L, "SequentialLR")(o, inner(L, o, "linear", "cyclic"), (7,)),
    "sequence with a cosine": lambda L, o: schedule(L, "SequentialLR")(o, inner(L, o, "linear", "cosine"), [5]),
    "sequence with products": lambda L, o: schedule(L, "SequentialLR")(
        o, inner(L, o, "multiplicative", "multiplicatives"), [10]
    ),
    "sequence of one": lambda L, o: schedule(L, "SequentialLR")(o, inner(L, o, "exponential"), []),
    "milestones out of order": lambda L, o: schedule(L, "SequentialLR")(
        o, inner(L, o, "step", "exponential", "constant"), [9, 3]
    ),
    "chain": lambda L, o: schedule(L, "ChainedScheduler")(inner(L, o, "constant", "exponential")),
    "chain of many": lambda L, o: schedule(L, "ChainedScheduler")(
        inner(L, o, "linear", "step", "milestones", "polynomial root", "multiplicative", "cosine"), optimizer=o
    ),
    "chain of one": lambda L, o: schedule(L, "ChainedScheduler")(tuple(inner(L, o, "one cycle"))),
    "sequence in sequence": lambda L, o: schedule(L, "SequentialLR")(
        o,
        [schedule(L, "SequentialLR")(o, inner(L, o, "constant", "exponential"), [4]), *inner(L, o, "cosine")],
        [20],
    ),
    "chain in sequence": lambda L, o: schedule(L, "SequentialLR")(
        o, [schedule(L, "ChainedScheduler")(inner(L, o, "constant", "exponential")), *inner(L, o, "cosine")], [20]
    ),
    "sequence in chain": lambda L, o: schedule(L, "ChainedScheduler")(
        [schedule(L, "SequentialLR")(o, inner(L, o, "constant", "exponential"), [4]), *inner(L, o, "step")]
    ),
}


def everything(L, optim):
    """All constructions, plain and combined, by name."""
    return {name: lambda name=name: build(L, name, optim) for name in CASES} | {
        name: lambda name=name: COMBINED[name](L, optim) for name in COMBINED
    }
