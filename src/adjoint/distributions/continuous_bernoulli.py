"""The continuous Bernoulli distribution."""

import math

from ..autograd.grad_mode import no_grad
from ..ops.checks import holds
from ..ops.language import _bernoulli_log_density, log, log1p, ones_like, pow, rand, where, zeros_like
from ..ops.language import abs as absolute
from . import constraints
from .bernoulli import expand_param, one_of
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """The distribution on [0, 1] whose density is p^x (1 - p)^(1 - x), normalized, for p given as `probs` or `logits`.

    Near p = 1/2, between `lims`, quotients of small differences are replaced by their Taylor series.

    >>> import adjoint as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            if validate_args is not None and not holds(self.arg_constraints["probs"].check(self.probs)):
                raise ValueError(f"The parameter probs has invalid values; got {probs}; give probabilities")
            self.probs = clamp_probs(self.probs)
            self._param = self.probs
        else:
            (self.logits,) = broadcast_all(logits)
            self._param = self.logits
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = expand_param(self, ContinuousBernoulli, _instance, batch_shape)
        new._lims = self._lims
        return new

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """The probabilities, off 1/2."""
        return where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self):
        """The logarithm of what makes the density integrate to 1: 2 artanh(1 - 2p) / (1 - 2p)."""
        cut = self._cut_probs()
        below = where(cut <= 0.5, cut, zeros_like(cut))
        above = where(cut >= 0.5, cut, ones_like(cut))
        norm = log(absolute(log1p(-cut) - log(cut))) - where(cut <= 0.5, log1p(-2.0 * below), log(2.0 * above - 1.0))
        square = pow(self.probs - 0.5, 2)
        near = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return where(self._outside_unstable_region(), norm, near)

    @property
    def mean(self):
        cut = self._cut_probs()
        means = cut / (2.0 * cut - 1.0) + 1.0 / (log1p(-cut) - log(cut))
        x = self.probs - 0.5
        return where(self._outside_unstable_region(), means, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self):
        return self.variance.sqrt()

    @property
    def variance(self):
        cut = self._cut_probs()
        variances = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (log1p(-cut) - log(cut)).pow(2)
        square = pow(self.probs - 0.5, 2)
        near = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return where(self._outside_unstable_region(), variances, near)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    def sample(self, sample_shape=_NO_DIMS):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=_NO_DIMS):
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _bernoulli_log_density(value, self.logits) + self._cont_bern_log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        cdfs = (pow(cut, value) * pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = where(self._outside_unstable_region(), cdfs, value)
        above = where(value >= 1.0, ones_like(value), inside)
        return where(value <= 0.0, zeros_like(value), above)

    def icdf(self, value):
        cut = self._cut_probs()
        quantiles = (log1p(-cut + value * (2.0 * cut - 1.0)) - log1p(-cut)) / (log(cut) - log1p(-cut))
        return where(self._outside_unstable_region(), quantiles, value)

    def entropy(self):
        none, all_ = log1p(-self.probs), log(self.probs)
        return self.mean * (none - all_) - self._cont_bern_log_norm() - none

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log of the integral of exp(x t) over [0, 1], by its series near 0."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(outside, x, (self._lims[0] - 0.5) * ones_like(x))
        norm = log(absolute(cut.exp() - 1)) - log(absolute(cut))
        near = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return where(outside, norm, near)
