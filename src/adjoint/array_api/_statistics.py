"""Sums, means, extremes and truths along axes."""

from ._types import UNSIGNED, WIDE_UNSIGNED, array, in_numpy, torch


def along(name, x, axis):
    """x and the axes as a tuple of dimensions; of no axes at all an added one, for torch takes () for all."""
    array(name, x)
    if axis is None:
        return x, tuple(range(x.ndim)) or None
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return (x, axes) if axes else (x.unsqueeze(-1), (-1,))


def sum_type(x, dtype):
    """The type of a sum: one that does not overflow soon."""
    if dtype is not None:
        return dtype
    if x.dtype in UNSIGNED:
        return torch.uint64
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64


def _keeps(axis, keepdims):
    return bool(keepdims) and axis != ()


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of the elements, all of them or along axes; of small integers in a wider type.

    >>> from adjoint import array_api as xp
    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """
    x, axes = along("sum", x, axis)
    result = sum_type(x, dtype)
    if result == torch.uint64:  # the bits of sums are those of signed ones
        return _signed(x).sum(axes, _keeps(axis, keepdims)).view(torch.uint64)
    return torch.sum(x.to(result), axes, _keeps(axis, keepdims), dtype=result)


def _signed(x):
    return x.to(torch.uint64).view(torch.int64)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of the elements, all of them or along axes; of small integers in a wider type.

    >>> from adjoint import array_api as xp
    >>> xp.prod(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    tensor([ 2., 12.])
    """
    x, axes = along("prod", x, axis)
    result = sum_type(x, dtype)
    x = _signed(x) if result == torch.uint64 else x.to(result)
    for dim in sorted((dim % x.ndim for dim in axes or ()), reverse=True):
        x = x.prod(dim, _keeps(axis, keepdims))
    return x.view(torch.uint64) if result == torch.uint64 else x.clone() if axes is None else x


def _cumulative(name, x, axis, dtype, include_initial):
    array(name, x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: expected an axis for an array of {x.ndim} dimensions; got none")
        axis = 0
    result = sum_type(x, dtype)
    x = _signed(x) if result == torch.uint64 else x.to(result)
    total = (torch.cumsum if name == "cumulative_sum" else torch.cumprod)(x, axis)
    if include_initial:
        size = list(x.shape)
        size[axis] = 1
        first = x.new_zeros(size) if name == "cumulative_sum" else x.new_ones(size)
        total = torch.cat((first, total), axis)
    return total.view(torch.uint64) if result == torch.uint64 else total


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the elements up to each; include_initial puts the sum of none before them.

    >>> from adjoint import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the elements up to each; include_initial puts the product of none before them.

    >>> from adjoint import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


def _extreme(name, op, x, axis, keepdims):
    x, axes = along(name, x, axis)
    if x.dtype in WIDE_UNSIGNED:
        return in_numpy(name, x, axis=axes, keepdims=_keeps(axis, keepdims))
    return op(x, axes or (), _keeps(axis, keepdims))


def max(x, /, *, axis=None, keepdims=False):
    """The greatest element, of all or along axes; a NaN wins over everything.

    >>> from adjoint import array_api as xp
    >>> xp.max(xp.asarray([[1, 2], [4, 3]]), axis=1)
    tensor([2, 4])
    """
    return _extreme("max", torch.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The least element, of all or along axes; a NaN wins over everything.

    >>> from adjoint import array_api as xp
    >>> xp.min(xp.asarray([[1, 2], [4, 3]]), axis=1)
    tensor([1, 3])
    """
    return _extreme("min", torch.amin, x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of the elements, all of them or along axes.

    >>> from adjoint import array_api as xp
    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor(2.5000)
    """
    x, axes = along("mean", x, axis)
    return torch.mean(_float(x), axes, _keeps(axis, keepdims))


def _float(x):
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(torch.get_default_dtype())


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance; correction=1.0 makes it that of the population from which x is a sample.

    >>> from adjoint import array_api as xp
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1.0)
    tensor(1.)
    """
    x, axes = along("var", x, axis)
    return torch.var(_float(x), axes, correction=correction, keepdim=_keeps(axis, keepdims))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation; correction=1.0 makes it that of the population from which x is a sample.

    >>> from adjoint import array_api as xp
    >>> xp.std(xp.asarray([1.0, 2.0, 3.0]), correction=1.0)
    tensor(1.)
    """
    x, axes = along("std", x, axis)
    return torch.std(_float(x), axes, correction=correction, keepdim=_keeps(axis, keepdims))


def _truth(x):
    return x if x.dtype == torch.bool else x != 0


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true, all of them or along axes.

    >>> from adjoint import array_api as xp
    >>> xp.all(xp.asarray([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """
    x, axes = along("all", x, axis)
    return torch.all(_truth(x), axes, _keeps(axis, keepdims)) if axes else _truth(x).clone()


def any(x, /, *, axis=None, keepdims=False):
    """Whether some element is true, of all of them or along axes.

    >>> from adjoint import array_api as xp
    >>> xp.any(xp.asarray([[True, False], [False, False]]), axis=1)
    tensor([ True, False])
    """
    x, axes = along("any", x, axis)
    return torch.any(_truth(x), axes, _keeps(axis, keepdims)) if axes else _truth(x).clone()


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero.

    >>> from adjoint import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[1, 0], [2, 3]]), axis=0)
    tensor([2, 1])
    """
    x, axes = along("count_nonzero", x, axis)
    return torch.sum(_truth(x), axes, _keeps(axis, keepdims))


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The n-th differences of neighbours along an axis.

    >>> from adjoint import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9]))
    tensor([3, 5])
    """
    array("diff", x)
    parts = [part for part in (prepend, x, append) if part is not None]
    x = torch.cat(parts, axis) if len(parts) > 1 else x
    if x.dtype in WIDE_UNSIGNED:
        return in_numpy("diff", x, axis=axis, n=n)
    return torch.diff(x, n, axis)
