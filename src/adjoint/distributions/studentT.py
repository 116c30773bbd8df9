"""Student's t-distribution."""

import math

from ..ops.language import _student_t_log_density, digamma, lgamma, randn, rsqrt
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .gamma import gamma_numbers
from .utils import broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale * x / sqrt(y / df) of a standard normal x and a chi-squared y of `df` degrees of freedom.

    >>> import adjoint as torch
    >>> torch.distributions.StudentT(1.0).log_prob(torch.tensor(0.0))
    tensor(-1.1447)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        mean = self.loc.clone()
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self.df.clone()
        many = self.df > 2
        variance[many] = self.scale[many].pow(2) * self.df[many] / (self.df[many] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def expand(self, batch_shape, _instance=None):
        return self._expanded(StudentT, _instance, batch_shape, {"df": 0, "loc": 0, "scale": 0})

    def rsample(self, sample_shape=_NO_DIMS):
        df = self.df
        half = 0.5 * df
        if sample_shape:
            half = half.expand(self._extended_shape(sample_shape))
        x = randn(half.shape, dtype=df.dtype, device=df.device)
        return self.loc + self.scale * (x * rsqrt(gamma_numbers(half, 0.5) / df))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _student_t_log_density(value, self.df, self.loc, self.scale)

    def entropy(self):
        df = self.df
        half, more = 0.5 * df, 0.5 * (df + 1)
        log_beta = lgamma(half) + math.lgamma(0.5) - lgamma(more)
        return self.scale.log() + more * (digamma(more) - digamma(half)) + 0.5 * df.log() + log_beta
