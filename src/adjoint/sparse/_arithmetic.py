"""Sums, products and quotients with sparse tensors. The derivatives are the rules of the ops themselves."""

import functools

from .. import _C
from ..ops import language as _ops
from ._calls import CHANGES, RULED, handles
from ._compressed import is_compressed
from ._compressed_ops import added, multiplied
from ._layouts import as_layout
from ._parts import coalesced
from ._patterns import Coo


def is_sparse(value):
    return isinstance(value, _C.Tensor) and value.layout is not _C.strided


def _is_number(value):
    return not isinstance(value, _C.Tensor) or (value.layout is _C.strided and value.dim() == 0)


def _parts(tensor):
    return _C._sparse_pattern(tensor), _C._sparse_values(tensor)


def with_values(tensor, values):
    """Other values in the places of a sparse tensor."""
    return _C._sparse_pattern(tensor).tensor(values)


def _same_sizes(name, first, second):
    if first.shape != second.shape:
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same size, but self has size {list(first.shape)} while other "
            f"has size {list(second.shape)}"
        )


# ---- Products


@handles("neg", table=RULED)
def _neg(input):
    return with_values(input, -_C._sparse_values(input))


@handles("mul", table=RULED)
def _mul(input, other):
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other):
        return with_values(input, _C._sparse_values(input) * other)
    if is_sparse(other):
        return _mul_sparse(input, other)
    shape = _ops.broadcast_shapes(input.shape, other.shape)
    if shape != input.shape:
        input = input.expand(shape)
    pattern, values = _parts(input)
    return pattern.tensor(values * pattern.at(other.expand(input.shape)))


def _mul_sparse(input, other):
    if input.shape != other.shape:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            f"dimensions, and shape of sparse dimensions; got sizes {list(input.shape)} and {list(other.shape)}"
        )
    if is_compressed(input) or is_compressed(other):
        return multiplied(input, other)
    if _C._sparse_pattern(input).sparse_dim != _C._sparse_pattern(other).sparse_dim:
        raise RuntimeError("mul: expected tensors with the same number of sparse dimensions")
    if _C._sparse_pattern(input).coalesced and not _C._sparse_pattern(other).coalesced:
        input, other = other, input
    pattern, values = _parts(input)
    theirs, factors = _parts(coalesced(other))
    if theirs.indices is pattern.indices:
        return pattern.tensor(values * factors)
    place, found = pattern.found_in(theirs)
    kept = found.nonzero().reshape(-1)
    both = Coo(pattern.indices.index_select(1, kept), pattern.size, pattern.coalesced)
    return both.tensor(values.index_select(0, kept) * factors.index_select(0, place.index_select(0, kept)))


def _quotient(name, input, other):
    if not is_sparse(input) or not _is_number(other):
        shape = list(other.shape) if isinstance(other, _C.Tensor) else []
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
        )
    if name != "div" and input.layout is _C.sparse_coo:
        input = coalesced(input)  # what is rounded does not add up
    return with_values(input, _C._call_bound(name, (_C._sparse_values(input), other)))


for _name in ("div", "floor_divide", "trunc_divide"):
    RULED[_name] = functools.partial(_quotient, _name)


# ---- Sums


@handles("add", table=RULED)
def _add(input, other, alpha):
    if is_sparse(input):
        if is_compressed(input) and not is_sparse(other):
            other = other if isinstance(other, _C.Tensor) else _C.tensor(other, device=input.device)
            return _add_to_dense(_scaled(other, alpha), input, 1)
        if not is_sparse(other):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return _add_sparse(input, other, alpha)
    if not isinstance(input, _C.Tensor):
        input = _C.tensor(input, device=other.device)
    return _add_to_dense(input, other, alpha)


def _add_to_dense(input, other, alpha):
    if input.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(input.shape)} while other "
            f"has size {list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    dtype = _C.promote_types(input.dtype, other.dtype)
    pattern, values = _parts(other)
    return pattern.add_to(input.to(dtype, copy=True), _scaled(values, alpha).to(dtype))


def _scaled(values, alpha):
    return values if isinstance(alpha, int) and alpha == 1 else values * alpha


def _add_sparse(input, other, alpha):
    if input.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}"
        )
    if is_compressed(input) or is_compressed(other):
        scaled = with_values(other, _scaled(_C._sparse_values(other), alpha))
        return added(input, scaled) if is_compressed(input) else added(as_layout(input, other), scaled)
    mine, first = _parts(input)
    theirs, second = _parts(other)
    if mine.sparse_dim != theirs.sparse_dim:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but self has "
            f"{mine.sparse_dim} while other has {theirs.sparse_dim}"
        )
    dtype = _C.promote_types(input.dtype, other.dtype)
    first, second = first.to(dtype), _scaled(second, alpha).to(dtype)
    settled = mine.coalesced and theirs.coalesced
    if mine.indices is theirs.indices or (mine.nnz == theirs.nnz and _ops.equal(mine.indices, theirs.indices)):
        return mine.flagged(settled).tensor(first + second)
    both = Coo(_ops.cat((mine.indices, theirs.indices), 1), mine.size, False)
    result = both.tensor(_ops.cat((first, second)))
    return coalesced(result) if settled else result


@handles("sub", table=RULED)
def _sub(input, other, alpha):
    return _add(input, other, -alpha)


@handles("rsub", table=RULED)
def _rsub(input, other, alpha):
    return _add(other, _neg(input) if _is_one(alpha) else _mul(input, -alpha), 1)


def _is_one(alpha):
    return isinstance(alpha, int) and alpha == 1


# ---- In place, where the target is dense


@handles("add", table=CHANGES)
def _add_in_place(shown, input, other, alpha):
    if is_sparse(input):
        _become(shown, input, "add", (input, other, alpha))
    else:
        _into_dense(input, other, alpha)


@handles("sub", table=CHANGES)
def _sub_in_place(shown, input, other, alpha):
    if is_sparse(input):
        _become(shown, input, "sub", (input, other, alpha))
    else:
        _into_dense(input, other, -alpha)


def _become(shown, target, name, args):
    from ._calls import assign

    assign(target, _C._call_bound(name, args), shown)


def _into_dense(input, other, alpha):
    """Adds a sparse tensor to a dense one: to the elements where it has entries."""
    _same_sizes("add", input, other)
    if not _C.can_cast(other.dtype, input.dtype):
        raise RuntimeError(f"result type {other.dtype} can't be cast to the desired output type {input.dtype}")
    pattern = _C._sparse_pattern(other)
    values = _ops._sparse_unpack(other, pattern)
    pattern.add_to(input, _scaled(values, alpha).to(input.dtype))
