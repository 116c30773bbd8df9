"""The categorical distribution."""

import math

from .. import _C
from .._type_info import finfo
from ..ops.language import arange, broadcast_tensors, empty_like, full, gather, multinomial
from ..ops.sampling import draw_rows
from . import constraints
from .bernoulli import expand_param, listed, one_of
from .distribution import _NO_DIMS, Distribution
from .utils import Size, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """One of the integers from 0 on, with `probs` (normalized to sum to 1) or `logits` along the last dimension.

    >>> import adjoint as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(0))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = self._param = logits - logits.logsumexp(-1, keepdim=True)
        shape = self._param.shape
        self._num_events = shape[-1]
        super().__init__(shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = expand_param(self, Categorical, _instance, batch_shape, event_dim=1)
        new._num_events = self._num_events
        return new

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits)

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    @property
    def mean(self):
        return self._undefined()

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        return self._undefined()

    def _undefined(self):
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape=_NO_DIMS):
        probs = self.probs.detach()
        if not sample_shape and self._validate_args and not _C._open_levels():
            # What multinomial() does for one draw; what it would check has been checked.
            return (probs / empty_like(probs).exponential_()).argmax(-1)
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        count = sample_shape.numel()
        checked = count > 1 and self._validate_args and not _C._open_levels()
        if checked and probs.dim() == 1:
            return draw_rows(probs, count).reshape(sample_shape)
        probs = probs.reshape(-1, self._num_events)
        drawn = draw_rows(probs, count) if checked else multinomial(probs, count, True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value = value.to(_C.int64).unsqueeze(-1)
        logits = self.logits
        if value.shape[:-1] != self._batch_shape:
            value, logits = broadcast_tensors(value, logits)
            value = value[..., :1]
        return gather(logits, -1, value).squeeze(-1)

    def entropy(self):
        logits = self.logits
        return -(logits.clamp(min=finfo(logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = arange(self._num_events, dtype=_C.int64, device=self._param.device)
        return listed(values, self._batch_shape, expand)
