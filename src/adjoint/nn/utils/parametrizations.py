"""Ready parametrizations: orthogonal matrices, weight norm and spectral norm."""

from ... import _C
from ... import linalg as _linalg
from ..._type_info import finfo
from ...autograd.grad_mode import no_grad
from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, check_iterations, named_tensor, random_directions, usual_dim
from .weight_norm import length_of, weight_of

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _reflectors(matrix):
    """The Householder reflectors of a matrix and their scales, of which the product is Q of its QR decomposition."""
    return _C.op_object("geqrf")(matrix)


def _orthogonalised(matrix):
    """The orthogonal factor of a matrix, the one that is nearest in sign."""
    factors, tau = _reflectors(matrix)
    return _linalg.householder_product(factors, tau) * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix):
    rows, columns = matrix.shape[-2:]
    identity = _C.eye(columns, dtype=matrix.dtype, device=matrix.device)
    bound = 10 * rows * finfo(matrix.dtype).eps
    return _C.op_object("allclose")(matrix.mH @ matrix, identity, atol=bound)


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where those are fewer.

    `base` is a fixed orthogonal matrix that the parametrized one multiplies: assignment sets it, and training starts
    from the identity.
    """

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        """The orthogonal matrix of a free one."""
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        if "base" in self._buffers:
            Q = self.base @ Q
        return Q.mT if wide else Q

    @staticmethod
    def _reflected(X):
        # A reflector of columns v with a one above them: I - tau v v', tau = 2 / |v|^2. The diagonal has the signs.
        below = X.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        return _linalg.householder_product(below, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def _rotated(self, X):
        # A function of a skew matrix: exp(A), or (I - A/2)^-1 (I + A/2).
        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = F.pad(X, (0, n - k))
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = _C.op_object("matrix_exp")(A)
        else:
            identity = _C.eye(n, dtype=A.dtype, device=A.device)
            Q = _linalg.solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :k] if n != k else Q

    def right_inverse(self, Q):
        """The free matrix of an orthogonal one; what is not orthogonal is made so."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given = Q
        wide = Q.size(-2) < Q.size(-1)
        Q = Q.mT if wide else Q
        n, k = Q.shape[-2:]
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            factors, tau = _reflectors(Q)
            signs = factors.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0] *= -1
            return factors.mT if wide else factors
        if n != k:
            rest = _C.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _orthogonalised(_C.op_object("cat")([Q, rest], -1))
        elif _is_orthogonal(Q):
            Q = Q.clone()
        else:
            Q = _orthogonalised(Q)
        self.base = Q
        start = given.new_zeros(given.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keeps a weight orthogonal (its columns, or rows where those are fewer, orthonormal) while it is trained.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = named_tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """A weight of a length and a direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        """The weight of a length and a direction."""
        return weight_of(weight_g, weight_v, self.dim)

    def right_inverse(self, weight):
        """(length, direction) of a weight."""
        return length_of(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Trains the length and the direction of a weight apart: original0 and original1 of its parametrization.

    >>> import adjoint as torch
    >>> list(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)).state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict, prefix, *_):
        """States of nn.utils.weight_norm fit as well."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    """A weight over its greatest singular value, whose vectors are followed by power iteration while training."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        check_iterations(n_power_iterations)
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u, v = random_directions(matrix, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self._power_method(matrix, 15)

    def _power_method(self, matrix, count):
        with no_grad():
            for _ in range(count):
                F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        """The weight over its greatest singular value."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # those of the module change at the next call
        return weight / _C.op_object("vdot")(u, matrix.mv(v))

    def right_inverse(self, value):
        """The value itself, as if it had a norm of one."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its greatest singular value whenever it is read.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> abs(torch.linalg.matrix_norm(layer.weight, 2).item() - 1) < 0.1
    True
    """
    weight = named_tensor(module, name)
    dim = usual_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
