"""The Kumaraswamy distribution."""

import math

from ..ops.language import digamma, full_like, lgamma, log
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a, b, n):
    """The expectation of x^n."""
    part = 1 + n / a
    return b * (lgamma(part) + lgamma(b) - lgamma(part + b)).exp()


class Kumaraswamy(TransformedDistribution):
    """A relative of the beta distribution on (0, 1) with the simple cdf 1 - (1 - x^concentration1)^concentration0.

    >>> import adjoint as torch
    >>> torch.distributions.Kumaraswamy(torch.tensor([1.0]), torch.tensor([1.0])).cdf(torch.tensor([0.3]))
    tensor([0.3000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            full_like(self.concentration0, 0), full_like(self.concentration0, 1), validate_args=validate_args
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self):
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        # ((a - 1) / (a b - 1)) ** (1 / a)
        log_mode = a.reciprocal() * ((-1 / a).log1p() - (-1 / (a * b)).log1p() - b.log())
        log_mode[(a < 1) | (b < 1)] = math.nan
        return log_mode.exp()

    @property
    def variance(self):
        return _moments(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - log(a) - log(b)
