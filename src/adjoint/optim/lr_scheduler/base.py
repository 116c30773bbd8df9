"""LRScheduler: counts steps, sets the learning rates that a schedule computes, is saved and loaded."""

import functools
import warnings
import weakref
from collections.abc import Mapping

from ... import _C
from ..._refusal import missing
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Leave the argument out."
)
_ORDER = "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def check_optimizer(optimizer):
    """Refuses what is not an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{type(optimizer).__name__} is not an Optimizer: a schedule sets the learning rates of an optimizer's "
            "groups, and takes the optimizer first"
        )


def copied(value):
    """A value that does not change when the original, if it is a tensor, is written to."""
    return value.clone() if isinstance(value, _C.Tensor) else value


def check_option(optimizer, key):
    """Refuses groups without an option that a schedule reads or sets."""
    for i, group in enumerate(optimizer.param_groups):
        if key not in group:
            raise missing(key, f"in param_groups[{i}], where a schedule looks for it; set it in every group")


def group_values(optimizer, key):
    """An option of every group, copied."""
    check_option(optimizer, key)
    return [copied(group[key]) for group in optimizer.param_groups]


def set_option(group, key, value):
    """Sets an option of a group; one that is a tensor keeps its identity and is written to."""
    if isinstance(group[key], _C.Tensor):
        group[key].fill_(value.item() if isinstance(value, _C.Tensor) else value)
    else:
        group[key] = value


def per_group(name, optimizer, values):
    """One value for each group, of a list of them or of one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(values, list | tuple):
        return [copied(values) for _ in range(count)]
    if len(values) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {count}."
        )
    return [copied(value) for value in values]


def check_state(state_dict):
    """Refuses what no `state_dict` of a schedule gave."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"Expected state_dict to be dict-like, got {type(state_dict)}. Give what state_dict() of a schedule "
            "returned."
        )


def taken_out(state_dict, name):
    """An entry of a saved schedule, and the dict without it."""
    check_state(state_dict)
    if name not in state_dict:
        raise missing(name, "in the state_dict; give what state_dict() of the same kind of schedule returned")
    return state_dict[name], {key: value for key, value in state_dict.items() if key != name}


def save_callable(function):
    """What a callable object remembers; None for a function, which a state cannot hold."""
    return dict(function.__dict__) if function is not None and not hasattr(function, "__code__") else None


def load_callable(function, saved):
    """Gives a callable object back what `save_callable` took from it."""
    if saved is not None:
        function.__dict__.update(saved)


class LRScheduler:
    """Base class of schedules: subclasses write `get_lr`, which computes the rates of the groups at `last_epoch`.

    `last_epoch` is -1 for a schedule that begins, and the epoch to go on after for one that is taken up again.

    >>> import adjoint as torch
    >>> class Halve(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = Halve(optimizer)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, (group, lr) in enumerate(zip(optimizer.param_groups, group_values(optimizer, "lr"), strict=True)):
            if last_epoch == -1:
                group.setdefault("initial_lr", lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0. Load the state of the optimizer first, which holds it; or leave last_epoch out "
                    "for training that begins."
                )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        """Sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """All that the schedule remembers but its optimizer, to be saved."""
        return self._state_without()

    def _state_without(self, *names):
        return {name: value for name, value in self.__dict__.items() if name not in ("optimizer", *names)}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave. The rates themselves are in the optimizer's state."""
        check_state(state_dict)
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates of the groups that the last step set."""
        return self._last_lr

    def get_lr(self):
        """Computes the rates of the groups at `last_epoch`; called by `step`. Written by subclasses."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Goes on by one epoch and sets the rates; call it after the optimizer's step. `epoch` is deprecated."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        check_option(self.optimizer, "lr")
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        except ZeroDivisionError as error:
            raise ZeroDivisionError(
                f"{error}: {type(self).__name__} has no learning rates for epoch {self.last_epoch}; make it with other "
                "options"
            ) from error
        finally:
            self._get_lr_called_within_step = False
        groups = self.optimizer.param_groups
        if len(values) != len(groups):
            raise ValueError(
                f"{type(self).__name__} has learning rates for {len(values)} groups; the optimizer has {len(groups)}. "
                "Add groups before the scheduler is made, or make a new one for them."
            )
        for group, lr in zip(groups, values, strict=True):
            set_option(group, "lr", lr)
        self._last_lr = group_values(self.optimizer, "lr")

    def _check_order(self):
        """Warns, at the first step, of an optimizer that has not stepped yet."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            text = (
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER}"
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            text = (
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                f"otherwise the first value of the learning rate schedule is skipped. {_ORDER}"
            )
        else:
            return
        warnings.warn(text, UserWarning, stacklevel=3)

    def _check_within_step(self):
        """Warns of a `get_lr` that is called for the rates in use: it computes others."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


_LRScheduler = LRScheduler  # the name of earlier versions


def _notice_steps(optimizer):
    """Has the optimizer note in `_opt_called` that it has stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # Weak, because the optimizer holds the function.
    owner = weakref.ref(optimizer)
    plain = getattr(optimizer.step, "__func__", None)
    step = optimizer.step if plain is None else lambda *args, **kwargs: plain(owner(), *args, **kwargs)

    @functools.wraps(plain or step)
    def noticed(*args, **kwargs):
        owner()._opt_called = True
        return step(*args, **kwargs)

    noticed._wrapped_by_lr_sched = True
    optimizer.step = noticed
