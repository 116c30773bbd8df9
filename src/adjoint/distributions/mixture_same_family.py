"""Mixtures of distributions of one family."""

from ..autograd.grad_mode import no_grad
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import _NO_DIMS, Distribution
from .utils import Size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component, chosen by a Categorical, of a distribution whose last batch dimension lists the components.

    >>> import adjoint as torch
    >>> from adjoint.distributions import Categorical, MixtureSameFamily, Normal
    >>> d = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> d.mean, d.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: dict = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical; got "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution; got "
                f"{type(component_distribution).__name__}"
            )
        mixtures, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixtures), reversed(components), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                    f"`component_distribution.batch_shape`({components})"
                )
        count, size = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count is not None and size is not None and count != size:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({size})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(components, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    @property
    def mean(self):
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (probs * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self):
        # The law of total variance.
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        components, dim = self.component_distribution, -1 - self._event_ndims
        inside = (probs * components.variance).sum(dim)
        between = (probs * (components.mean - self._pad(self.mean)).pow(2)).sum(dim)
        return inside + between

    def cdf(self, x):
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        inside = self.component_distribution.log_prob(self._pad(x))
        return (inside + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=_NO_DIMS):
        with no_grad():
            where = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(drawn.shape[:where] + (1,) + self.event_shape)
            return drawn.gather(where, index).squeeze(where)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """Probabilities with dimensions for the batch of components and for events."""
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
