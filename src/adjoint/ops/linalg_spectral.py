"""Singular values, eigenvalues and the exponential of matrices. In the formulas ^H is the conjugate transpose."""

from .batching import all_values, is_recorded, matrices
from .checks import boolean
from .declaration import return_type
from .language import (
    _linalg_eig,
    _linalg_eigh,
    _linalg_svd,
    cat,
    composite,
    conj,
    linalg_matrix_exp,
    linalg_solve,
    op,
    where,
    zeros_like,
)
from .linalg_solve import identity_like, is_zero
from .out_words import castable

_LINALG = {"namespace": "linalg"}


# ---- Batch rules; see batching.py


def _with_vectors_batch(op, size, batched, A, *options):
    """The last option asks for the vectors, which gradients need; results that nobody asked for do no harm."""
    *options, vectors = options
    return matrices(op, size, batched, A, *options, vectors or is_recorded(A))


# ---- Both kinds of values


def _differences(values):
    """values[j] - values[i], with ones on the diagonal."""
    return values.unsqueeze(-2) - values.unsqueeze(-1) + identity_like(values)


def _check_phase(name, quantity, phase, size):
    """A loss of complex vectors must not depend on their phases, which are arbitrary."""
    if phase.numel() == 0 or phase.is_meta:
        return
    largest, scale = (all_values(values).detach().abs().max().item() for values in (phase, size))
    tolerance = 1e-2
    if largest > tolerance * max(1.0, scale):
        vectors = "singular vectors" if name == "svd_backward" else "eigenvectors"
        raise RuntimeError(
            f"{name}: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            f"specified loss function depends on this {quantity}"
        )


# ---- Singular values


def _svd_gradient(gU, gS, gVh, U, S, Vh, shape):
    """gA = U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + gS] V^H + what leaves the spaces of U and V.

    E[i, j] = S[j]^2 - S[i]^2, and skew(X) = X - X^H.
    """
    m, n = shape[-2:]
    k = S.shape[-1]
    if is_zero(gU) and is_zero(gVh):
        return (U[..., :k] * gS.unsqueeze(-2)) @ Vh[..., :k, :]
    U, Vh, gU, gVh = U[..., :k], Vh[..., :k, :], gU[..., :k], gVh[..., :k, :]
    left, right = U.mH @ gU, Vh @ gVh.mH
    if U.is_complex():
        phase = (left.diagonal(0, -2, -1) + right.diagonal(0, -2, -1)).imag
        _check_phase("svd_backward", "phase term, making it ill-defined.", phase, left)
    E = _differences(S * S)
    columns, rows = S.unsqueeze(-2), S.unsqueeze(-1)
    inner = (left - left.mH) / E * columns + rows * ((right - right.mH) / E)
    # On the diagonal the differences are 0: what stands there now is not wanted.
    diagonal = gS
    if U.is_complex():
        diagonal = gS + 1j * (left.diagonal(0, -2, -1).imag / S)
    ones = identity_like(S)
    inner = where(ones == 1, diagonal.unsqueeze(-1) * ones, inner)
    if m > k:
        beyond = gU - U @ left
        result = (U @ inner + beyond / columns) @ Vh
    else:
        result = U @ (inner @ Vh)
    if n > k:
        beyond = gVh - (right.mH @ Vh)
        result = result + U @ (beyond / rows)
    return result


def _svd_tangents(A, A_t, full_matrices, compute_uv, U, S, Vh):
    """With P = U^H dA V: dS = Re diag(P), and U^H dU = (P S + S P^H) / E and V^H dV = (S P + P^H S) / E.

    Beyond the space of U, dU is (I - U U^H) dA V / S, and dV is alike. Columns that A does not tell have no tangent.
    """
    if not compute_uv:
        U, S, Vh = _linalg_svd(A, False, True)
    k = S.shape[-1]
    U_k, Vh_k = U[..., :k], Vh[..., :k, :]
    right, left = A_t @ Vh_k.mH, U_k.mH @ A_t
    P = U_k.mH @ right
    dS = _real(P.diagonal(0, -2, -1))
    if not compute_uv:
        return None, dS, None
    E = _differences(S * S)
    columns, rows = S.unsqueeze(-2), S.unsqueeze(-1)
    ones = identity_like(S)
    diagonal = _imaginary(P) / (2 * columns) * ones
    dU = U_k @ where(ones == 1, diagonal, (P * columns + rows * P.mH) / E)
    dV = Vh_k.mH @ where(ones == 1, -diagonal, (rows * P + P.mH * columns) / E)
    if U.shape[-2] > k:
        dU = dU + (right - U_k @ P) / columns
    if Vh.shape[-1] > k:
        dV = dV + (left - P @ Vh_k).mH / columns
    return _with_zeros(dU, U, -1), dS, _with_zeros(dV.mH, Vh, -2)


