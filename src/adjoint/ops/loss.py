"""Losses. Each that is one op in torch is one node here, whose rules use ordinary ops."""

import warnings

from .. import _C
from .batching import call, is_tensor, lined_up, rows, with_batch
from .checks import boolean, demanded, tensor
from .comparison import legacy_name
from .language import (
    _binary_cross_entropy,
    _cross_entropy,
    _cross_entropy_gradient,
    _huber_loss,
    _log_softmax,
    _log_softmax_backward_data,
    _logit_cross_entropy,
    _mse_loss,
    _nll_loss,
    _nll_loss_2d,
    _nll_loss_backward,
    _smooth_l1_loss,
    abs,
    binary_elements,
    bounded_slope,
    broadcast_tensors,
    composite,
    elementwise,
    exp,
    huber_elements,
    is_probability,
    log,
    log1p,
    logit_elements,
    maximum,
    minimum,
    mse_elements,
    mse_slope,
    op,
    sigmoid,
    sign,
    smooth_l1_elements,
    softplus,
    where,
    xlogy,
)

_ELEMENTS = {"public": False, "inplace": False, "out": False}
_LOSS = {"namespace": "nn.functional"}
REDUCTIONS = "; use one of 'none', 'mean' and 'sum'"

# ---- Batch rules; see batching.py


def elements_batch(op, size, batched, *given):
    """For losses by element, of which `reduction` is the one argument that is a word."""
    given = with_batch(size, batched, given)
    rank = max(value.dim() for value in given if is_tensor(value)) - 1
    reduction = next(value for value in given if isinstance(value, str))
    if reduction not in ("none", "mean", "sum"):
        return NotImplemented  # which the op refuses
    given = ("none" if value is reduction else lined_up(value, rank) if is_tensor(value) else value for value in given)
    return _reduced_batch(call(op, *given), reduction)


def _reduced_batch(elements, reduction):
    if reduction == "none":
        return elements
    return rows(elements).mean(1) if reduction == "mean" else rows(elements).sum(1)


def _class_weights(target, weight, ignore_index, dtype):
    """The weights of the targets' classes; 0 for targets to ignore."""
    kept = target != ignore_index
    if weight is None:
        return kept.to(dtype)
    places = where(kept, target, 0).flatten(1)
    weights = weight.expand(target.shape[0], weight.shape[-1]).gather(1, places).reshape(target.shape)
    return where(kept, weights, 0)


def _nll_batch(op, size, batched, input, target, weight, ignore_index, reduction):
    input, target = with_batch(size, batched[:2], (input, target))
    losses = call(op, input.flatten(0, 1), target.flatten(0, 1), None, ignore_index, "none")[0]
    losses = losses.unflatten(0, input.shape[:2])
    if weight is None and reduction != "mean":
        return _reduced_batch(losses, reduction), losses.new_zeros(size)
    weights = _class_weights(target, weight, ignore_index, input.dtype)
    losses, total = losses if weight is None else losses * weights, rows(weights).sum(1)
    return (rows(losses).sum(1) / total if reduction == "mean" else _reduced_batch(losses, reduction)), total


def _nll_back_batch(op, size, batched, grad, sizes, target, weight, ignore_index, reduction, total_weight):
    grad, target = with_batch(size, (batched[0], batched[2]), (grad, target))
    if reduction == "mean":
        grad = grad / total_weight
    if reduction != "none":
        grad = grad.reshape(size, *(1,) * (target.dim() - 1)).expand(target.shape)
    if weight is not None:
        grad = grad * _class_weights(target, weight, ignore_index, grad.dtype)
    none = grad.new_zeros(())
    given = (grad.flatten(0, 1), (size * sizes[0], *sizes[1:]), target.flatten(0, 1), None, ignore_index, "none", none)
    return call(op, *given).unflatten(0, (size, sizes[0]))


# ---- Losses by element


def _bounded(difference, bound):
    return where(abs(difference) < bound, difference / bound, sign(difference))


# fmt: off
elementwise("mse_elements(input, target)", lambda input, target: (input - target) * (input - target),
            **_ELEMENTS,
            loop="mse_cpu", input=None, target=None)
