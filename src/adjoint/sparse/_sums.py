"""Sums and norms of sparse tensors."""

from .. import _C
from ..ops import language as _ops
from ._calls import RULED, handles
from ._compressed_ops import sum_dim as compressed_sum
from ._parts import entries
from ._patterns import Coo
from ._unary import settled


@handles("sum_all", table=RULED)
def _sum_all(input, dtype):
    return _C._sparse_values(input).sum(dtype=dtype)


def _dims(tensor, dim):
    """Dimensions as a set of numbers from 0; of None, all."""
    if dim is None:
        return set(range(tensor.dim()))
    dims = [dim] if isinstance(dim, int) else list(dim)
    found = []
    for d in dims:
        if not -max(tensor.dim(), 1) <= d < max(tensor.dim(), 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-tensor.dim()}, {tensor.dim() - 1}], but got "
                f"{d})"
            )
        found.append(d % max(tensor.dim(), 1))
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {max(found, key=found.count)} appears multiple times in the list of dims")
    return set(found)


@handles("sum_dim")
def _sum_dim(input, dim, keepdim, dtype):
    if input.layout is not _C.sparse_coo:
        return compressed_sum(input, _dims(input, dim), keepdim, dtype)
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = _C.int64
    result = sum_over(input, _dims(input, dim), dtype)
    if keepdim:
        for d in sorted(_dims(input, dim)):
            result = result.unsqueeze(d)
    return result


def sum_over(input, dims, dtype=None):
    """The sum over a set of dimensions: dense, if these are all sparse ones."""
    pattern, values = _C._sparse_pattern(input), entries(input)
    if dtype is not None:
        values = values.to(dtype)
    count = pattern.sparse_dim
    inner = sorted(d - count + 1 for d in dims if d >= count)
    kept = [d for d in range(count) if d not in dims]
    if not kept:
        return values.sum((0, *inner))
    if inner:
        values = values.sum(inner)
    size = tuple(size for d, size in enumerate(input.shape) if d not in dims)
    if len(kept) == count:
        return Coo(pattern.indices, size, pattern.coalesced).pack(values).coalesce()
    return Coo(pattern.indices[kept], size, False).pack(values).coalesce()


@handles("sum_to")
def _sum_to(input, size):
    """What the tape asks for, where a gradient has more dimensions than its tensor, or longer ones."""
    extra = input.dim() - len(size)
    ones = [d + extra for d, n in enumerate(size) if n == 1 and input.shape[d + extra] != 1]
    result = _sum_dim(input, [*range(extra), *ones], False, None) if extra or ones else input
    for d in ones:
        result = result.unsqueeze(d - extra)
    return result


@handles("any")
def _any(input, dim, keepdim):
    if dim is not None:
        return NotImplemented
    return _C._sparse_values(input).any()


@handles("vector_norm")
def _vector_norm(input, ord, dim, keepdim, dtype):
    if dim is not None and _dims(input, dim) != set(range(input.dim())):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    return _ops.vector_norm(entries(settled(input)).reshape(-1), ord, dtype=dtype)
