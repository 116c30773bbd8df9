"""Transforms of vectors and matrices."""

import math

from ...ops.language import arange, diag_embed, eye, linalg_cholesky, logsigmoid, pad, softplus
from .. import constraints
from ..utils import EPS, TINY, tril_matrix_to_vec, vec_to_tril_matrix
from .base import Transform
from .elementwise import _clipped_sigmoid


def _check_dims(shape, least):
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


def _shifted(x):
    """The elements of each row one place further, after a 1."""
    return pad(x[..., :-1], [1, 0], value=1)


class CorrCholeskyTransform(Transform):
    """Any vector of D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix.

    The numbers, by tanh partial correlations, are the strict lower triangle; each row then gets the length 1.

    >>> import adjoint as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = x.tanh()
        eps = EPS[x.dtype]
        r = vec_to_tril_matrix(x.clamp(-1 + eps, 1 - eps), diag=-1)
        rest = (1 - r**2).sqrt().cumprod(-1)
        return (r + eye(r.shape[-1], dtype=r.dtype, device=r.device)) * _shifted(rest)

    def _inverse(self, y):
        rest = _shifted(1 - (y * y).cumsum(-1))
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * rest.log().sum(-1) + tanh

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape):
        _check_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        return shape[:-2] + (size * (size - 1) // 2,)


class SoftmaxTransform(Transform):
    """y = softmax(x), whose inverse is log(y) up to a constant.

    >>> import adjoint as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other):
        return isinstance(other, SoftmaxTransform)

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        return shape

    def inverse_shape(self, shape):
        _check_dims(shape, 1)
        return shape


class StickBreakingTransform(Transform):
    """Any vector to a point of the simplex with one element more: each number breaks a share off the rest.

    >>> import adjoint as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other):
        return isinstance(other, StickBreakingTransform)

    def _call(self, x):
        z = _clipped_sigmoid(x - _log_pieces(x))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y):
        broken = y[..., :-1]
        rest = (1 - broken.cumsum(-1)).clamp(min=TINY[y.dtype])
        return broken.log() - rest.log() + _log_pieces(broken)

    def log_abs_det_jacobian(self, x, y):
        x = x - _log_pieces(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        _check_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


def _log_pieces(x):
    """The logarithms of how many pieces are left after each break: so 0 breaks into equal ones."""
    return arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()


class LowerCholeskyTransform(Transform):
    """The lower triangle of any matrix, its diagonal made positive by exp.

    >>> import adjoint as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    def _call(self, x):
        return x.tril(-1) + diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """Any matrix to a positive definite one, by its Cholesky factor.

    >>> import adjoint as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(linalg_cholesky(y))