# The factor is 2, or that over the number of elements.
elementwise("mse_slope(scale, input, target, factor=2.0)",
            lambda scale, input, target, factor: scale * (factor * (input - target)),
            **_ELEMENTS, linear="scale * input + scale * target",
            scale=lambda g, input, target, factor: g * (factor * (input - target)),
            input=lambda g, scale, factor: g * (factor * scale),
            target=lambda g, scale, factor: -g * (factor * scale))
elementwise("smooth_l1_elements(input, target, beta=1.0)",
            lambda input, target, beta: where(
                abs(input - target) < beta, 0.5 * (input - target) * (input - target) / beta,
                abs(input - target) - 0.5 * beta),
            **_ELEMENTS,
            loop="smooth_l1_cpu", input=None, target=None)
# The difference within the bound, its sign beyond: the slope of both losses, in units of the bound.
elementwise("bounded_slope(scale, input, target, bound=1.0, factor=1.0)",
            lambda scale, input, target, bound, factor: scale * (factor * _bounded(input - target, bound)),
            **_ELEMENTS, linear="scale",
            scale=lambda g, input, target, bound, factor: g * (factor * _bounded(input - target, bound)),
            input=lambda g, scale, input, target, bound, factor: where(
                abs(input - target) < bound, g * (factor * scale) / bound, 0),
            target=lambda g, scale, input, target, bound, factor: where(
                abs(input - target) < bound, -g * (factor * scale) / bound, 0))
elementwise("huber_elements(input, target, delta=1.0)",
            lambda input, target, delta: where(
                abs(input - target) <= delta, 0.5 * (input - target) * (input - target),
                delta * (abs(input - target) - 0.5 * delta)),
            **_ELEMENTS,
            loop="huber_cpu", input=None, target=None)
elementwise("is_probability(input)", lambda input: (input >= 0) & (input <= 1), result="bool",
            types="integer bool", **_ELEMENTS, input=None)
# Logarithms are cut at -100, so that a sure mistake costs 100 and not infinity.
elementwise("binary_elements(input, target)",
            lambda input, target: -target * maximum(log(input), -100) - (1 - target) * maximum(log1p(-input), -100),
            **_ELEMENTS,
            input=None, target=None)
elementwise("logit_elements(input, target, pos_weight)",
            lambda input, target, pos_weight: (1 - target) * input + (1 + (pos_weight - 1) * target) * (
                log1p(exp(-abs(input))) - minimum(input, 0)),
            **_ELEMENTS,
            input=None, target=None, pos_weight=None)
# fmt: on


def _reduced(elements, reduction):
    if reduction == "none":
        return elements
    if reduction == "mean":
        return elements.mean()
    if reduction == "sum":
        return elements.sum()
    raise ValueError(f"{reduction} is not a valid value for reduction{REDUCTIONS}")


def _shared(g, elements, reduction):
    """The gradient that reaches each of the elements."""
    return g / elements.numel() if reduction == "mean" else g


def _times(value, weight):
    return value if weight is None else value * weight


def _mse_forward(input, target, reduction):
    return _reduced(mse_elements(input, target), reduction)


op("_mse_loss(input, target, reduction)", forward=_mse_forward, node="MseLossBackward0", public=False,
   input=lambda g, input, target, reduction: _mse_gradient(g, input, target, reduction),
   target=lambda g, input, target, reduction: _mse_gradient(g, target, input, reduction),
   batch=elements_batch)  # fmt: skip


def _share_of_each(input, target, reduction):
    """What the gradient of the loss is multiplied by for each element."""
    if reduction != "mean":
        return 1.0
    return 1 / max((input + target if input.shape != target.shape else input).numel(), 1)


def _mse_gradient(g, input, target, reduction):
    return mse_slope(g, input, target, 2 * _share_of_each(input, target, reduction))


def _smooth_l1_forward(input, target, reduction, beta):
    return _reduced(smooth_l1_elements(input, target, beta), reduction)


def _huber_forward(input, target, reduction, delta):
    return _reduced(huber_elements(input, target, delta), reduction)


def _bounded_gradient(g, input, target, reduction, bound, factor=1.0):
    return bounded_slope(g, input, target, bound, factor * _share_of_each(input, target, reduction))


