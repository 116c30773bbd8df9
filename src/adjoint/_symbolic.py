"""Sizes that a compiler does not know yet, and functions of them: here sizes are numbers of Python."""

import math

from ._absent import refusing_type

# For isinstance() and annotations: every size is an int.
SymInt, SymFloat, SymBool = (
    refusing_type("", name, "sizes are numbers of Python here") for name in ("SymInt", "SymFloat", "SymBool")
)


def sym_int(a):
    """A number without what is behind its point.

    >>> import adjoint as torch
    >>> torch.sym_int(-2.5)
    -2
    """
    return math.trunc(a)


def sym_float(a):
    """A number as a float.

    >>> import adjoint as torch
    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def _joined(result, a, b):
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_max(a, b):
    """The larger of two numbers, a float if one of them is.

    >>> import adjoint as torch
    >>> torch.sym_max(1, 2)
    2
    """
    return _joined(max(a, b), a, b)


def sym_min(a, b):
    """The smaller of two numbers, a float if one of them is.

    >>> import adjoint as torch
    >>> torch.sym_min(1, 2.0)
    1.0
    """
    return _joined(min(a, b), a, b)


def sym_not(a):
    """The opposite of a truth value, `not a`.

    >>> import adjoint as torch
    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_sum(args):
    """The sum of numbers.

    >>> import adjoint as torch
    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_ite(b, t, f):
    """`t if b else f`, of the same type.

    >>> import adjoint as torch
    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f
