"""The Bernoulli distribution."""

from ..ops.language import _bernoulli_log_density, arange, bernoulli, binary_cross_entropy_with_logits
from . import constraints
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Bernoulli"]


def one_of(probs, logits):
    """Refuses both or none of two ways to say the same."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Bernoulli(ExponentialFamily):
    """1 with a probability, given as `probs` or as `logits`, else 0.

    >>> import adjoint as torch
    >>> torch.distributions.Bernoulli(torch.tensor([0.25])).log_prob(torch.tensor([1.0]))
    tensor([-1.3863])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            self._param = self.probs
        else:
            (self.logits,) = broadcast_all(logits)
            self._param = self.logits
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expand_param(self, Bernoulli, _instance, batch_shape)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    def sample(self, sample_shape=_NO_DIMS):
        probs = self.probs.detach()
        return bernoulli(probs.expand(self._extended_shape(sample_shape)) if sample_shape else probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _bernoulli_log_density(value, self.logits)

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return listed(arange(2, dtype=self._param.dtype, device=self._param.device), self._batch_shape, expand)

    @property
    def _natural_params(self):
        return (self.probs.logit(),)

    def _log_normalizer(self, x):
        return x.exp().log1p()


def expand_param(self, cls, _instance, batch_shape, event_dim=0, **others):
    """The expanded instance of a distribution whose parameter is `probs` or `logits`, `_param` either of them."""
    new = self._expanded(cls, _instance, batch_shape, {"probs": event_dim, "logits": event_dim, **others})
    new._param = new.__dict__["probs" if self._param is self.__dict__.get("probs") else "logits"]
    return new


def listed(values, batch_shape, expand):
    """Values along a new first dimension before those of a batch."""
    values = values.view((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values