op("_smooth_l1_loss(input, target, reduction, beta)", forward=_smooth_l1_forward, node="SmoothL1LossBackward0",
   public=False,
   input=lambda g, input, target, reduction, beta: _bounded_gradient(g, input, target, reduction, beta),
   target=lambda g, input, target, reduction, beta: _bounded_gradient(g, target, input, reduction, beta),
   batch=elements_batch)  # fmt: skip
op("_huber_loss(input, target, reduction, delta)", forward=_huber_forward, node="HuberLossBackward0", public=False,
   input=lambda g, input, target, reduction, delta: _bounded_gradient(g, input, target, reduction, delta, delta),
   target=lambda g, input, target, reduction, delta: _bounded_gradient(g, target, input, reduction, delta, delta),
   batch=elements_batch)  # fmt: skip


def _check_probabilities(name, values, cure=""):
    """Refuses a value that is no probability, and says what to do about it."""
    fair, words = is_probability(values), f"all elements of {name} should be between 0 and 1"
    if values.numel() and not demanded(fair, f"{words}{cure}"):
        raise RuntimeError(f"{words}; one is {values[~fair].flatten()[0].item():.6g}{cure}")


def _binary_forward(input, target, weight, reduction):
    _check_probabilities("input", input, ": apply sigmoid() first, or use binary_cross_entropy_with_logits")
    _check_probabilities("target", target)
    return _reduced(_written(input, _times(binary_elements(input, target), weight)), reduction)


# d/dx = (x - t) / (x (1 - x)), d/dt = log(1 - x) - log(x)
op("_binary_cross_entropy(input, target, weight, reduction)", forward=_binary_forward,
   node="BinaryCrossEntropyBackward0", public=False,
   weight=None,
   input=lambda g, input, target, weight, reduction: _times(
       _shared(g, input, reduction) * (input - target) / ((1 - input) * input).clamp_min(1e-12), weight),
   target=lambda g, input, weight, reduction: _times(
       _shared(g, input, reduction) * (log1p(-input) - log(input)),
       weight),
   batch=elements_batch)  # fmt: skip


def _logit_forward(input, target, weight, pos_weight, reduction):
    elements = _written(target, logit_elements(input, target, 1 if pos_weight is None else pos_weight))
    return _reduced(_written(target, _times(elements, weight)), reduction)


def _logit_slope(input, target, pos_weight):
    """(1 - t) - (1 + (p - 1) t) sigmoid(-x), which is sigmoid(x) - t without a weight p."""
    if pos_weight is None:
        return sigmoid(input) - target
    return (1 - target) - (1 + (pos_weight - 1) * target) * sigmoid(-input)


def _logit_target_slope(input, pos_weight):
    """(p - 1) log(1 + exp(-x)) - x"""
    return -input if pos_weight is None else (pos_weight - 1) * softplus(-input) - input


op("_logit_cross_entropy(input, target, weight, pos_weight, reduction)", forward=_logit_forward,
   node="BinaryCrossEntropyWithLogitsBackward0", public=False,
   weight=None, pos_weight=None,
   input=lambda g, input, target, weight, pos_weight, reduction: _times(
       _shared(g, input, reduction) * _logit_slope(input, target, pos_weight), weight),
   target=lambda g, input, weight, pos_weight, reduction: _times(
       _shared(g, input, reduction) * _logit_target_slope(input, pos_weight), weight),
   batch=elements_batch)  # fmt: skip


def legacy_reduction(size_average, reduce, emit_warning=True, stacklevel=3):
    """The reduction that the two arguments of old mean."""
    mean, whole = size_average is None or size_average, reduce is None or reduce
    meant = "none" if not whole else "mean" if mean else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
            UserWarning,
            stacklevel=stacklevel,
        )
    return meant


