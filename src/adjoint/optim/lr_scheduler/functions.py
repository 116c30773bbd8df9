"""LambdaLR and MultiplicativeLR: learning rates by functions of the epoch."""

from .base import LRScheduler, group_values, load_callable, save_callable, taken_out


class _OfFunctions(LRScheduler):
    """A schedule with one function for each group: callable objects are saved with it, functions are not."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        else:
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(
                    f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}: one for each group"
                )
            self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """All that the schedule remembers but its optimizer and its functions; callable objects as their attributes."""
        return self._state_without("lr_lambdas") | {"lr_lambdas": [save_callable(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave; the functions remain those of this schedule."""
        saved, rest = taken_out(state_dict, "lr_lambdas")
        if not isinstance(saved, list | tuple):
            raise TypeError(f"Expected state_dict['lr_lambdas'] to be a list, got {type(saved)}.")
        super().load_state_dict(rest)
        for function, attributes in zip(self.lr_lambdas, saved, strict=False):
            load_callable(function, attributes)


class LambdaLR(_OfFunctions):
    """The initial rate times a function of the epoch.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self):
        """The rates at `last_epoch`."""
        self._check_within_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=False)]


class MultiplicativeLR(_OfFunctions):
    """The last rate times a function of the epoch.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.5)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        for function in lr_lambda if isinstance(lr_lambda, list | tuple) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        """The rates at `last_epoch`, from those before."""
        self._check_within_step()
        rates = group_values(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, rates, strict=False)]
