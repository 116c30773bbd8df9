"""Interpolation to another size: nearest, linear, cubic, area; and moving channels into pixels and back."""

import math
import warnings

from .. import _C
from . import language
from .batching import folded
from .checks import boolean_or_none, integer
from .language import _laid_out, _publish, _upsample_backward, composite, op

# ---- Interpolation

# The public mode and the number of dimensions -> what the kernel calls it, and the node's name.
_KINDS = {}
for _dims in (1, 2, 3):
    _KINDS["nearest", _dims] = ("nearest", f"UpsampleNearest{_dims}D")
    _KINDS["nearest-exact", _dims] = ("nearest-exact", f"UpsampleNearestExact{_dims}D")
_KINDS["linear", 1] = ("linear", "UpsampleLinear1D")
_KINDS["bilinear", 2] = ("linear", "UpsampleBilinear2D")
_KINDS["trilinear", 3] = ("linear", "UpsampleTrilinear3D")
_KINDS["bicubic", 2] = ("cubic", "UpsampleBicubic2D")
_KINDS["bilinear-aa", 2] = ("linear-aa", "UpsampleBilinear2DAa")
_KINDS["bicubic-aa", 2] = ("cubic-aa", "UpsampleBicubic2DAa")
_KINDS["lanczos-aa", 2] = ("lanczos-aa", "UpsampleLanczos2DAa")

for _, _node in _KINDS.values():
    op(f"_{_node}(input, output_size, mode, align_corners, scale_x, scale_y, scale_z)", native="upsample",
       node=f"{_node}Backward0", linear="input", public=False,
       input=lambda g, input_meta, mode, align_corners, scale_x, scale_y, scale_z: _upsample_backward(
           g, input_meta.shape[2:], mode, align_corners, scale_x, scale_y, scale_z),
       batch=folded)  # fmt: skip
op("_upsample_backward(grad, size, mode, align_corners, scale_x, scale_y, scale_z)", native="upsample_backward",
   node="UpsampleBackwardBackward0", public=False, linear="grad",
   grad=lambda g, grad_meta, mode, align_corners, scale_x, scale_y, scale_z: language._UpsampleNearest1D(
       g, grad_meta.shape[2:], mode, align_corners, scale_x, scale_y, scale_z),
   batch=folded)  # fmt: skip

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_NEEDED = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _listed(what, value, input, dims, letters):
    """One number for each dimension."""
    if not isinstance(value, tuple | list):
        return (value,) * dims
    if len(value) != dims:
        noun = "output size" if what == "size" else what
        raise ValueError(
            f"Input and {'output' if what == 'size' else what} must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {list(input.shape[2:])} and {noun} of "
            f"{'' if what == 'size' else 'shape '}{value}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {noun} in {letters} format."
        )
    return tuple(value)


