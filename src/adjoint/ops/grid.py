"""Sampling of images at the points of a grid, and grids of affine maps."""

import warnings

from . import language
from .batching import folded
from .checks import boolean, boolean_or_none
from .language import (
    _grid_sampler_grid,
    _grid_sampler_input,
    affine_grid_generator,
    arange,
    composite,
    ones,
    op,
)

# ---- Batch rules; see batching.py


def _sized_batch(op, size, batched, first, sizes, *rest):
    return folded(op, size, batched, first, (size * sizes[0], *sizes[1:]), *rest)


# ---- Sampling

# S samples an image at the points of a grid, or with a direction h the derivative along it, S_h. Both are linear in the
# image; `_grid_sampler_input` is the transpose, and `_grid_sampler_grid` the gradient of <g, S> in the grid, so that a
# cotangent of that is a direction.
for _dims in (2, 3):
    op(f"_grid_sampler_{_dims}d(input, grid, direction, interpolation_mode, padding_mode, align_corners)",
       native="grid_sampler", autocast="float32, promote", node=f"GridSampler{_dims}DBackward0", public=False,
       linear="input * direction",
       input=lambda g, input_meta, grid, direction, interpolation_mode, padding_mode, align_corners:
           _grid_sampler_input(g, input_meta.shape, grid, direction, interpolation_mode, padding_mode, align_corners),
       grid=lambda g, input, grid, direction, interpolation_mode, padding_mode, align_corners:
           _grid_sampler_grid(g, input, grid, direction, interpolation_mode, padding_mode, align_corners),
       direction=lambda g, input, grid, interpolation_mode, padding_mode, align_corners:
           _grid_sampler_grid(g, input, grid, None, interpolation_mode, padding_mode, align_corners),
       batch=folded)  # fmt: skip
op("_grid_sampler_input(grad, size, grid, direction, interpolation_mode, padding_mode, align_corners)",
   native="grid_sampler_input", node="GridSampler2DBackwardBackward0", public=False, linear="grad * direction",
   grad=lambda g, grid, direction, interpolation_mode, padding_mode, align_corners:
       language._grid_sampler_2d(g, grid, direction, interpolation_mode, padding_mode, align_corners),
   grid=lambda g, grad, grid, direction, interpolation_mode, padding_mode, align_corners:
       _grid_sampler_grid(grad, g, grid, direction, interpolation_mode, padding_mode, align_corners),
   direction=lambda g, grad, grid, interpolation_mode, padding_mode, align_corners:
       _grid_sampler_grid(grad, g, grid, None, interpolation_mode, padding_mode, align_corners),
   batch=_sized_batch)  # fmt: skip
op("_grid_sampler_grid(grad, input, grid, direction, interpolation_mode, padding_mode, align_corners)",
   native="grid_sampler_grid", node="GridSampler2DBackwardBackward0", public=False, linear="grad * input * direction",
   grad=lambda g, input, grid, direction, interpolation_mode, padding_mode, align_corners:
       language._grid_sampler_2d(
           input, grid, _first(g, direction), interpolation_mode, padding_mode, align_corners),
   input=lambda g, grad, input_meta, grid, direction, interpolation_mode, padding_mode, align_corners:
       _grid_sampler_input(
           grad, input_meta.shape, grid, _first(g, direction), interpolation_mode, padding_mode, align_corners),
   grid=lambda g, grad, input, grid, direction, interpolation_mode, padding_mode, align_corners:
       _grid_sampler_grid(
           grad, input, grid, _first(g, direction), interpolation_mode, padding_mode, align_corners),
   direction=lambda g, grad, input, grid, interpolation_mode, padding_mode, align_corners:
       _grid_sampler_grid(grad, input, grid, g, interpolation_mode, padding_mode, align_corners),
   batch=folded)  # fmt: skip


def _first(g, direction):
    if direction is not None:
        raise RuntimeError("grid_sampler: third derivatives with respect to the grid are not implemented")
    return g


