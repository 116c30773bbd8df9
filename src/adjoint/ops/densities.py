"""Logarithms of densities, each in one pass over the values: what adjoint.distributions computes most.

A density and its gradients take one loop here, where the formula in ordinary ops would make a tensor of each term.
"""

from .language import abs, digamma, elementwise, exp, lgamma, log, log1p, maximum, sigmoid, where, xlog1py, xlogy

INF = float("inf")
LOG_PI = 1.1447298858494002
LOG_ROOT_TWO_PI = 0.9189385332046728
DENSITY = {"public": False, "inplace": False, "out": False, "numbers": "all"}

# fmt: off


def normal(value, loc, scale):
    return -((value - loc) * (value - loc)) / (2 * (scale * scale)) - log(scale) - LOG_ROOT_TWO_PI


def gamma(value, concentration, rate):
    return xlogy(concentration, rate) + xlogy(concentration - 1, value) - rate * value - lgamma(concentration)


def beta(value, a, b):
    return xlogy(a - 1, value) + xlog1py(b - 1, -value) + lgamma(a + b) - (lgamma(a) + lgamma(b))


def gumbel(value, loc, scale):
    y = (loc - value) / scale
    return y - exp(y) - log(scale)


def cauchy(value, loc, scale):
    y = (value - loc) / scale
    return -LOG_PI - log(scale) - log1p(y * y)


def student_t(value, df, loc, scale):
    y = (value - loc) / scale
    normalizer = log(scale) + 0.5 * log(df) + 0.5 * LOG_PI + lgamma(0.5 * df) - lgamma(0.5 * (df + 1))
    return -0.5 * (df + 1) * log1p(y * y / df) - normalizer


def bernoulli(value, logits):
    return logits * value - maximum(logits, 0) - log1p(exp(-abs(logits)))


def slope_of_xlogy(x, y):
    """The derivative of xlogy by x, as torch has it: 0 where x is 0 and there is no logarithm."""
    return where((x == 0) & (y <= 0), 0, log(y))


elementwise("_normal_log_density(value, loc, scale)", normal, node="SubBackward0", **DENSITY)
elementwise("_gumbel_log_density(value, loc, scale)", gumbel, node="SubBackward0", **DENSITY)
elementwise("_cauchy_log_density(value, loc, scale)", cauchy, node="SubBackward0", **DENSITY)
elementwise("_student_t_log_density(value, df, loc, scale)", student_t, node="SubBackward0", **DENSITY)
elementwise("_laplace_log_density(value, loc, scale)",
            lambda value, loc, scale: -log(2 * scale) - abs(value - loc) / scale,
            node="SubBackward0", **DENSITY)
elementwise("_exponential_log_density(value, rate)",
            lambda value, rate: log(rate) - rate * value,
            node="SubBackward0", **DENSITY)
elementwise("_gamma_log_density(value, concentration, rate)", gamma, node="SubBackward0", **DENSITY,
            value=lambda g, value, concentration, rate: g * ((concentration - 1) / value - rate),
            concentration=lambda g, value, concentration, rate:
                g * (log(rate) + slope_of_xlogy(concentration - 1, value) - digamma(concentration)),
            rate=lambda g, value, concentration, rate: g * (concentration / rate - value))
elementwise("_beta_log_density(value, a, b)", beta, node="SubBackward0", **DENSITY,
            value=lambda g, value, a, b: g * ((a - 1) / value - (b - 1) / (1 - value)),
            a=lambda g, value, a, b: g * (slope_of_xlogy(a - 1, value) + digamma(a + b) - digamma(a)),
            b=lambda g, value, a, b: g * (slope_of_xlogy(b - 1, 1 - value) + digamma(a + b) - digamma(b)))
elementwise("_poisson_log_density(value, rate)",
            lambda value, rate: xlogy(value, rate) - rate - lgamma(value + 1),
            node="SubBackward0", **DENSITY,
            value=lambda g, value, rate: g * (slope_of_xlogy(value, rate) - digamma(value + 1)),
            rate=lambda g, value, rate: g * (value / rate - 1))
elementwise("_bernoulli_log_density(value, logits)", bernoulli, node="NegBackward0", **DENSITY,
            value=lambda g, logits: g * logits,
            logits=lambda g, value, logits: g * (value - sigmoid(logits)))
elementwise("_uniform_log_density(value, low, high)",
            lambda value, low, high: where((low <= value) & (value < high), 0.0, -INF) - log(high - low),
            node="SubBackward0", **DENSITY,
            value=None,
            low=lambda g, low, high: g / (high - low),
            high=lambda g, low, high: g / (low - high))
