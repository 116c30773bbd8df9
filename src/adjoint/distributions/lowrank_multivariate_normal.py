"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

import math

from ..ops.language import (
    broadcast_shapes,
    diag_embed,
    eye,
    linalg_cholesky,
    linalg_solve_triangular,
    matmul,
    randn,
)
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_det
from .utils import lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of I + W^T D^-1 W, the small matrix by which the large one is inverted."""
    rank = W.size(-1)
    return linalg_cholesky(matmul(W.mT / D.unsqueeze(-2), W) + eye(rank, dtype=W.dtype, device=W.device))


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """log det(W W^T + diag D), by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """x^T (W W^T + diag D)^-1 x, by Woodbury's formula."""
    scaled = W.mT / D.unsqueeze(-2)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(scaled, x))


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` and covariance cov_factor cov_factor^T + diag(cov_diag).

    >>> import adjoint as torch
    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + event_shape + cov_factor.shape[-1:])
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape, _instance=None):
        parts = {"loc": 1, "cov_diag": 1, "cov_factor": 2}
        new = self._expanded(LowRankMultivariateNormal, _instance, batch_shape, parts)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand(self._batch_shape + self._event_shape)

    @property
    def _square_shape(self):
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = matmul(scaled, scaled.mT) + eye(scaled.shape[-2], dtype=scaled.dtype, device=scaled.device)
        return (root * linalg_cholesky(inner)).expand(self._square_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariances of the elements."""
        factor = self._unbroadcasted_cov_factor
        covariance = matmul(factor, factor.mT) + diag_embed(self._unbroadcasted_cov_diag)
        return covariance.expand(self._square_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by Woodbury's formula."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = linalg_solve_triangular(self._capacitance_tril, scaled, upper=False)
        precision = diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - solved.mT @ solved
        return precision.expand(self._square_shape)

    def rsample(self, sample_shape=_NO_DIMS):
        loc, factor = self.loc, self._unbroadcasted_cov_factor
        shape = self._extended_shape(sample_shape)
        few = randn(shape[:-1] + factor.shape[-1:], dtype=loc.dtype, device=loc.device)
        each = randn(shape, dtype=loc.dtype, device=loc.device)
        return loc + _batch_mv(factor, few) + self._unbroadcasted_cov_diag.sqrt() * each

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        factor, diagonal, tril = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _batch_lowrank_mahalanobis(factor, diagonal, value - self.loc, tril)
        log_det = _batch_lowrank_logdet(factor, diagonal, tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )
        value = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return value if not self._batch_shape else value.expand(self._batch_shape)
