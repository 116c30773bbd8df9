"""Comparisons, logic, tests of a number's kind, and the larger or smaller of two."""

from .. import _C
from .checks import boolean
from .language import (
    abs,
    composite,
    elementwise,
    eq,
    fmax,
    fmin,
    is_close,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    real,
    signbit,
    where,
)
from .out_words import not_boolean

# fmt: off

elementwise("eq(input, other)", lambda input, other: input == other, result="bool", types="complex integer bool",
            stored="all")
elementwise("ne(input, other)", lambda input, other: input != other, result="bool", types="complex integer bool",
            stored="all",
            alias=("not_equal",))
elementwise("lt(input, other)", lambda input, other: input < other, result="bool", types="integer bool",
            alias=("less",))
elementwise("le(input, other)", lambda input, other: input <= other, result="bool", types="integer bool",
            alias=("less_equal",))
elementwise("gt(input, other)", lambda input, other: input > other, result="bool", types="integer bool",
            alias=("greater",))
elementwise("ge(input, other)", lambda input, other: input >= other, result="bool", types="integer bool",
            alias=("greater_equal",))

elementwise("logical_and(input, other)", lambda input, other: logical_and(input, other),
            result="bool", types="complex integer bool", numbers="")
elementwise("logical_or(input, other)", lambda input, other: logical_or(input, other),
            result="bool", types="complex integer bool", numbers="")
elementwise("logical_xor(input, other)", lambda input, other: logical_xor(input, other),
            result="bool", types="complex integer bool", numbers="")
elementwise("logical_not(input)", lambda input: logical_not(input), result="bool", types="complex integer bool")

elementwise("isnan(input)", lambda input: isnan(input), result="bool", types="complex integer bool", stored="all",
            inplace=False, out=False)
elementwise("isinf(input)", lambda input: isinf(input), result="bool", types="complex integer bool",
            stored="unsigned complex32 float8_e5m2", loop="isinf",
            inplace=False, out=False)
elementwise("isfinite(input)", lambda input: isfinite(input), result="bool", types="complex integer bool",
            stored="unsigned complex32 float8_e5m2 float8_e8m0fnu", loop="isfinite",
            inplace=False, out=False)
elementwise("isposinf(input)", lambda input: isposinf(input), result="bool", types="integer bool", stored="unsigned",
            inplace=False, out="exact", out_words=not_boolean("isposinf"))
elementwise("isneginf(input)", lambda input: isneginf(input), result="bool", types="integer bool", stored="unsigned",
            inplace=False, out="exact", out_words=not_boolean("isneginf"))
elementwise("signbit(input)", lambda input: signbit(input), result="bool", types="integer bool", stored="unsigned",
            inplace=False, out="exact", out_words=not_boolean("signbit"))


def _ordered(name):
    return f"{name} not implemented for complex tensors. They have no order; compare abs(), real or imag."


# Where the two are equal, each gets half of the gradient.
elementwise("maximum(input, other)", lambda input, other: maximum(input, other),
            types="integer bool", numbers="", inplace=False,
            refuse={"complex": _ordered("maximum")},
            input=lambda g, input, other: where(input == other, g / 2, where(input < other, 0, g)),
            other=lambda g, input, other: where(input == other, g / 2, where(other < input, 0, g)))
elementwise("minimum(input, other)", lambda input, other: minimum(input, other),
            types="integer bool", numbers="", inplace=False,
            refuse={"complex": _ordered("minimum")},
            input=lambda g, input, other: where(input == other, g / 2, where(input > other, 0, g)),
            other=lambda g, input, other: where(input == other, g / 2, where(other > input, 0, g)))
# These two take the number where the other operand is nan.
elementwise("fmax(input, other)", lambda input, other: fmax(input, other),
            types="integer bool", numbers="", inplace=False,
            input=lambda g, input, other: where((input >= other) | isnan(other), g, 0),
            other=lambda g, input, other: where((input >= other) | isnan(other), 0, g))
elementwise("fmin(input, other)", lambda input, other: fmin(input, other),
            types="integer bool", numbers="", inplace=False,
            input=lambda g, input, other: where((input <= other) | isnan(other), g, 0),
            other=lambda g, input, other: where((input <= other) | isnan(other), 0, g))
elementwise("heaviside(input, values)", lambda input, values: where(input == 0, values, input > 0),
            types="integer bool", promote="never", numbers="", out="exact",
            refuse={"mixed": "heaviside is not yet implemented for tensors with different dtypes; "
                             "convert one with .to(dtype)"},
            out_words="heaviside is not yet implemented for tensors with different dtypes.",
            input=None,
            values=None)

elementwise("is_close(input, other, rtol=1e-05, atol=1e-08, equal_nan=0)",
            lambda input, other, rtol, atol, equal_nan: (input == other) | (
                isfinite(abs(input - other)) & (abs(input - other) <= real(atol) + abs(rtol * other))) | (
                    isnan(input) & isnan(other) & (real(equal_nan) != 0)),
            result="bool", types="complex", stored="complex32", numbers="", public=False, inplace=False, out=False)

# fmt: on


@composite
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol |other|.

    >>> import adjoint as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    for value in (input, other):
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"isclose(): arguments must be Tensor, not {type(value).__name__}")
    if input.dtype != other.dtype:
        raise RuntimeError(f"{legacy_name(input)} did not match {legacy_name(other)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    if not input.is_floating_point() and not input.is_complex():
        input, other = input.to(_C.float64), other.to(_C.float64)
    boolean("isclose", equal_nan=equal_nan)
    return is_close(input, other, rtol, atol, equal_nan)


def legacy_name(tensor):
    """A tensor's type in the words of messages: "Float", "Long"."""
    return tensor.type().rpartition(".")[2].removesuffix("Tensor")


@composite
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close to each other; see isclose().

    >>> import adjoint as torch
    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite
def equal(input, other):
    """Whether two tensors have the same size and elements.

    >>> import adjoint as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    for place, value in enumerate((input, other)):
        if not isinstance(value, _C.Tensor):
            name = ("input", "other")[place]
            raise TypeError(
                f"equal(): argument '{name}' (position {place + 1}) must be Tensor, not {type(value).__name__}"
            )
    return input.shape == other.shape and bool(eq(input, other).all())
