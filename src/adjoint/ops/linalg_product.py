"""Products of several matrices, powers, and products and inverses of tensors as matrices."""

from itertools import pairwise
from math import prod

from .checks import integer
from .language import (
    bfloat16,
    cat,
    composite,
    conj,
    cumprod,
    eye,
    float16,
    linalg_inv,
    linalg_solve,
    mm,
    ones_like,
    vdot,
)
from .language import bool as bool_type
from .out_words import castable

_LINALG = {"namespace": "linalg"}
_CHAIN = {"out": "exact", "out_words": "multi_dot(): expected out tensor to have dtype {expected_c} but got {given_c}"}


# ---- Powers


def _matrix_power(A, n):
    name = "linalg.matrix_power"
    n = integer("linalg_matrix_power", "n", n)
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if n == 0:
        return A.clone().copy_(eye(A.shape[-1], dtype=A.dtype, device=A.device))
    if n < 0:
        A, n = linalg_inv(A), -n
    if n == 1:
        return A.clone()
    # By squaring: the bits of n, least first.
    result = None
    while n:
        if n & 1:
            result = A if result is None else result @ A
        n >>= 1
        if n:
            A = A @ A
    return result


@composite(**_LINALG, out="exact")
def linalg_matrix_power(A, n):
    """The n-th power of a square matrix; of its inverse for negative n.

    >>> import adjoint as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    return _matrix_power(A, n)


@composite(out="exact")
def matrix_power(input, n):
    """The n-th power of a square matrix; see linalg.matrix_power()."""
    return _matrix_power(input, n)


# ---- Chains


def _best_split(sizes):
    """Where to split each part of a chain of matrices for the fewest multiplications."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _chain_product(matrices):
    split = _best_split([matrices[0].shape[0], *(m.shape[1] for m in matrices)])

    def product(i, j):
        if i == j:
            return matrices[i]
        k = split[i][j]
        return mm(product(i, k), product(k + 1, j))

    return product(0, len(matrices) - 1)


@composite(**_LINALG, **_CHAIN)
def linalg_multi_dot(tensors):
    """The product of two or more matrices, in the order that needs the fewest multiplications.

    >>> import adjoint as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    if not isinstance(tensors, tuple | list):
        raise TypeError(f"multi_dot(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    tensors = list(tensors)
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for place, tensor in (("first", tensors[0]), ("last", tensors[-1])):
        if tensor.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {place} tensor must be 1D or 2D but got {tensor.ndim}D")
    for i, tensor in enumerate(tensors[1:-1], 1):
        if tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {tensor.ndim}D")
    size = [*tensors[0].shape[:-1], *tensors[-1].shape[1:]]
    for i, (a, b) in enumerate(pairwise(tensors)):
        if a.dtype != b.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {tensors[0].dtype} and tensor "
                f"{i + 1} {b.dtype}"
            )
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be "
                "multiplied"
            )
    if tensors[0].ndim == 1:
        tensors[0] = tensors[0].unsqueeze(0)
    if tensors[-1].ndim == 1:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    return _chain_product(tensors).view(size)


@composite(method=False, **_CHAIN)
def chain_matmul(*matrices):
    """The product of matrices, in the order that needs the fewest multiplications; see linalg.multi_dot()."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    if len(matrices) == 1:
        return matrices[0].clone()
    return linalg_multi_dot(matrices)


# ---- Vectors


@composite(
    **_LINALG,
    out="exact",
    out_words="linalg.vecdot: Expected out of dtype{expected} but found {given}",
    autocast="lower",
)
def linalg_vecdot(x, y, *, dim=-1):
    """The sum of conj(x) y over a dimension.

    >>> import adjoint as torch
    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype} and y of type "
            f"{y.dtype} instead"
        )
    if x.ndim == 1 and y.ndim == 1:
        return vdot(x, y)
    return (conj(x) * y).sum(dim)


@composite(**_LINALG)
def linalg_vander(x, N=None):
    """The powers 0 to N - 1 of each element, as a last dimension.

    >>> import adjoint as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype in (bool_type, float16, bfloat16):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype}; convert it with "
            ".to(dtype)"
        )
    if x.ndim == 0:
        x = x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.long()
    powers = cumprod(x.unsqueeze(-1).expand(*x.shape, count - 1), -1)
    return cat([ones_like(powers[..., :1]), powers], -1)


# ---- Tensors as matrices


@composite(**_LINALG, out=True, out_words=castable("tensorinv"), autocast="float32")
def linalg_tensorinv(A, ind=2):
    """The inverse of a tensor as a matrix from its last dimensions to its first `ind`."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind', but got " + str(ind))
    rows, columns = A.shape[:ind], A.shape[ind:]
    if prod(rows) != prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(columns)} != {prod(rows)}"
        )
    return linalg_inv(A.reshape(prod(columns), prod(rows))).reshape(*columns, *rows)


@composite(**_LINALG, out=True, out_words=castable("tensorsolve"), autocast="float32")
def linalg_tensorsolve(A, B, dims=None):
    """The X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        dims = [d % A.ndim for d in ([dims] if isinstance(dims, int) else dims)]
        A = A.permute([d for d in range(A.ndim) if d not in dims] + dims)
    size = A.shape[B.ndim :]
    if prod(size) != prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(size)} != {prod(A.shape[: B.ndim])}"
        )
    return linalg_solve(A.reshape(prod(size), prod(size)), B.reshape(prod(size))).reshape(size)


@composite(**_LINALG)
def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view; see diagonal()."""
    return A.diagonal(offset, dim1, dim2)