def _sampler(dims):
    def sampler(input, grid, interpolation_mode, padding_mode, align_corners):
        if input.ndim != dims + 2:
            raise RuntimeError(
                f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but got input "
                f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
            )
        sample = getattr(language, f"_grid_sampler_{dims}d")
        return sample(input, grid, None, interpolation_mode, padding_mode, align_corners)

    sampler.__name__ = sampler.__qualname__ = f"grid_sampler_{dims}d"
    sampler.__doc__ = "Images sampled at the points of a grid; modes are numbers, as torch.grid_sampler takes them."
    composite(sampler, method=False)


_sampler(2)
_sampler(3)


@composite(method=False)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Images sampled at the points of a grid: mode 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2
    reflection.

    >>> import adjoint as torch
    >>> torch.grid_sampler(torch.arange(4.0).view(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, True)
    tensor([[[[1.5000]]]])
    """
    dims = 3 if input.ndim == 5 else 2
    sample = getattr(language, f"_grid_sampler_{dims}d")
    return sample(input, grid, None, interpolation_mode, padding_mode, align_corners)


_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@composite(namespace="nn.functional", method=False)
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images sampled at the points of a grid, whose coordinates run from -1 to 1.

    >>> import adjoint as torch
    >>> image, center = torch.arange(4.0).view(1, 1, 2, 2), torch.zeros(1, 1, 1, 2)
    >>> torch.nn.functional.grid_sample(image, center, align_corners=True)
    tensor([[[[1.5000]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_default("grid_sample")
        align_corners = False
    boolean("grid_sampler", align_corners=align_corners)
    return grid_sampler(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


def _warn_of_default(name):
    warnings.warn(
        f"Default {name} and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        UserWarning,
        stacklevel=3,
    )


# ---- Affine maps


def _base_grid(theta, size, align_corners):
    """The points of an image as rows (x, y, 1) or (x, y, z, 1), by which affine maps are multiplied."""
    dims = len(size) - 2
    like = {"dtype": theta.dtype, "device": theta.device}
    base = ones(*size[2:], dims + 1, **like)
    for d in range(dims):
        n = size[-1 - d]
        if align_corners:
            places = arange(n, **like) * (2 / (n - 1)) - 1 if n > 1 else ones(1, **like) * 0
        else:
            places = (arange(n, **like) * 2 + 1) / n - 1
        base.select(-1, d).copy_(places.view(-1, *(1,) * d))
    return base.view(-1, dims + 1)


def _affine_grid(theta, size, align_corners):
    size = tuple(size)
    points = _base_grid(theta, size, align_corners) @ theta.transpose(1, 2)
    return points.view(size[0], *size[2:], len(size) - 2)


op("affine_grid_generator(theta, size, align_corners)", forward=_affine_grid, method=False, linear="theta",
   theta=lambda g, size, align_corners:
       g.reshape(g.shape[0], -1, len(size) - 2).transpose(1, 2) @ _base_grid(g, tuple(size), align_corners),
   doc="The points that affine maps take the points of an image to.",
   batch=_sized_batch)  # fmt: skip


@composite(namespace="nn.functional", method=False)
def affine_grid(theta, size, align_corners=None):
    """The grid, for grid_sample, of the points that affine maps take the points of an image to.

    >>> import adjoint as torch
    >>> turn = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(turn, (1, 1, 1, 2), align_corners=True)
    tensor([[[[ 0., -1.],
              [ 0.,  1.]]]])
    """
    if align_corners is None:
        _warn_of_default("grid_sample")
    boolean_or_none("affine_grid_generator", align_corners=align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{tuple(size)}."
        )
    if theta.ndim != 3 or theta.shape[1:] != (dims, dims + 1) or theta.shape[0] != size[0]:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {tuple(size)}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    return affine_grid_generator(theta, tuple(size), bool(align_corners))
