"""Losses by margins: of scores, of pairs and triplets of vectors, and of labels."""

from .. import _C
from .batching import folded
from .checks import boolean, demanded, tensor
from .comparison import legacy_name
from .language import (
    _multilabel_margin_backward,
    _multilabel_margin_loss,
    _soft_margin_loss,
    composite,
    elementwise,
    exp,
    gather,
    log1p,
    logsigmoid,
    minimum,
    ones_like,
    op,
    pairwise_distance,
    sigmoid,
    soft_margin_elements,
    sqrt,
    where,
)
from .loss import _in_type_of, _reduced, _reduction, _shared, elements_batch
from .normalization import torch_level

_LOSS = {"namespace": "nn.functional"}
_NAMES = ("none", "mean", "sum")


def reduction_named(number):
    """The name of a reduction that is given as a number; those without a meaning count as 0, as in torch."""
    return _NAMES[number] if number in (1, 2) else "none"


def by_number(function, *names):
    """Publishes a loss also as torch.<name>, where the arguments `names` and a number for the reduction follow."""
    written = getattr(function, "__wrapped__", function)
    count = written.__code__.co_varnames[: written.__code__.co_argcount].index(names[0])

    def loss(*args, reduction=0, **kwargs):
        if len(args) > count + len(names):
            *args, reduction = args
        kwargs.update(zip(names, args[count:], strict=False))
        return function(*args[:count], reduction=reduction_named(reduction), **kwargs)

    loss.__doc__ = written.__doc__
    torch_level(function.__name__)(loss)


# ---- Scores and their signs

# fmt: off
elementwise("soft_margin_elements(input, target)",
            lambda input, target: log1p(exp(-target * input)),
            public=False, inplace=False, out=False,
            input=None, target=None)
# fmt: on


def _soft_margin_batch(op, size, batched, input, target, reduction):
    if input.shape[batched[0] :] != target.shape[batched[1] :]:
        return NotImplemented  # which the op may refuse
    return elements_batch(op, size, batched, input, target, reduction)


def _soft_margin_forward(input, target, reduction):
    # Torch's half types overflow in the exponential, step by step; the kernel is for real numbers.
    plain = input.dtype in (_C.float16, _C.bfloat16) or input.is_complex() or target.is_complex()
    elements = log1p(exp(-target * input)) if plain else soft_margin_elements(input, target)
    if elements.shape != input.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(elements.shape)}; "
            "give a target of the input's size"
        )
    return _reduced(elements, reduction)


op("_soft_margin_loss(input, target, reduction)", forward=_soft_margin_forward, node="SoftMarginLossBackward0",
   public=False, out=True,
   target=None,
   input=lambda g, input, target, reduction:
       -_shared(g, input, reduction) * target * sigmoid(-target * input),
   batch=_soft_margin_batch)  # fmt: skip


