"""Schedules that multiply the learning rates of all groups with one number: steps, ramps, powers."""

import collections
from bisect import bisect_right

from .base import LRScheduler


def _power(gamma, count):
    """gamma ** count. Of whole numbers too it is computed in floats: millions of digits take for ever."""
    try:
        return (float(gamma) if isinstance(gamma, int) else gamma) ** count
    except OverflowError:
        return float("inf")


class _Factor(LRScheduler):
    """A schedule given twice: as the factor from one epoch to the next, and as the factor from the beginning.

    The first lets schedules be combined, each changing what the others made; the second serves `step(epoch)`.
    """

    def get_lr(self):
        """The rates at `last_epoch`, from those before."""
        self._check_within_step()
        factor = self._factor(self.last_epoch)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        factor = self._total_factor(self.last_epoch)
        return [base * factor for base in self.base_lrs]


class StepLR(_Factor):
    """Times `gamma` every `step_size` epochs.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return 1 if epoch == 0 or epoch % self.step_size != 0 else self.gamma

    def _total_factor(self, epoch):
        return _power(self.gamma, epoch // self.step_size)


class MultiStepLR(_Factor):
    """Times `gamma` at each of the epochs `milestones`.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 4], gamma=0.5)
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = collections.Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return _power(self.gamma, self.milestones[epoch]) if epoch in self.milestones else 1

    def _total_factor(self, epoch):
        return _power(self.gamma, bisect_right(sorted(self.milestones.elements()), epoch))


class ConstantLR(_Factor):
    """Times `factor` until epoch `total_iters`.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1. It is {factor}.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1

    def _total_factor(self, epoch):
        return 1 if epoch >= self.total_iters else self.factor


class LinearLR(_Factor):
    """Times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=4)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1. "
                f"It is {start_factor}."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1. It is {end_factor}.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)

    def _total_factor(self, epoch):
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, epoch) / self.total_iters


class ExponentialLR(_Factor):
    """Times `gamma` every epoch.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return 1 if self._is_initial else self.gamma

    def _total_factor(self, epoch):
        return _power(self.gamma, epoch)


class PolynomialLR(_Factor):
    """Times (1 - epoch / total_iters) ** power: down to zero at epoch `total_iters`.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        if self._is_initial or epoch > self.total_iters:
            return 1
        return ((1.0 - epoch / self.total_iters) / (1.0 - (epoch - 1) / self.total_iters)) ** self.power

    def _total_factor(self, epoch):
        return (1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power
