"""Products of arrays that the main namespace and `linalg` share."""

from ._types import WIDE_UNSIGNED, array, in_numpy, pair, torch


def matmul(x1, x2, /):
    """The product of matrices, of stacks of them, or of vectors.

    >>> from adjoint import array_api as xp
    >>> xp.matmul(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    tensor([3, 7])
    """
    array("matmul", x1), array("matmul", x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError("matmul: expected arrays that have dimensions; got a 0-d one; use multiply()")
    x1, x2 = pair("matmul", x1, x2)
    return in_numpy("matmul", x1, x2) if x1.dtype in WIDE_UNSIGNED else torch.matmul(x1, x2)


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over axes: the last ones of x1 with the first ones of x2, or two sequences of axes.

    >>> from adjoint import array_api as xp
    >>> xp.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1)
    tensor(11)
    """
    x1, x2 = pair("tensordot", array("tensordot", x1), array("tensordot", x2))
    if x1.dtype in WIDE_UNSIGNED:
        return in_numpy("tensordot", x1, x2, axes=axes)
    axes = axes if isinstance(axes, int) else tuple(list(side) for side in axes)
    return torch.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of products along an axis, of the conjugate of x1 and x2.

    >>> from adjoint import array_api as xp
    >>> xp.vecdot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]))
    tensor([3, 7])
    """
    x1, x2 = pair("vecdot", array("vecdot", x1), array("vecdot", x2))
    if not x1.ndim or not x2.ndim or x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: expected arrays of one size along axis {axis}; got shapes {tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    if x1.dtype in WIDE_UNSIGNED:
        return in_numpy("vecdot", x1, x2, axis=axis)
    return torch.sum(torch.conj(x1) * x2, axis, dtype=x1.dtype)
