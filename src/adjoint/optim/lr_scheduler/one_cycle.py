"""OneCycleLR: learning rates up once and down to almost nothing, momenta the other way."""

import math

from .base import LRScheduler, check_optimizer, check_option, per_group
from .cyclic import set_momentum, uses_beta1


def _cosine(start, end, part):
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _linear(start, end, part):
    return (end - start) * part + start


_ANNEALS = {"cos": _cosine, "linear": _linear}

# The ends of the phases, as keys of the group.
_UP = {"start_lr": "initial_lr", "end_lr": "max_lr", "start_momentum": "max_momentum", "end_momentum": "base_momentum"}
_DOWN = {"start_lr": "max_lr", "end_lr": "min_lr", "start_momentum": "base_momentum", "end_momentum": "max_momentum"}
_BACK = {**_DOWN, "end_lr": "initial_lr"}
_OUT = {"start_lr": "initial_lr", "end_lr": "min_lr", "start_momentum": "max_momentum", "end_momentum": "max_momentum"}


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to `max_lr` and down to that over div_factor and final_div_factor, in all steps.

    There are `total_steps`, or epochs * steps_per_epoch; the part `pct_start` of them goes up. With three_phase, the
    way down is as long as the way up, and a third phase goes to the end. Call `step` after every batch.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.04, 0.52, 1.0]
    """

    def __init__(
        self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
        anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
        final_div_factor=1e4, three_phase=False, last_epoch=-1,
    ):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        first = float(pct_start * self.total_steps) - 1
        last = self.total_steps - 1
        if three_phase:
            second = float(2 * pct_start * self.total_steps) - 2
            phases = ((first, _UP), (second, _BACK), (last, _OUT))
        else:
            phases = ((first, _UP), (last, _DOWN))
        self._schedule_phases = [{"end_step": end, **keys} for end, keys in phases]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in _ANNEALS:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(max_lrs, optimizer.param_groups, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            highs = per_group("max_momentum", optimizer, max_momentum)
            lows = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                for low, high, group in zip(lows, highs, optimizer.param_groups, strict=True):
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at step `last_epoch`; sets the momenta."""
        self._check_within_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end:
                break
            start, before = end, start
        else:  # one step more than there are
            start = before
        part = (step - start) / (end - start)
        for key in ("start_lr", "end_lr", "start_momentum", "end_momentum")[: 4 if self.cycle_momentum else 2]:
            check_option(self.optimizer, phase[key])
        anneal = _ANNEALS[self._anneal_func_type]
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                set_momentum(group, momentum, self.use_beta1)
        return rates


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is not None:
        _check_positive("total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    _check_positive("epochs", epochs)
    _check_positive("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _check_positive(name, value):
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
