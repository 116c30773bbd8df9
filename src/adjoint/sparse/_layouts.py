"""Conversions to and from the compressed layouts; what coordinates hand over to them."""

import math

from .. import _C
from ..ops import language as _ops
from ._compressed import BY_LAYOUT, entries, in_coordinates, is_compressed, of_keys

NAMES = {
    _C.strided: "Strided",
    _C.sparse_coo: "Sparse",
    _C.sparse_csr: "SparseCsr",
    _C.sparse_csc: "SparseCsc",
    _C.sparse_bsr: "SparseBsr",
    _C.sparse_bsc: "SparseBsc",
    _C.jagged: "Jagged",
}
_BLOCKED = (_C.sparse_bsr, _C.sparse_bsc)


def _from(tensor):
    """How torch's errors call a conversion of such a tensor."""
    return {_C.strided: "dense_to_sparse", _C.sparse_coo: "sparse_coo_to_sparse"}.get(
        tensor.layout, "sparse_compressed_to_sparse"
    )


def _check(tensor, layout, blocksize, dense_dim, sparse_dim):
    """Refuses arguments that a conversion does not take."""
    name, way = _from(tensor), f"conversion from {NAMES[tensor.layout]} to {NAMES[layout]}"
    if layout in _BLOCKED and blocksize is None:
        raise RuntimeError(f"{name}: {way} without blocksize argument given is not supported")
    if layout not in _BLOCKED and blocksize is not None:
        raise RuntimeError(f"{name}: {way} with blocksize argument given is not supported")
    if dense_dim is not None and tensor.layout is not _C.strided:
        raise RuntimeError(f"{name}: {way} with dense_dim argument given is not supported")
    if sparse_dim is not None and sparse_dim != 2:
        raise RuntimeError(f"{name}: {way} with sparse_dim argument !=2 is not supported")


def _blocksize(name, blocksize, size):
    """A blocksize that divides the last two of these sizes."""
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if min(blocksize) <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(blocksize)}")
    if size[0] % blocksize[0] or size[1] % blocksize[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize "
            f"({blocksize[0]},{blocksize[1]})"
        )
    return blocksize


def converted(tensor, layout, blocksize, dense_dim, sparse_dim):
    """A sparse tensor in another layout, one of the two compressed, with its history."""
    _check(tensor, layout, blocksize, dense_dim, sparse_dim)
    if layout is tensor.layout:
        mine = _C._sparse_pattern(tensor).block
        if blocksize is not None and mine != _blocksize("to_sparse", blocksize, mine and tensor.shape[-2:]):
            raise RuntimeError(
                f"to_{str(layout)[6:]}: conversion from {NAMES[layout]} to {NAMES[layout]} with blocksize changed from "
                f"{list(mine)} to {list(blocksize)} is not supported"
            )
        return tensor
    if layout is _C.sparse_coo:
        return in_coordinates(tensor)
    kind, name = BY_LAYOUT[layout], f"{_from(tensor)}_{str(layout)[-3:]}"
    if tensor.layout is _C.sparse_coo:
        return _of_coordinates(tensor.coalesce(), kind, blocksize)
    pattern = _C._sparse_pattern(tensor)
    if kind.blocked:
        if pattern.batch:
            raise RuntimeError(
                f"{name}: conversion from {NAMES[tensor.layout]} to {NAMES[layout]} for batched inputs is not supported"
            )
        return _of_coordinates(in_coordinates(tensor).coalesce(), kind, blocksize, name)
    if pattern.blocked:
        raise RuntimeError(f"{name}: expected SparseCsr or SparseCsc layout but got {NAMES[tensor.layout]}")
    return _by_other_lines(tensor, kind)


def _by_other_lines(tensor, kind):
    """CSR as CSC, or the other way."""
    pattern = _C._sparse_pattern(tensor)
    other, order = pattern.known("by other lines", lambda: _turned(pattern, kind))
    return other.folding(pattern.by_entry(entries(tensor)).index_select(0, order))


def _turned(pattern, kind):
    line, plain = pattern.places()
    lines, width = pattern.grid
    keys = plain * lines + line
    if pattern.batch:
        keys = keys + pattern.owner() * (lines * width)
    order = _ops._sparse_group(keys, max(pattern.keys()[1], 1))[0]
    return of_keys(kind, keys.index_select(0, order), pattern.batch, pattern.size), order


def _of_coordinates(tensor, kind, blocksize, name=None):
    """A coalesced tensor of two sparse dimensions in a compressed layout."""
    name = name or f"coo_to_sparse_{str(kind.layout)[-3:]}"
    if _C._sparse_pattern(tensor).sparse_dim != 2:
        raise RuntimeError(
            f"{name}: conversion from Sparse to {NAMES[kind.layout]} for input tensors with sparse_dim()!=2 is not "
            "supported"
        )
    return compress(tensor, kind, (), _blocksize(name, blocksize, tensor.shape) if kind.blocked else ())


