"""The F-distribution."""

import math

from ..ops.language import lgamma, log, log1p
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .gamma import Gamma
from .utils import TINY, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers of `df1` and `df2` degrees of freedom, each divided by these.

    >>> import adjoint as torch
    >>> torch.distributions.FisherSnedecor(torch.tensor([1.0]), torch.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(FisherSnedecor, _instance, batch_shape, {"df1": 0, "df2": 0})

    @property
    def mean(self):
        df2 = self.df2.clone()
        df2[df2 <= 2] = math.nan
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self):
        df2 = self.df2.clone()
        df2[df2 <= 4] = math.nan
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=_NO_DIMS):
        halves = [df * 0.5 for df in (self.df1, self.df2)]
        above, below = (Gamma(half, half, validate_args=False).rsample(sample_shape) for half in halves)
        tiny = TINY[below.dtype]
        below.detach().clamp_(min=tiny)  # not to be seen by gradients
        value = above / below
        value.detach().clamp_(min=tiny)
        return value

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = lgamma(half1 + half2) - lgamma(half1) - lgamma(half2)
        power = half1 * log(ratio) + (half1 - 1) * log(value)
        return norm + power - (half1 + half2) * log1p(ratio * value)
