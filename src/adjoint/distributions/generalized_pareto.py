"""The generalized Pareto distribution."""

import math

from ..ops.language import expm1, full_like, isclose, log, log1p, ones_like, rand, where, zeros_like
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What lies beyond a threshold `loc`: exponential numbers where `concentration` is 0, with heavy tails above it and
    an upper bound below it.

    >>> import adjoint as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 2.0, 0.5).mean
    tensor(4.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        names = {"loc": 0, "scale": 0, "concentration": 0}
        return self._expanded(GeneralizedPareto, _instance, batch_shape, names)

    def rsample(self, sample_shape=_NO_DIMS):
        loc = self.loc
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=loc.dtype, device=loc.device))

    @property
    def _flat(self):
        """Where the concentration is 0, and the concentration with 1 there, to divide by."""
        is_zero = isclose(self.concentration, zeros_like(self.concentration))
        return is_zero, where(is_zero, ones_like(self.concentration), self.concentration)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, c = self._flat
        power = 1 / c + 1
        decay = where(power == 0, power, power * log1p(c * z))
        return -log(self.scale) - where(is_zero, z, decay)

    def log_survival_function(self, value):
        """The logarithm of the probability of larger draws."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, c = self._flat
        return -where(is_zero, z, log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of cdf()."""
        if self._validate_args:
            self._validate_sample(value)
        return log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        is_zero, c = self._flat
        waited = log1p(-value)
        return self.loc + self.scale * where(is_zero, -waited, expm1(-c * waited) / c)

    def _z(self, x):
        return (x - self.loc) / self.scale

    @property
    def mean(self):
        c = self.concentration
        return where(c < 1, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self):
        c = self.concentration
        return where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self):
        return log(self.scale) + self.concentration + 1

    @property
    def mode(self):
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        c = self.concentration
        upper = where(c < 0, self.loc - self.scale / c, full_like(c, math.inf))
        return constraints.interval(self.loc, upper)
