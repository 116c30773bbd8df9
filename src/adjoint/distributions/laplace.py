"""The Laplace distribution."""

from ..ops.language import _laplace_log_density, expm1, log, log1p
from ..ops.language import abs as absolute
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import EPS, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Two exponential distributions back to back, around `loc`.

    >>> import adjoint as torch
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(-1.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

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
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return (2**0.5) * self.scale

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Laplace, _instance, batch_shape, {"loc": 0, "scale": 0})

    def rsample(self, sample_shape=_NO_DIMS):
        loc = self.loc
        u = loc.new_empty(self._extended_shape(sample_shape)).uniform_(EPS[loc.dtype] - 1, 1)
        return loc - self.scale * u.sign() * log1p(-absolute(u))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _laplace_log_density(value, self.loc, self.scale)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * expm1(-absolute(distance) / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * log1p(-2 * absolute(term))

    def entropy(self):
        return 1 + log(2 * self.scale)
