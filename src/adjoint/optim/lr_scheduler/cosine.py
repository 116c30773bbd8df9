"""CosineAnnealingLR and CosineAnnealingWarmRestarts: learning rates along half waves of the cosine."""

import math

from .base import LRScheduler, group_values


def _wave(high, low, now, end):
    """From high to low along half a wave of the cosine, at a time between 0 and the end."""
    return low + (high - low) * (1 + math.cos(math.pi * now / end)) / 2


class CosineAnnealingLR(LRScheduler):
    """From the initial rate down to `eta_min` in `T_max` epochs, and up again, along a cosine.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> round(scheduler.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at `last_epoch`, from those before."""
        self._check_within_step()
        rates = group_values(self.optimizer, "lr")
        if self._is_initial:
            return rates
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rates before are at the bottom
            part = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - self.eta_min) * part for base, lr in zip(self.base_lrs, rates, strict=False)]
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in rates]

    def _get_closed_form_lr(self):
        return [_wave(base, self.eta_min, self.last_epoch, self.T_max) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the initial rate down to `eta_min` along a cosine, again and again: in T_0 epochs, then T_mult as long ones.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 6))
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at T_cur of T_i epochs."""
        self._check_within_step()
        return [_wave(base, self.eta_min, self.T_cur, self.T_i) for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on by one epoch; or to `epoch`, which may be a fraction, such as epoch + batch / batches."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:  # restarts are at T_0 (T_mult**n - 1) / (T_mult - 1)
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch) - 1
        self._update_lr()
