"""The beta distribution."""

from ..ops.language import _beta_log_density, _sample_dirichlet, digamma, lgamma, stack
from . import constraints
from .dirichlet import Dirichlet
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution on (0, 1), its density x^(concentration1 - 1) (1 - x)^(concentration0 - 1) normalized.

    >>> import adjoint as torch
    >>> torch.distributions.Beta(2.0, 2.0).log_prob(torch.tensor(0.5))
    tensor(0.4055)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self._a, self._b = broadcast_all(concentration1, concentration0)
        super().__init__(self._a.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Beta, _instance, batch_shape, {"_a": 0, "_b": 0})

    @property
    def concentration1(self):
        """The power of x, plus 1."""
        return self._a

    @property
    def concentration0(self):
        """The power of 1 - x, plus 1."""
        return self._b

    @property
    def _both(self):
        return stack([self._a, self._b], -1)

    @property
    def mean(self):
        return self._a / (self._a + self._b)

    @property
    def mode(self):
        return Dirichlet(self._both, validate_args=False).mode[..., 0]

    @property
    def variance(self):
        total = self._a + self._b
        return self._a * self._b / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=_NO_DIMS):
        both = self._both
        if sample_shape:
            both = both.expand((*self._extended_shape(sample_shape), 2))
        return _sample_dirichlet(both).select(-1, 0)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _beta_log_density(value, self._a, self._b)

    def entropy(self):
        a, b = self._a, self._b
        total = a + b
        means = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (total - 2) * digamma(total)
        return lgamma(a) + lgamma(b) - lgamma(total) - means

    @property
    def _natural_params(self):
        return self._a, self._b

    def _log_normalizer(self, x, y):
        return lgamma(x) + lgamma(y) - lgamma(x + y)