def _real(tensor):
    return tensor.real if tensor.is_complex() else tensor


def _imaginary(tensor):
    """The imaginary part, as a number of the same type."""
    return 1j * tensor.imag if tensor.is_complex() else zeros_like(tensor)


def _with_zeros(tangent, whole, dim):
    missing = list(whole.shape)
    missing[dim] -= tangent.shape[dim]
    return cat([tangent, tangent.new_zeros(missing)], dim) if missing[dim] else tangent


op("_linalg_svd(A, full_matrices, compute_uv)", loop="linalg_svd_cpu",
   native="linalg_svd", outputs=("U", "S", "Vh"), public=False,
   node="LinalgSvdBackward0",
   A=lambda g_U, g_S, g_Vh, U, S, Vh, A_meta: _svd_gradient(g_U, g_S, g_Vh, U, S, Vh, A_meta.shape),
   jvp=_svd_tangents,
   batch=_with_vectors_batch)  # fmt: skip


@composite(**_LINALG, out="exact", autocast="float32")
def linalg_svd(A, full_matrices=True, *, driver=None):
    """The singular value decomposition A = U diag(S) Vh.

    >>> import adjoint as torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    _check_driver(A, driver)
    return return_type("linalg_svd")(_linalg_svd(A, full_matrices, True))


@composite(**_LINALG, out="exact", autocast="float32")
def linalg_svdvals(A, *, driver=None):
    """The singular values, in descending order."""
    _check_driver(A, driver)
    return _linalg_svd(A, False, is_recorded(A))[1]


def _check_driver(A, driver):
    """On a GPU a driver may be named, and Jacobi's method is what computes."""
    if driver is None:
        return
    if not A.is_cuda:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    if driver not in ("gesvd", "gesvdj", "gesvda"):
        raise RuntimeError(f"torch.linalg.svd: unknown svd driver {driver} in svd_cusolver computation")


@composite(out="exact", autocast="float32")
def svd(input, some=True, compute_uv=True):
    """The singular value decomposition as U, S and V; linalg.svd() is the newer form."""
    boolean("svd", some=some, compute_uv=compute_uv)
    if input.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions")
    if compute_uv:
        U, S, Vh = _linalg_svd(input, not some, True)
        V = Vh.mH
    else:
        m, n = input.shape[-2:]
        S = linalg_svdvals(input)
        U = input.new_zeros(*input.shape[:-2], m, m)
        V = input.new_zeros(*input.shape[:-2], n, n)
    return return_type("svd")((U, S, V))


# ---- Eigenvalues


def _eigh_gradient(gL, gV, L, V):
    """gA = V [skew(V^H gV) / 2 E + gL] V^H with E[i, j] = L[j] - L[i] and skew(X) = X - X^H."""
    if is_zero(gV):
        return (V * gL.unsqueeze(-2)) @ V.mH
    inner = V.mH @ gV
    if V.is_complex():
        phase = inner.diagonal(0, -2, -1).imag
        _check_phase("linalg_eigh_backward", "quantity, so it is ill-defined.", phase, inner)
    ones = identity_like(L)
    inner = where(ones == 1, gL.unsqueeze(-1) * ones, (inner - inner.mH) / (2 * _differences(L)))
    return V @ (inner @ V.mH)


def _eigh_tangents(A, A_t, UPLO, compute_v, eigenvalues, eigenvectors):
    """With P = V^H dA V: dL = Re diag(P), dV = V (P / E)."""
    if not compute_v:
        eigenvalues, eigenvectors = _linalg_eigh(A, UPLO, True)
    P = eigenvectors.mH @ A_t @ eigenvectors
    dL = _real(P.diagonal(0, -2, -1))
    if not compute_v:
        return dL, None
    return dL, eigenvectors @ where(identity_like(eigenvalues) == 1, 0, P / _differences(eigenvalues))


