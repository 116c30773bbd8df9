"""The multinomial distribution."""

from ..ops.language import lgamma, ones_like, scatter_add, tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import _NO_DIMS, Distribution
from .utils import Size, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of several outcomes comes up in `total_count` draws of a Categorical.

    >>> import adjoint as torch
    >>> torch.distributions.Multinomial(2, torch.tensor([1.0, 1.0])).log_prob(torch.tensor([1.0, 1.0]))
    tensor(-0.6931)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self._event_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def logits(self):
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self):
        """The probabilities of the outcomes."""
        return self._categorical.probs

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape=_NO_DIMS):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        if drawn.dim() > 1:
            drawn = drawn.permute(*range(1, drawn.dim()), 0)
        probs = self.probs
        counts = probs.new_zeros(self._extended_shape(sample_shape))
        return scatter_add(counts, -1, drawn, ones_like(drawn, dtype=probs.dtype))

    def entropy(self):
        n = tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probs = self._binomial.log_prob(support).exp()
        weights = lgamma(support + 1)
        return n * self._categorical.entropy() - lgamma(n + 1) + (probs * weights).sum((0, -1))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone()
        logits[(value == 0) & (logits == -float("inf"))] = 0  # not 0 * inf
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
