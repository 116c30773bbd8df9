"""The normal distribution."""

import math

from ..ops.language import _normal_log_density, addcmul, erf, erfinv, log, normal, randn
from . import constraints
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Normal"]

_LOG_TWO_PI = math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> import adjoint as torch
    >>> d = torch.distributions.Normal(torch.tensor([0.0, 1.0]), 2.0)
    >>> d.log_prob(torch.tensor([0.0, 1.0]))
    tensor([-1.6121, -1.6121])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale.pow(2)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Normal, _instance, batch_shape, {"loc": 0, "scale": 0})

    def sample(self, sample_shape=_NO_DIMS):
        loc, scale = self.loc.detach(), self.scale.detach()
        if sample_shape:
            loc = loc.expand(self._extended_shape(sample_shape))
        return normal(loc, scale)

    def rsample(self, sample_shape=_NO_DIMS):
        loc = self.loc
        eps = randn(self._extended_shape(sample_shape), dtype=loc.dtype, device=loc.device)
        return addcmul(loc, eps, self.scale)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _normal_log_density(value, self.loc, self.scale)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * _LOG_TWO_PI + log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * log(-math.pi / y)
