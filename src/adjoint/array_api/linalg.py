"""Linear algebra of the array API standard: `adjoint.array_api.linalg`."""

from ._arrangement import matrix_transpose as matrix_transpose
from ._products import matmul as matmul
from ._products import tensordot as tensordot
from ._products import vecdot as vecdot
from ._statistics import along as _along
from ._statistics import sum as _sum
from ._types import WIDE_UNSIGNED as _WIDE_UNSIGNED
from ._types import array as _array
from ._types import in_numpy as _in_numpy
from ._types import pair as _pair
from ._types import torch as _torch

_linalg = _torch.linalg

__all__ = [
    *("cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power"),
    *("matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot"),
    *("trace", "vecdot", "vector_norm"),
]


def cholesky(x, /, *, upper=False):
    """The triangular factor L of x = L Lᴴ, or, upper, U of x = Uᴴ U.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return _linalg.cholesky(_array("cholesky", x), upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors with three elements.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    tensor([0, 0, 1])
    """
    x1, x2 = _pair("cross", _array("cross", x1), _array("cross", x2))
    if x1.dtype in _WIDE_UNSIGNED:
        return _in_numpy("cross", x1, x2, axis=axis)
    return _linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """The determinant.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return _linalg.det(_array("det", x))


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _torch.diagonal(_array("diagonal", x), offset, -2, -1)


def eigh(x, /):
    """Eigenvalues, in rising order, and eigenvectors of symmetric or Hermitian matrices.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return _linalg.eigh(_array("eigh", x))


def eigvalsh(x, /):
    """Eigenvalues, in rising order, of symmetric or Hermitian matrices.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return _linalg.eigvalsh(_array("eigvalsh", x))


def inv(x, /):
    """The inverse.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _linalg.inv(_array("inv", x))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of matrices: "fro", "nuc", or 1, 2, inf and their negatives.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return _linalg.matrix_norm(_array("matrix_norm", x), "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """The product of n times the matrix.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    return _linalg.matrix_power(_array("matrix_power", x), n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are greater than rtol times the greatest.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)
    """
    return _linalg.matrix_rank(_array("matrix_rank", x), rtol=rtol)


def outer(x1, x2, /):
    """The products of each element of one vector with each of another.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    x1, x2 = _pair("outer", _array("outer", x1), _array("outer", x2))
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: expected two vectors; got shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    return x1[:, None] * x2


def pinv(x, /, *, rtol=None):
    """The pseudoinverse; singular values up to rtol times the greatest count as zero.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return _linalg.pinv(_array("pinv", x), rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """The factors Q, orthonormal, and R, triangular.

    >>> from adjoint import array_api as xp
    >>> xp.abs(xp.linalg.qr(xp.asarray([[3.0], [4.0]])).R)
    tensor([[5.]])
    """
    return _linalg.qr(_array("qr", x), mode)


def slogdet(x, /):
    """The sign of the determinant and the logarithm of its absolute value.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[-1.0]])).sign
    tensor(-1.)
    """
    return _linalg.slogdet(_array("slogdet", x))


def solve(x1, x2, /):
    """What x1, matrices, must be multiplied with to give x2: a vector if that has one dimension, else matrices.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    x1, x2 = _pair("solve", _array("solve", x1), _array("solve", x2))
    if x2.ndim == 1:
        return _linalg.solve(x1, x2[:, None].expand(*x1.shape[:-2], -1, -1))[..., 0]
    # torch takes what has one dimension less than x1 for a stack of vectors.
    return _linalg.solve(x1, x2.reshape((1,) * (x1.ndim - x2.ndim) + tuple(x2.shape)))


def svd(x, /, *, full_matrices=True):
    """The factors U, S and Vh: rotations, and the singular values between them.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    return _linalg.svd(_array("svd", x), full_matrices)


def svdvals(x, /):
    """The singular values, greatest first.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    return _linalg.svdvals(_array("svdvals", x))


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm of vectors, along axes or of all elements.

    >>> from adjoint import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    x, axes = _along("vector_norm", x, axis)
    return _linalg.vector_norm(x, ord, axes, bool(keepdims) and axis != ())
