"""Distributions of transformed draws."""

from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import Size, _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of draws of `base_distribution`, sent through transforms one after the other.

    >>> import adjoint as torch
    >>> from adjoint.distributions import ExpTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = _as_list(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = len(base_distribution.event_shape)
        whole = self.transforms[0] if len(self.transforms) == 1 else ComposeTransform(self.transforms)
        inside, outside = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < inside:
            raise ValueError(f"base_distribution needs to have shape with size at least {inside}, but got {shape}.")
        forward = whole.forward_shape(shape)
        expanded = whole.inverse_shape(forward)
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - event_dim])
        missing = inside - event_dim
        self.base_dist = Independent(base_distribution, missing) if missing > 0 else base_distribution
        # Dimensions of events of the base that the transforms leave alone stay dimensions of events.
        event_dim = outside + max(event_dim - inside, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = Size(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def sample(self, sample_shape=_NO_DIMS):
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape=_NO_DIMS):
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        result = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result = result - _sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        return result + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """cdf(x) of the base as that of the transformed: 1 - cdf(x) where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        value = self.base_dist.icdf(self._monotonize_cdf(value))
        for transform in self.transforms:
            value = transform(value)
        return value


def _as_list(transforms):
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