def _reduction(size_average, reduce, reduction):
    """The reduction, which the two arguments of old overrule."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_reduction(size_average, reduce, stacklevel=4)


def _same_sizes(input, target):
    """Both in their common size, with a warning if that is not the size of each."""
    if input.size() == target.size():
        return input, target
    from .._warning import warn_user

    text = (
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    try:
        both = broadcast_tensors(input, target)
    except RuntimeError:
        warn_user(text)
        raise
    warn_user(f"{text} The loss is of {list(both[0].shape)}, each with each. {_size_advice(input, target)}")
    return both


def _size_advice(input, target):
    """How an input and a target that differ in a dimension of size 1 get one size."""
    for name, value, other in (("input", input, target), ("target", target, input)):
        for dim in (dim for dim, size in enumerate(value.shape) if size == 1):
            if value.squeeze(dim).shape == other.shape:
                return f"squeeze({dim}) the {name}?"
    return "Reshape one of them."


def _in_type_of(input, loss):
    """The loss in the input's type, as torch writes it."""
    if loss.dtype is input.dtype:
        return loss
    if not _C.can_cast(loss.dtype, input.dtype):
        raise RuntimeError(
            f"result type {legacy_name(loss)} can't be cast to the desired output type {legacy_name(input)}; convert "
            "input and target to one floating point type"
        )
    return loss.to(input.dtype)


def _written(target, elements):
    """The elements as they would be written over a tensor: of its type, and not of more sizes."""
    if elements.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(elements.shape)}; "
            "a weight broadcasts to the input"
        )
    return _in_type_of(target, elements)


def _weighted(elements, weight, reduction):
    """A weighted loss: the mean is over the sum of the weights."""
    if weight.shape != elements.shape:
        raise ValueError("Weights and input must have the same size.")
    elements = elements * weight
    return elements.sum() / weight.sum() if reduction == "mean" else _reduced(elements, reduction)


@composite(**_LOSS, autocast="float32")
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of the squared differences.

    >>> import adjoint as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    input, target = _same_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(_mse_loss(input, target, "none"), weight, reduction)
    return _mse_loss(input, target, reduction)


@composite(**_LOSS, autocast="float32")
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of the absolute differences.

    >>> import adjoint as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    input, target = _same_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((input - target).abs(), weight, reduction)
    return _reduced((input - target).abs(), reduction)


@composite(**_LOSS, autocast="float32")
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared differences below `beta`, absolute ones above.

    >>> import adjoint as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    input, target = _same_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _reduced((input - target).abs(), reduction)
    return _smooth_l1_loss(input, target, reduction, beta)


