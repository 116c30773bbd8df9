"""Trigonometric and hyperbolic functions, their inverses, and angles."""

from .language import (
    abs,
    acos,
    acosh,
    angle,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    conj,
    cos,
    cosh,
    elementwise,
    sgn,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    where,
)
from .out_words import FOUND_DTYPE

# fmt: off

PI = 3.141592653589793
DEGREE = PI / 180

elementwise("sin(input)", lambda input: sin(input),
            types="complex", loop="sin_vml_cpu", promote="float",
            input=lambda g, input: g * conj(cos(input)))
elementwise("cos(input)", lambda input: cos(input),
            types="complex", loop="cos_vml_cpu", promote="float",
            input=lambda g, input: -g * conj(sin(input)))
elementwise("tan(input)", lambda input: tan(input), autocast="none, float32",
            types="complex", loop="tan_vml_cpu", promote="float",
            input=lambda g, out: g * conj(1 + out * out))
elementwise("asin(input)", lambda input: asin(input), autocast="none, float32",
            types="complex", loop="asin_vml_cpu", promote="float", alias=("arcsin",),
            input=lambda g, input: g / conj(sqrt(1 - input * input)))
elementwise("acos(input)", lambda input: acos(input), autocast="none, float32",
            types="complex", loop="acos_vml_cpu", promote="float", alias=("arccos",),
            input=lambda g, input: -g / conj(sqrt(1 - input * input)))
elementwise("atan(input)", lambda input: atan(input),
            types="complex", loop="atan_vml_cpu", promote="float", alias=("arctan",),
            input=lambda g, input: g / conj(1 + input * input))
elementwise("sinh(input)", lambda input: sinh(input), autocast="none, float32",
            types="complex", promote="float",
            input=lambda g, input: g * conj(cosh(input)))
elementwise("cosh(input)", lambda input: cosh(input), autocast="none, float32",
            types="complex", promote="float",
            input=lambda g, input: g * conj(sinh(input)))
elementwise("tanh(input)", lambda input: tanh(input),
            types="complex", loop="tanh_vml_cpu", promote="float",
            input=lambda g, out: g * conj(1 - out * out))
elementwise("asinh(input)", lambda input: asinh(input),
            types="complex", promote="float", alias=("arcsinh",),
            input=lambda g, input: g / conj(sqrt(1 + input * input)))
# Two roots, not one of the product: that is the branch acosh has in the complex plane.
elementwise("acosh(input)", lambda input: acosh(input),
            types="complex", promote="float", alias=("arccosh",),
            input=lambda g, input: g / conj(sqrt(input - 1) * sqrt(input + 1)))
elementwise("atanh(input)", lambda input: atanh(input),
            types="complex", promote="float", alias=("arctanh",),
            input=lambda g, input: g / conj(1 - input * input))


def over_square(g, part, input, other):
    """g * part / (input^2 + other^2), and 0 at the origin, where there is no direction."""
    square = input * input + other * other
    return where(square == 0, 0, g * part / square)


elementwise("atan2(input, other)", lambda input, other: atan2(input, other), autocast="none, promote",
            promote="float", numbers="", alias=("arctan2",),
            input=lambda g, input, other: over_square(g, other, input, other),
            other=lambda g, input, other: over_square(g, -input, input, other))
elementwise("sinc(input)", lambda input: where(input == 0, 1, sin(PI * input) / (PI * input)),
            types="complex", promote="float",
            input=lambda g, input: where(
                input == 0, 0,
                g * conj((cos(PI * input) - sin(PI * input) / (PI * input)) / input)))
elementwise("deg2rad(input)", lambda input: input * DEGREE,
            promote="float", node="Deg2RadBackward0", linear="input",
            input=lambda g: g * DEGREE)
elementwise("rad2deg(input)", lambda input: input * (1 / DEGREE),
            promote="float", node="Rad2DegBackward0", linear="input",
            input=lambda g: g * (1 / DEGREE))
# For real numbers a step function; for complex ones the imaginary part of dz/z.
elementwise("angle(input)", lambda input: angle(input),
            types="complex", promote="float", result="real", inplace=False,
            input=lambda g, input: where(input == 0, 0, 1j * g * sgn(input) / abs(input)))
elementwise("conj_physical(input)", lambda input: conj(input),
            out="exact", out_words=FOUND_DTYPE, types="complex integer bool", stored="all", linear="input",
            input=lambda g: conj(g))
