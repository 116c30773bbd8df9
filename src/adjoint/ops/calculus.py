"""Differences, gradients and integrals of sampled functions."""

from numbers import Number

from .. import _C
from .checks import integers
from .language import cat, composite, empty_like, logical_xor

Tensor = _C.Tensor


def _neighbours(x, dim):
    """The elements that have a successor along `dim`, and their successors."""
    count = max(x.shape[dim] - 1, 0)
    return x.narrow(dim, 0, count), x.narrow(dim, min(1, x.shape[dim]), count)


@composite(out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th differences of neighbours along a dimension.

    >>> import adjoint as torch
    >>> torch.tensor([1, 4, 9, 16]).diff()
    tensor([3, 5, 7])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    size = input.size(dim)
    parts = [part for part in (prepend, input, append) if part is not None]
    for part in parts:
        if part.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d, (wanted, given) in enumerate(zip(input.shape, part.shape, strict=True)):
            if wanted != given and d != dim % input.ndim:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({d}) = {wanted}, but got tensor.size({d}) = {given}"
                )
    if n == 0:
        return empty_like(input).copy_(input)
    if len(parts) > 1:
        input = cat(parts, dim)
        size = input.shape[dim]
    for _ in range(min(n, size)):
        before, after = _neighbours(input, dim)
        input = logical_xor(after, before) if input.dtype is _C.bool else after - before
    return input


# ---- The trapezoid rule


def _check_samples(name, y, x, dx, dim):
    """Checks the arguments; returns `x` in a shape that meets that of `y`, or None."""
    if y.dtype is _C.bool:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported; convert it with .int()")
    if isinstance(dx, bool | complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number. Got {type(dx).__name__}")
    if x is None:
        return None
    if dx is not None:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: give the places x or their distance dx"
        )
    if x.dtype is _C.bool:
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported; convert it with .int()")
    if x.ndim == 1 and y.ndim != 1:
        if x.shape[0] != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape((-1, *(1,) * (y.ndim - 1 - range(y.ndim)[dim])))
    if x.ndim < y.ndim:
        x = x.reshape((*(1,) * (y.ndim - x.ndim), *x.shape))
    return x


@composite(method=False, alias=("trapz",))
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along a dimension by the trapezoid rule, of samples at the places `x` or `dx` apart.

    >>> import adjoint as torch
    >>> torch.trapezoid(torch.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    if y.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if y.size(dim) == 0:  # as torch: whatever the other arguments are, and without a gradient
        return y.new_zeros([size for d, size in enumerate(y.shape) if d != dim % y.ndim])
    x = _check_samples("trapezoid", y, x, dx, dim)
    if x is None:
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * (1 if dx is None else dx)
    (left, right), (from_, to) = _neighbours(y, dim), _neighbours(x, dim)
    return ((to - from_) * (left + right)).sum(dim) / 2.0


@composite(method=False)
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals up to each place but the first, by the trapezoid rule; see trapezoid().

    >>> import adjoint as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    x = _check_samples("cumulative_trapezoid", y, x, dx, dim)
    if y.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    y.size(dim)  # checks the dimension
    left, right = _neighbours(y, dim)
    if x is None:
        return ((left + right) * ((1 if dx is None else dx) / 2.0)).cumsum(dim)
    from_, to = _neighbours(x, dim)
    return ((to - from_) * (left + right)).cumsum(dim) / 2.0


# ---- Gradients of a grid of samples


def _even_gradient(x, dim, distance, edge_order):
    """Of samples `distance` apart."""
    size = x.shape[dim]
    inner = (x.narrow(dim, 2, size - 2) - x.narrow(dim, 0, size - 2)) / (2.0 * distance)
    if edge_order == 1:
        first = x.narrow(dim, 1, 1) - x.narrow(dim, 0, 1)
        last = x.narrow(dim, size - 1, 1) - x.narrow(dim, size - 2, 1)
    else:
        first = -1.5 * x.narrow(dim, 0, 1) + 2 * x.narrow(dim, 1, 1) - 0.5 * x.narrow(dim, 2, 1)
        last = 1.5 * x.narrow(dim, size - 1, 1) - 2 * x.narrow(dim, size - 2, 1) + 0.5 * x.narrow(dim, size - 3, 1)
    return cat([first / distance, inner, last / distance], dim)


def _parabola_slope(x0, x1, x2, before, after, at):
    """The slope, at one of the three samples, of the parabola through them; two distances between them are given."""
    whole = before + after
    if at == 0:
        return (
            -(2 * before + after) / (before * whole) * x0
            + whole / (before * after) * x1
            - before / (after * whole) * x2
        )
    if at == 1:
        return -after / (before * whole) * x0 + (after - before) / (before * after) * x1 + before / (after * whole) * x2
    return after / (before * whole) * x0 - whole / (before * after) * x1 + (before + 2 * after) / (after * whole) * x2


def _uneven_gradient(x, dim, places, edge_order):
    """Of samples at these places."""
    size = x.shape[dim]
    distances = (places.narrow(0, 1, places.shape[0] - 1) - places.narrow(0, 0, places.shape[0] - 1)).reshape(
        (-1, *(1,) * (x.ndim - 1 - dim))
    )
    count = distances.shape[0]

    def three(start, length, at):
        samples = [x.narrow(dim, start + i, length) for i in range(3)]
        gaps = distances.narrow(0, start, length), distances.narrow(0, start + 1, length)
        return _parabola_slope(*samples, *gaps, at)

    def rise(start, gap):
        return (x.narrow(dim, start + 1, 1) - x.narrow(dim, start, 1)) / distances.narrow(0, gap, 1)

    inner = three(0, size - 2, 1) if size > 2 else x.narrow(dim, 0, 0)
    if edge_order == 1:
        return cat([rise(0, 0), inner, rise(size - 2, count - 1)], dim)
    return cat([three(0, 1, 0), inner, three(size - 3, 1, 2)], dim)


def _spacings(input, spacing, dim):
    """One distance or tensor of places for each dimension, with the dimensions."""
    dims = tuple(range(input.ndim)) if dim is None else integers("gradient", "dim", dim)
    if isinstance(spacing, Tensor) and spacing.ndim == 0:
        spacing = spacing.item()
    if spacing is None or isinstance(spacing, Number):
        return dims, [1 if spacing is None else spacing] * len(dims)
    if isinstance(spacing, Tensor):
        raise TypeError(
            "gradient() received an invalid combination of arguments: spacing must be a number or a list of numbers or "
            "tensors, not Tensor"
        )
    if len(spacing) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                f"'self.dim() = {input.ndim}', since dim argument was not given, but got a list of length "
                f"{len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
            f"the same length, but got a spacing argument of length {len(spacing)} and a dim argument of length "
            f"{len(dims)}."
        )
    for places in spacing:
        if isinstance(places, Tensor) and places.device != input.device:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{input.device} and {places.device}!"
            )
    return dims, list(spacing)


@composite(method=False)
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The slopes of a sampled function along each dimension, by central differences inside.

    >>> import adjoint as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dims, spacings = _spacings(input, spacing, dim)
    if input.dtype is _C.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for each in spacings:
        if isinstance(each, Tensor) and each.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{each.ndim} dimensions!"
            )
    seen = set()
    for each in dims:
        if input.size(each) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        each %= input.ndim
        if each in seen:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
        seen.add(each)
    return tuple(
        _uneven_gradient(input, each % input.ndim, distance, edge_order)
        if isinstance(distance, Tensor)
        else _even_gradient(input, each % input.ndim, distance, edge_order)
        for each, distance in zip(dims, spacings, strict=True)
    )
