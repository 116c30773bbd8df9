"""Losses that are negated logarithms of likelihoods: Poisson and normal numbers, classes by a linear layer."""

import math

from .. import _C
from .checks import boolean, holds, tensor
from .language import composite, cross_entropy, linear, log, ones_like, where
from .loss import _reduced, _reduction, binary_cross_entropy_with_logits, kl_div
from .loss_margin import _NAMES, reduction_named
from .normalization import torch_level

_LOSS = {"namespace": "nn.functional"}


@composite(**_LOSS, autocast="float32")
def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """exp(x) - t x, or x - t log(x + eps) without `log_input`; `full` adds Stirling's approximation of log(t!).

    >>> import adjoint as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([2.0]))
    tensor(1.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    boolean("poisson_nll_loss", log_input=log_input, full=full)
    tensor("poisson_nll_loss", input=input, target=target)
    losses = input.exp() - target * input if log_input else input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        losses = (losses + where(target <= 1, 0, stirling)).to(losses.dtype)
    return _reduced(losses, reduction)


@torch_level("poisson_nll_loss")
def _torch_poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """nn.functional.poisson_nll_loss() with a number for the reduction: 0 none, 1 the mean, 2 the sum."""
    return poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction_named(reduction))


@torch_level("kl_div")
def _torch_kl_div(input, target, reduction=0, *, log_target=False):
    """nn.functional.kl_div() with a number for the reduction: 0 none, 1 the mean, 2 the sum."""
    elements = kl_div(input, target, reduction="none", log_target=log_target)
    return _reduced(elements, reduction_named(reduction))


@torch_level("binary_cross_entropy_with_logits")
def _torch_logit_loss(input, target, weight=None, pos_weight=None, reduction=0):
    """nn.functional.binary_cross_entropy_with_logits() with a number for the reduction: 0 none, 1 mean, 2 sum."""
    return binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction_named(reduction), pos_weight=pos_weight
    )


def _variance(input, var):
    """The variance as a tensor that fits the input: of its shape, without its last dimension, or with 1 in there."""
    if not isinstance(var, _C.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return ones_like(input) * var
    if not holds(~(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.shape == input.shape:
        return var
    if input.shape[:-1] == var.shape:
        return var.unsqueeze(-1)
    if input.shape[:-1] == var.shape[:-1] and var.shape[-1:] == (1,):
        return var
    if input.ndim == var.ndim and all(b in (1, a) for a, b in zip(input.shape, var.shape, strict=True)):
        return var
    raise ValueError("var is of incorrect size")


@composite(**_LOSS)
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(var) + (x - t)^2 / var) / 2 with variances of at least `eps`; `full` adds log(2 pi) / 2.

    >>> import adjoint as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    var = _variance(input, var)
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not valid")
    if not var.is_floating_point() and isinstance(eps, float):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {var.dtype}; use a float var")
    # Gradients are those of the variance, however small.
    var = var + (var.detach().clamp_min(eps) - var.detach())
    losses = 0.5 * (log(var) + (input - target).square() / var)
    return _reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@composite(**_LOSS)
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy() of linear(input, linear_weight, linear_bias); `options` do not change the result.

    >>> import adjoint as torch
    >>> torch.nn.functional.linear_cross_entropy(torch.zeros(1, 2), torch.ones(4, 2), torch.tensor([1]))
    tensor(1.3863)
    """
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    outputs = linear_weight.shape[:-1]
    if len(outputs) > 1 and input.ndim != 2:
        raise ValueError(f"linear_cross_entropy: expected a batch of inputs (N, in_features); got {list(input.shape)}")
    scores = linear(
        input,
        linear_weight.reshape(-1, linear_weight.shape[-1]),
        None if linear_bias is None else linear_bias.reshape(-1),
    )
    return cross_entropy(
        scores.reshape(*input.shape[:-1], *outputs),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
