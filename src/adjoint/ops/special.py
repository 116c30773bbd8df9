"""Error functions, gamma functions, the logistic function and entropies; torch.special's names are special_names.py."""

from .. import _C
from .checks import integer
from .language import (
    _publish,
    abs,
    arange,
    composite,
    digamma,
    elementwise,
    erf,
    erfc,
    erfcx,
    erfinv,
    exp,
    get_default_dtype,
    i0,
    i0e,
    i1,
    i1e,
    igamma,
    igammac,
    isnan,
    lgamma,
    log,
    log1p,
    log_ndtr,
    logit_within,
    logit_within_,
    ndtri,
    op,
    polygamma,
    polygamma_of,
    polygamma_of_,
    sgn,
    trigamma,
    where,
    zeta,
)

# fmt: off

TWO_OVER_SQRT_PI = 1.1283791670955126
HALF_SQRT_PI = 0.886226925452758
SQRT_HALF = 0.7071067811865476
SQRT_TWO_PI = 2.5066282746310002
SQRT_TWO_OVER_PI = 0.7978845608028654
LOG_PI = 1.1447298858494002
EPSILON = 2.220446049250313e-16
INF = float("inf")
NAN = float("nan")
SPECIAL = {"namespace": "special", "promote": "float", "inplace": False}
INTERNAL = {"function": False, "method": False}

# ---- Error functions

elementwise("erf(input)", lambda input: erf(input),
            promote="float", loop="erf_vml_cpu",
            input=lambda g, input: g * TWO_OVER_SQRT_PI * exp(-input * input))
elementwise("erfc(input)", lambda input: erfc(input),
            promote="float", loop="erfc_vml_cpu",
            input=lambda g, input: -g * TWO_OVER_SQRT_PI * exp(-input * input))
elementwise("erfinv(input)", lambda input: erfinv(input), autocast="none, float32",
            promote="float", loop="erfinv_vml_cpu",
            input=lambda g, out: g * HALF_SQRT_PI * exp(out * out))
elementwise("erfcx(input)", lambda input: erfcx(input), node="SpecialErfcxBackward0", **SPECIAL,
            input=lambda g, input, out: g * (2 * input * out - TWO_OVER_SQRT_PI),
            doc="exp(x^2) erfc(x), which does not underflow.")
elementwise("ndtr(input)", lambda input: erfc(input * -SQRT_HALF) * 0.5, node="MulBackward1", **SPECIAL,
            input=lambda g, input: g * (exp(input * input * -0.5) / SQRT_TWO_PI),
            doc="The probability that a normal number is below x.")
elementwise("ndtri(input)", lambda input: ndtri(input), node="SpecialNdtriBackward0", **SPECIAL,
            input=lambda g, out: g * (SQRT_TWO_PI * exp(out * out * 0.5)),
            doc="Where ndtr() has the value x.")
elementwise("log_ndtr(input)", lambda input: log_ndtr(input), node="SpecialLogNdtrBackward0", **SPECIAL,
            input=lambda g, input: g * (SQRT_TWO_OVER_PI / erfcx(input * -SQRT_HALF)),
            doc="The logarithm of ndtr(), for very negative x too.")

# ---- Gamma functions

elementwise("lgamma(input)", lambda input: lgamma(input),
            promote="float", loop="lgamma_vml_cpu",
            input=lambda g, input: g * digamma(input))
elementwise("digamma(input)", lambda input: digamma(input),
            promote="float", loop="digamma",
            input=lambda g, input: g * trigamma(input))
elementwise("trigamma(input)", lambda input: trigamma(input),
            promote="float", loop="trigamma", node="PolygammaBackward0", inplace=False, **INTERNAL,
            input=lambda g, input: g * polygamma(2, input))
elementwise("polygamma_of(input, n=1)", lambda input, n: polygamma(n, input),
            promote="float", loop="polygamma", node="PolygammaBackward0", **INTERNAL,
            input=lambda g, input, n: g * polygamma(n + 1, input))
elementwise("zeta(input, other)", lambda input, other: zeta(input, other),
            node="SpecialZetaBackward0", numbers="input other",
            number_nodes={"input": "SpecialZetaBackward1", "other": "SpecialZetaBackward2"}, **SPECIAL,
            input="the derivative for 'zeta' is not implemented.",
            other=lambda g, input, other: g * (-input * zeta(input + 1, other)),
            doc="The Hurwitz zeta function.")


def gamma_density(a, x):
    """The derivative of igamma(a, x) with respect to x."""
    return exp((a - 1) * log(x) - x - lgamma(a))


elementwise("igamma(input, other)", lambda input, other: igamma(input, other),
            numbers="",
            input="the derivative for 'igamma: input' is not implemented.",
            other=lambda g, input, other: g * gamma_density(input, other),
            doc="The regularized lower incomplete gamma function.")
elementwise("igammac(input, other)", lambda input, other: igammac(input, other),
            numbers="",
            input="the derivative for 'igammac: input' is not implemented.",
            other=lambda g, input, other: -g * gamma_density(input, other),
            doc="The regularized upper incomplete gamma function.")

# ---- Modified Bessel functions of the first kind; the others, which have no gradients, are in special_bessel.py.

