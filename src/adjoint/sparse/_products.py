"""Matrix products with sparse tensors.

mm() and its like have dense gradients, as in torch, unless the sparse matrix was made of values: then all that counts
is the gradient of these, which is computed for the entries alone. torch.sparse.mm() always does that.
"""

from .. import _C
from ..ops import language as _ops
from ._arithmetic import is_sparse
from ._calls import CHANGES, assign, handles, refusal
from ._compressed import in_coordinates, is_compressed
from ._compressed_products import bmm as compressed_bmm
from ._parts import entries
from ._patterns import Coo
from ._unary import settled

_MADE_OF_VALUES = ("SparseCooTensorWithDimsAndTensorsBackward0", "SparseCompressedTensorBackward0")


def _check_product(name, first, second, dense_first=False):
    for tensor in (first, second):
        if tensor.dim() != 2:
            raise RuntimeError(f"{name}: Expected dim 2 matrices, got {first.dim()}D and {second.dim()}D tensors")
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({first.shape[0]}x{first.shape[1]} and {second.shape[0]}x{second.shape[1]})"
        )
    for tensor in (first, second):
        if is_sparse(tensor) and _C._sparse_pattern(tensor).dense_size:
            raise RuntimeError(
                f"{name}: expected a sparse matrix without dense dimensions; got "
                f"{len(_C._sparse_pattern(tensor).dense_size)} of them"
            )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"{name}: expected both matrices to have one dtype; got {first.dtype} and {second.dtype}; convert one"
        )


def _of_values(tensor):
    node = tensor.grad_fn
    return node is not None and node.name() in _MADE_OF_VALUES


@handles("mm")
def mm(input, mat2):
    """mm(sparse, dense), mm(dense, sparse) or mm(sparse, sparse)."""
    _check_product("mm", input, mat2)
    if not any(is_sparse(matrix) and matrix.requires_grad and not _of_values(matrix) for matrix in (input, mat2)):
        if is_sparse(input) and is_sparse(mat2):
            return sparse_by_sparse(input, mat2)
        return sparse_by_dense(input, mat2) if is_sparse(input) else _by_columns(input, mat2)
    return _ops._sparse_mm(input, mat2)


def _factors(matrix):
    """The elements of the entries of a matrix, as its rows() have them."""
    return entries(matrix).reshape(-1)


def sparse_by_dense(matrix, dense):
    """The product; the gradient of the sparse matrix is sparse."""
    return _ops._sparse_product(_factors(matrix), dense, _C._sparse_pattern(matrix).rows())


def _by_columns(dense, matrix):
    return _ops._sparse_product(_factors(matrix), dense.t(), _C._sparse_pattern(matrix).rows().transposed()).t()


def sparse_by_sparse(first, second):
    """The product of two sparse matrices: each entry (i, k) of the first meets the entries (k, j) of the second."""
    layout = _layout_of_product(first, second)
    first, second = coordinates(first), coordinates(second)
    mine, theirs = _C._sparse_pattern(first), _C._sparse_pattern(second)
    size = (first.shape[0], second.shape[1])
    starts, _ = theirs.rows()._arrange()
    column = mine.indices[1]
    begin = starts.index_select(0, column)
    counts = starts.index_select(0, column + 1) - begin
    left = _ops.repeat_interleave(_C.arange(mine.nnz, device=counts.device), counts)
    before = counts.cumsum(0) - counts
    right = _C.arange(left.shape[0], device=left.device) + (begin - before).index_select(0, left)
    places = _ops.stack((mine.indices[0].index_select(0, left), theirs.indices[1].index_select(0, right)))
    values = entries(first).index_select(0, left) * entries(second).index_select(0, right)
    product = Coo(places, size, False).pack(values).coalesce()
    return product if layout is _C.sparse_coo else product.to_sparse(layout=layout)


def _layout_of_product(first, second):
    """Rows, as in torch, of compressed matrices; coordinates of all others."""
    return _C.sparse_csr if is_compressed(first) and is_compressed(second) else _C.sparse_coo


def coordinates(matrix):
    """A sparse matrix as a coalesced one of coordinates."""
    return in_coordinates(matrix).coalesce()


