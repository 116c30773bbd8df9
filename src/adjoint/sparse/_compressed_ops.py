"""What compressed tensors do in their own way: sums, products of elements, parts, transposes, reductions, changes."""

from .. import _C
from ..ops import language as _ops
from ._calls import CHANGES, assign, handles
from ._compressed import entries, in_coordinates, is_compressed, of_keys
from ._creation import is_compressed_like
from ._layouts import NAMES, as_layout
from ._patterns import Coo


def _parts(tensor):
    return _C._sparse_pattern(tensor), _C._sparse_values(tensor)


# ---- Two tensors; these only compute


def added(first, second):
    """The sum of two compressed tensors, in the layout of the first."""
    second = as_layout(second, first)
    (mine, a), (theirs, b) = _parts(first), _parts(second)
    if mine.is_like(theirs):
        return mine.tensor(a + b)
    dtype = _C.promote_types(a.dtype, b.dtype)
    keys, bound = mine.keys()
    keys = _ops.cat((keys, theirs.keys()[0]))
    order, groups, starts = _ops._sparse_group(keys, max(bound, 1))
    distinct = keys.index_select(0, order.index_select(0, starts[:-1]))
    pattern = of_keys(type(mine), distinct, mine.batch, mine.size, mine.block)
    both = _ops.cat((mine.by_entry(a).to(dtype), theirs.by_entry(b).to(dtype)))
    return pattern.tensor(pattern.folded(_ops._sparse_sum_groups(both, order, starts, groups)))


def multiplied(first, second):
    """The product of the elements of two sparse tensors of one size, in the layout of the first that is compressed."""
    if first.layout is second.layout:
        (mine, a), (theirs, b) = _parts(first), _parts(second)
        if mine.is_like(theirs):
            return mine.tensor(a * b)
    like = first if first.layout is not _C.sparse_coo else second
    product = in_coordinates(first).coalesce() * in_coordinates(second).coalesce()
    return as_layout(product, like)


# ---- Other orders, and parts


def transposed(tensor, dim0, dim1):
    """Two dimensions swapped; see transpose() of _views.py."""
    pattern, values = _parts(tensor)
    if dim0 == dim1:
        return pattern.tensor(values)
    if pattern.dense_size:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    count = len(pattern.batch)
    kinds = ["Batch" if dim < count else "Sparse" for dim in (dim0, dim1)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
            f"{dim0}({kinds[0]}) and {dim1}({kinds[1]})"
        )
    if kinds[0] == "Sparse":
        return pattern.transposed().tensor(values.transpose(count + 1, count + 2) if pattern.blocked else values)
    size = list(pattern.size)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    other = type(pattern)(
        pattern.compressed.transpose(dim0, dim1), pattern.plain.transpose(dim0, dim1), size, pattern.block
    )
    return other.tensor(values.transpose(dim0, dim1))


def select(tensor, dim, index):
    """What is at an index of a dimension: a compressed tensor, or the coordinates of a row or column."""
    pattern, count = _C._sparse_pattern(tensor), len(_C._sparse_pattern(tensor).batch)
    size = (*tensor.shape[:dim], *tensor.shape[dim + 1 :])
    if dim < count:
        other = type(pattern)(
            pattern.compressed.select(dim, index), pattern.plain.select(dim, index), size, pattern.block
        )
        return other.pack(entries(tensor).select(dim, index))
    if dim >= count + 2:
        inner = dim - count - 2 - len(pattern.dense_size)
        other = type(pattern)(pattern.compressed, pattern.plain, size, pattern.block)
        other._known = pattern._known if not pattern.blocked else {}
        return other.pack(entries(tensor).select(inner, index))
    if count:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    flat = in_coordinates(tensor)
    places = _C._sparse_pattern(flat).indices
    chosen = (places[dim] == index).nonzero().reshape(-1)
    along = places[1 - dim].index_select(0, chosen)
    in_order = bool((along[1:] > along[:-1]).all())
    return Coo(along.unsqueeze(0), size, in_order).pack(entries(flat).index_select(0, chosen))


# ---- Reductions


