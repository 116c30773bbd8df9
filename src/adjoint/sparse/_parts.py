"""What a sparse tensor consists of, and how it becomes another: the functions behind the ops of ops/sparse.py."""

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops import language as _ops
from ._calls import refusal
from ._patterns import Coo

_LAYOUTS = {
    "torch.strided": "Strided",
    "torch.sparse_coo": "Sparse",
    "torch.sparse_csr": "SparseCsr",
    "torch.sparse_csc": "SparseCsc",
    "torch.sparse_bsr": "SparseBsr",
    "torch.sparse_bsc": "SparseBsc",
}


def pattern_of(tensor):
    """The pattern of a sparse tensor."""
    return _C._sparse_pattern(tensor)


def entries(tensor):
    """The values of a sparse tensor, with their history."""
    return _ops._sparse_unpack(tensor, _C._sparse_pattern(tensor))


def _coo(name, tensor, kind="coordinate "):
    """The pattern of a tensor that must have coordinates."""
    if tensor.layout is not _C.sparse_coo:
        raise RuntimeError(f"{name} expected sparse {kind}tensor layout but got {_LAYOUTS[str(tensor.layout)]}")
    return _C._sparse_pattern(tensor)


def _any(name, tensor):
    """The pattern of a tensor that must be sparse."""
    if tensor.layout is _C.strided:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. The tensor is dense; make it sparse "
            "with to_sparse() first."
        )
    return _C._sparse_pattern(tensor)


def _settled(name, tensor):
    """The pattern of a tensor that must be coalesced."""
    pattern = _coo(name, tensor)
    if not pattern.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return pattern


# ---- Parts


def indices(tensor):
    """See ops/sparse.py, as for the functions below."""
    return _settled("indices", tensor).indices.detach()


def values(tensor):
    if tensor.layout is _C.strided:
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if tensor.layout is _C.sparse_coo:
        _settled("values", tensor)
    return entries(tensor)


def compressed_part(tensor, name):
    """crow_indices and its like."""
    kind = "column" if name in ("ccol_indices", "row_indices") else "row"
    pattern = _C._sparse_pattern(tensor) if tensor.layout is not _C.strided else None
    if pattern is None or tensor.layout is _C.sparse_coo or name not in pattern.names():
        raise RuntimeError(
            f"{name} expected sparse {kind} compressed tensor layout but got {_LAYOUTS[str(tensor.layout)]}"
        )
    return pattern.parts()[pattern.names().index(name)].detach()


def _coordinates_of(name, tensor):
    if tensor.layout not in (_C.strided, _C.sparse_coo):
        raise refusal(name, (tensor,))
    return _any(name, tensor)


def raw_indices(tensor):
    return _coordinates_of("_indices", tensor).indices.detach()


def raw_values(tensor):
    _coordinates_of("_values", tensor)
    return _C._sparse_values(tensor)


def nnz(tensor):
    return _any("_nnz", tensor).nnz


def sparse_dim(tensor):
    return 0 if tensor.layout is _C.strided else _C._sparse_pattern(tensor).sparse_dim


def dense_dim(tensor):
    return tensor.dim() if tensor.layout is _C.strided else len(_C._sparse_pattern(tensor).dense_size)


def is_coalesced(tensor):
    return _coo("is_coalesced", tensor).coalesced


def set_coalesced(tensor, coalesced):
    pattern = _coo("_coalesced_", tensor)
    with no_grad():
        _C._sparse_assign(tensor, pattern.flagged(bool(coalesced)).tensor(_C._sparse_values(tensor)), "_coalesced_")
    return tensor


# ---- Conversions: these only compute


def coalesced(tensor):
    pattern = _coo("coalesce", tensor)
    if pattern.coalesced:
        return tensor
    whole, order, starts, groups = pattern.grouped()
    return whole.tensor(_ops._sparse_sum_groups(_C._sparse_values(tensor), order, starts, groups))


def dense(tensor, dtype):
    if tensor.layout is _C.strided:
        return tensor if dtype is None else tensor.to(dtype)
    result = _C._sparse_pattern(tensor).filled(_C._sparse_values(tensor))
    return result if dtype is None else result.to(dtype)


def of_layout(g, tensor, masked):
    """The gradient of what to_dense() was called of: at its entries alone, unless all of it is asked for."""
    if tensor.layout is _C.strided:
        return g
    pattern = _C._sparse_pattern(tensor)
    if masked is None or masked:
        return g.sparse_mask(tensor.coalesce() if tensor.layout is _C.sparse_coo else tensor)
    return pattern.converted(g)


def to_sparse(tensor, sparse_dim, layout, blocksize, dense_dim):
    if isinstance(sparse_dim, _C.layout):
        sparse_dim, layout = None, sparse_dim
    if sparse_dim is not None and (layout is not None or blocksize is not None or dense_dim is not None):
        raise TypeError(
            "to_sparse() received an invalid combination of arguments - expected (sparse_dim) or (*, layout, "
            "blocksize, dense_dim)"
        )
    layout = _C.sparse_coo if layout is None else layout
    if layout is _C.strided:
        return tensor.to_dense() if tensor.layout is not _C.strided else tensor
    if tensor.layout is _C.strided:
        return _ops._to_sparse(tensor, sparse_dim, layout, blocksize, dense_dim)
    if layout is not _C.sparse_coo or tensor.layout is not _C.sparse_coo:
        from ._layouts import converted

        return converted(tensor, layout, blocksize, dense_dim, sparse_dim)
    if blocksize is not None:
        raise RuntimeError(
            f"to_sparse: conversion from {_LAYOUTS[str(tensor.layout)]} to Sparse with blocksize argument given is not "
            "supported"
        )
    if sparse_dim is not None and sparse_dim != _C._sparse_pattern(tensor).sparse_dim:
        raise RuntimeError(
            "sparse_to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not "
            "supported"
        )
    return tensor


