"""Random correlation matrices, by their Cholesky factors."""

import math

from ..autograd.grad_mode import no_grad
from ..ops.language import arange, diag_embed, lgamma, mvlgamma, randn
from . import constraints
from .beta import Beta
from .distribution import _NO_DIMS, Distribution
from .utils import TINY, Size, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices whose density is det^(concentration - 1) (Lewandowski, Kurowicka and
    Joe, 2009, by their onion method).

    >>> import adjoint as torch
    >>> torch.distributions.LKJCholesky(3, 1.0).log_prob(torch.eye(3))
    tensor(-1.5963)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)
        # The squared length of what is off the diagonal, row by row.
        offset = arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1
        offset = offset.clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape=_NO_DIMS):
        with no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = randn(shape, dtype=y.dtype, device=y.device).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)  # the first row has no length
            w = y.sqrt() * directions
            rest = (1 - (w**2).sum(-1)).clamp(min=TINY[w.dtype])
            return w + diag_embed(rest.sqrt())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        powers = arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - powers
        density = (powers * diagonal.log()).sum(-1)
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        norm = 0.5 * rest * math.log(math.pi) + mvlgamma(alpha - 0.5, rest) - lgamma(alpha) * rest
        return density - norm
