"""Dropout, padding, and activations that choose among ops."""

from .language import _publish, arange, composite, constant_pad_nd, empty_like, gelu, gelu_tanh, op, zeros_like


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


def _drop_channels(name, dimensions):
    def function(input, p=0.5, training=True, inplace=False):
        if input.ndim not in (dimensions - 1, dimensions):
            raise RuntimeError(f"{name}: expected {dimensions - 1} or {dimensions} dimensions; got {input.ndim}")
        batch = input.ndim == dimensions
        shape = (*input.shape[: 1 + batch], *(1,) * (input.ndim - 1 - batch))
        return _drop(input, shape, p, training, inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Zeroes whole channels with probability `p` and scales the others by 1 / (1 - p)."
    composite(function, namespace="nn.functional", name=name)


for _n in (1, 2, 3):
    _drop_channels(f"dropout{_n}d", _n + 2)


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

op("constant_pad_nd(input, pad, value=0)", kernel="constant_pad_nd", method=False,
   input=lambda g, pad: constant_pad_nd(g, [-p for p in pad], 0),
   doc="Adds (or cuts off) elements at the ends of the last dimensions.")  # fmt: skip


def _reflected(size, before, after):
    if max(before, after) >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at a dimension of size {size}"
        )
    places = arange(-before, size + after).abs()
    return size - 1 - (size - 1 - places).abs()


def _replicated(size, before, after):
    return arange(-before, size + after).clamp(0, size - 1)


def _circular(size, before, after):
    if max(before, after) > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    return arange(-before, size + after) % size


_PLACES = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """Adds elements at the ends of the last dimensions: (before, after) pairs, the last dimension first.

    >>> import adjoint as torch
    >>> torch.nn.functional.pad(torch.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    """
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2; got {len(pad)} numbers")
    if mode == "constant":
        return constant_pad_nd(input, tuple(pad), 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f"Padding mode '{mode}' doesn't take in value argument")
    if mode not in _PLACES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) // 2 not in (input.ndim - 1, input.ndim - 2) or input.ndim < 2:
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now; got {len(pad)} numbers "
            f"for {input.ndim} dimensions"
        )
    for pair in range(len(pad) // 2):
        before, after = pad[2 * pair : 2 * pair + 2]
        if before or after:
            dim = input.ndim - 1 - pair
            input = input.index_select(dim, _PLACES[mode](input.shape[dim], before, after))
    return input
