"""Error functions, gamma functions and the logistic function."""

from .language import (
    digamma,
    elementwise,
    erf,
    erfc,
    erfinv,
    exp,
    lgamma,
    log,
    polygamma,
    where,
)

# fmt: off

TWO_OVER_SQRT_PI = 1.1283791670955126
HALF_SQRT_PI = 0.886226925452758
NAN = float("nan")

elementwise("erf(input)", lambda input: erf(input),
            promote="float",
            input=lambda g, input: g * TWO_OVER_SQRT_PI * exp(-input * input))
elementwise("erfc(input)", lambda input: erfc(input),
            promote="float",
            input=lambda g, input: -g * TWO_OVER_SQRT_PI * exp(-input * input))
elementwise("erfinv(input)", lambda input: erfinv(input),
            promote="float",
            input=lambda g, out: g * HALF_SQRT_PI * exp(out * out))
elementwise("lgamma(input)", lambda input: lgamma(input),
            promote="float",
            input=lambda g, input: g * digamma(input))
elementwise("digamma(input)", lambda input: digamma(input),
            promote="float",
            input=lambda g, input: g * polygamma(1, input))
elementwise("polygamma(n, input)", lambda n, input: polygamma(n, input),
            promote="float", method=False, inplace=False,
            n=None,
            input=lambda g, n, input: g * polygamma(n + 1, input))
elementwise("sigmoid(input)", lambda input: 1 / (1 + exp(-input)),
            types="complex", promote="float",
            input=lambda g, out: g * ((1 - out) * out).conj())
elementwise("logit(input)", lambda input: log(input / (1 - input)),
            promote="float",
            input=lambda g, input: where((input < 0) | (input > 1), NAN, g / (input * (1 - input))))
