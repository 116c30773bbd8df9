"""Divergences of distributions of different families: the expectation of -log q under p, less the entropy of p."""

import math

from ..ops.language import digamma, erf, lgamma, log, log1p, where, xlogy
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import _infinite_like, register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

__all__: list = []

INF = float("inf")
LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


# ---- Expectations of -log q


def _to_normal(mean, variance, q):
    return LOG_ROOT_TWO_PI + log(q.scale) + 0.5 * (variance + (mean - q.loc).pow(2)) / q.scale.pow(2)


def _to_exponential(mean, q):
    return q.rate * mean - log(q.rate)


def _to_gamma(mean, mean_log, q):
    c = q.concentration
    return lgamma(c) - c * log(q.rate) - (c - 1) * mean_log + q.rate * mean


def _to_continuous_bernoulli(mean, q):
    return -mean * q.logits - log1p(-q.probs) - q._cont_bern_log_norm()


def _to_gumbel(mean, mean_tail, q):
    """`mean_tail` is the expectation of exp(-x / scale)."""
    return log(q.scale) + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_tail


def _to_uniform(low, high, q):
    """Of a p that has all of [low, high] for its support."""
    return where((q.low > low) | (q.high < high), INF, log(q.high - q.low))


# ---- Supports that do not lie in the other's


def _register_infinite(p, *others):
    def infinite(p, q):
        return _infinite_like(p.mean if isinstance(p, Gumbel | Beta | ContinuousBernoulli) else next(_parameters(p)))

    for q in others:
        register_kl(p, q)(infinite)


def _parameters(p):
    return (getattr(p, name) for name in p.arg_constraints)


_register_infinite(Beta, Pareto)
_register_infinite(ContinuousBernoulli, Pareto)
_register_infinite(Exponential, Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite(Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite(Gumbel, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Laplace, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Pareto, Beta, ContinuousBernoulli, Uniform)
_register_infinite(Poisson, Bernoulli, Binomial)


# ---- Bernoulli and beta


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * log(q.rate) - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() + _to_continuous_bernoulli(p.mean, q)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() + _to_exponential(p.mean, q)


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    mean_log = digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0)
    return -p.entropy() + _to_gamma(p.mean, mean_log, q)


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    return -p.entropy() + _to_uniform(0, 1, q)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() + _to_exponential(p.mean, q)


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    return -p.entropy() + _to_uniform(0, 1, q)


# ---- Exponential and gamma


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    return -p.entropy() + _to_gamma(p.mean, -euler_constant - log(p.rate), q)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product = p.rate * q.scale
    return -p.entropy() + _to_gumbel(p.mean, product / (product + 1), q)


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() + _to_exponential(p.mean, q)


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    return -p.entropy() + _to_gumbel(p.mean, (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration), q)


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


# ---- All numbers


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    z = (p.loc - q.loc) / q.scale
    return -p.entropy() + log(q.scale) + z + (0.5 * (p.scale / q.scale).pow(2) - z).exp()


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z.pow(2)).exp() + z * erf(math.sqrt(0.5) * z))
    return -p.entropy() + log(2 * q.scale) + distance / q.scale


# ---- Pareto


# Moments without a thought of where they are infinite: what stands there is not taken, but has gradients.


def _pareto_mean(p):
    return p.alpha * p.scale / (p.alpha - 1)


def _pareto_variance(p):
    return p.scale.pow(2) * p.alpha / ((p.alpha - 1).pow(2) * (p.alpha - 2))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    return where(p.alpha <= 1, INF, -p.entropy() + _to_exponential(_pareto_mean(p), q))


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    mean_log = log(p.scale) + p.alpha.reciprocal()
    return where(p.alpha <= 1, INF, -p.entropy() + _to_gamma(_pareto_mean(p), mean_log, q))


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    return where(p.alpha <= 2, INF, -p.entropy() + _to_normal(_pareto_mean(p), _pareto_variance(p), q))


# ---- Uniform


def _mean_log(low, high):
    """The mean of log x of uniform x."""
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    norm = lgamma(a) + lgamma(b) - lgamma(a + b)
    rest = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return where((p.high > 1) | (p.low < 0), INF, norm - rest - p.entropy())


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    return where((p.high > 1) | (p.low < 0), INF, -p.entropy() + _to_continuous_bernoulli(p.mean, q))


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p, q):
    return where(p.low < 0, INF, -p.entropy() + _to_exponential(p.mean, q))


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    return where(p.low < 0, INF, -p.entropy() + _to_gamma(p.mean, _mean_log(p.low, p.high), q))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    width = (p.high - p.low) / q.scale
    tail = ((-p.low / q.scale).exp() - (-p.high / q.scale).exp()) / width
    return -p.entropy() + _to_gumbel(p.mean, tail, q)


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    return -p.entropy() + _to_normal(p.mean, p.variance, q)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    cross = -log(q.alpha) - q.alpha * log(q.scale) + (q.alpha + 1) * _mean_log(p.low, p.high)
    return where(p.low < q.scale, INF, -p.entropy() + cross)
