"""The multivariate normal distribution."""

import math

from ..ops.language import (
    broadcast_shapes,
    cholesky_inverse,
    eye,
    linalg_cholesky,
    linalg_solve_triangular,
    linear,
    matmul,
    mv,
    randn,
)
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Matrices times vectors, their batches broadcast."""
    if bmat.dim() == 2:
        return mv(bmat, bvec) if bvec.dim() == 1 else linear(bvec, bmat)
    if bvec.numel() * bmat.shape[-2] < 1000:  # where matmul() would spend most of its time on shapes
        return (bmat * bvec.unsqueeze(-2)).sum(-1)
    return matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """The squared lengths of L^-1 x, for batches of lower triangular L and of x that broadcast."""
    n = bx.shape[-1]
    batch = bL.shape[:-2]
    if batch.numel() == 1:  # one matrix for all vectors
        columns = bx.reshape(-1, n).mT
        lengths = linalg_solve_triangular(bL.reshape(n, n), columns, upper=False).pow(2).sum(0)
        return lengths.reshape(broadcast_shapes(batch, bx.shape[:-1]))
    if bx.shape[:-1][-len(batch) :] == batch:  # all vectors of a matrix are columns of one right-hand side
        columns = bx.reshape((-1,) + batch + (n,)).movedim(0, -1)
        lengths = linalg_solve_triangular(bL, columns, upper=False).pow(2).sum(-2)
        return lengths.movedim(-1, 0).reshape(bx.shape[:-1])
    solved = linalg_solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(P):
    """The Cholesky factor of the inverse: that of P from its last row and column on is an upper triangular factor."""
    upper = linalg_cholesky(P.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return linalg_solve_triangular(upper, identity, upper=False)


def half_log_det(tril):
    """The sums of the logarithms of the diagonals."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def given_matrix(covariance_matrix, precision_matrix, scale_tril, error):
    """Which of three ways to give a matrix was taken: its name and the matrix."""
    matrices = {
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
        "scale_tril": scale_tril,
    }
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc`, and one of `covariance_matrix`, its inverse
    `precision_matrix` and its lower Cholesky factor `scale_tril`.

    >>> import adjoint as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril, ValueError)
        if matrix.dim() < 2:
            spelled = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{spelled} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + loc.shape[-1:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape, _instance=None):
        matrices = {"covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
        new = self._expanded(MultivariateNormal, _instance, batch_shape, {"loc": 1, **matrices})
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariances of the elements."""
        tril = self._unbroadcasted_scale_tril
        return matmul(tril, tril.mT).expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        inverse = cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=_NO_DIMS):
        loc = self.loc
        eps = randn(self._extended_shape(sample_shape), dtype=loc.dtype, device=loc.device)
        return loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(tril)

    def entropy(self):
        size = self._event_shape[0]
        value = 0.5 * size * (1.0 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return value if not self._batch_shape else value.expand(self._batch_shape)
