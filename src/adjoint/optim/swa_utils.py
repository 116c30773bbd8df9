"""Averages of a model's weights over training, as torch.optim.swa_utils, and the schedule that goes with them."""

import math
from copy import deepcopy
from itertools import chain

from .. import _C
from ..autograd.grad_mode import no_grad
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler.base import LRScheduler, check_option, per_group

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay=0.999):
    """A multi_avg_fn for AveragedModel: decay * average + (1 - decay) * current, in place.

    >>> import adjoint as torch
    >>> average = [torch.zeros(2)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(average, [torch.ones(2)], 1)
    >>> average
    [tensor([0.2500, 0.2500])]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """A multi_avg_fn for AveragedModel: the mean of all that were averaged, in place.

    >>> import adjoint as torch
    >>> average = [torch.zeros(2)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.ones(2)], 3)
    >>> average
    [tensor([0.2500, 0.2500])]
    """

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        part = 1 / (int(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, part)
            else:
                average.copy_(average + (current - average) * part)

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """An avg_fn for AveragedModel: decay * average + (1 - decay) * current.

    >>> import adjoint as torch
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.75)(torch.zeros(2), torch.ones(2), 1)
    tensor([0.2500, 0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """An avg_fn for AveragedModel: the mean of all that were averaged.

    >>> import adjoint as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(2), torch.ones(2), 3)
    tensor([0.2500, 0.2500])
    """

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model has at every `update_parameters`.

    `avg_fn(average, current, count)` gives the new average of a parameter; `multi_avg_fn` writes it into a list of
    parameters of one type; without either it is the mean. Buffers are averaged too with use_buffers, else copied.

    >>> import adjoint as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(torch.ones(1, 1)).item()
    2.0
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model):
        """Takes the model's parameters into the averages; the first ones are copied."""
        pairs = list(zip(self._averaged(self.module), self._averaged(model), strict=False))
        pairs = [(average.detach(), current.detach().to(average.device)) for average, current in pairs]
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in pairs:
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            by_type = {}
            for average, current in pairs:
                averages, currents = by_type.setdefault((average.device, average.dtype), ([], []))
                averages.append(average)
                currents.append(current)
            for averages, currents in by_type.values():
                update(averages, currents, self.n_averaged)
        if not self.use_buffers:
            for own, current in zip(self.module.buffers(), model.buffers(), strict=False):
                own.detach().copy_(current.detach())
        self.n_averaged += 1

    def _averaged(self, model):
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


@no_grad()
def update_bn(loader, model, device=None):
    """Computes the statistics of a model's batch norms anew, over all batches of `loader`.

    A batch is a tensor, or a list or tuple that begins with the one to give to the model.

    >>> import adjoint as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # the mean over all batches
    try:
        for batch in loader:
            input = batch[0] if isinstance(batch, list | tuple) else batch
            model(input if device is None else input.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the rates as they are to `swa_lr` in `anneal_epochs` epochs, and there to stay.

    >>> import adjoint as torch
    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """How much of swa_lr there is at a part `t` of the way."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        """The rates after this many steps, from those before: other schedules may have changed them."""
        self._check_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs)))) for s in (step - 1, step))
        check_option(self.optimizer, "swa_lr")
        rates = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
