"""Transforms of numbers."""

import math

from ...ops.language import abs as absolute
from ...ops.language import broadcast_shapes, full_like, log, sigmoid, softplus
from .. import constraints
from ..utils import EPS, TINY, Tensor, _sum_rightmost, broadcast_all, is_number, lazy_property
from .base import Transform


class ExpTransform(Transform):
    """y = exp(x).

    >>> import adjoint as torch
    >>> torch.distributions.ExpTransform()(torch.tensor([0.0]))
    tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def __eq__(self, other):
        return isinstance(other, ExpTransform)

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    >>> import adjoint as torch
    >>> torch.distributions.PowerTransform(2.0)(torch.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)


def _clipped_sigmoid(x):
    """sigmoid(x), kept off 0 and 1."""
    return sigmoid(x).clamp(TINY[x.dtype], 1.0 - EPS[x.dtype])


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), never quite 0 or 1.

    >>> import adjoint as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0]))
    tensor([0.5000])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def __eq__(self, other):
        return isinstance(other, SigmoidTransform)

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = y.clamp(TINY[y.dtype], 1.0 - EPS[y.dtype])
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)).

    >>> import adjoint as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0]))
    tensor([0.6931])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def __eq__(self, other):
        return isinstance(other, SoftplusTransform)

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x).

    >>> import adjoint as torch
    >>> torch.distributions.TanhTransform()(torch.tensor([0.0]))
    tensor([0.])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()  # not clamped: the end points are at infinity, as mathematics has them

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; as its inverse, the number itself.

    >>> import adjoint as torch
    >>> torch.distributions.AbsTransform()(torch.tensor([-2.0]))
    tensor([2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x; `event_dim` dimensions of x are one value.

    >>> import adjoint as torch
    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([3.0]))
    tensor([7.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @property
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    @property
    def codomain(self):
        return self.domain

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    def __eq__(self, other):
        return (
            isinstance(other, AffineTransform)
            and _same_numbers(self.loc, other.loc)
            and _same_numbers(self.scale, other.scale)
        )

    @property
    def sign(self):
        if is_number(self.scale):
            return 1 if float(self.scale) > 0 else -1 if float(self.scale) < 0 else 0
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape = x.shape
        scale = self.scale
        result = full_like(x, math.log(abs(scale))) if is_number(scale) else log(absolute(scale))
        if self._event_dim:
            result = _sum_rightmost(result, self._event_dim)
            shape = shape[: -self._event_dim]
        return result.expand(shape)

    def forward_shape(self, shape):
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


def _same_numbers(a, b):
    """Whether parameters, numbers or tensors, have the same values."""
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else same


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution of numbers.

    >>> import adjoint as torch
    >>> d = torch.distributions.Normal(0.0, 1.0)
    >>> torch.distributions.CumulativeDistributionTransform(d)(torch.tensor([0.0]))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
