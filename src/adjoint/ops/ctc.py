"""Connectionist temporal classification: the loss of label sequences of unknown alignment."""

from .. import _C
from .batching import call, with_batch
from .language import _ctc_loss, _ctc_loss_backward, composite, ones_like, op, tensor, where
from .loss_margin import reduction_named
from .normalization import torch_level

# ---- Batch rules; see batching.py


def _in_time(value):
    """[batch, time, sequence, ...] -> [time, batch sequence, ...]"""
    return value.transpose(0, 1).flatten(1, 2)


def _loss_batch(op, size, batched, log_probs, *rest):
    log_probs, *rest = with_batch(size, batched, (log_probs, *rest))
    *labels, blank, zero_infinity = rest
    results = call(op, _in_time(log_probs), *(value.flatten(0, 1) for value in labels), blank, zero_infinity)
    return tuple(one.unflatten(0, (size, log_probs.shape[2])) for one in results)


def _loss_back_batch(op, size, batched, grad, log_probs, *rest):
    grad, log_probs, *rest = with_batch(size, batched, (grad, log_probs, *rest))
    *others, blank, zero_infinity = rest
    others = (value.flatten(0, 1) for value in others)
    result = call(op, grad.flatten(0, 1), _in_time(log_probs), *others, blank, zero_infinity)
    return result.unflatten(1, (size, log_probs.shape[2])).transpose(0, 1)


# ---- The loss


def no_second(name):
    """Torch's error where a gradient has no gradient."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


op("_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)", native="ctc_loss",
   outputs=("loss", "log_alpha"), node="CtcLossBackward0", public=False, crosses=True,
   log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, loss, log_alpha:
       _ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, loss.detach(), log_alpha.detach(),
                          blank, zero_infinity),
   jvp=lambda log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, loss, log_alpha, log_probs_t:
       (log_probs_t * _ctc_loss_backward(ones_like(loss), log_probs, targets, input_lengths, target_lengths, loss,
                                         log_alpha, blank, zero_infinity)).sum((0, 2)),
   batch=_loss_batch)  # fmt: skip
op("_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity)",
   native="ctc_loss_backward", node="NotImplemented", public=False, linear="grad", crosses=True,
   grad=lambda g: no_second("_ctc_loss_backward"),
   log_probs=lambda g: no_second("_ctc_loss_backward"),
   batch=_loss_back_batch)  # fmt: skip


def _lengths(value):
    # A copy: later changes of the lengths do not matter, as in torch.
    return value.clone() if isinstance(value, _C.Tensor) else tensor(tuple(value), dtype=_C.int64, device="cpu")


@composite(namespace="nn.functional", autocast="float32")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negated log-likelihood of label sequences, summed over all ways to lay them along the time.

    >>> import adjoint as torch
    >>> scores = torch.full((2, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(scores, torch.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    input_lengths, target_lengths = _lengths(input_lengths), _lengths(target_lengths)
    batched = log_probs.ndim == 3
    if not batched and log_probs.ndim == 2:
        log_probs = log_probs.unsqueeze(1)
        input_lengths, target_lengths = input_lengths.reshape(-1), target_lengths.reshape(-1)
    loss = _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = where(loss == float("inf"), 0, loss)
    if reduction == "mean":
        return (loss / target_lengths.clamp_min(1).to(loss.device, loss.dtype)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)


@torch_level("ctc_loss")
def _torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """nn.functional.ctc_loss() with a number for the reduction: 0 none, 1 the mean, 2 the sum."""
    name = reduction_named(reduction)
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity)
