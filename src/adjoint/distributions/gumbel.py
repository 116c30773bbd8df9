"""The Gumbel distribution."""

import math

from ..ops.language import _gumbel_log_density, log
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import EPS, TINY, broadcast_all, euler_constant, is_number

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The distribution of maxima: loc - scale * log(-log(u)) of uniform u.

    >>> import adjoint as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        tiny, eps = TINY[self.loc.dtype], EPS[self.loc.dtype]
        if is_number(loc) and is_number(scale):
            base = Uniform(tiny, 1 - eps, validate_args=validate_args)
        else:
            low = self.loc.new_full(self.loc.shape, tiny)
            base = Uniform(low, self.loc.new_full(self.loc.shape, 1 - eps), validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-1),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc = self.loc.expand(batch_shape)
        new.scale = self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _gumbel_log_density(value, self.loc, self.scale)

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return log(self.scale) + (1 + euler_constant)
