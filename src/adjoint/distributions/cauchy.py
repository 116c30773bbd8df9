"""The Cauchy distribution."""

import math

from ..ops.language import _cauchy_log_density, addcmul, atan, full, log, tan
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution with median `loc` and half width at half maximum `scale`; it has no mean.

    >>> import adjoint as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Cauchy, _instance, batch_shape, {"loc": 0, "scale": 0})

    @property
    def mean(self):
        return full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape=_NO_DIMS):
        loc = self.loc
        eps = loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return addcmul(loc, eps, self.scale)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _cauchy_log_density(value, self.loc, self.scale)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + log(self.scale)
