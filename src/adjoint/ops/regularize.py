"""Dropout, and activations that choose among ops."""

import warnings

from .language import _publish, composite, empty_like, gelu, gelu_tanh, zeros_like


def _noise(input, shape, p):
    """Zeros with probability `p`, else 1 / (1 - p)."""
    if p == 1:
        return zeros_like(input.detach())
    noise = empty_like(input) if shape is None else input.new_empty(shape)
    return noise.detach().bernoulli_(1 - p).div_(1 - p)


def _drop(input, shape, p, training, inplace):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or input.numel() == 0:
        return input
    noise = _noise(input, shape, p)
    return input.mul_(noise) if inplace else input * noise


@composite(namespace="nn.functional")
def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability `p` and scales the others by 1 / (1 - p); in training only.

    >>> import adjoint as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    return _drop(input, None, p, training, inplace)


def _channel_shape(input, batch=True):
    """One number per channel, which is the dimension behind the batch."""
    return (*input.shape[: 1 + batch], *(1,) * (input.ndim - 1 - batch))


def _drop_channels(name, dimensions):
    def function(input, p=0.5, training=True, inplace=False):
        if input.ndim not in (dimensions - 1, dimensions):
            raise RuntimeError(f"{name}: expected {dimensions - 1} or {dimensions} dimensions; got {input.ndim}")
        batch = input.ndim == dimensions
        if name == "dropout2d" and not batch:
            warnings.warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L). Use dropout1d for that.",
                stacklevel=2,
            )
            batch = True
        return _drop(input, _channel_shape(input, batch), p, training, inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Zeroes whole channels with probability `p` and scales the others by 1 / (1 - p)."
    composite(function, namespace="nn.functional", name=name)


for _n in (1, 2, 3):
    _drop_channels(f"dropout{_n}d", _n + 2)


# The value at which selu() levels out, which dropped elements get.
_ALPHA = 1.7580993408473766


def _drop_alpha(input, shape, p, training, inplace):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(zeros_like(input)) if inplace else input * zeros_like(input)
    kept = (empty_like(input) if shape is None else input.new_empty(shape)).detach().bernoulli_(1 - p)
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
    if input.ndim < 2 and training:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _drop_alpha(input, _channel_shape(input), p, training, inplace)


def gelu_function(input, *, approximate="none", out=None):
    """x times the probability that a normal number is below x; `approximate="tanh"` for the faster formula.

    >>> import adjoint as torch
    >>> torch.nn.functional.gelu(torch.tensor([1.0]))
    tensor([0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return gelu(input, out=out)
    return gelu_tanh(input) if out is None else out.copy_(gelu_tanh(input))


# The public name takes one argument more than the op.
_publish("gelu", gelu_function, "nn.functional", False, True, ())
