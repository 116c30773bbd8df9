"""Sparse gradients of tables of which rows were read, and of what gather() has read."""

from .. import _C
from ..ops import language as _ops
from ._patterns import Coo


def _check_frequency(by_frequency):
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


def _rows(indices, values, size):
    """The sparse gradient that has a row of values for each index."""
    return Coo(indices.unsqueeze(0), size, indices.shape[0] < 2).pack(values)


def embedded(g, weight, indices, padding_idx, by_frequency):
    """The gradient of the weight of embedding()."""
    _check_frequency(by_frequency)
    indices = indices.reshape(-1).to(_C.int64)
    values = g.reshape(-1, weight.shape[1])
    if padding_idx >= 0:
        kept = (indices != padding_idx).nonzero().reshape(-1)
        indices, values = indices.index_select(0, kept), values.index_select(0, kept)
    return _rows(indices, values, tuple(weight.shape))


def bagged(g, weight, indices, mode, factors, bags, sizes, padding_idx, by_frequency):
    """The gradient of the weight of embedding_bag(); `bags` is the bag of each index or -1, `sizes` how many it has."""
    _check_frequency(by_frequency)
    kept = ((bags >= 0) & (indices.reshape(-1) != padding_idx)).nonzero().reshape(-1)
    bag = bags.index_select(0, kept)
    values = g.index_select(0, bag)
    if mode == "mean":
        values = values / sizes.index_select(0, bag).unsqueeze(1).to(values.dtype)
    if factors is not None:
        values = values * factors.index_select(0, kept).unsqueeze(1)
    return _rows(indices.reshape(-1).to(_C.int64).index_select(0, kept), values, tuple(weight.shape))


def gathered(g, like, dim, index):
    """The gradient of the input of gather()."""
    if like.dim() == 0:
        return Coo(_C.empty((0, 1), dtype=_C.int64, device=g.device), (), True).pack(g.reshape(1))
    grids = [
        _C.arange(n, device=g.device).reshape([n if d == e else 1 for e in range(index.dim())])
        for d, n in enumerate(index.shape)
    ]
    grids[dim % like.dim()] = index.to(_C.int64)
    places = _ops.stack([grid.expand(index.shape).reshape(-1) for grid in grids])
    return Coo(places, tuple(like.shape), places.shape[1] < 2).pack(g.reshape(-1))
