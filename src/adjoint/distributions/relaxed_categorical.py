"""The relaxed one-hot categorical distribution."""

from ..ops.language import full_like, rand
from . import constraints
from .categorical import Categorical
from .distribution import _NO_DIMS, Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import Size, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of relaxed one-hot vectors, for a `temperature` and `probs` or `logits`.

    >>> import adjoint as torch
    >>> from adjoint.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # of those, the vectors whose exponentials sum to 1
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        batch_shape = self._categorical.batch_shape
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        batch_shape = Size(batch_shape)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def logits(self):
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self):
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape=_NO_DIMS):
        logits = self.logits
        uniforms = clamp_probs(rand(self._extended_shape(sample_shape), dtype=logits.dtype, device=logits.device))
        scores = (logits - (-uniforms.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        size = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        scale = full_like(self.temperature, float(size)).lgamma() - self.temperature.log().mul(-(size - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex in the place of one-hot vectors, nearer to them the lower the `temperature`.

    >>> import adjoint as torch
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self):
        """How far from one-hot vectors the points are."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self):
        """The probabilities."""
        return self.base_dist.probs
