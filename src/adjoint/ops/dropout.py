"""Dropout: of elements, of channels, and the kinds that keep mean and variance."""

import warnings

from .. import _C
from .batching import draws_differ
from .checks import boolean, tensor
from .language import _dropped, bernoulli, composite, elementwise, empty_like, zeros_like


def _kept(input, batch, p, dtype=None):
    """Ones with probability 1 - `p`, else zeros: for each element, or for each channel behind a batch or none."""
    if batch is not None and input.ndim < 1 + batch:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = None if batch is None else (*input.shape[: 1 + batch], *(1,) * (input.ndim - 1 - batch))
    noise = (empty_like(input, dtype=dtype) if shape is None else input.new_empty(shape, dtype=dtype)).detach()
    return bernoulli(noise, 1 - p) if draws_differ() else noise.bernoulli_(1 - p)


def per_cent(p):
    """The end of an error about a probability that may be meant in per cent."""
    return f"; {p}% are {p / 100:g}" if 1 < p <= 100 and p == int(p) else ""


def _idle(input, p, training):
    """Whether there is nothing to drop."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}{per_cent(p)}")
    tensor("dropout", input=input)
    boolean("dropout", train=training)
    return not training or p == 0 or input.numel() == 0


# By a mask of bools, which takes a quarter of what numbers take: what torch computes with on a GPU.
elementwise("_dropped(input, kept, factor=1.0)", lambda input, kept, factor: input * kept * factor,
            public=False, inplace=False, out=False, linear="input * kept", node="NativeDropoutBackward0",
            input=lambda g, kept, factor: g * kept * factor,
            kept=lambda g, input, factor: g * input * factor)  # fmt: skip


def _drop(input, batch, p, training, inplace):
    if _idle(input, p, training):
        return input
    if input.is_cuda and input.is_floating_point() and batch is None and p < 1 and not inplace:
        return _dropped(input, _kept(input, None, p, _C.bool), 1 / (1 - p))
    noise = zeros_like(input.detach()) if p == 1 else _kept(input, batch, p).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


@composite(namespace="nn.functional")
def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability `p` and scales the others by 1 / (1 - p); in training only.

    >>> import adjoint as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    return _drop(input, None, p, training, inplace)


def feature_dropout(input, p, training, inplace):
    """Zeroes whole channels, the second dimension of the input, with probability `p`."""
    return _drop(input, True, p, training, inplace)


def _drop_channels(name, spatial):
    exists = (
        f"Note that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial "
        f"dimension{'s' if spatial > 1 else ''}, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs)."
    )

    def function(input, p=0.5, training=True, inplace=False):
        ndim = input.ndim
        if ndim not in (spatial + 1, spatial + 2):
            if spatial == 1:
                raise RuntimeError(f"{name}: Expected 2D or 3D input, but received a {ndim}D input. {exists}")
            warnings.warn(
                f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a "
                f"future release. To retain the behavior and silence this warning, please use dropout instead. "
                + exists,
                stacklevel=2,
            )
        elif spatial == 2 and ndim == 3:
            warnings.warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                "change in a future release to interpret the input as one without a batch dimension, i.e. shape "
                "(C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d "
                "instead.",
                stacklevel=2,
            )
        return _drop(input, spatial == 2 or ndim == spatial + 2, p, training, inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Zeroes whole channels with probability `p` and scales the others by 1 / (1 - p)."
    composite(function, namespace="nn.functional", name=name)


for _n in (1, 2, 3):
    _drop_channels(f"dropout{_n}d", _n)


# The value at which selu() levels out, which dropped elements get.
_ALPHA = 1.7580993408473766


def _drop_alpha(input, batch, p, training, inplace):
    if _idle(input, p, training):
        return input
    if p == 1:
        return input.mul_(zeros_like(input)) if inplace else input * zeros_like(input)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype}; convert it first"
        )
    kept = _kept(input, batch, p)
    scale = ((_ALPHA**2 * p + 1) * (1 - p)) ** -0.5
    shift = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    return input.mul_(kept * scale).add_(shift) if inplace else input * (kept * scale) + shift


@composite(namespace="nn.functional")
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps the mean and variance of what selu() gives.

    >>> import adjoint as torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(2))
    tensor([1., 1.])
    """
    return _drop_alpha(input, None, p, training, inplace)


@composite(namespace="nn.functional")
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout() of whole channels.

    >>> import adjoint as torch
    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2))
    tensor([[1., 1.]])
    """
    return _drop_alpha(input, True, p, training, inplace)