elementwise("i0(input)", lambda input: i0(input),
            promote="float", loop="i0_vml_cpu",
            input=lambda g, input: g * i1(input),
            doc="The modified Bessel function of the first kind, of order 0.")
elementwise("i0e(input)", lambda input: i0e(input), node="SpecialI0EBackward0", **SPECIAL,
            input=lambda g, input, out: g * (i1e(input) - sgn(input) * out),
            doc="The function i0() scaled by exp(-|x|), which does not overflow.")


def unless_zero(input):
    """The input, and 1 in the place of 0: a quotient that is not used must not be nan either."""
    return where(abs(input) > EPSILON, input, 1)


# Near zero the quotients are their limit.
elementwise("i1(input)", lambda input: i1(input), node="SpecialI1Backward0", **SPECIAL,
            input=lambda g, input, out: g * where(
                abs(input) > EPSILON, i0(input) - out / unless_zero(input), 0.5),
            doc="The modified Bessel function of the first kind, of order 1.")
elementwise("i1e(input)", lambda input: i1e(input), node="SpecialI1EBackward0", **SPECIAL,
            input=lambda g, input, out: g * where(
                abs(input) > EPSILON, i0e(input) - out * (sgn(input) + 1 / unless_zero(input)), 0.5),
            doc="The function i1() scaled by exp(-|x|), which does not overflow.")

# ---- The logistic function, entropies

elementwise("sigmoid(input)", lambda input: 1 / (1 + exp(-input)),
            types="complex", promote="float",
            input=lambda g, out: g * ((1 - out) * out).conj())


def odds(x):
    return x / (1 - x)


elementwise("logit_within(input, low=-inf, high=inf)",
            lambda input, low, high: log(odds(where(input < low, low, where(input > high, high, input)))),
            promote="float", loop="logit_cpu", rounded="low high", node="LogitBackward0", **INTERNAL,
            input=lambda g, input, low, high: where(
                (input < low) | (input > high), 0,
                where((input < 0) | (input > 1), NAN, g / (input * (1 - input)))))
elementwise("entr(input)",
            lambda input: where(isnan(input), input, where(input > 0, -input * log(input), where(input == 0, 0, -INF))),
            node="SpecialEntrBackward0", **SPECIAL,
            input=lambda g, input: g * (-log(input) - 1),
            doc="The entropy -x log x.")
# x log(1 + y), where 0 log(1 + y) is 0 for every y but nan.
elementwise("xlog1py(input, other)",
            lambda input, other: where(isnan(other), NAN, where(input == 0, 0, input * log1p(other))),
            numbers="input other", node="SpecialXlog1PyBackward0",
            number_nodes={"input": "SpecialXlog1PyBackward1", "other": "SpecialXlog1PyBackward2"}, **SPECIAL,
            input=lambda g, input, other: g * where((input == 0) & (other <= -1), 0, log1p(other)),
            other=lambda g, input, other: g * (input / (other + 1)),
            doc="x log(1 + y), and 0 where x is 0.")

# fmt: on


def _checked_order(n):
    n = integer("polygamma", "n", n)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return n


@composite(method=False, name="polygamma")
def polygamma_function(n, input, *, out=None):
    """The n-th derivative of digamma().

    >>> import adjoint as torch
    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    return polygamma_of(input, _checked_order(n), out=out)


@composite(name="polygamma_", function_=False)
def polygamma_(input, n):
    """In-place version of polygamma()."""
    return polygamma_of_(input, _checked_order(n))


def _polygamma_method(input, n):
    """The n-th derivative of digamma().

    >>> import adjoint as torch
    >>> torch.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    return polygamma_of(input, _checked_order(n))


# The method's arguments come in another order than the function's.
_publish("polygamma", _polygamma_method, "", True, False, ())


def _inside(eps):
    """The bounds that logit() keeps its argument to; none for a negative eps either."""
    return (-INF, INF) if eps is None or eps < 0 else (float(eps), 1 - float(eps))


@composite
def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), of x kept `eps` away from 0 and 1.

    >>> import adjoint as torch
    >>> torch.logit(torch.tensor([0.5, 1.0]), eps=0.1)
    tensor([0.0000, 2.1972])
    """
    return logit_within(input, *_inside(eps), out=out)


@composite(name="logit_")
def logit_(input, eps=None):
    """In-place version of logit()."""
    return logit_within_(input, *_inside(eps))


def _mvlgamma_arguments(input, p):
    """x, x - 1/2, x - 1, ... along a new last dimension."""
    return input.unsqueeze(-1) - arange(p, dtype=input.dtype, device=input.device) / 2


def _mvlgamma(input, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is _C.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor; convert it with .float()")
    if input.is_complex():
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{input.dtype}': the real numbers only")
    if not input.is_floating_point():
        input = input.to(get_default_dtype())
    return lgamma(_mvlgamma_arguments(input, p)).sum(-1) + p * (p - 1) / 4 * LOG_PI


op("mvlgamma(input, p)", forward=_mvlgamma, inplace=True, out=True,
   out_words="mvlgamma: result type {expected} can't be cast to the desired output type {expected}",
   input=lambda g, input, p: g * digamma(_mvlgamma_arguments(input, p)).sum(-1),
   doc="The logarithm of the multivariate gamma function of dimension p.",
   batch="...")  # fmt: skip