@composite(**_LOSS, autocast="float32")
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared differences up to `delta`, and a straight line beyond.

    >>> import adjoint as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([1.0, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.5000, 2.5000])
    """
    input, target = _same_sizes(input, target)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return _in_type_of(input, _huber_loss(input, target, reduction, delta))
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return _reduced(_huber_loss(input, target, "none", delta) * weight, reduction)


@composite(**_LOSS, autocast="float32")
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log(x) + (1 - t) log(1 - x)) of probabilities x.

    >>> import adjoint as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if input.is_cuda and _C._autocast_gpu_enabled():
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: probabilities near "
            "0 and 1 are lost in 16 bits. Use binary_cross_entropy_with_logits or BCEWithLogitsLoss in place of a "
            "sigmoid and this, or leave autocast for it"
        )
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            f"Please ensure they have the same size. {_size_advice(input, target)}"
        )
    if target.dtype != input.dtype:
        raise RuntimeError(
            f"Found dtype {legacy_name(target)} but expected {legacy_name(input)}; convert the target with "
            f".to({input.dtype})"
        )
    if weight is not None:
        weight = weight.expand(input.shape)
    return _binary_cross_entropy(input, target, weight, reduction)


@composite(**_LOSS, autocast="float32")
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without overflow.

    >>> import adjoint as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if weight is not None:
        tensor("binary_cross_entropy_with_logits", weight=weight)
    for name, value in (("target", target), ("pos_weight", pos_weight)):
        if value is not None and value.dtype is _C.bool:
            raise RuntimeError(
                f"Subtraction, the `-` operator, with a bool tensor is not supported. Convert {name} with .float()"
            )
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape}). "
            f"{_size_advice(input, target)}"
        )
    return _logit_cross_entropy(input, target, weight, pos_weight, reduction)


@composite(**_LOSS, autocast="float32")
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of log-probabilities `input` from probabilities `target`.

    >>> import adjoint as torch
    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(p.log(), p, reduction="batchmean")
    tensor(0.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            UserWarning,
            stacklevel=2,
        )
    boolean("kl_div", log_target=log_target)
    if not (input.is_floating_point() and target.is_floating_point()):
        kind = "Complex" if input.is_complex() or target.is_complex() else "Integral"
        raise RuntimeError(f"kl_div: {kind} inputs not supported. Convert them to a floating point type")
    elements = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return elements.sum() / input.shape[0] if input.ndim else elements.sum()
    return _reduced(elements, reduction)


# ---- Classes

# The loss is linear in the scores, and so is its gradient in g: each is the other's rule.
for _name, _node in {"_nll_loss": "NllLossBackward0", "_nll_loss_2d": "NllLoss2DBackward0"}.items():
    op(f"{_name}(input, target, weight, ignore_index, reduction)", native="nll_loss", outputs=("loss", "total_weight"),
       node=_node, linear="input", public=False,
       weight=None,
       input=lambda g, input_meta, target, weight, ignore_index, reduction, total_weight: _nll_loss_backward(
           g, input_meta.shape, target, weight, ignore_index, reduction, total_weight),
       batch=_nll_batch)  # fmt: skip
op("_nll_loss_backward(grad, size, target, weight, ignore_index, reduction, total_weight)", native="nll_loss_backward",
   public=False, linear="grad",
   grad=lambda g, target, weight, ignore_index, reduction:
       _nll_loss(g, target, weight, ignore_index, reduction)[0],
   batch=_nll_back_batch)  # fmt: skip


def _scores_grad(g, input, target, weight, ignore_index, reduction, total_weight):
    """The gradient of _cross_entropy by formulas that have gradients themselves."""
    shares = _log_softmax(input, 1, g.dtype)
    grad = _nll_loss_backward(g, input.shape, target, weight, ignore_index, reduction, total_weight)
    return _log_softmax_backward_data(grad, shares, 1).to(input.dtype)


# log_softmax and _nll_loss in one pass, for devices that prefer that: nothing as large as the scores is written, and
# they may be of a half type where the loss is `wide`.
op("_cross_entropy(input, target, weight, ignore_index, reduction, wide)", native="cross_entropy",
   outputs=("loss", "total_weight", "sums"), node="NllLossBackward0", public=False,
   weight=None,
   fused={"input": lambda g, input, target, weight, ignore_index, reduction, total_weight, sums:
          _cross_entropy_gradient(g, input, target, weight, ignore_index, reduction, total_weight, sums)},
   input=lambda g, input, target, weight, ignore_index, reduction, total_weight:
       _scores_grad(g, input, target, weight, ignore_index, reduction, total_weight))  # fmt: skip
op("_cross_entropy_gradient(grad, input, target, weight, ignore_index, reduction, total_weight, sums)",
   native="cross_entropy_gradient", gradient=False, public=False)  # fmt: skip


def _several_targets(input, target):
    text = f"0D or 1D target tensor expected, multi-target not supported; got {list(target.shape)}"
    if target.ndim == 2 and target.shape[1] == 1:
        return f"{text}: squeeze(1) makes it {list(target.shape[:1])}"
    if target.shape == input.shape:
        return f"{text}: argmax(1) makes indices of one-hot rows"
    return f"{text}, for an input of {list(input.shape)}: one index of a class for each row"


def _wrong_target(input, target, wanted):
    """Torch's words for a target of images or sequences that does not fit, and where the classes belong."""
    shapes = f"The input is {list(input.shape)}, with the classes in dimension 1"
    if target.shape == input.shape[:-1]:
        shapes += "; if they are last, movedim(-1, 1) puts them there"
    if input.ndim == 4 and target.ndim != 3:
        start = f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        return f"{start}. Expected {wanted}, got {list(target.shape)}. {shapes}"
    if input.ndim == 4:
        return f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}). {shapes}"
    return f"Expected target size {wanted}, got {list(target.shape)}. {shapes}"


