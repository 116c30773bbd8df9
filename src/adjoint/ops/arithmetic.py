"""Arithmetic: sums, products, quotients, remainders, powers and absolute values."""

from .. import _C
from .checks import tensor
from .language import (
    abs,
    composite,
    conj,
    copysign,
    elementwise,
    floor_divide,
    fmod,
    hypot,
    log,
    real,
    remainder,
    rsqrt,
    sgn,
    sign,
    signbit,
    sqrt,
    trunc,
    trunc_divide,
    twice,
    where,
    zeros_like,
)
from .out_words import FOUND_DTYPE

# fmt: off

# torch has no `-` for bool tensors.
_MINUS = {
    "bool": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead.",
    "any bool": "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or `logical_not()` operator instead.",
}


def _scaled(g, alpha):
    """g times the conjugate of alpha, which is 1 in most calls."""
    return g if type(alpha) is int and alpha == 1 else g * conj(alpha)


elementwise("add(input, other, *, alpha=1)", lambda input, other, alpha: input + alpha * other,
            types="complex integer bool", stored="complex32",
            loop="add_stub", numbers="all", rounded="input other alpha",
            factor="alpha", linear="input + other",
            input=lambda g: g,
            other=lambda g, alpha: _scaled(g, alpha))
elementwise("sub(input, other, *, alpha=1)", lambda input, other, alpha: input - alpha * other,
            types="complex integer", stored="complex32",
            loop="add_stub", numbers="all", rounded="input other alpha", factor="alpha",
            refuse=_MINUS, alias=("subtract",), linear="input + other",
            input=lambda g: g,
            other=lambda g, alpha: _scaled(-g, alpha))
elementwise("rsub(input, other, *, alpha=1)", lambda input, other, alpha: other - alpha * input,
            types="complex integer", stored="complex32", loop="add_stub", number_nodes={"other": "RsubBackward1"},
            rounded="input other alpha", factor="alpha", refuse=_MINUS, inplace=False, out=False,
            linear="input + other",
            input=lambda g, alpha: _scaled(-g, alpha),
            other=lambda g: g)
elementwise("mul(input, other)", lambda input, other: input * other,
            types="complex integer bool", stored="all", numbers="all", rounded="input",
            alias=("multiply",), linear="input * other",
            input=lambda g, other: g * conj(other),
            other=lambda g, input: g * conj(input))
elementwise("div(input, other)", lambda input, other: input / other,
            types="complex", promote="float", numbers="all", rounded="input", alias=("divide", "true_divide"),
            linear="input",
            input=lambda g, other: g / conj(other),
            other=lambda g, input, other: -g * conj(input / other / other))
elementwise("neg(input)", lambda input: -input,
            out="exact", out_words=FOUND_DTYPE, types="complex integer", stored="complex32", alias=("negative",),
            linear="input",
            refuse={"bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
                            "invert a mask, use the `~` or `logical_not()` operator instead."},
            input=lambda g: -g)
elementwise("reciprocal(input)", lambda input: 1 / input, autocast="none, float32",
            types="complex", promote="float",
            input=lambda g, out: -g * conj(out * out))
# What pow() of a float tensor and a number comes to, unless the number is 0; and the commonest powers.
elementwise("power(input, exponent=1)", lambda input, exponent: input**exponent,
            types="complex", loop="pow", node="PowBackward0", rounded="exponent",
            public=False, inplace=False, out=False,
            input=lambda g, input, exponent: g * conj(exponent * input ** (exponent - 1)))
elementwise("squared(input)", lambda input: input * input,
            types="complex", loop="pow", node="PowBackward0", public=False, inplace=False, out=False,
            input=lambda g, input: g * conj(twice(input)))
# 2 * input**1 in one step. A power's derivative depends on the input, whatever the exponent, and so does the rule here.
elementwise("twice(input)", lambda input: 2 * input,
            types="complex", node="PowBackward0", public=False, inplace=False, out=False, linear="input",
            input=lambda g, input: g * conj(2 * input**0))
elementwise("cubed(input)", lambda input: input * input * input,
            types="complex", loop="pow", node="PowBackward0", public=False, inplace=False, out=False,
            input=lambda g, input: g * conj(3 * input**2))
elementwise("rooted(input)", lambda input: sqrt(input),
            types="complex", loop="pow", node="PowBackward0", public=False, inplace=False, out=False,
            input=lambda g, input: g * conj(0.5 * rsqrt(input)))

# Quotients rounded to integers are constant between their steps.
elementwise("floor_divide(input, other)", lambda input, other: floor_divide(input, other),
            types="integer", loop="div_floor_cpu", integers="divisor", numbers="all", rounded="input",
            input=lambda g: zeros_like(g),
            other=lambda g: zeros_like(g))