def of_dense(tensor, sparse_dim, layout, blocksize, dense_dim):
    """A dense tensor in a sparse layout; it only computes."""
    if layout is not _C.sparse_coo:
        from ._layouts import of_dense as compressed

        return compressed(tensor, layout, blocksize, dense_dim, sparse_dim)
    if blocksize is not None:
        raise RuntimeError(
            "dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is not supported"
        )
    if dense_dim is not None:
        sparse_dim = tensor.dim() - dense_dim
    return _coordinates(tensor, tensor.dim() if sparse_dim is None else sparse_dim)


def _coordinates(tensor, count):
    """The elements of a dense tensor that are not zero; those of the last dimensions go together."""
    dims = tensor.dim()
    if not 0 <= count <= dims:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{dims}] range, but {count} is given")
    if count == 0 and dims > 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    used = tensor != 0
    if count < dims:
        used = used.flatten(count).any(-1) if tensor.numel() else used.new_zeros(tensor.shape[:count])
    places = used.nonzero().t().contiguous()
    pattern = Coo(places, tensor.shape, True)
    return pattern.tensor(pattern.found(tensor))


def masked(tensor, mask):
    if not isinstance(mask, _C.Tensor):
        raise TypeError(f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")
    if mask.layout is _C.strided:
        raise (
            refusal("sparse_mask", (mask,))
            if tensor.layout is not _C.strided
            else NotImplementedError(
                "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend. The mask is dense; make it "
                "sparse with to_sparse() first."
            )
        )
    if tensor.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(tensor.shape)} but mask has size {list(mask.shape)}"
        )
    pattern = _C._sparse_pattern(mask)
    if tensor.layout is mask.layout and tensor.layout is not _C.sparse_coo:
        from ._compressed_ops import multiplied

        return multiplied(tensor, pattern.tensor(_C.ones(pattern.value_size, dtype=tensor.dtype, device=tensor.device)))
    return pattern.tensor(pattern.at(tensor))


def unmasked(g, like, mask):
    """The gradient of what sparse_mask() was called of: every entry of the mask has read an element."""
    pattern = _C._sparse_pattern(mask)
    return pattern.added(pattern.at(g), like)


def product(first, second):
    """The product of two matrices of which one, or both, are sparse."""
    if first.layout is not _C.strided and second.layout is not _C.strided:
        from ._products import sparse_by_sparse

        return sparse_by_sparse(first, second)
    if first.layout is not _C.strided:
        return _C._sparse_pattern(first).rows().times(_C._sparse_values(first).reshape(-1), second)
    rows = _C._sparse_pattern(second).rows().transposed()
    return rows.times(_C._sparse_values(second).reshape(-1), first.t()).t()


# ---- Other sizes


def resized(tensor, size, sparse_dim, dense_dim, clear):
    name = "sparse_resize_and_clear_" if clear else "sparse_resize_"
    pattern, size = _coo(name, tensor), tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    entries = _C._sparse_values(tensor)
    if clear or pattern.nnz == 0:
        other = Coo(pattern.indices.new_empty(sparse_dim, 0), size, True)
        entries = entries.new_empty((0, *size[sparse_dim:]))
    else:
        _check_resized(pattern, size, sparse_dim, dense_dim)
        other = Coo(pattern.indices, size, pattern.coalesced)
        if other.dense_size != pattern.dense_size:
            larger = entries.new_zeros((pattern.nnz, *other.dense_size))
            larger[(slice(None), *map(slice, pattern.dense_size))] = entries
            entries = larger
    if tensor.requires_grad:
        raise RuntimeError(f"{name}: cannot resize a tensor that requires grad; detach() it first")
    _C._sparse_assign(tensor, other.tensor(entries), name)
    return tensor


def _check_resized(pattern, size, sparse_dim, dense_dim):
    """Refuses what would lose entries."""
    options = (
        " on a non-empty sparse tensor is not supported.\nYou could try the following options:\n"
        "1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`.\n"
        "2. If you need to resize this tensor, you have the following options:\n"
        "    1. For both sparse and dense dimensions, keep the number of them constant and the size of them "
        "non-shrinking, and then try the same call again.\n"
        "    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."
    )
    for kind, now, then in (
        ("sparse", pattern.sparse_dim, sparse_dim),
        ("dense", len(pattern.dense_size), dense_dim),
    ):
        if now != then:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {now} to {then}){options}")
    for kind, now, then in (
        ("sparse", pattern.size[:sparse_dim], size[:sparse_dim]),
        ("dense", pattern.dense_size, size[sparse_dim:]),
    ):
        if any(a > b for a, b in zip(now, then, strict=True)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(now)} to {list(then)}){options}")
