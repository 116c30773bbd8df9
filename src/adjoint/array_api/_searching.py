"""Where elements are, in which order, which differ, and those at given places."""

from typing import NamedTuple

from ._types import WIDE_UNSIGNED, Tensor, array, in_numpy, is_number, pair, torch


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def _place(name, op, x, axis, keepdims):
    array(name, x)
    if x.dtype in WIDE_UNSIGNED:
        return in_numpy(name, x, axis=axis, keepdims=keepdims)
    if axis is None:
        place = op(x.reshape(-1), 0)
        return place.reshape((1,) * x.ndim) if keepdims else place
    return op(x, axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The place of the greatest element, the first of equals.

    >>> from adjoint import array_api as xp
    >>> xp.argmax(xp.asarray([1, 5, 3]))
    tensor(1)
    """
    return _place("argmax", torch.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The place of the least element, the first of equals.

    >>> from adjoint import array_api as xp
    >>> xp.argmin(xp.asarray([1, 5, 3]))
    tensor(0)
    """
    return _place("argmin", torch.argmin, x, axis, keepdims)


def nonzero(x, /):
    """The places of the elements that are not zero: an array of indices for each axis.

    >>> from adjoint import array_api as xp
    >>> xp.nonzero(xp.asarray([0, 7, 8]))
    (tensor([1, 2]),)
    """
    if array("nonzero", x).ndim == 0:
        raise ValueError("nonzero: expected an array that has dimensions; got a 0-d one; reshape it to (1,)")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where x2 would have to be put into x1, which is in order, or is by sorter, to keep the order.

    >>> from adjoint import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 6]))
    tensor([1, 3])
    """
    x1, x2 = pair("searchsorted", x1, x2)
    if x1.dtype in WIDE_UNSIGNED:
        arrays = (x1, x2) if sorter is None else (x1[sorter], x2)
        return in_numpy("searchsorted", *arrays, side=side)
    return torch.searchsorted(x1, x2, side=side, sorter=None if sorter is None else sorter.to(torch.int64))


def where(condition, x1, x2, /):
    """x1 where the condition holds, else x2.

    >>> from adjoint import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
    tensor([1, 0])
    """
    array("where", condition)
    if is_number(x1) and is_number(x2):
        return torch.where(condition, x1, x2)
    return torch.where(condition, *pair("where", x1, x2))


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis.

    >>> from adjoint import array_api as xp
    >>> xp.sort(xp.asarray([2, 3, 1]), descending=True)
    tensor([3, 2, 1])
    """
    return torch.sort(array("sort", x), dim=axis, descending=descending, stable=stable).values


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places from which the elements in order come; equals keep theirs if stable.

    >>> from adjoint import array_api as xp
    >>> xp.argsort(xp.asarray([2, 3, 1]))
    tensor([2, 0, 1])
    """
    return torch.sort(array("argsort", x), dim=axis, descending=descending, stable=stable).indices


def take(x, indices, /, *, axis=None):
    """The parts of x at these indices along an axis.

    >>> from adjoint import array_api as xp
    >>> xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0]))
    tensor([7, 5])
    """
    array("take", x), array("take", indices)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: expected an axis for an array of {x.ndim} dimensions; got none")
        axis = 0
    dim = axis % x.ndim if -x.ndim <= axis < x.ndim else axis
    size = x.shape[dim]
    flat = indices.to(torch.int64).reshape(-1)
    picked = torch.index_select(x, dim, torch.where(flat < 0, flat + size, flat))
    return (
        picked if indices.ndim == 1 else picked.unflatten(dim, indices.shape) if indices.ndim else picked.squeeze(dim)
    )


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements of x at these indices along an axis, at each place along the others.

    >>> from adjoint import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[5, 6], [7, 8]]), xp.asarray([[1], [0]]))
    tensor([[6],
            [7]])
    """
    array("take_along_axis", x), array("take_along_axis", indices)
    indices = indices.to(torch.int64)
    return torch.take_along_dim(x, torch.where(indices < 0, indices + x.shape[axis], indices), axis)


def _groups(name, x):
    """The flat elements in order, the places they come from, and which of them begin a run of equals."""
    flat = array(name, x).reshape(-1)
    if flat.dtype.is_complex:  # by the real parts, equal ones by the imaginary
        order = torch.sort(flat.imag, stable=True).indices
        order = order[torch.sort(flat.real[order], stable=True).indices]
    else:
        order = torch.sort(flat, stable=True).indices
    ordered = flat[order]
    first = torch.ones(flat.shape, dtype=torch.bool, device=x.device)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered, order, first


def _inverse(x, order, first):
    inverse = torch.empty_like(order)
    inverse[order] = torch.cumsum(first, 0) - 1
    return inverse.reshape(x.shape)


def _counts(first):
    starts = torch.nonzero(first).reshape(-1)
    return torch.diff(starts, append=starts.new_full((1,), first.numel()))


def unique_all(x, /):
    """The elements that differ, in order, where each comes first, which each of x is, and how often each comes.

    >>> from adjoint import array_api as xp
    >>> xp.unique_all(xp.asarray([3, 1, 3])).indices
    tensor([1, 0])
    """
    ordered, order, first = _groups("unique_all", x)
    return UniqueAll(ordered[first], order[first], _inverse(x, order, first), _counts(first))


def unique_counts(x, /):
    """The elements that differ, in order, and how often each comes.

    >>> from adjoint import array_api as xp
    >>> xp.unique_counts(xp.asarray([3, 1, 3])).counts
    tensor([1, 2])
    """
    ordered, _, first = _groups("unique_counts", x)
    return UniqueCounts(ordered[first], _counts(first))


def unique_inverse(x, /):
    """The elements that differ, in order, and which of them each of x is.

    >>> from adjoint import array_api as xp
    >>> xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    ordered, order, first = _groups("unique_inverse", x)
    return UniqueInverse(ordered[first], _inverse(x, order, first))


def unique_values(x, /):
    """The elements that differ, in order.

    >>> from adjoint import array_api as xp
    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    tensor([1, 3])
    """
    ordered, _, first = _groups("unique_values", x)
    return ordered[first]
