"""Divergences of distributions of one family."""

from ..autograd import grad
from ..ops.checks import holds
from ..ops.language import abs as absolute
from ..ops.language import digamma, lgamma, linalg_solve_triangular, log, log1p, softplus, where
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["_kl_expfamily_expfamily"]

INF = float("inf")


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = where(p.probs == 0, 0.0, where(q.probs == 0, INF, one))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = where(p.probs == 1, 0.0, where(q.probs == 1, INF, zero))
    return one + zero


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    norms = lgamma(c) + lgamma(d) + lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(c + d)
    return norms + (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if not holds(p.total_count >= q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    trial = p.probs * (p.logits - q.logits) + log1p(-p.probs) - log1p(-q.probs)
    return where(p.total_count > q.total_count, INF, p.total_count * trial)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    return where(p.probs == 0, 0.0, where(q.probs == 0, INF, terms)).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    first = p._cont_bern_log_norm() + log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + first - q._cont_bern_log_norm() - log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    norms = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms + ((a - b) * (digamma(a) - digamma(a.sum(-1, True)))).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -log(ratio) + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    p_params = [one.detach().requires_grad_() for one in p._natural_params]
    normalizer = p._log_normalizer(*p_params)
    gradients = grad(normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(p_params, q._natural_params, gradients, strict=True):
        result = result - _sum_rightmost((other - mine) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, c = p.concentration, q.concentration
    norms = c * log(p.rate / q.rate) + lgamma(c) - lgamma(a)
    return norms + (a - c) * digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    tail = (shift + lgamma(1 + ratio)).exp()
    return -log(ratio) - shift + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, absolute(p.loc - q.loc)
    return -log(ratio) + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _check_events(p, q, what):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {what} with different event shapes cannot be computed; got {p.event_shape} "
            f"and {q.event_shape}"
        )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "Low Rank Multivariate Normals")
    p_parts = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    log_det = -_batch_lowrank_logdet(*p_parts, p._capacitance_tril)
    trace = _lowrank_trace(q, p._unbroadcasted_cov_diag.sqrt(), p._unbroadcasted_cov_factor)
    return _kl_to_lowrank(p, q, log_det, trace)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    tril = p._unbroadcasted_scale_tril
    return _kl_to_lowrank(p, q, -2 * half_log_det(tril), _lowrank_trace(q, None, tril))


def _lowrank_trace(q, root, factor):
    """The trace of q's precision times factor factor^T + diag(root)^2, by Woodbury's formula."""
    diagonal = q._unbroadcasted_cov_diag
    scaled = q._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
    small = linalg_solve_triangular(q._capacitance_tril, scaled, upper=False)
    inverse = diagonal.rsqrt()
    trace = _squares(factor * inverse.unsqueeze(-1)) - _squares(small @ factor)
    if root is None:
        return trace
    return trace + (root * inverse).pow(2).sum(-1) - _squares(small * root.unsqueeze(-2))


def _squares(matrix):
    return matrix.pow(2).sum((-2, -1))


def _kl_to_lowrank(p, q, log_det, trace):
    parts = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    log_det = log_det + _batch_lowrank_logdet(*parts, q._capacitance_tril)
    distance = _batch_lowrank_mahalanobis(*parts, q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_det + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    tril = q._unbroadcasted_scale_tril
    log_det = 2 * half_log_det(tril) - _batch_lowrank_logdet(factor, diagonal, p._capacitance_tril)
    trace = _squares(linalg_solve_triangular(tril, factor, upper=False))
    trace = trace + _squares(linalg_solve_triangular(tril, diagonal.sqrt().diag_embed(), upper=False))
    return 0.5 * (log_det + trace + _batch_mahalanobis(tril, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "Multivariate Normals")
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _squares(linalg_solve_triangular(other, mine, upper=False))
    distance = _batch_mahalanobis(other, q.loc - p.loc)
    return half_log_det(other) - half_log_det(mine) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - log(ratio))


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * log(p.scale / q.scale) - log(ratio) + ratio - 1
    return where(p.scale < q.scale, INF, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (log(p.rate) - log(q.rate)) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms:
        raise NotImplementedError("KL of TransformedDistributions needs the same transforms")
    if p.event_shape != q.event_shape:
        raise NotImplementedError("KL of TransformedDistributions needs the same event shapes")
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = log((q.high - q.low) / (p.high - p.low))
    return where((q.low > p.low) | (q.high < p.high), INF, result)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independents needs the same reinterpreted_batch_ndims")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
