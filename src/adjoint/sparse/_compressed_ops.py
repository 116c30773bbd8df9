"""What compressed tensors do in their own way: sums with others, products of elements, parts, transposes, reductions."""

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops import language as _ops
from ._compressed import entries, in_coordinates, is_compressed, of_keys
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
        zero = _C.zeros((2, 1), dtype=_C.int64)
        return Coo(zero, (1, 1), True).pack(values).to_sparse_csr()
    found = sum_over(flat, dims, dtype)
    return found.unsqueeze(next(iter(dims))).coalesce().to_sparse_csr()


# ---- Products


_REDUCTIONS = ("sum", "mean", "amax", "amin")


def mm_reduce(matrix, dense, reduce):
    """sparse.mm(matrix, dense, reduce): the products that a row meets reduced to one, of a CSR matrix."""
    if reduce not in (*_REDUCTIONS, "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if matrix.layout is _C.sparse_coo:
        from ._calls import refusal

        raise refusal("_sparse_mm_reduce_impl", (matrix,))
    if matrix.layout is not _C.sparse_csr:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {NAMES[matrix.layout]}")
    if dense.layout is not _C.strided:
        raise RuntimeError(
            f"Expected tensor to have Strided Layout, but got tensor with {NAMES[dense.layout]} Layout (while checking "
            "arguments for sparse_mm_reduce)"
        )
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if matrix.dim() != 2 or dense.dim() != 2 or matrix.shape[1] != dense.shape[0]:
        raise RuntimeError(
            f"sparse_mm_reduce: Argument mat1 and mat2 shapes cannot be multiplied; got {list(matrix.shape)} and "
            f"{list(dense.shape)}"
        )
    if not (matrix.dtype == dense.dtype and dense.is_floating_point()):
        raise RuntimeError(
            f"sparse_mm_reduce: expected both matrices to have one floating point dtype; got {matrix.dtype} and "
            f"{dense.dtype}"
        )
    pattern, values = _C._sparse_pattern(matrix), entries(matrix)
    rows = pattern.rows()
    if reduce in ("sum", "mean"):
        total = _ops._sparse_product(values, dense, rows)
        if reduce == "sum":
            return total
        counts = pattern.starts().diff().clamp(min=1).to(dense.dtype)
        return total / counts.unsqueeze(1)
    return _extreme(values, dense, rows, reduce)


def _extreme(values, dense, rows, reduce):
    """The greatest or least product in each row, zero where it has none. One entry, the first, gets the gradient."""
    count = values.shape[0]
    row = rows.row.unsqueeze(1).expand(-1, dense.shape[1])
    with no_grad():
        products = values.detach().unsqueeze(1) * dense.detach().index_select(0, rows.column)
        best = products.new_zeros((rows.height, dense.shape[1]))
        best = best.scatter_reduce(0, row, products, reduce, include_self=False)
        number = _C.arange(count).unsqueeze(1).expand(-1, dense.shape[1])
        number = _ops.where(products == best.gather(0, row), number, count)
        chosen = number.new_full(best.shape, count).scatter_reduce(0, row, number, "amin")
        empty = chosen == count
        chosen = chosen.masked_fill(empty, 0)
    if count == 0:
        return _ops._sparse_product(values, dense, rows)
    factors = values.index_select(0, chosen.reshape(-1)).reshape(chosen.shape)
    column = rows.column.index_select(0, chosen.reshape(-1)).reshape(chosen.shape)
    return (factors * dense.gather(0, column)).masked_fill(empty, 0)


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