@composite(namespace="nn.functional", method=False)
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """The last dimensions in another size, or scaled by a factor.

    >>> import adjoint as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    scales = (None,) * max(dims, 0)
    if size is not None:
        size = _listed("size", size, input, dims, "(o1, o2, ...,oK)")
    else:
        scales = _listed("scale_factor", scale_factor, input, dims, "(s1, s2, ...,sK)")
        exact = [float(n) * s for n, s in zip(input.shape[2:], scales, strict=True)]
        if not all(abs(n) < 2**63 for n in exact):
            raise RuntimeError(f"value cannot be converted to type int64_t without overflow: scale_factor {scales}")
        size = tuple(map(math.floor, exact))
        if recompute_scale_factor or mode == "area":
            scales = (None,) * dims
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    boolean_or_none("interpolate", align_corners=align_corners)
    if mode == "lanczos" and dims == 2 and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True; leave it out")
    if mode == "area" and dims in (1, 2, 3):
        return getattr(language, f"adaptive_avg_pool{dims}d")(input, size)
    kind, node = _kind(input, mode, antialias)
    scales = [None if s is None else float(s) for s in reversed(scales)] + [None] * (3 - dims)
    return getattr(language, f"_{node}")(input, size, kind, bool(align_corners), *scales)


def _kind(input, mode, antialias):
    if mode == "lanczos" and input.ndim == 4 and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    found = _KINDS.get((f"{mode}-aa" if antialias else mode, input.ndim - 2))
    if found:
        return found
    if mode in _NEEDED and input.ndim in (3, 4, 5):
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_NEEDED[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: {_MODES} "
        f"(got {mode})"
    )


def _deprecated(name):
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=3
    )


@composite(namespace="nn.functional", method=False)
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The former name of interpolate.

    >>> import adjoint as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), size=3)
    tensor([[[1., 1., 2.]]])
    """
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(namespace="nn.functional", method=False)
def upsample_nearest(input, size=None, scale_factor=None):
    """Interpolation by the nearest element; formerly a function of its own.

    >>> import adjoint as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), size=3)
    tensor([[[1., 1., 2.]]])
    """
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(namespace="nn.functional", method=False)
def upsample_bilinear(input, size=None, scale_factor=None):
    """Bilinear interpolation with aligned corners; formerly a function of its own.

    >>> import adjoint as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ---- Channels and pixels


def _shuffled(input, upscale_factor):
    """[..., c r r, h, w] -> [..., c, h r, w r]"""
    r = upscale_factor
    *lead, channels, height, width = input.shape
    finer = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    finer = finer.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return finer.reshape(*lead, channels // (r * r), height * r, width * r)


def _unshuffled(input, downscale_factor):
    """[..., c, h r, w r] -> [..., c r r, h, w]"""
    r = downscale_factor
    *lead, channels, height, width = input.shape
    finer = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    finer = finer.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return finer.reshape(*lead, channels * r * r, height // r, width // r)


def _check_shuffle(name, input, factor, what):
    integer(name, what, factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")


def _pixel_shuffle(input, upscale_factor):
    _check_shuffle("pixel_shuffle", input, upscale_factor, "upscale_factor")
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return _laid_out(_shuffled(input, upscale_factor), _C._channels_last(input))


def _pixel_unshuffle(input, downscale_factor):
    _check_shuffle("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for name, dim in (("height", -2), ("width", -1)):
        if input.shape[dim] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})="
                f"{input.shape[dim]} is not divisible by {downscale_factor}"
            )
    return _laid_out(_unshuffled(input, downscale_factor), _C._channels_last(input))


def _channel_shuffle(input, groups):
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = input.shape[1]
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = input.reshape(input.shape[0], groups, channels // groups, *input.shape[2:])
    return _laid_out(split.transpose(1, 2).reshape(input.shape), _C._channels_last(input))


_shuffle = op("pixel_shuffle(input, upscale_factor)", forward=_pixel_shuffle, method=False, linear="input",
              input=lambda g, upscale_factor: _pixel_unshuffle(g, upscale_factor),
              doc="Channels moved into the pixels of a finer image.",
              batch="...")  # fmt: skip
_unshuffle = op("pixel_unshuffle(input, downscale_factor)", forward=_pixel_unshuffle, method=False, linear="input",
                input=lambda g, downscale_factor: _pixel_shuffle(g, downscale_factor),
                doc="Pixels moved into the channels of a coarser image.",
                batch="...")  # fmt: skip
_channels = op("channel_shuffle(input, groups)", forward=_channel_shuffle, method=False, linear="input",
               input=lambda g, groups: _channel_shuffle(g, g.shape[1] // groups) if g.numel() else g,
               doc="Channels dealt out in turn from groups of them.",
               batch=folded)  # fmt: skip
for _name, _function in (
    ("pixel_shuffle", _shuffle),
    ("pixel_unshuffle", _unshuffle),
    ("channel_shuffle", _channels),
    ("native_channel_shuffle", _channels),
):
    _publish(_name, _function, "nn.functional", False, True, ())
_publish("native_channel_shuffle", _channels, "", False, True, ())
