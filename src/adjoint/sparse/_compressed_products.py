"""Products with compressed matrices: at the entries alone, reduced, of batches, and of layers."""

import math

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops import language as _ops
from ._calls import handles, refusal
from ._compressed import entries, is_compressed
from ._layouts import NAMES
from ._patterns import Rows

# ---- At the entries


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * (mat1 @ mat2) where the sparse `input` has entries; batches of all three, too.

    >>> import adjoint as torch
    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    _check_sampled(input, mat1, mat2)
    pattern = _C._sparse_pattern(input)
    batch = tuple(mat1.shape[:-2])
    if getattr(pattern, "batch", ()) != batch:
        input = _repeated(pattern, entries(input), batch)
        pattern = _C._sparse_pattern(input)
    count = math.prod(batch)
    first = mat1.reshape(count * mat1.shape[-2], mat1.shape[-1])
    second = mat2.transpose(-2, -1).reshape(count * mat2.shape[-1], mat2.shape[-2])
    rows = along_diagonal(pattern) if batch else pattern.rows()
    found = _ops._sparse_sampled(first, second, rows).reshape(_C._sparse_values(input).shape)
    result = pattern.pack(found if alpha == 1 else found * alpha)
    if beta != 0:  # as in torch, the gradient of `input` is that of the result, also where there are no entries
        result = (input if beta == 1 else input * beta) + result
    if out is None:
        return result
    if out.layout is not result.layout or out.dtype != result.dtype:
        raise RuntimeError(
            f"sampled_addmm: Expected result to have sparse csr layout, but got {NAMES[out.layout]} of {out.dtype}"
        )
    _C._sparse_assign(out, result, "sampled_addmm")
    return out


def _check_sampled(input, mat1, mat2):
    for name, value in (("input", input), ("mat1", mat1), ("mat2", mat2)):
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"sampled_addmm(): argument '{name}' must be Tensor, not {type(value).__name__}")
    if input.layout is _C.strided:
        raise NotImplementedError(
            "Could not run 'aten::sparse_sampled_addmm' with arguments from the 'CPU' backend. Make `input` sparse "
            "with to_sparse_csr() first."
        )
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.layout is not _C.strided:
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {NAMES[matrix.layout]}")
    if _C._sparse_pattern(input).dense_size or getattr(_C._sparse_pattern(input), "blocked", False):
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {NAMES[input.layout]}")
    for names, pair in ((("mat1", "mat2"), (mat1, mat2)), (("mat1", "self"), (mat1, input))):
        if pair[0].dtype != pair[1].dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {names[0]} and {names[1]} to have the same dtype, but got {pair[0].dtype} "
                f"and {pair[1].dtype}"
            )
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.dim() < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {matrix.dim()}-D tensor")
    if mat1.shape[:-2] != mat2.shape[:-2]:
        raise RuntimeError("sampled_addmm: Expected mat1 and mat2 to have the same batch size, but got "
                           f"{list(mat1.shape[:-2])} and {list(mat2.shape[:-2])}")  # fmt: skip
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and "
            f"{mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if input.dim() < 2 or input.shape[-2] != mat1.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: self.shape[-2] must match mat1.shape[-2]; got {list(input.shape)} and {list(mat1.shape)}"
        )
    if input.shape[-1] != mat2.shape[-1]:
        raise RuntimeError(
            f"sampled_addmm: self.shape[-1] must match mat2.shape[-1]; got {list(input.shape)} and {list(mat2.shape)}"
        )


def _repeated(pattern, values, batch):
    """A matrix, repeated for all of a batch."""
    if getattr(pattern, "batch", None) != ():
        raise RuntimeError(
            "sampled_addmm: Expected self and mat1 to have the same batch size, but got "
            f"{list(pattern.size[:-2])} and {list(batch)}"
        )
    parts = (part.expand(*batch, -1).contiguous() for part in pattern.parts())
    other = type(pattern)(*parts, (*batch, *pattern.size))
    return other.pack(values.expand(other.value_size))


def along_diagonal(pattern):
    """A batch of matrices as one, with those along its diagonal."""
    return pattern.known("along diagonal", lambda: _along_diagonal(pattern))


def _along_diagonal(pattern):
    *owners, row, column = pattern.elements().indices
    height, width = pattern.size[-2:]
    owner = 0
    for index, count in zip(owners, pattern.batch, strict=True):
        owner = owner * count + index
    count = math.prod(pattern.batch)
    ordered = pattern.by_rows and not pattern.blocked
    return Rows(row + owner * height, column + owner * width, count * height, count * width, ordered=ordered)


def bmm(input, mat2):
    """A batch of compressed matrices times one of dense ones."""
    if not is_compressed(input) or mat2.layout is not _C.strided:
        raise refusal("bmm", (input, mat2))
    count, height, _ = input.shape
    found = _ops._sparse_product(
        entries(input).reshape(-1), mat2.reshape(count * mat2.shape[1], mat2.shape[2]),
        along_diagonal(_C._sparse_pattern(input)))  # fmt: skip
    return found.reshape(count, height, mat2.shape[2])


# ---- Layers


@handles("linear_plain")
def _linear(input, weight):
    return _ops.mm(input, weight.t())


@handles("linear_biased")
def _linear_biased(bias, input, weight):
    return _ops.add(_ops.mm(input, weight.t()), bias)


# ---- Reduced


_REDUCTIONS = ("sum", "mean", "amax", "amin")


def mm_reduce(matrix, dense, reduce):
    """sparse.mm(matrix, dense, reduce): the products that a row meets reduced to one, of a CSR matrix."""
    if reduce not in (*_REDUCTIONS, "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if matrix.layout is _C.sparse_coo:
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
        number = _C.arange(count, device=dense.device).unsqueeze(1).expand(-1, dense.shape[1])
        number = _ops.where(products == best.gather(0, row), number, count)
        chosen = number.new_full(best.shape, count).scatter_reduce(0, row, number, "amin")
        empty = chosen == count
        chosen = chosen.masked_fill(empty, 0)
    if count == 0:
        return _ops._sparse_product(values, dense, rows)
    factors = values.index_select(0, chosen.reshape(-1)).reshape(chosen.shape)
    column = rows.column.index_select(0, chosen.reshape(-1)).reshape(chosen.shape)
    return (factors * dense.gather(0, column)).masked_fill(empty, 0)


# ---- Triangular systems


@handles("triangular_solve")
def _triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """The solution of A X = b by the entries of a compressed A; of the copy of A there is none, as in torch."""
    from ..ops.declaration import return_type

    if not is_compressed(A) or b.layout is not _C.strided:
        raise refusal("triangular_solve", (b, A))
    if A.layout not in (_C.sparse_csr, _C.sparse_bsr):
        raise ValueError("triangular_solve: unsupported sparse layout.")
    if A.dim() != 2 or b.dim() != 2 or A.shape[0] != A.shape[1] or A.shape[0] != b.shape[0]:
        raise RuntimeError(
            "triangular_solve: expected a square sparse matrix and a dense matrix with as many rows; got sizes "
            f"{list(A.shape)} and {list(b.shape)}"
        )
    rows = _C._sparse_pattern(A).rows()
    if transpose:
        rows, upper = rows.transposed(), not upper
    solution = _ops._sparse_solve(entries(A).reshape(-1), b, rows, bool(upper), bool(unitriangular))
    return return_type("triangular_solve")((solution, b.new_empty(0)))
