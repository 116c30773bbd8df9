"""The geometric distribution."""

from ..autograd.grad_mode import no_grad
from ..ops.checks import holds
from ..ops.language import binary_cross_entropy_with_logits, broadcast_tensors, rand, zeros_like
from . import constraints
from .bernoulli import one_of
from .distribution import _NO_DIMS, Distribution
from .utils import TINY, broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The failures before the first success, in trials with a probability, given as `probs` or `logits`.

    >>> import adjoint as torch
    >>> torch.distributions.Geometric(torch.tensor([0.5])).log_prob(torch.tensor([1.0]))
    tensor([-1.3863])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        param = self.probs if probs is not None else self.logits
        super().__init__(param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            valid = self.probs > 0
            if not holds(valid):
                raise ValueError(
                    f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to "
                    f"be positive but found invalid values:\n{self.probs[~valid]}"
                )

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Geometric, _instance, batch_shape, {"probs": 0, "logits": 0})

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape=_NO_DIMS):
        probs = self.probs
        with no_grad():
            u = rand(self._extended_shape(sample_shape), dtype=probs.dtype, device=probs.device)
            return (u.clamp_(min=TINY[probs.dtype]).log() / (-probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_tensors(value, self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0  # not 0 * log(0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
