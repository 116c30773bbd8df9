"""Exponentials, logarithms and roots."""

from .language import (
    abs,
    conj,
    elementwise,
    exp,
    exp2,
    expm1,
    isnan,
    log,
    log1p,
    log2,
    log10,
    maximum,
    real,
    sigmoid,
    sqrt,
    where,
)

# fmt: off

LN2 = 0.6931471805599453
LN10 = 2.302585092994046
NAN = float("nan")

elementwise("exp(input)", lambda input: exp(input), autocast="none, float32",
            types="complex", loop="exp_vml_cpu", promote="float",
            input=lambda g, out: g * conj(out))
elementwise("exp2(input)", lambda input: exp2(input),
            types="complex", loop="exp2", promote="float",
            input=lambda g, out: g * conj(out * LN2))
elementwise("expm1(input)", lambda input: expm1(input), autocast="none, float32",
            types="complex", loop="expm1_vml_cpu", promote="float",
            input=lambda g, out: g * conj(out + 1))
elementwise("log(input)", lambda input: log(input), autocast="none, float32",
            types="complex", loop="log_vml_cpu", promote="float",
            input=lambda g, input: g / conj(input))
elementwise("log2(input)", lambda input: log2(input), autocast="none, float32",
            types="complex", loop="log2_vml_cpu", promote="float",
            input=lambda g, input: g / conj(input * LN2))
elementwise("log10(input)", lambda input: log10(input), autocast="none, float32",
            types="complex", loop="log10_vml_cpu", promote="float",
            input=lambda g, input: g / conj(input * LN10))
elementwise("log1p(input)", lambda input: log1p(input), autocast="none, float32",
            types="complex", loop="log1p_vml_cpu", promote="float",
            input=lambda g, input: g / conj(input + 1))
elementwise("sqrt(input)", lambda input: sqrt(input),
            types="complex", loop="sqrt_vml_cpu", promote="float",
            input=lambda g, out: g / conj(2 * out))
elementwise("rsqrt(input)", lambda input: 1 / sqrt(input), autocast="none, float32",
            types="complex", promote="float",
            input=lambda g, out: -0.5 * g * conj(out * out * out))

# log(e^a + e^b) from the larger of the two; two equal infinities have no difference to speak of.
elementwise("logaddexp(input, other)",
            lambda input, other: where(
                input == other, input + LN2, where(
                    real(input) < real(other), other + log1p(exp(input - other)), input + log1p(exp(other - input)))),
            types="complex", numbers="", inplace=False,
            input=lambda g, input, other: g * conj(sigmoid(input - other)),
            other=lambda g, input, other: g * conj(sigmoid(other - input)))
elementwise("logaddexp2(input, other)",
            lambda input, other: where(
                input == other, input + 1, maximum(input, other) + log1p(exp2(-abs(input - other))) / LN2),
            numbers="", inplace=False,
            input=lambda g, input, other: g * sigmoid((input - other) * LN2),
            other=lambda g, input, other: g * sigmoid((other - input) * LN2))

# x log y, where 0 log y is 0 for every y but nan.
elementwise("xlogy(input, other)",
            lambda input, other: where(isnan(other), NAN, where(input == 0, 0, input * log(other))),
            promote="float", numbers="input other",
            number_nodes={"input": "XlogyBackward1", "other": "XlogyBackward2"},
            input=lambda g, input, other: where((input == 0) & (other <= 0), 0, g * log(other)),
            other=lambda g, input, other: g * (input / other))
