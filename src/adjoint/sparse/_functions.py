"""The functions of torch.sparse."""

from .. import _C
from ..ops import language as _ops
from . import _products
from ._arithmetic import is_sparse
from ._compressed_products import mm_reduce
from ._parts import entries
from ._patterns import Coo
from ._products import sparse_mm
from ._sums import _dims, sum_over
from ._unary import settled


def _tensors(name, **given):
    for argument, value in given.items():
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def mm(mat1, mat2, reduce=None):
    """The product of a sparse matrix with a dense or sparse one; the gradient of a sparse matrix has its entries only.

    >>> import adjoint as torch
    >>> x = torch.eye(2).to_sparse().requires_grad_()
    >>> torch.sparse.mm(x, torch.ones(2, 2)).sum().backward()
    >>> x.grad.to_dense()
    tensor([[2., 0.],
            [0., 2.]])
    """
    _tensors("sparse.mm", mat1=mat1, mat2=mat2)
    return sparse_mm(mat1, mat2) if reduce is None else mm_reduce(mat1, mat2, reduce)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * (mat1 @ mat2); the gradient of a sparse `mat1` has its entries only.

    >>> import adjoint as torch
    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2), alpha=2.0)
    tensor([[3., 3.],
            [3., 3.]])
    """
    _tensors("sparse.addmm", mat=mat, mat1=mat1, mat2=mat2)
    if not is_sparse(mat1) and not is_sparse(mat2):
        return _ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _products.addmm(mat, mat1, mat2, beta, alpha, sparse_mm)


def sum(input, dim=None, dtype=None):
    """The sum over some dimensions, all of them unless told: sparse where sparse dimensions are left.

    >>> import adjoint as torch
    >>> x = torch.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse()
    >>> torch.sparse.sum(x), torch.sparse.sum(x, 0).to_dense()
    (tensor(9.), tensor([3., 6.]))
    """
    _tensors("sparse.sum", input=input)
    if not is_sparse(input):
        return _ops.sum(input, dim, dtype=dtype) if dim is not None else _ops.sum(input, dtype=dtype)
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return entries(settled(input)).sum(dtype=dtype)
    if input.layout is not _C.sparse_coo:
        from ._calls import refusal

        raise refusal("_sparse_sum", (input,))
    return sum_over(input, _dims(input, dim), dtype)


# ---- softmax


def softmax(input, dim, *, dtype=None):
    """Softmax over the entries along a dimension; what has no entry counts as minus infinity, and stays away.

    >>> import adjoint as torch
    >>> torch.sparse.softmax(torch.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse(), 1).to_dense()
    tensor([[0.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    return _softmax("softmax", input, dim, dtype, lambda shifted, total: shifted.exp() / total)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax(), of the entries.

    >>> import adjoint as torch
    >>> torch.sparse.log_softmax(torch.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse(), 1).values()
    tensor([ 0.0000, -0.6931, -0.6931])
    """
    return _softmax("log_softmax", input, dim, dtype, lambda shifted, total: shifted - total.log())


def _softmax(name, input, dim, dtype, finish):
    _tensors(f"sparse.{name}", input=input)
    if input.layout is not _C.sparse_coo:
        from ._calls import refusal

        raise refusal(f"_sparse_{name}", (input,))
    if dtype is not None:
        input = input.to(dtype)
    (dim,) = _dims(input, int(dim))
    input = settled(input)
    pattern, values = _C._sparse_pattern(input), entries(input)
    if pattern.nnz == 0:
        return pattern.pack(values * 1)
    if dim >= pattern.sparse_dim:
        inner = dim - pattern.sparse_dim + 1
        return pattern.pack(getattr(_ops, name)(values, inner))
    kept = [d for d in range(pattern.sparse_dim) if d != dim]
    others = Coo(pattern.indices[kept], [n for d, n in enumerate(pattern.size) if d != dim], False)
    _, order, starts, groups = others.grouped()
    count = starts.shape[0] - 1
    index = groups.reshape(-1, *(1,) * (values.dim() - 1)).expand(values.shape)
    least = values.detach().new_full((count, *values.shape[1:]), float("-inf"))
    greatest = least.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - greatest.index_select(0, groups)
    total = _ops._sparse_sum_groups(shifted.exp(), order, starts, groups)
    return pattern.pack(finish(shifted, total.index_select(0, groups)))


# ---- Others


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix that has the rows of `diagonals` on the diagonals that `offsets` names.

    >>> import adjoint as torch
    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    _tensors("sparse.spdiags", diagonals=diagonals, offsets=offsets)
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(1) if offsets.dim() == 0 else offsets
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d; got {list(shape)}")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if offsets.dtype is not _C.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({offsets.shape[0]})"
        )
    if len(set(offsets.tolist())) < offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout is not None and layout not in (_C.sparse_coo, _C.sparse_csr, _C.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsr, SparseCsc) are supported, got {layout}")
    count, width = diagonals.shape
    column = _C.arange(width, device=offsets.device).expand(count, width)
    row = column - offsets.unsqueeze(1)
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
    places = _ops.stack((row[inside], column[inside]))
    result = Coo(places, tuple(shape), False).pack(diagonals[inside])
    return result if layout in (None, _C.sparse_coo) else result.to_sparse(layout=layout)


def spsolve(input, other, *, left=True):
    """The solution of a sparse system of linear equations: torch has it on CUDA alone, and it is refused here, too.

    >>> import adjoint as torch
    >>> torch.sparse.spsolve(torch.eye(2).to_sparse(), torch.ones(2))
    Traceback (most recent call last):
    RuntimeError: Calling linear solver with sparse tensors requires compiling PyTorch with CUDA cuDSS; solve it densely
    """
    raise RuntimeError(
        "Calling linear solver with sparse tensors requires compiling PyTorch with CUDA cuDSS; solve it densely"
    )