@handles("mv")
def _mv(input, vec):
    if not is_sparse(input) or is_sparse(vec):
        return NotImplemented
    if input.dim() != 2 or vec.dim() != 1 or input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected a matrix and a vector that fit; got sizes {list(input.shape)} and {list(vec.shape)}"
        )
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@handles("addmm")
def addmm(input, mat1, mat2, beta, alpha, product=mm):
    """beta * input + alpha * (mat1 @ mat2)."""
    _check_product("addmm", mat1, mat2)
    found = product(mat1, mat2)
    if not (isinstance(alpha, int | float) and alpha == 1):
        found = found * alpha
    if not is_sparse(input):
        if is_sparse(found):
            found = found.to_dense()
        input = input.expand(found.shape)
        return found if _is_zero(beta) else _ops.add(found, input if _is_one(beta) else input * beta)
    if not is_sparse(found):
        return NotImplemented
    return found if _is_zero(beta) else input * beta + found


def _is_zero(number):
    return isinstance(number, int | float) and number == 0


def _is_one(number):
    return isinstance(number, int | float) and number == 1


@handles("addmm", table=CHANGES)
def _addmm_in_place(shown, input, mat1, mat2, beta, alpha):
    assign(input, addmm(input, mat1, mat2, beta, alpha), shown)


@handles("addmv")
def _addmv(input, mat, vec, beta, alpha):
    return _ops.add(input * beta, _mv(mat, vec), alpha=alpha)


@handles("bmm")
def _bmm(input, mat2):
    """Batches of matrices, the first of them sparse: one matrix with the batch along its diagonal."""
    if not is_sparse(input) or is_sparse(mat2):
        return NotImplemented
    if input.dim() != 3 or mat2.dim() != 3 or input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            "bmm: expected batches of matrices of one size that fit; got sizes "
            f"{list(input.shape)} and {list(mat2.shape)}"
        )
    if is_compressed(input):
        return compressed_bmm(input, mat2)
    pattern = _C._sparse_pattern(input)
    count, height, width = input.shape
    batch, row, column = pattern.indices
    places = _ops.stack((batch * height + row, batch * width + column))
    flat = Coo(places, (count * height, count * width), pattern.coalesced)
    found = _ops._sparse_product(entries(input), mat2.reshape(count * width, -1), flat.rows())
    return found.reshape(count, height, mat2.shape[2])


# ---- Functions of torch and of torch.sparse


def sparse_mm(mat1, mat2):
    """sparse.mm(): see the package."""
    _check_product("sparse.mm", mat1, mat2)
    if not is_sparse(mat1) and not is_sparse(mat2):
        return _ops.mm(mat1, mat2)
    if is_sparse(mat1) and is_sparse(mat2):
        return sparse_by_sparse(mat1, mat2)
    if is_sparse(mat1):
        return sparse_by_dense(settled(mat1), mat2)
    return _by_columns(mat1, settled(mat2))


def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one, whose entries are the rows that are not zero.

    >>> import adjoint as torch
    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 2))._values().shape
    torch.Size([2, 2])
    """
    if is_compressed(mat1):
        raise refusal("hspmm", (mat1,))
    _check_product("hspmm", mat1, mat2)
    matrix = settled(mat1)
    rows = _C._sparse_pattern(matrix).indices[0].unique()
    found = sparse_by_dense(matrix, mat2).index_select(0, rows)
    return Coo(rows.unsqueeze(0), (mat1.shape[0], mat2.shape[1]), rows.shape[0] < 2).pack(found)


def smm(input, mat):
    """The product of a sparse matrix and a dense one, as a sparse matrix.

    >>> import adjoint as torch
    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 2)).to_dense()
    tensor([[1., 1.],
            [1., 1.]])
    """
    nowhere = Coo(_C.empty((2, 0), dtype=_C.int64, device=mat.device), (input.shape[0], mat.shape[1]), True)
    return sspaddmm(nowhere.tensor(_C.empty(0, dtype=mat.dtype, device=mat.device)), input, mat)


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2) of sparse `input` and `mat1`, as a sparse matrix.

    >>> import adjoint as torch
    >>> eye = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(eye, eye, torch.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    if not is_sparse(input) or not is_sparse(mat1) or is_sparse(mat2):
        raise RuntimeError("sspaddmm: expected sparse 'input' and 'mat1' and a dense 'mat2'")
    if is_compressed(input) or is_compressed(mat1):
        raise refusal("sspaddmm", (input, mat1))
    half = hspmm(mat1, mat2)
    rows = _C._sparse_pattern(half).indices[0]
    width = mat2.shape[1]
    across = _C.arange(width, device=rows.device).repeat(rows.shape[0])
    places = _ops.stack((rows.repeat_interleave(width), across))
    found = entries(half).reshape(-1) * alpha
    mine = _C._sparse_pattern(input)
    both = Coo(_ops.cat((mine.indices, places), 1), (mat1.shape[0], width), False)
    return both.pack(_ops.cat((entries(input) * beta, found)))
