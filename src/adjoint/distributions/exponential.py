"""The exponential distribution."""

from ..ops.language import _exponential_log_density, exp, log, log1p, zeros_like
from . import constraints
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The times between events that come with a `rate`.

    >>> import adjoint as torch
    >>> torch.distributions.Exponential(2.0).log_prob(torch.tensor(1.0))
    tensor(-1.3069)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate.reciprocal()

    @property
    def mode(self):
        return zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        return self.rate.pow(-2)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Exponential, _instance, batch_shape, {"rate": 0})

    def rsample(self, sample_shape=_NO_DIMS):
        rate = self.rate
        return rate.new_empty(self._extended_shape(sample_shape)).exponential_() / rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _exponential_log_density(value, self.rate)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 1 - exp(-self.rate * value)

    def icdf(self, value):
        return -log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - log(self.rate)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -log(-x)
