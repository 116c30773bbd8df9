"""CyclicLR: learning rates up and down between two bounds, momenta down and up."""

import math

from .base import (
    LRScheduler,
    check_optimizer,
    copied,
    load_callable,
    per_group,
    save_callable,
    set_option,
    taken_out,
)


def uses_beta1(optimizer):
    """Whether momentum is the first of an optimizer's betas; refuses optimizers that have neither."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group, value, use_beta1):
    """Sets the momentum of a group, or the first of its betas: a value of its own, also where it is a tensor."""
    if use_beta1:
        group["betas"] = (copied(value), *group["betas"][1:])
    else:
        group["momentum"] = copied(value)


class CyclicLR(LRScheduler):
    """From `base_lr` to `max_lr` in `step_size_up` steps and back, again and again; momentum goes the other way.

    `mode` scales the waves: "triangular" not, "triangular2" halves each, "exp_range" multiplies with gamma every step;
    or `scale_fn` does, a function of the number of the wave or, with scale_mode="iterations", of that of the step.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(scheduler.get_last_lr()[0])
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
        scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1,
    ):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        step_size_up = float(step_size_up)
        self.total_size = step_size_up + (step_size_up if step_size_down is None else float(step_size_down))
        if not self.total_size:
            raise ZeroDivisionError("float division by zero: expected step_size_up to be positive; got 0")
        self.step_ratio = step_size_up / self.total_size
        if mode not in _SCALES and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: mode {mode!r}; take one of {', '.join(_SCALES)}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _SCALES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                momenta = zip(self.base_momentums, self.max_momentums, optimizer.param_groups, strict=True)
                for low, high, group in momenta:
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The size of a wave, by its number or by that of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _SCALES[self.mode][1](x, self.gamma)

    def get_lr(self):
        """The rates at step `last_epoch`; sets the momenta."""
        self._check_within_step()
        turns = self.last_epoch / self.total_size
        cycle = math.floor(1 + turns)
        x = 1.0 + turns - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=False
            ):
                set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=False)]

    def state_dict(self):
        """All that the schedule remembers but its optimizer and its function; a callable object as its attributes."""
        return self._state_without("_scale_fn_custom") | {"_scale_fn_custom": save_callable(self._scale_fn_custom)}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave; the function remains that of this schedule."""
        saved, rest = taken_out(state_dict, "_scale_fn_custom")
        super().load_state_dict(rest)
        load_callable(self._scale_fn_custom, saved)


# For each mode: what its scale is a function of, and the function.
_SCALES = {
    "triangular": ("cycle", lambda x, gamma: 1.0),
    "triangular2": ("cycle", lambda x, gamma: 1 / (2.0 ** (x - 1))),
    "exp_range": ("iterations", lambda x, gamma: gamma**x),
}
