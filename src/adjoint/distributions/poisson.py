"""The Poisson distribution."""

from ..ops.language import _poisson_log_density, exp, log, poisson
from . import constraints
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Counts of independent events, `rate` of which are expected.

    >>> import adjoint as torch
    >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Poisson, _instance, batch_shape, {"rate": 0})

    def sample(self, sample_shape=_NO_DIMS):
        rate = self.rate.detach()
        return poisson(rate.expand(self._extended_shape(sample_shape)) if sample_shape else rate)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _poisson_log_density(value, self.rate)

    @property
    def _natural_params(self):
        return (log(self.rate),)

    def _log_normalizer(self, x):
        return exp(x)
