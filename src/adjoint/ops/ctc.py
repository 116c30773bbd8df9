"""Connectionist temporal classification: the loss of label sequences of unknown alignment."""

from .. import _C
from .language import _ctc_loss, _ctc_loss_backward, composite, op, tensor, where
from .loss_margin import reduction_named
from .normalization import torch_level


def no_second(name):
    """Torch's error where a gradient has no gradient."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


op("_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)", native="ctc_loss",
   outputs=("loss", "log_alpha"), node="CtcLossBackward0", public=False,
   log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, loss, log_alpha:
       _ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, loss.detach(), log_alpha.detach(),
                          blank, zero_infinity))  # fmt: skip
op("_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity)",
   native="ctc_loss_backward", node="NotImplemented", public=False, linear="grad",
   grad=lambda g: no_second("_ctc_loss_backward"),
   log_probs=lambda g: no_second("_ctc_loss_backward"))  # fmt: skip


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
    """nn.functional.ctc_loss() with a number for the reduction."""
    name = reduction_named(reduction)
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity)