def _check_classes(input, target, weight):
    """Torch's errors for class indices that do not fit the input."""
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    count = target.shape[0] if target.ndim else 0
    if input.ndim != 1 and input.shape[0] != count:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({count}). The input is "
            f"{list(input.shape)}, the target {list(target.shape)}."
        )
    if target.dtype not in (_C.int64, _C.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {legacy_name(target)}; convert the target with .long() "
            "if it holds indices of classes"
        )
    if input.ndim == 2 and target.ndim > 1:
        raise RuntimeError(_several_targets(input, target))
    wanted = [input.shape[0], *input.shape[2:]]
    if input.ndim > 2 and list(target.shape) != wanted:
        raise RuntimeError(_wrong_target(input, target, wanted))
    classes = input.shape[0] if input.ndim == 1 else input.shape[1]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype} but found {weight.dtype}; convert the weight with .to(dtype)"
        )


def _check_class_loss(input, target, weight, reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction{REDUCTIONS}")
    _check_classes(input, target, weight)


def _class_loss(input, target, weight, ignore_index, reduction):
    _check_class_loss(input, target, weight, reduction)
    target = target.long()
    if input.ndim == 1:
        loss = _nll_loss(input.unsqueeze(0), target.reshape(1), weight, ignore_index, reduction)[0]
        return loss.reshape(()) if reduction == "none" else loss
    return (_nll_loss if input.ndim == 2 else _nll_loss_2d)(input, target, weight, ignore_index, reduction)[0]


@composite(**_LOSS, autocast="float32")
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The mean of the negated log-probabilities of the targets.

    >>> import adjoint as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """
    return _class_loss(input, target, weight, ignore_index, _reduction(size_average, reduce, reduction))


@composite(**_LOSS)
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The negated log-probability of the targets under softmax(input): class indices, or probabilities of classes.

    >>> import adjoint as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    reduction = _reduction(size_average, reduce, reduction)
    one_pass = input.ndim == 2 and target.ndim == 1 and input.is_floating_point() and not label_smoothing > 0
    if one_pass and _C._prefers_cross_entropy(input):
        wide = _C._autocast_gpu_enabled() and input.dtype != _C.float64
        _check_class_loss(input, target, weight if weight is None or not wide else weight.to(input.dtype), reduction)
        return _cross_entropy(input, target.long(), weight, ignore_index, reduction, wide)[0]
    return _separate_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


@composite(namespace="nn.functional", method=False, function_=False, autocast="float32")
def _separate_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    """log_softmax first, then the loss."""
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input.ndim == 1 else 1
    if target.shape == input.shape:
        if not target.is_floating_point():
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {legacy_name(target)}; a "
                f"target of the input's shape {list(input.shape)} holds probabilities: convert one-hot rows with .to("
                f"{input.dtype}), or take argmax(1) for indices of classes"
            )
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim)
    scores = _log_softmax(input, dim)
    loss = _class_loss(scores, target, weight, ignore_index, reduction)
    if not label_smoothing > 0:
        return loss
    smooth = _smooth_loss(scores, target, weight, ignore_index, reduction, dim)
    return (1 - label_smoothing) * loss + label_smoothing * smooth / input.shape[dim]


def _by_class(weight, like, dim):
    """The weights of the classes, laid along the dimension of classes."""
    return weight.reshape([-1 if d == dim else 1 for d in range(like.ndim)])


def _smooth_loss(scores, target, weight, ignore_index, reduction, dim):
    """The loss of all classes alike."""
    losses = -(scores if weight is None else scores * _by_class(weight, scores, dim)).sum(dim)
    losses = losses.masked_fill(target == ignore_index, 0)
    if reduction != "mean":
        return _reduced(losses, reduction)
    kept = target != ignore_index
    counts = kept if weight is None else where(kept, weight.take(where(kept, target, 0)), 0)
    return losses.sum() / counts.sum()


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim):
    classes = input.shape[dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    losses = _log_softmax(input, dim) * target
    if weight is not None:
        losses = losses * _by_class(weight, input, dim)
    if reduction == "none":
        return -losses.sum(dim)
    if reduction == "sum":
        return -losses.sum()
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction{REDUCTIONS}")
    return -losses.sum() / max(1, input.numel() // classes if classes else 0)
