"""Numbers as they are represented: neighbours, mantissa and exponent, replacements for nan and infinities, divisors."""

from .. import _C
from .language import (
    broadcast_tensors,
    composite,
    elementwise,
    exponent,
    gcd,
    is_grad_enabled,
    isinf,
    isnan,
    lcm,
    ldexp,
    mantissa,
    nan_replaced,
    nan_replaced_,
    nextafter,
    nextafter_real,
    op,
    view_as_complex,
    view_as_real,
    where,
    zeros_like,
)

# fmt: off

INTERNAL = {"function": False, "method": False}
LN2 = 0.6931471805599453

elementwise("gcd(input, other)", lambda input, other: gcd(input, other), types="only integer", numbers="",
            doc="The greatest common divisor.")
elementwise("lcm(input, other)", lambda input, other: lcm(input, other), types="only integer", numbers="",
            doc="The least common multiple.")

elementwise("ldexp(input, other)", lambda input, other: ldexp(input, other),
            types="complex", promote="float", out_words="ldexp can't be cast to the desired output type {given}",
            numbers="", linear="input",
            input=lambda g, other: g * (2**other).conj(),
            other=lambda g, out: g * (out * LN2).conj(),
            doc="input * 2 ** other.")

elementwise("mantissa(input)", lambda input: mantissa(input), inplace=False, gradient=False, **INTERNAL)
elementwise("exponent(input)", lambda input: exponent(input), inplace=False, gradient=False, **INTERNAL)


def _frexp(input):
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return mantissa(input), exponent(input).to(_C.int32)


op("frexp(input)", forward=_frexp, outputs=("mantissa", "exponent"), out="exact",
   out_words=("torch.frexp() expects mantissa to have dtype {expected_c} but got {given_c}",
              "torch.frexp() expects exponent to have int dtype but got {given_c}"),
   input=lambda g_mantissa, exponent: g_mantissa / 2.0 ** exponent.to(g_mantissa.dtype),
   doc="Mantissas in [1/2, 1) and exponents of 2 whose products are the elements.",
   batch="...")

elementwise("nextafter_real(input, other)", lambda input, other: nextafter(input, other),
            loop="nextafter_cpu", numbers="", inplace=False, gradient=False, **INTERNAL)
elementwise("nan_replaced(input, nan=0.0, posinf=0.0, neginf=0.0)", lambda input, nan, posinf, neginf: where(
                isnan(input), nan, where(isinf(input), where(input > 0, posinf, neginf), input)),
            loop="nan_to_num", node="NanToNumBackward0", **INTERNAL,
            input=lambda g, input: where(isnan(input) | isinf(input), 0, g))

# fmt: on


def _half_neighbour(input, other):
    """nextafter() of half types, which compute in float32 elsewhere: a step in the bits, which grow with the size."""
    input, other = (value.contiguous() for value in broadcast_tensors(input, other))
    bits = input.view(_C.int16)
    step = where((other > input) == (input > 0), 1, -1).to(_C.int16)
    least = where(other > 0, 1, -0x7FFF).to(_C.int16)
    result = where(input == 0, least, bits + step).view(input.dtype)
    return where((input == other) | isnan(other), other, where(isnan(input), input, result))


def _nextafter(input, other):
    halves = isinstance(input, _C.Tensor) and input.dtype in (_C.float16, _C.bfloat16)
    if halves and isinstance(other, _C.Tensor) and other.dtype == input.dtype:
        return _half_neighbour(input, other)
    return nextafter_real(input, other)


op("nextafter(input, other)", forward=_nextafter, inplace=True, out=True, whole=("input", "other"),
   input=lambda g, input, other: where(input == other, 0, g),
   other=lambda g: zeros_like(g),
   doc="The next number that can be represented, towards `other`.",
   batch="...")  # fmt: skip


_LARGEST = {
    _C.float16: 65504.0,
    _C.bfloat16: 3.3895313892515355e38,
    _C.float32: 3.4028234663852886e38,
    _C.float64: 1.7976931348623157e308,
}


def _replacements(input, nan, posinf, neginf):
    """The values of nan_to_num(); infinities become the largest numbers of the type unless told."""
    largest = _LARGEST.get(input.dtype, 0.0)  # types without one are refused
    return 0.0 if nan is None else nan, largest if posinf is None else posinf, -largest if neginf is None else neginf


def _check_numbers(**values):
    for name, value in values.items():
        if value is not None and (isinstance(value, type) or not hasattr(value, "__float__")):
            raise TypeError(f"nan_to_num(): argument '{name}' must be float, not {type(value).__name__}")


@composite(out="exact", out_words="nan_to_num: dtype of out: {given} should be same as input: {expected}")
def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """The elements, with numbers in the places of nan and infinities.

    >>> import adjoint as torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    _check_numbers(nan=nan, posinf=posinf, neginf=neginf)
    if input.is_complex():
        if input.requires_grad and is_grad_enabled():
            raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
        return view_as_complex(nan_to_num(view_as_real(input), nan, posinf, neginf))
    if not input.is_floating_point():
        return input.clone()
    return nan_replaced(input, *_replacements(input, nan, posinf, neginf))


@composite(name="nan_to_num_")
def nan_to_num_(input, nan=None, posinf=None, neginf=None):
    """In-place version of nan_to_num().

    >>> import adjoint as torch
    >>> torch.tensor([float("nan"), 1.0]).nan_to_num_(2.0)
    tensor([2., 1.])
    """
    _check_numbers(nan=nan, posinf=posinf, neginf=neginf)
    if input.is_complex():
        view_as_real(input).nan_to_num_(nan, posinf, neginf)
    elif input.is_floating_point():
        nan_replaced_(input, *_replacements(input, nan, posinf, neginf))
    return input
