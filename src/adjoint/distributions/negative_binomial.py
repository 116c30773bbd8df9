"""The negative binomial distribution."""

from ..autograd.grad_mode import no_grad
from ..ops.language import exp, lgamma, logsigmoid, poisson, sigmoid
from . import constraints
from .bernoulli import expand_param, one_of
from .distribution import _NO_DIMS, Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """The successes, each with a probability given as `probs` or `logits`, before `total_count` failures.

    >>> import adjoint as torch
    >>> torch.distributions.NegativeBinomial(2.0, torch.tensor([0.5])).mean
    tensor([2.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self.total_count = self.total_count.type_as(self.probs)
            self._param = self.probs
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self.total_count = self.total_count.type_as(self.logits)
            self._param = self.logits
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expand_param(self, NegativeBinomial, _instance, batch_shape, total_count=0)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def mean(self):
        return self.total_count * exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / sigmoid(-self.logits)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    @lazy_property
    def _gamma(self):
        """The rates of the Poisson numbers that the draws are. (total_count may be zero, and the rate infinite.)"""
        return Gamma(concentration=self.total_count, rate=exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=_NO_DIMS):
        with no_grad():
            return poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        density = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -lgamma(n + value) + lgamma(1.0 + value) + lgamma(n)
        return density - norm.masked_fill(n + value == 0.0, 0.0)
