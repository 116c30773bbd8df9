"""Matrix factorisations: Cholesky, LU, LDL and QR. In the formulas ^H is the conjugate transpose."""

from .batching import aligned, call, each, matrices, or_empty, with_batch
from .checks import boolean
from .declaration import return_type
from .language import (
    _linalg_householder_product,
    cat,
    composite,
    conj,
    eye,
    linalg_cholesky_ex,
    linalg_ldl_factor_ex,
    linalg_lu_factor_ex,
    linalg_qr,
    linalg_solve_triangular,
    lu_unpack,
    op,
    ormqr,
    tril,
    triu,
)
from .out_words import castable

_LINALG = {"namespace": "linalg"}


# ---- Batch rules; see batching.py


def factored_batch(op, size, batched, factors, pivots, B, *options):
    """Solutions by factors and pivots, which go together and broadcast with B."""
    fits = pivots.shape[batched[1] :] == factors.shape[batched[0] : -1]
    if not fits or factors.dim() - batched[0] < 2 or B.dim() - batched[2] < 2:
        return NotImplemented  # which the op refuses
    has_batch = (batched[0] or batched[1],) * 2
    if has_batch[0]:
        factors, pivots = with_batch(size, batched[:2], (factors, pivots))
    factors, pivots, B = aligned((*has_batch, batched[2]), (factors, pivots, B), (2, 1, 2))
    return call(op, factors, pivots, B, *options)


def _with_vectors_batch(op, size, batched, *given):
    """Of matrices and vectors that have the dimensions before their own in common."""
    given = with_batch(size, batched, given)
    if given[0].dim() < 3:
        return NotImplemented  # which the op refuses
    return each(lambda one: or_empty(one, size), call(op, *given))


def _refuse(message, kind=RuntimeError):
    raise kind(message)


def _no_derivative(g, name):
    """The rule of an op that has none: asking for the gradient is the error, not the op."""
    del g
    _refuse(f"derivative for aten::{name} is not implemented")


# ---- Cholesky


def _cholesky_gradient(g, L, upper):
    """gA = L^-H H L^-1 / 2, where H is the Hermitian matrix with the lower triangle of L^H gL."""
    if upper:
        g, L = g.mH, L.mH
    lower = tril(L.mH @ g)
    middle = linalg_solve_triangular(L.mH, (lower + tril(lower, -1).mH) / 2, upper=True)
    return linalg_solve_triangular(L, middle, upper=False, left=False)


def _cholesky_tangent(A_t, L, upper):
    """dL = L (the lower triangle of L^-1 dA L^-H, half of its diagonal)."""
    if upper:
        L = L.mH
    inner = linalg_solve_triangular(L, A_t, upper=False)
    inner = linalg_solve_triangular(L.mH, inner, upper=True, left=False)
    tangent = L @ ((tril(inner) + tril(inner, -1)) / 2)
    return tangent.mH if upper else tangent