op("_linalg_eigh(A, UPLO, compute_v)", loop="linalg_eigh_cpu",
   native="linalg_eigh", outputs=("eigenvalues", "eigenvectors"), public=False,
   node="LinalgEighBackward0",
   A=lambda g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors:
       _eigh_gradient(g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors),
   jvp=_eigh_tangents,
   batch=_with_vectors_batch)  # fmt: skip


@composite(**_LINALG, out="exact", autocast="float32")
def linalg_eigh(A, UPLO="L"):
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix, of which one triangle is read.

    >>> import adjoint as torch
    >>> torch.linalg.eigh(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
    tensor([2., 3.])
    """
    return return_type("linalg_eigh")(_linalg_eigh(A, UPLO, True))


@composite(**_LINALG, out="exact", autocast="float32")
def linalg_eigvalsh(A, UPLO="L"):
    """The eigenvalues of a Hermitian matrix, ascending."""
    return _linalg_eigh(A, UPLO, is_recorded(A))[0]


def _eig_gradient(gL, gV, L, V):
    """gA = V^-H [gL + (V^H gV - V^H V Re diag(V^H gV)) / conj(E)] V^H with E[i, j] = L[j] - L[i]."""
    if is_zero(gV):
        return linalg_solve(V.mH, gL.unsqueeze(-1) * V.mH)
    inner = V.mH @ gV
    diagonal = inner.diagonal(0, -2, -1)
    _check_phase("linalg_eig_backward", "quantity, so it is ill-defined.", diagonal.imag, inner)
    inner = (inner - (V.mH @ V) * diagonal.real.unsqueeze(-2)) / conj(_differences(L))
    ones = identity_like(L)
    inner = where(ones == 1, gL.unsqueeze(-1) * ones, inner)
    return linalg_solve(V.mH, inner @ V.mH)


def _eig_tangents(A, A_t, compute_v, eigenvalues, eigenvectors):
    """With P = V^-1 dA V: dL = diag(P), dV = V (P / E), less what would change the lengths of the vectors."""
    if not compute_v:
        eigenvalues, eigenvectors = _linalg_eig(A, True)
    P = linalg_solve(eigenvectors, A_t.to(eigenvectors.dtype) @ eigenvectors)
    dL = P.diagonal(0, -2, -1)
    if not compute_v:
        return dL, None
    dV = eigenvectors @ where(identity_like(eigenvalues) == 1, 0, P / _differences(eigenvalues))
    lengthwise = (conj(eigenvectors) * dV).sum(-2, keepdim=True).real
    return dL, dV - eigenvectors * lengthwise


op("_linalg_eig(A, compute_v)", loop="linalg_eig_out_cpu",
   native="linalg_eig", outputs=("eigenvalues", "eigenvectors"), public=False,
   node="LinalgEigBackward0",
   A=lambda g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors:
       _eig_gradient(g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors),
   jvp=_eig_tangents,
   batch=_with_vectors_batch)  # fmt: skip


@composite(
    **_LINALG,
    out=True,
    out_words=(castable("torch.linalg.eig", "eigenvalues"), castable("torch.linalg.eig", "eigenvectors")),
    autocast="float32",
)
def linalg_eig(A):
    """The eigenvalues and eigenvectors of a square matrix, always complex.

    >>> import adjoint as torch
    >>> torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    return return_type("linalg_eig")(_linalg_eig(A, True))


@composite(**_LINALG, out=True, out_words=castable("torch.linalg.eigvals", "eigenvalues"), autocast="float32")
def linalg_eigvals(A):
    """The eigenvalues of a square matrix, always complex."""
    return _linalg_eig(A, is_recorded(A))[0]


# ---- The exponential


def _exp_derivative(A, along):
    """The upper right block of exp([[A, dA], [0, A]])."""
    n = A.shape[-1]
    above, below = cat([A, along], -1), cat([zeros_like(along), A], -1)
    return linalg_matrix_exp(cat([above, below], -2))[..., :n, n:]


op("linalg_matrix_exp(A)", native="matrix_exp", **_LINALG, A=lambda g, A: _exp_derivative(A.mH, g),
   doc="The exponential of a square matrix.",
   jvp=lambda A, A_t: _exp_derivative(A, A_t),
   batch=matrices)  # fmt: skip


@composite
def matrix_exp(input):
    """The exponential of a square matrix."""
    return linalg_matrix_exp(input)