@composite(**_LOSS, autocast="float32")
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean", *, out=None):
    """log(1 + exp(-t x)) for signs t.

    >>> import adjoint as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    tensor("soft_margin_loss", input=input, target=target)
    loss = _soft_margin_loss(input, target, _reduction(size_average, reduce, reduction), out=out)
    return loss if out is not None else _in_type_of(input, loss)


@composite(**_LOSS, autocast="float32")
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where the target is 1, max(0, margin - x) where it is -1.

    >>> import adjoint as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    reduction = _reduction(size_average, reduce, reduction)
    near = where(target == -1, 0, input)
    # The margin takes the input's type, as in torch.
    far = where(target == 1, 0, (input.new_full((), margin) - input).clamp_min(0))
    return _reduced(near + far, reduction)


@composite(**_LOSS, autocast="float32")
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, margin - t (x1 - x2)): t = 1 where the first should rank higher, -1 where the second should.

    >>> import adjoint as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return _reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


# ---- Classes and labels


def _check_vectors(input):
    if input.ndim > 2 or 0 in input.shape[-1:] or (input.ndim == 1 and not input.numel()):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )


def _check_long(target):
    if target.dtype != _C.int64:
        raise RuntimeError(
            f"expected scalar type Long but found {legacy_name(target)}; convert the target with .long()"
        )


@composite(**_LOSS, autocast="float32")
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the other classes of max(0, margin - x[target] + x[class]) to the power of p.

    >>> import adjoint as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 0.0]]), torch.tensor([0]))
    tensor(0.2500)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional; got {weight.ndim} dimensions")
    _check_vectors(input)
    rows = input.reshape(-1, input.shape[-1] if input.ndim else 1)
    count, classes = rows.shape
    if target.ndim > 1 or target.numel() != count:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{count}], but got {list(target.shape)}. "
            f"Input has shape {list(input.shape)}."
        )
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _check_long(target)
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}; convert the weight")
    if count and not input.is_floating_point():
        raise NotImplementedError(
            f"\"multi_margin_loss\" not implemented for '{input.dtype}'; convert it with .float()"
        )
    places = target.reshape(-1, 1)
    wrong = "target out of range"
    if count and not demanded((places >= 0) & (places < classes), wrong):
        raise RuntimeError(wrong)
    distance = (float(margin) - gather(rows, 1, places) + rows).relu().scatter(1, places, 0)
    if p == 2:
        distance = distance * distance
    losses = distance.sum(1) / classes
    if weight is not None:
        losses = losses * weight.index_select(0, target.reshape(-1))
    return _reduced(losses.reshape(target.shape) if reduction == "none" else losses, reduction)


op("_multilabel_margin_loss(input, target)", native="multilabel_margin_loss", outputs=("loss", "is_target"),
   node="MultilabelMarginLossBackward0", public=False,
   input=lambda g, input, target, is_target: _multilabel_margin_backward(g, input, target, is_target),
   jvp=lambda input, target, is_target, loss, input_t:
       (_multilabel_margin_backward(ones_like(loss), input, target, is_target) * input_t).sum(1),
   batch=folded)  # fmt: skip
op("_multilabel_margin_backward(grad, input, target, is_target)", native="multilabel_margin_backward",
   gradient=False, public=False,
   batch=folded)  # fmt: skip


@composite(**_LOSS, autocast="float32")
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of max(0, 1 - x[label] + x[other]) over the labels before the first -1 and all other classes.

    >>> import adjoint as torch
    >>> scores, labels = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
    >>> torch.nn.functional.multilabel_margin_loss(scores, labels)
    tensor(0.8500)
    """
    reduction = _reduction(size_average, reduce, reduction)
    _check_vectors(input)
    vectors = input.ndim < 2 and target.ndim < 2 and input.numel() == target.numel()
    if target.shape != input.shape and not vectors:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_long(target)
    width = input.shape[-1] if input.ndim else 1
    losses = _multilabel_margin_loss(input.reshape(-1, width), target.reshape(-1, width))[0]
    if not losses.numel() and reduction == "mean":
        return losses.sum()
    return _reduced(losses if input.ndim == 2 or reduction != "none" else losses.reshape(()), reduction)


@composite(**_LOSS)
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the classes of the binary cross entropies of sigmoid(input).

    >>> import adjoint as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    reduction = _reduction(size_average, reduce, reduction)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    # The classes are the last dimension of the input, also where the target has more dimensions.
    losses = losses.sum(input.ndim - 1) / input.size(-1)
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not valid")
    return _reduced(losses, reduction)


# ---- Pairs and triplets of vectors


@composite(**_LOSS, autocast="float32")
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos of vectors that belong together (target 1), max(0, cos - margin) of those that do not (-1).

    >>> import adjoint as torch
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([1.0]))
    tensor(1.)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    lengths = sqrt(((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny))
    cosine = product / lengths
    near = where(target == 1, 1 - cosine, 0)
    far = where(target == -1, (cosine - margin).clamp_min(0), 0)
    return _reduced(near + far, reduction)


def _check_triplet(anchor, positive, negative, margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if anchor.ndim != positive.ndim or anchor.ndim != negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


def _triplet(near, far, between, margin, swap, reduction):
    """max(0, near - far + margin); `swap` takes the distance of positive and negative where that is less."""
    if swap:
        far = minimum(far, between())
    return _reduced((near - far + margin).clamp_min(0), reduction)


@composite(**_LOSS, autocast="float32")
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) of p-norm distances.

    >>> import adjoint as torch
    >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.5]])
    >>> torch.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.5000)
    """
    reduction = _reduction(size_average, reduce, reduction)
    _check_triplet(anchor, positive, negative, margin)
    boolean("triplet_margin_loss", swap=swap)

    def between():
        return pairwise_distance(positive, negative, p, eps)

    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    return _triplet(near, far, between, margin, swap, reduction)


@composite(**_LOSS)
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss() by any function of two tensors as distance.

    >>> import adjoint as torch
    >>> anchor, near, far = torch.zeros(1), torch.ones(1), torch.tensor([1.5])
    >>> distance = lambda x, y: (x - y).abs()
    >>> torch.nn.functional.triplet_margin_with_distance_loss(anchor, near, far, distance_function=distance)
    tensor(0.5000)
    """
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_triplet(anchor, positive, negative, margin)
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    return _triplet(near, far, lambda: distance(positive, negative), margin, swap, reduction)


by_number(hinge_embedding_loss, "margin")
by_number(margin_ranking_loss, "margin")
by_number(cosine_embedding_loss, "margin")
by_number(triplet_margin_loss, "margin", "p", "eps", "swap")
