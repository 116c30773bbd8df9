"""The uniform distribution."""

import math

from ..ops.language import _uniform_log_density, log, rand
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import Tensor, broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers from [low, high), all as likely.

    >>> import adjoint as torch
    >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return math.nan * self.high

    @property
    def stddev(self):
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Uniform, _instance, batch_shape, {"low": 0, "high": 0})

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape=_NO_DIMS):
        low = self.low
        u = rand(self._extended_shape(sample_shape), dtype=low.dtype, device=low.device)
        return low + u * (self.high - low)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        if isinstance(value, Tensor):
            value = value.detach()  # whether it is inside has no gradient
        return _uniform_log_density(value, self.low, self.high)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return log(self.high - self.low)
