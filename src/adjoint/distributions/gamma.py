"""The gamma distribution."""

from ..ops.language import _gamma_log_density, _standard_gamma, as_tensor, digamma, igamma, lgamma, log
from . import constraints
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import TINY, broadcast_all

__all__ = ["Gamma"]


def gamma_numbers(concentration, rate):
    """A draw for each element."""
    value = _standard_gamma(concentration) / rate
    value.detach().clamp_(min=TINY[value.dtype])  # not to be seen by gradients
    return value


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration`, its scale 1 / `rate`.

    >>> import adjoint as torch
    >>> torch.distributions.Gamma(1.0, 2.0).log_prob(torch.tensor(0.0))
    tensor(0.6931)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Gamma, _instance, batch_shape, {"concentration": 0, "rate": 0})

    def rsample(self, sample_shape=_NO_DIMS):
        concentration = self.concentration
        if sample_shape:
            concentration = concentration.expand(self._extended_shape(sample_shape))
        return gamma_numbers(concentration, self.rate)

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return _gamma_log_density(value, self.concentration, self.rate)

    def entropy(self):
        c = self.concentration
        return c - log(self.rate) + lgamma(c) + (1.0 - c) * digamma(c)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return igamma(self.concentration, self.rate * value)

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return lgamma(x + 1) + (x + 1) * log(-y.reciprocal())
