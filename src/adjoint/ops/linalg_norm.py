"""Matrix norms and condition numbers."""

from .batching import all_values
from .checks import boolean
from .language import (
    amax,
    amin,
    bfloat16,
    composite,
    float16,
    linalg_inv_ex,
    linalg_svdvals,
    movedim,
    vector_norm,
)
from .out_words import castable

_LINALG = {"namespace": "linalg"}
_INFINITY = float("inf")


def _check_norm_input(name, A):
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype}")


def _pair(A, dim):
    """The two dimensions of the matrices, not negative."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    for d in dims:
        if not -A.ndim <= d < A.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-A.ndim}, {A.ndim - 1}], but got {d})"
            )
    first, second = (d % A.ndim for d in dims)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


def _greatest(sizes, dim, keepdim=False):
    """The greatest of sizes that are not negative: 0 where there are none."""
    return amax(sizes, dim, keepdim) if sizes.shape[dim] else sizes.sum(dim, keepdim)


def _by_singular_values(A, ord, first, second, keepdim):
    """The sum, the greatest or the least of the singular values."""
    if A.dtype in (float16, bfloat16):
        name = "Half" if A.dtype == float16 else "BFloat16"
        raise RuntimeError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {name}")
    values = linalg_svdvals(movedim(A, (first, second), (-2, -1)))
    result = values.sum(-1) if ord == "nuc" else _greatest(values, -1) if ord > 0 else amin(values, -1)
    if keepdim:
        for d in sorted((first, second)):
            result = result.unsqueeze(d)
    return result


@composite(**_LINALG, out="exact", out_words="linalg.matrix_norm expected out tensor dtype {expected} but got: {given}")
def linalg_matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

    >>> import adjoint as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    _check_norm_input("linalg.matrix_norm", A)
    boolean("linalg_matrix_norm", keepdim=keepdim)
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, _INFINITY):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    first, second = _pair(A, dim)
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if dtype is not None:
        A = A.to(dtype)
    if ord == "nuc" or abs(ord) == 2:
        return _by_singular_values(A, ord, first, second, keepdim)
    # 1: the greatest sum of a column; inf: of a row.
    summed, chosen = (first, second) if abs(ord) == 1 else (second, first)
    if chosen > summed and not keepdim:
        chosen -= 1
    sums = vector_norm(A, 1, summed, keepdim)
    return _greatest(sums, chosen, keepdim) if ord > 0 else amin(sums, chosen, keepdim)


@composite(**_LINALG, out="exact", out_words="linalg.norm expected out tensor dtype {expected} but got: {given}")
def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A norm of vectors (one dimension) or matrices (two): see linalg.vector_norm() and linalg.matrix_norm().

    >>> import adjoint as torch
    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if isinstance(ord, str) or (len(dims) if dims else input.ndim) == 2:
        return linalg_matrix_norm(input, ord, (0, 1) if dims is None else dims if len(dims) == 2 else dims[0], keepdim,
                                  dtype=dtype)  # fmt: skip
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


@composite(**_LINALG, out=True, out_words=castable("linalg.cond"), autocast="float32")
def linalg_cond(A, p=None):
    """The condition number: the norm of a matrix times that of its inverse; by singular values for p=None, 2 and -2.

    >>> import adjoint as torch
    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if not isinstance(p, str) and p is not None and abs(p) not in (1, 2, _INFINITY):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if A.numel() == 0 and (p in (None, 2, -2) or A.shape[-1] == A.shape[-2]):
        return vector_norm(A, 2, (-2, -1))
    if p is None or p in (2, -2):
        values = linalg_svdvals(A)
        greatest, least = values[..., 0], values[..., -1]
        return least / greatest if p == -2 else greatest / least
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    if p == "nuc":
        values = linalg_svdvals(A)
        return values.sum(-1) * (1 / values).sum(-1)
    inverse, info = linalg_inv_ex(A)
    product = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    # A singular matrix has the condition number inf.
    return product.masked_fill(info != 0, _INFINITY) if not info.is_meta and all_values(info).any() else product
