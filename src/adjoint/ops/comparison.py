"""Comparisons, logic, tests of a number's kind, and the larger or smaller of two."""

from .language import (
    elementwise,
    fmax,
    fmin,
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
    signbit,
    where,
)

# fmt: off

elementwise("eq(input, other)", lambda input, other: input == other, result="bool", types="complex integer bool")
elementwise("ne(input, other)", lambda input, other: input != other, result="bool", types="complex integer bool",
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
            result="bool", types="complex integer bool")
elementwise("logical_or(input, other)", lambda input, other: logical_or(input, other),
            result="bool", types="complex integer bool")
elementwise("logical_xor(input, other)", lambda input, other: logical_xor(input, other),
            result="bool", types="complex integer bool")
elementwise("logical_not(input)", lambda input: logical_not(input), result="bool", types="complex integer bool")

elementwise("isnan(input)", lambda input: isnan(input), result="bool", types="complex integer bool",
            inplace=False, out=False)
elementwise("isinf(input)", lambda input: isinf(input), result="bool", types="complex integer bool",
            inplace=False, out=False)
elementwise("isfinite(input)", lambda input: isfinite(input), result="bool", types="complex integer bool",
            inplace=False, out=False)
elementwise("isposinf(input)", lambda input: isposinf(input), result="bool", types="integer bool", inplace=False)
elementwise("isneginf(input)", lambda input: isneginf(input), result="bool", types="integer bool", inplace=False)
elementwise("signbit(input)", lambda input: signbit(input), result="bool", types="integer bool", inplace=False)

# Where the two are equal, each gets half of the gradient.
elementwise("maximum(input, other)", lambda input, other: maximum(input, other),
            types="integer bool", inplace=False,
            input=lambda g, input, other: where(input == other, g / 2, where(input < other, 0, g)),
            other=lambda g, input, other: where(input == other, g / 2, where(other < input, 0, g)))
elementwise("minimum(input, other)", lambda input, other: minimum(input, other),
            types="integer bool", inplace=False,
            input=lambda g, input, other: where(input == other, g / 2, where(input > other, 0, g)),
            other=lambda g, input, other: where(input == other, g / 2, where(other > input, 0, g)))
# These two take the number where the other operand is nan.
elementwise("fmax(input, other)", lambda input, other: fmax(input, other),
            types="integer bool", inplace=False,
            input=lambda g, input, other: where((input >= other) | isnan(other), g, 0),
            other=lambda g, input, other: where((input >= other) | isnan(other), 0, g))
elementwise("fmin(input, other)", lambda input, other: fmin(input, other),
            types="integer bool", inplace=False,
            input=lambda g, input, other: where((input <= other) | isnan(other), g, 0),
            other=lambda g, input, other: where((input <= other) | isnan(other), 0, g))
elementwise("heaviside(input, values)", lambda input, values: where(input == 0, values, input > 0),
            types="integer bool",
            input=None,
            values=None)
