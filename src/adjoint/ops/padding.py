"""Padding at the ends of the last dimensions: by a constant, or by repeating elements."""

from .. import _C
from . import language
from .batching import call, folded, samples
from .checks import listed
from .language import _pad_circular1d, _pad_repeating_backward, composite, constant_pad_nd, op

_NODES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}


def _channels_last(input, pad, mode):
    """Whether a gradient has its channels last: a batch that is padded in all dimensions has its input's format."""
    return mode != "circular" and 2 * input.ndim == len(pad) + 4 and _C._channels_last(input)


# ---- Batch rules; see batching.py


def _repeating_batch(op, size, batched, input, pad, mode):
    return samples(len(pad) // 2 + 2, op, size, batched, input, pad, mode)


def _repeating_back_batch(op, size, batched, grad, sizes, pad, mode, channels_last):
    if len(sizes) == len(pad) // 2 + 2:
        return folded(op, size, batched, grad, (size * sizes[0], *sizes[1:]), pad, mode, channels_last)
    return call(op, grad, (size, *sizes), pad, mode, channels_last)


op("constant_pad_nd(input, pad, value=0)", stored="all", native="constant_pad_nd", method=False, linear="input + value",
   input=lambda g, pad: constant_pad_nd(g, [-p for p in pad], 0),
   doc="Adds (or cuts off) elements at the ends of the last dimensions.",
   batch="...")  # fmt: skip

for _mode, _node in _NODES.items():
    for _dims in (1, 2, 3):
        op(f"_pad_{_mode}{_dims}d(input, pad, mode)", native="pad_repeating", widened="all back",
           node=f"{_node}{_dims}DBackward0",
           autocast="float32, none" if _mode == "replicate" or (_mode == "reflect" and _dims < 3) else None,
           linear="input", public=False,
           input=lambda g, input_meta, pad, mode: _pad_repeating_backward(
               g, input_meta.shape, pad, mode, _channels_last(input_meta, pad, mode)),
           batch=_repeating_batch)  # fmt: skip
op("_pad_repeating_backward(grad, size, pad, mode, channels_last)", native="pad_repeating_backward",
   node="ReflectionPad2DBackwardBackward0", public=False, linear="grad",
   grad=lambda g, pad, mode: _pad_circular1d(g, pad, mode),
   batch=_repeating_back_batch)  # fmt: skip


@composite(namespace="nn.functional", method=False)
def pad(input, pad, mode="constant", value=None):
    """Adds elements at the ends of the last dimensions: (before, after) pairs, the last dimension first.

    >>> import adjoint as torch
    >>> torch.nn.functional.pad(torch.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """
    listed("pad", pad=pad)
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2; got {len(pad)} numbers")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' must be float, not complex; see constant_pad_nd()")
        return constant_pad_nd(input, tuple(pad), 0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if mode not in _NODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    return getattr(language, f"_pad_{mode}{dims}d")(input, tuple(pad), mode)