def compress(tensor, kind, batch, block):
    """A coalesced tensor of coordinates, the first of them those of a batch, in a compressed layout."""
    source, values = _C._sparse_pattern(tensor), entries(tensor)
    *owners, row, column = source.indices
    height, width = source.size[len(batch) : len(batch) + 2]
    if not block and kind.by_rows:
        return of_keys(kind, source.places()[0], batch, source.size).folding(values)
    high, wide = block or (1, 1)
    over, across = row // high, column // wide
    lines, columns = height // high, width // wide
    keys = over * columns + across if kind.by_rows else across * lines + over
    owner = 0
    for index, count in zip(owners, batch, strict=True):
        owner = owner * count + index
    keys = keys + owner * (lines * columns)
    order, groups, starts = _ops._sparse_group(keys, max(math.prod(batch) * lines * columns, 1))
    if not block:
        return of_keys(kind, keys.index_select(0, order), batch, source.size).folding(values.index_select(0, order))
    pattern = of_keys(kind, keys.index_select(0, order.index_select(0, starts[:-1])), batch, source.size, block)
    place = (groups * high + row % high) * wide + column % wide
    zeros = values.new_zeros(((starts.shape[0] - 1) * high * wide, *source.dense_size))
    return pattern.folding(zeros.index_add(0, place, values))


def of_dense(tensor, layout, blocksize, dense_dim, sparse_dim):
    """The elements of a dense tensor that are not zero, or the blocks that have some, without history."""
    _check(tensor, layout, blocksize, dense_dim, sparse_dim)
    kind, name = BY_LAYOUT[layout], f"dense_to_{str(layout)[6:]}"
    dense_dim = 0 if dense_dim is None else dense_dim
    if tensor.dim() < 2:
        raise IndexError(f"{name}: expected a tensor of at least 2 dimensions, got {tensor.dim()}")
    if not 0 <= dense_dim <= tensor.dim() - 2:
        raise RuntimeError(
            f"{name}: dense_dim argument must be in [0,{tensor.dim() - 2}] range, but {dense_dim} is given"
        )
    size = tuple(tensor.shape)
    count = tensor.dim() - dense_dim - 2
    batch, (height, width), inner = size[:count], size[count : count + 2], size[count + 2 :]
    block = _blocksize(name, blocksize, (height, width)) if kind.blocked else ()
    high, wide = block or (1, 1)
    grid = tensor.reshape(math.prod(batch), height // high, high, width // wide, wide, *inner)
    order = (0, 1, 3, 2, 4) if kind.by_rows else (0, 3, 1, 2, 4)
    grid = grid.permute(*order, *range(5, grid.dim()))
    used = grid != 0
    used = used.flatten(3).any(-1) if tensor.numel() else used.new_zeros(used.shape[:3])
    places = used.nonzero().unbind(1)
    keys = (places[0] * used.shape[1] + places[1]) * used.shape[2] + places[2]
    pattern = of_keys(kind, keys, batch, size, block)
    return pattern.tensor(pattern.folded(grid[places]))


def no_entries(size, layout, dtype=None, device=None, like=None):
    """A compressed tensor of zeros; `like` one that may have blocks and dense dimensions."""
    kind = BY_LAYOUT[layout]
    block, dense_dim = (), 0
    if is_compressed(like) and like.layout is layout:
        block, dense_dim = _C._sparse_pattern(like).block, len(_C._sparse_pattern(like).dense_size)
    elif kind.blocked:
        raise RuntimeError(
            "zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got " + NAMES[layout]
        )
    if len(size) < 2:
        raise RuntimeError(
            f"torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    batch = size[: len(size) - 2 - dense_dim]
    values = _C.empty(0, dtype=dtype, device=device)
    pattern = of_keys(kind, _C.empty(0, dtype=_C.int64, device=values.device), batch, size, block)
    return pattern.tensor(_C.empty(pattern.value_size, dtype=dtype, device=device))


def rebuilt(layout, parts):
    """A compressed tensor of what its pattern gave as saved(); a file may hold anything, and is checked."""
    from ._compressed_creation import checked_pattern

    kinds = (_C.Tensor, _C.Tensor, _C.Tensor, tuple | list)
    if layout not in BY_LAYOUT or len(parts) != 4 or not all(map(isinstance, parts, kinds)):
        raise RuntimeError("expected two index tensors, values and the size of a sparse tensor; the file is damaged")
    compressed, plain, values, size = parts
    return checked_pattern(BY_LAYOUT[layout], compressed, plain, values, size).tensor(values)


# ---- Two tensors in one layout


def as_layout(tensor, like):
    """A sparse tensor of any layout in that of a compressed one, with its history."""
    pattern = _C._sparse_pattern(like)
    if tensor.layout is like.layout and _C._sparse_pattern(tensor).block == pattern.block:
        return tensor
    flat = in_coordinates(tensor).coalesce()
    if _C._sparse_pattern(flat).sparse_dim != len(pattern.batch) + 2:
        flat = flat.to_dense().to_sparse(len(pattern.batch) + 2)
    return compress(flat, type(pattern), pattern.batch, pattern.block)