def sum_dim(tensor, dims, keepdim, dtype):
    """The sum over some dimensions of a CSR matrix, which it keeps."""
    from ._sums import sum_over

    if tensor.layout is not _C.sparse_csr:
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            + NAMES[tensor.layout]
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if tensor.dim() != 2:
        raise RuntimeError(f"sum(): expected a CSR matrix, and no batch of them; got {tensor.dim()} dimensions")
    flat = in_coordinates(tensor)
    if len(dims) == 2:
        values = entries(flat).sum(dtype=dtype).reshape(1)
        zero = _C.zeros((2, 1), dtype=_C.int64, device=tensor.device)
        return Coo(zero, (1, 1), True).pack(values).to_sparse_csr()
    found = sum_over(flat, dims, dtype)
    return found.unsqueeze(next(iter(dims))).coalesce().to_sparse_csr()


# ---- Elements


@handles("angle")
def _angle(input):
    if not is_compressed(input):
        return NotImplemented
    return _C._sparse_pattern(input).pack(_ops.angle(entries(input)))


@handles("select_copy")
def _select_copy(input, dim, index):
    return input.select(dim, index)


# ---- Changes


def copied(shown, target, source):
    """copy_() of compressed tensors: their entries are as many."""
    if not is_compressed(target):
        raise RuntimeError(
            f"copy_sparse_compressed_ expected sparse compressed tensor layout but got {NAMES[target.layout]}"
        )
    if target.layout is not source.layout:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
            f"{NAMES[target.layout]} and src layout is {NAMES[source.layout]}"
        )
    if target.shape != source.shape:
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same size are supported; got "
            f"{list(target.shape)} and {list(source.shape)}"
        )
    mine, theirs = _C._sparse_pattern(target), _C._sparse_pattern(source)
    if mine.nnz != theirs.nnz or mine.block != theirs.block or mine.batch != theirs.batch:
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    _C._sparse_assign(target, source.to(target.dtype).clone(), shown)


def filled_like(tensor, value, options):
    """The entries of a compressed tensor, all with one value: what empty_like() and full_like() make."""
    dtype, _, device, _, requires_grad = options[-5:]
    pattern = _C._sparse_pattern(tensor)
    values = _C.full(pattern.value_size, value, dtype=dtype or tensor.dtype, device=device)
    return pattern.tensor(values).requires_grad_(requires_grad)


@handles("ones_like")
def _ones_like(input, *options):
    return filled_like(input, 1, options) if is_compressed_like(input, options) else NotImplemented


@handles("full_like")
def _full_like(input, value, *options):
    return filled_like(input, value, options) if is_compressed_like(input, options) else NotImplemented


@handles("overwrite", table=CHANGES)
def _fill(shown, input, value):
    if not is_compressed(input):
        return NotImplemented
    pattern = _C._sparse_pattern(input)
    values = _C._sparse_values(input)
    assign(input, pattern.pack(_ops.fill(values, value)), shown)


@handles("resize_")
def _resize(input, size, memory_format):
    """Other sizes of a CSR or CSC tensor; what is cut off leaves its entries to the last line."""
    size = tuple(size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size)
    pattern = _C._sparse_pattern(input)
    if not is_compressed(input) or pattern.blocked:
        return NotImplemented
    name = str(input.layout)[-3:].upper()
    if len(size) < 2:
        raise RuntimeError(
            f"torch.resize_: Only batched sparse {name} matrices are supported, but got size {list(size)}"
        )
    if len(size) != input.dim() or pattern.dense_size or tuple(size[:-2]) != pattern.batch or min(size) < 0:
        raise RuntimeError(
            f"torch.resize_: expected a size with the batch of the tensor, {list(pattern.batch)}; got {list(size)}"
        )
    lines, width = size[-2:] if pattern.by_rows else size[:-3:-1]
    if width < pattern.grid[1]:
        what = "columns" if pattern.by_rows else "rows"
        raise RuntimeError(
            f"torch.resize_: Resizing {what} of sparse {name} tensors to a smaller value is not supported. The "
            f"original number of {what} is {pattern.grid[1]} while the requested new number of {what} is {width}."
        )
    starts = pattern.compressed.new_full((*pattern.batch, lines + 1), pattern.nnz)
    kept = min(lines, pattern.grid[0])
    starts[..., : kept + (lines > kept)] = pattern.compressed[..., : kept + (lines > kept)]
    if input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad; detach() the tensor first")
    other = type(pattern)(starts, pattern.plain, size)
    _C._sparse_assign(input, other.tensor(_C._sparse_values(input)), "resize_")
    return input
