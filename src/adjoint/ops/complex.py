"""Complex numbers from their parts, and conjugates. (real, imag and view_as_real are views; abs, angle and sgn are
elementwise.)"""

from .. import _C
from .checks import tensor
from .language import complex_parts, composite, conj_physical, cos, imag, op, real, sin
from .out_words import EXPECTED_OBJECT

# fmt: off

op("complex_parts(real, imag)", stored="complex32",
   native="complex", node="ComplexBackward0", public=False, out="exact",
   out_words=EXPECTED_OBJECT,
   linear="real + imag",
   real=lambda g: real(g),
   imag=lambda g: imag(g),
   batch="...")


def _polar(abs, angle):
    for place, (name, value) in enumerate((("abs", abs), ("angle", angle))):
        if not isinstance(value, _C.Tensor):
            kind = type(value).__name__
            raise TypeError(f"polar(): argument '{name}' (position {place + 1}) must be Tensor, not {kind}")
    kinds = [str(value.dtype).removeprefix("torch.") for value in (abs, angle)]
    if not set(kinds) <= {"float32", "float64"}:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}; "
            "convert them to float32 or float64"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument"
        )
    return complex_parts(abs * cos(angle), abs * sin(angle))


def _unit(angle):
    return complex_parts(cos(angle), sin(angle))


op("polar(abs, angle)", forward=_polar, autocast="float32, none", method=False, out="exact",
   out_words=EXPECTED_OBJECT, linear="abs",
   abs=lambda g, angle: real(g * conj_physical(_unit(angle))),
   angle=lambda g, out: imag(g * conj_physical(out)),
   doc="The complex tensor with these absolute values and angles.",
   batch="...")

# fmt: on


@composite(method=False, name="complex")
def complex_function(real, imag, *, out=None):
    """The complex tensor with these real and imaginary parts.

    >>> import adjoint as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    return complex_parts(real, imag, out=out)


@composite
def isreal(input):
    """Whether the imaginary part is zero.

    >>> import adjoint as torch
    >>> torch.isreal(torch.tensor([1.0, 1j]))
    tensor([ True, False])
    """
    return imag(input) == 0 if input.is_complex() else input.new_ones(input.shape, dtype=_C.bool)


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
    tensor("resolve_conj", input=input)
    return input


@composite
def resolve_neg(input):
    """The tensor itself: negations are computed at once.

    >>> import adjoint as torch
    >>> (-torch.tensor([1.0])).resolve_neg()
    tensor([-1.])
    """
    tensor("resolve_neg", input=input)
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