op("linalg_cholesky_ex(A, *, upper=False, check_errors=False)", loop="cholesky_cpu",
   native="linalg_cholesky_ex", autocast="float32",
   outputs=("L", "info"),
   out="exact", **_LINALG,
   A=lambda g_L, L, upper: _cholesky_gradient(g_L, L, upper),
   doc="The Cholesky factor, and LAPACK's info, which is not 0 for a matrix that has none.",
   jvp=lambda A_t, L, upper: (_cholesky_tangent(A_t, L, upper), None),
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_cholesky(A, *, upper=False):
    """The triangular factor of a Hermitian positive-definite matrix: A = L L^H.

    >>> import adjoint as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return linalg_cholesky_ex(A, upper=upper, check_errors=True)[0]


op("cholesky(input, upper=False)", loop="cholesky_cpu",
   native="cholesky", autocast="float32", out=True, out_words=castable("cholesky"),
   input=lambda g, out, upper: _cholesky_gradient(g, out, upper),
   doc="The Cholesky factor; linalg.cholesky() is the newer form.",
   jvp=lambda input_t, out, upper: _cholesky_tangent((input_t + input_t.mH) / 2, out, upper),
   batch=matrices)  # fmt: skip


# ---- LU


def _plu_gradient(gL, gU, P, L, U):
    """gA = P L^-H [lower(L^H gL) + upper(gU U^H)] U^-H for square matrices.

    Columns of U beyond the square part solve L U2 = A2, rows of L beyond it L2 U = A2, which carries their gradients
    over to the square part.
    """
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    L1, U1, gL1, gU1 = L[..., :k, :], U[..., :k], gL[..., :k, :], gU[..., :k]
    lower, upper = L1.mH @ gL1, gU1 @ U1.mH
    if m < n:
        lower = lower - gU[..., k:] @ U[..., k:].mH
    elif m > n:
        upper = upper - L[..., k:, :].mH @ gL[..., k:, :]
    middle = tril(lower, -1) + triu(upper)
    if m < n:
        beside = linalg_solve_triangular(U1.mH, middle, upper=False, left=False)
        gA = linalg_solve_triangular(L1.mH, cat([beside, gU[..., k:]], -1), upper=True, unitriangular=True)
    else:
        gA = linalg_solve_triangular(L1.mH, middle, upper=True, unitriangular=True)
        if m > n:
            gA = cat([gA, gL[..., k:, :]], -2)
        gA = linalg_solve_triangular(U1.mH, gA, upper=False, left=False)
    return P @ gA


def _packed_gradient(g, LU, pivots):
    m, n = LU.shape[-2:]
    P, L, U = lu_unpack(LU, pivots)
    return _plu_gradient(tril(g[..., : min(m, n)], -1), triu(g[..., : min(m, n), :]), P, L, U)


op("linalg_lu_factor_ex(A, *, pivot=True, check_errors=False)", loop="lu_cpu",
   native="linalg_lu_factor_ex", out="exact", **_LINALG,
   outputs=("LU", "pivots", "info"),
   A=lambda g_LU, LU, pivots: _packed_gradient(g_LU, LU, pivots),
   doc="The LU factors in one matrix, the pivots, and LAPACK's info.",
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_lu_factor(A, *, pivot=True):
    """The LU factors with partial pivoting, packed into one matrix, and the pivots; for linalg.lu_solve()."""
    return return_type("linalg_lu_factor")(linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


op("linalg_lu(A, *, pivot=True)", loop="lu_cpu", native="linalg_lu", outputs=("P", "L", "U"), out="exact", **_LINALG,
   A=lambda g_L, g_U, P, L, U: _plu_gradient(tril(g_L, -1), triu(g_U), P, L, U),
   doc="The factors of A = P L U: a permutation, a unit lower and an upper triangular matrix.",
   batch=matrices)  # fmt: skip


@composite(out=True, autocast="float32")
def lu(input, pivot=True, get_infos=False):
    """The LU factors, packed into one matrix, and the pivots; linalg.lu_factor() is the newer form."""
    factors = linalg_lu_factor_ex(input, pivot=pivot)
    return return_type("_lu_with_info")(factors) if get_infos else tuple(factors[:2])


def _unpacked_gradient(g_L, g_U, shape):
    m, n = shape[-2:]
    below, above = tril(g_L, -1), triu(g_U)
    if m == n:
        return below + above
    if m < n:
        return cat([below + above[..., :m], above[..., m:]], -1)
    return cat([below[..., :n, :] + above, below[..., n:, :]], -2)


op("lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)", native="lu_unpack", outputs=("P", "L", "U"),
   out="exact", method=False,
   LU_data=lambda g_L, g_U, LU_data_meta: _unpacked_gradient(g_L, g_U, LU_data_meta.shape),
   doc="The factors P, L and U of a packed LU factorisation.",
   batch=_with_vectors_batch)  # fmt: skip


# ---- LDL

op("linalg_ldl_factor_ex(A, *, hermitian=False, check_errors=False)", native="linalg_ldl_factor_ex", out="exact",
   **_LINALG, outputs=("LD", "pivots", "info"), node="NotImplemented",
   A=lambda g_LD: _no_derivative(g_LD, "linalg_ldl_factor_ex"),
   doc="The factors of A = L D L^T (or L D L^H) in one matrix, the pivots, and LAPACK's info.",
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_ldl_factor(A, *, hermitian=False):
    """The factors of a symmetric or Hermitian matrix, A = L D L^T, packed into one matrix, and the pivots."""
    factors = linalg_ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2]
    return return_type("linalg_ldl_factor")(factors)


op("linalg_ldl_solve(LD, pivots, B, *, hermitian=False)", native="linalg_ldl_solve", out="exact", **_LINALG,
   node="NotImplemented", linear="B",
   LD=lambda g: _no_derivative(g, "linalg_ldl_solve"),
   B=lambda g: _no_derivative(g, "linalg_ldl_solve"),
   doc="The solution of A X = B, with A given by linalg.ldl_factor().",
   batch=factored_batch)  # fmt: skip


# ---- QR


def _qr_gradient(gQ, gR, Q, R, mode):
    """gA = (gQ + Q W) R^-H, W the Hermitian matrix with the upper triangle of gR R^H - Q^H gQ."""
    if mode == "r":
        _refuse(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        _refuse("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    beside = None
    if m < n:
        # Columns beyond the square part: R2 = Q^H A2.
        R, R2, gR, gR2 = R[..., :m], R[..., m:], gR[..., :m], gR[..., m:]
        beside = Q @ gR2
        gQ = gQ + (Q @ R2) @ gR2.mH
    W = gR @ R.mH - Q.mH @ gQ
    above = triu(W, 1)
    diagonal = W.diagonal(0, -2, -1)
    if W.is_complex():
        diagonal = diagonal.real.to(W.dtype)
    W = above + above.mH + diagonal.unsqueeze(-1) * eye(W.shape[-1], dtype=W.dtype, device=W.device)
    gA = linalg_solve_triangular(R.mH, gQ + Q @ W, upper=False, left=False)
    return gA if beside is None else cat([gA, beside], -1)


op("linalg_qr(A, mode='reduced')", loop="geqrf_cpu",
   native="linalg_qr", autocast="float32", outputs=("Q", "R"), out="exact", **_LINALG,
   A=lambda g_Q, g_R, Q, R, mode: _qr_gradient(g_Q, g_R, Q, R, mode),
   doc="The factors of A = Q R: orthonormal columns and an upper triangular matrix.",
   batch=matrices)  # fmt: skip


@composite(out="exact")
def qr(input, some=True):
    """The factors of a matrix with orthonormal columns and upper triangular; linalg.qr() is the newer form."""
    boolean("qr", some=some)
    return return_type("qr")(linalg_qr(input, "reduced" if some else "complete"))


def _geqrf_gradient(g_a, g_tau):
    del g_a, g_tau
    _refuse("the derivative for 'geqrf' is not implemented.", NotImplementedError)


op("geqrf(input)", loop="geqrf_cpu", native="geqrf", autocast="float32", outputs=("a", "tau"), out=True,
   out_words=(castable("torch.geqrf", "a"), castable("torch.geqrf", "tau")),
   input=lambda g_a, g_tau: _geqrf_gradient(g_a, g_tau),
   doc="The QR factorisation as LAPACK keeps it: R, and below it the reflectors whose product is Q.",
   batch=matrices)  # fmt: skip


def _reflector_gradients(input, tau, X, Z):
    """Gradients of the reflectors whose product is Q = I - V T V^H, where X Z^H is the gradient of Q.

    T = (I + D W)^-1 D with D = diag(tau) and W the part of V^H V above the diagonal.
    """
    if input.numel() == 0 or tau.numel() == 0:
        return None, None
    k = tau.shape[-1]
    ones = eye(k, dtype=input.dtype, device=input.device)
    V = tril(input[..., :k], -1) + eye(input.shape[-2], k, dtype=input.dtype, device=input.device)
    W = triu(V.mH @ V, 1)
    factors = tau.unsqueeze(-1)
    M = ones + factors * W
    T = linalg_solve_triangular(M, factors * ones, upper=True, unitriangular=True)
    VX, VZ = V.mH @ X, V.mH @ Z
    gT = -(VX @ VZ.mH)
    gV = -(X @ (VZ.mH @ T.mH) + Z @ (VX.mH @ T))
    gD = linalg_solve_triangular(M.mH, gT, upper=False, unitriangular=True)
    gM = -(gD @ T.mH)
    g_tau = (gD + gM @ W.mH).diagonal(0, -2, -1)
    gW = triu(conj(factors) * gM, 1)
    gV = tril(gV + V @ (gW + gW.mH), -1)
    unused = input.shape[-1] - k
    if unused:
        gV = cat([gV, gV.new_zeros(*gV.shape[:-1], unused)], -1)
    return gV, g_tau


def _first_columns(g):
    """The matrix E of the first columns of the identity: a gradient of Q E is g E^H for Q."""
    return eye(*g.shape[-2:], dtype=g.dtype, device=g.device).expand(g.shape)


op("_linalg_householder_product(tensors)", native="householder_product", public=False,
   node="LinalgHouseholderProductBackward0",
   tensors=lambda g, tensors: _reflector_gradients(tensors[0], tensors[1], g, _first_columns(g)),
   batch=lambda op, size, batched, tensors: op(tensors))  # fmt: skip


@composite(**_LINALG, out=True, out_words=castable("torch.linalg.householder_product"), autocast="float32")
def linalg_householder_product(input, tau):
    """The first columns of a product of reflectors, as geqrf() gives them."""
    return _linalg_householder_product((input, tau))


@composite(out=True, autocast="float32")
def orgqr(input, tau):
    """The first columns of a product of reflectors; see linalg.householder_product()."""
    return _linalg_householder_product((input, tau))


def _ormqr_factors(g, other, left, transpose):
    """X and Z of the gradient X Z^H of Q, when Q or Q^H is multiplied with `other`."""
    pair = (g, other) if left else (other.mH, g.mH)
    return pair[::-1] if transpose else pair


op("ormqr(input, tau, other, left=True, transpose=False)", loop="ormqr_cpu",
   native="ormqr", autocast="float32", out="exact",
   out_words="torch.ormqr: Expected input and result to have the same dtype, "
             "but input has dtype{expected} and result has dtype {given}",
   linear="other",
   input=lambda g, input, tau, other, left, transpose:
       _reflector_gradients(input, tau, *_ormqr_factors(g, other, left, transpose))[0],
   tau=lambda g, input, tau, other, left, transpose:
       _reflector_gradients(input, tau, *_ormqr_factors(g, other, left, transpose))[1],
   other=lambda g, input, tau, left, transpose: ormqr(input, tau, g, left, not transpose),
   doc="The product of the reflectors of geqrf() with a matrix.",
   batch=_with_vectors_batch)  # fmt: skip
