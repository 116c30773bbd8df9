"""The Wishart distribution."""

import math
import warnings

from ..ops.checks import holds
from ..ops.language import (
    arange,
    as_tensor,
    broadcast_shapes,
    cholesky_inverse,
    cholesky_solve,
    diag_embed,
    digamma,
    linalg_cholesky,
    linalg_slogdet,
    mvlgamma,
    randn,
    tril_indices,
)
from . import constraints
from .chi2 import Chi2
from .distribution import _NO_DIMS
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril, given_matrix, half_log_det
from .utils import EPS, Size, Tensor, lazy_property

__all__ = ["Wishart"]

_TRIES = 10  # to draw a matrix that is not singular to the precision of its type


def _mvdigamma(x, p):
    """The derivative of mvlgamma."""
    return digamma(x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


def _clamp_above_eps(x):
    """Chi-squared numbers, kept off 0."""
    return x.clamp(min=EPS[x.dtype])


class Wishart(ExponentialFamily):
    """The sums of outer products of `df` normal vectors: positive definite matrices. The covariance of the vectors is
    given by one of `covariance_matrix`, `precision_matrix` and `scale_tril`.

    >>> import adjoint as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril, AssertionError)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if not isinstance(df, Tensor):
            df = as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = broadcast_shapes(df.shape, matrix.shape[:-2])
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        if not holds(self.df > event_shape[-1] - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + event_shape))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if not holds(self.df >= event_shape[-1]):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._dist_chi2 = self._diagonal()

    def _diagonal(self):
        """The squares on the diagonal of Bartlett's factor."""
        fewer = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - fewer.expand(self._batch_shape + (-1,)), validate_args=False)

    def expand(self, batch_shape, _instance=None):
        parts = {"df": 0, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
        new = self._expanded(Wishart, _instance, batch_shape, parts)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._dist_chi2 = new._diagonal()
        return new

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariance of the vectors."""
        tril = self._unbroadcasted_scale_tril
        return (tril @ tril.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._batch_shape + self._event_shape)

    @property
    def mean(self):
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (covariance.pow(2) + products)

    def _bartlett_noise(self, sample_shape):
        """Bartlett's factor of a Wishart matrix whose vectors have the covariance I."""
        size = self._event_shape[-1]
        factor = diag_embed(_clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()))
        row, column = tril_indices(size, size, offset=-1)
        shape = Size(sample_shape) + self._batch_shape + (size * (size - 1) // 2,)
        factor[..., row, column] = randn(shape, dtype=self.df.dtype, device=self.df.device)
        return factor

    def _bartlett_sampling(self, sample_shape=_NO_DIMS):
        root = self._unbroadcasted_scale_tril @ self._bartlett_noise(sample_shape)
        return root @ root.mT

    def rsample(self, sample_shape=_NO_DIMS, max_try_correction=None):
        self._bartlett_noise(sample_shape)  # torch draws twice and returns the second: so does the same seed here
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(_TRIES if max_try_correction is None else max_try_correction):
            singular = ~self.support.check(sample)
            if self._batch_shape:
                singular = singular.flatten(len(sample_shape)).any(-1)
            if holds(~singular):
                break
            sample[singular] = self._bartlett_sampling(singular[singular].shape)
        return sample

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        return (
            -nu * (p * math.log(2) / 2 + half_log_det(tril))
            - mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * linalg_slogdet(value).logabsdet
            - cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        log_det = half_log_det(self._unbroadcasted_scale_tril)
        return (
            (p + 1) * (p * math.log(2) / 2 + log_det)
            + mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        p = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - p - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        return (y + (p + 1) / 2) * (-linalg_slogdet(-2 * x).logabsdet + math.log(2) * p) + mvlgamma(y + (p + 1) / 2, p)
