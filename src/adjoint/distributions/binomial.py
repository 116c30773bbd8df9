"""The binomial distribution."""

from ..ops.language import abs as absolute
from ..ops.language import arange, binomial, exp, lgamma, log1p
from . import constraints
from .bernoulli import expand_param, listed, one_of
from .distribution import _NO_DIMS, Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Binomial"]


class Binomial(Distribution):
    """The successes of `total_count` trials, each with a probability, given as `probs` or `logits`.

    >>> import adjoint as torch
    >>> torch.distributions.Binomial(2, torch.tensor([0.5])).log_prob(torch.tensor([1.0]))
    tensor([-0.6931])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            total_count, self.probs = broadcast_all(total_count, probs)
            self._param = self.probs
        else:
            total_count, self.logits = broadcast_all(total_count, logits)
            self._param = self.logits
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expand_param(self, Binomial, _instance, batch_shape, total_count=0)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

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

    def sample(self, sample_shape=_NO_DIMS):
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.detach().expand(shape), self.probs.detach().expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        # n log(1 + exp(logits)) without overflow. max(x, 0) as this sum, whose gradient at 0 is 1/2.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        return value * logits + ways - n * positive - n * log1p(exp(-absolute(logits)))

    def entropy(self):
        self._same_total_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _same_total_count(self, method):
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return total_count

    def enumerate_support(self, expand=True):
        total_count = self._same_total_count("enumerate_support")
        values = arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        return listed(values, self._batch_shape, expand)