elementwise("trunc_divide(input, other)", lambda input, other: trunc_divide(input, other),
            types="integer", loop="div_trunc_cpu", integers="divisor", numbers="all", rounded="input",
            public=False, inplace=False, out=False,
            input=lambda g: zeros_like(g),
            other=lambda g: zeros_like(g))
elementwise("remainder(input, other)", lambda input, other: remainder(input, other),
            types="integer", integers="divisor", numbers="input other",
            node="RemainderBackward1", number_nodes={"other": "RemainderBackward0"},
            input=lambda g: g,
            other=lambda g, input, other: -g * floor_divide(input, other))
elementwise("fmod(input, other)", lambda input, other: fmod(input, other),
            types="integer", integers="divisor", node="FmodBackward1", number_nodes={"other": "FmodBackward0"},
            input=lambda g: g,
            other=lambda g, input, other: -g * trunc(input / other))

# d(a^b) = b a^(b-1) da + a^b log(a) db; a zero exponent and a zero base get the limits that keep gradients finite.
elementwise("pow(input, exponent)", lambda input, exponent: input**exponent, autocast="none, float32",
            types="complex integer bool", loop="pow", integers="exponent", numbers="input exponent",
            powers=("squared", "cubed", "rooted", "power"),
            node="PowBackward1", number_nodes={"exponent": "PowBackward0", "input": "PowBackward2"},
            input=lambda g, input, exponent: where(exponent == 0, 0, g * conj(exponent * input ** (exponent - 1))),
            exponent=lambda g, input, exponent, out: where(
                (input == 0) & (real(exponent) >= 0), 0, g * conj(out * log(input))))

elementwise("abs(input)", lambda input: abs(input),
            types="complex integer", stored="float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz complex32",
            result="real", inplace=True, alias=("absolute",),
            input=lambda g, input: g * sgn(input))
elementwise("sign(input)", lambda input: sign(input),
            out="exact", out_words=FOUND_DTYPE, types="integer bool",
            input=lambda g: zeros_like(g))
# z/|z| moves only across z: the part of g along the result is taken off.
elementwise("sgn(input)", lambda input: sgn(input),
            out="exact", out_words=FOUND_DTYPE, types="complex integer bool", stored="complex32", loop="sign_cpu",
            input=lambda g, input, out: where(input == 0, 0, (g - out * real(g * conj(out))) / abs(input)))
elementwise("copysign(input, other)", lambda input, other: copysign(input, other),
            promote="float", number_nodes={"other": "CopysignBackward1"},
            input=lambda g, input, other: where(input == 0, 0, where(signbit(input) == signbit(other), g, -g)),
            other=lambda g: zeros_like(g))
elementwise("hypot(input, other)", lambda input, other: hypot(input, other),
            numbers="",
            input=lambda g, input, out: g * (input / out),
            other=lambda g, other, out: g * (other / out))

# Both forms are exact at their end: weight 0 gives input, weight 1 gives end.
elementwise("lerp(input, end, weight)",
            lambda input, end, weight: where(
                abs(weight) < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight)),
            types="complex", loop="lerp_kernel_tensor", promote="never", numbers="weight", rounded="",
            node="LerpBackward1", number_nodes={"weight": "LerpBackward0"}, linear="input + end",
            input=lambda g, weight: g * conj(1 - weight),
            end=lambda g, weight: g * conj(weight),
            weight=lambda g, input, end: g * conj(end - input))
elementwise("addcmul(input, tensor1, tensor2, *, value=1)",
            lambda input, tensor1, tensor2, value: input + value * tensor1 * tensor2, autocast="none, promote",
            types="complex integer", stored="complex32",
            loop="addcmul_cpu_out", numbers="", linear="input + tensor1 * tensor2",
            input=lambda g: g,
            tensor1=lambda g, tensor2, value: g * conj(value * tensor2),
            tensor2=lambda g, tensor1, value: g * conj(value * tensor1))
elementwise("addcdiv(input, tensor1, tensor2, *, value=1)",
            lambda input, tensor1, tensor2, value: input + value * tensor1 / tensor2, autocast="none, promote",
            types="complex", loop="addcdiv_cpu_out", numbers="", linear="input + tensor1",
            refuse={"integer tensor1 tensor2":
                    "Integer division with addcdiv is no longer supported; convert tensor1 or tensor2 with .float() "
                    "for a true division, or divide with rounding_mode first"},
            input=lambda g: g,
            tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
            tensor2=lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / tensor2 / tensor2))

# fmt: on


@composite
def positive(input):
    """The tensor itself.

    >>> import adjoint as torch
    >>> torch.positive(torch.tensor([-1.0]))
    tensor([-1.])
    """
    tensor("positive", input=input)
    if input.dtype == _C.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
