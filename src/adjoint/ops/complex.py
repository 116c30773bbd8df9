"""Complex numbers: conjugates. (real, imag and view_as_real are views; abs, angle and sgn are elementwise.)"""

from .language import composite, conj_physical


@composite
def conj(input):
    """The complex conjugate; a real tensor itself.

    >>> import adjoint as torch
    >>> torch.tensor([1 + 2j]).conj()
    tensor([1.-2.j])
    """
    return conj_physical(input) if input.is_complex() else input


@composite
def resolve_conj(input):
    """The tensor itself: conjugates are computed at once.

    >>> import adjoint as torch
    >>> torch.tensor([1 + 2j]).conj().resolve_conj()
    tensor([1.-2.j])
    """
    return input


@composite
def resolve_neg(input):
    """The tensor itself: negations are computed at once.

    >>> import adjoint as torch
    >>> (-torch.tensor([1.0])).resolve_neg()
    tensor([-1.])
    """
    return input


@composite
def is_conj(input):
    """Whether a conjugation is pending: never, conjugates are computed at once.

    >>> import adjoint as torch
    >>> torch.tensor([1 + 2j]).conj().is_conj()
    False
    """
    return False


@composite
def is_neg(input):
    """Whether a negation is pending: never, negations are computed at once.

    >>> import adjoint as torch
    >>> (-torch.tensor([1.0])).is_neg()
    False
    """
    return False
