"""Linear equations, inverses and determinants. In the formulas ^H is the conjugate transpose, g the gradient of X."""

from .._type_info import finfo
from .batching import aligned, all_values, call, levels_of, matrices, once
from .checks import boolean
from .declaration import return_type
from .language import (
    _has_tangents,
    _linalg_cofactors,
    _linalg_det,
    _linalg_lu_solve,
    _linalg_slogdet,
    _linalg_solve_ex,
    _linalg_solve_triangular,
    cholesky_solve,
    composite,
    conj,
    eye,
    isfinite,
    linalg_inv_ex,
    linalg_svd,
    log,
    lu_unpack,
    op,
    rule_wants,
    tril,
    triu,
    where,
)
from .linalg_factor import factored_batch
from .out_words import EXPECTED_SCALAR_TYPE, castable

_LINALG = {"namespace": "linalg"}


# ---- Batch rules; see batching.py


def _solve_batch(op, size, batched, tensors, left, check_errors):
    """The factors of a matrix that all elements share are found once."""
    A, B = tensors
    if A.dim() < 3 or B.dim() < 2:
        return NotImplemented  # which the op refuses
    vector = B.dim() == 2 or _is_vector(A, B)
    if vector and not left:
        return NotImplemented
    before = A.shape[1:-2]
    A, B = aligned((True, True), (once(A), B.unsqueeze(-1) if vector else B), (2, 2))
    result, *factors = call(op, (A, B), left, check_errors)
    shapes = (before + A.shape[-2:], before + A.shape[-1:], before)
    factors = [
        one.reshape(one.shape[0], *shape).expand(size, *shape) for one, shape in zip(factors, shapes, strict=True)
    ]
    return result.squeeze(-1) if vector else result, *factors


def _triangular_batch(op, size, batched, tensors, *options):
    A, B = tensors
    if A.dim() < 3 or B.dim() < 3:
        return NotImplemented  # which the op refuses
    result = call(op, aligned((True, True), (once(A), B), (2, 2)), *options)
    return result.expand(size, *result.shape[1:])


def _cholesky_solve_batch(op, size, batched, B, L, upper):
    if B.dim() - batched[0] < 2 or L.dim() - batched[1] < 2:
        return NotImplemented  # which the op refuses
    return call(op, *aligned(batched[:2], (B, L), (2, 2)), upper)


def identity_like(tensor):
    """One identity matrix as large as the last dimension, of the tensor's type and on its device."""
    return eye(tensor.shape[-1], dtype=tensor.dtype, device=tensor.device)


def is_zero(g):
    """Whether a gradient is that of a result that was not used, as far as there are values to tell."""
    if g.is_meta or any(one.requires_grad or _has_tangents(one) for one in levels_of(g)):
        return False
    return not all_values(g).any()


# ---- A X = B. One rule for both arguments, so that the adjoint equation is solved once.


def _by_solving(A, left=True):
    """How the adjoint equation is solved, with a derivative."""
    return lambda B: linalg_solve(A.mH, B, left=left)


def _by_factors(LU, pivots, left=True):
    """How it is solved in a fused rule: by the factors that the forward has found, which carry no history."""
    return lambda B: linalg_lu_solve(LU, pivots, B, left=left, adjoint=True)


def _is_vector(A, B):
    """Whether B is a vector for each matrix."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])


def _solve_gradients(g, tensors, result, left, adjoint_solve):
    """A^H gB = g; gA = -gB X^H. From the right: gB A^H = g; gA = -X^H gB."""
    A, B = tensors
    vector = _is_vector(A, B)
    if vector:
        g, result = g.unsqueeze(-1), result.unsqueeze(-1)
    gB = adjoint_solve(g)
    gA = None
    if rule_wants(0):
        gA = -(gB @ result.mH) if left else -(result.mH @ gB)
    return gA, gB.squeeze(-1) if vector else gB


def _solve_tangent(tensors, tangents, result, left):
    """A dX = dB - dA X. From the right: dX A = dB - X dA."""
    (A, B), (A_t, B_t) = tensors, tangents
    if _is_vector(A, B):
        return linalg_solve(A, (B_t.unsqueeze(-1) - A_t @ result.unsqueeze(-1))).squeeze(-1)
    return linalg_solve(A, B_t - (A_t @ result if left else result @ A_t), left=left)


op("_linalg_solve_ex(tensors, left, check_errors)", native="linalg_solve_ex", node="LinalgSolveExBackward0",
   outputs=("result", "LU", "pivots", "info"), public=False,
   fused={"tensors": lambda g_result, tensors, result, LU, pivots, left:
          _solve_gradients(g_result, tensors, result, left, _by_factors(LU, pivots, left))},
   tensors=lambda g_result, tensors, result, left:
       _solve_gradients(g_result, tensors, result, left, _by_solving(tensors[0], left)),
   jvp=lambda tensors, tensors_t, result, left: (_solve_tangent(tensors, tensors_t, result, left), None, None, None),
   batch=_solve_batch)  # fmt: skip


@composite(**_LINALG, out="exact", autocast="float32")
def linalg_solve(A, B, *, left=True):
    """The solution X of A X = B, or of X A = B.

    >>> import adjoint as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return _linalg_solve_ex((A, B), left, True)[0]


@composite(**_LINALG, out="exact")
def linalg_solve_ex(A, B, *, left=True, check_errors=False):
    """The solution of A X = B and LAPACK's info, which is not 0 for a singular matrix."""
    result, _, _, info = _linalg_solve_ex((A, B), left, check_errors)
    return return_type("linalg_solve_ex")((result, info))


op("linalg_inv_ex(A, *, check_errors=False)", native="linalg_inv_ex", autocast="float32",
   outputs=("inverse", "info"), out="exact", **_LINALG,
   A=lambda g_inverse, inverse: -(inverse.mH @ (g_inverse @ inverse.mH)),
   doc="The inverse, and LAPACK's info, which is not 0 for a singular matrix.",
   jvp=lambda A_t, inverse: (-(inverse @ A_t @ inverse), None),
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_inv(A):
    """The inverse of a square matrix.

    >>> import adjoint as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 1.0], [1.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  2.]])
    """
    return linalg_inv_ex(A, check_errors=True)[0]


@composite(out="exact", autocast="float32")
def inverse(input):
    """The inverse of a square matrix; see linalg.inv()."""
    return linalg_inv_ex(input, check_errors=True)[0]


# ---- By factors that are given


def _lu_solve_factors_gradient(g, LU, pivots, B, out, left, adjoint):
    """The gradient of A = P L U as in solve, then of its factors: gL = P^T gA U^H, gU = L^H P^T gA."""
    gB = linalg_lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    # With adjoint, this is the gradient of A^H.
    gA = gB @ out.mH if left else out.mH @ gB
    P, L, U = lu_unpack(LU, pivots)
    gA = -(P.mT @ (gA.mH if adjoint else gA))
    return tril(gA @ U.mH, -1) + triu(L.mH @ gA)


op("_linalg_lu_solve(LU, pivots, B, left=True, adjoint=False)", native="linalg_lu_solve", public=False,
   node="LinalgLuSolveBackward0", linear="B",
   LU=lambda g, LU, pivots, B, out, left, adjoint: _lu_solve_factors_gradient(g, LU, pivots, B, out, left, adjoint),
   B=lambda g, LU, pivots, left, adjoint: linalg_lu_solve(LU, pivots, g, left=left, adjoint=not adjoint),
   batch=factored_batch)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """The solution of A X = B, with A given by linalg.lu_factor()."""
    return _linalg_lu_solve(LU, pivots, B, left, adjoint)


@composite(out="exact", autocast="float32")
def lu_solve(b, LU_data, LU_pivots):
    """The solution of A X = b, with A given by linalg.lu_factor()."""
    return _linalg_lu_solve(LU_data, LU_pivots, b, True, False)


def _triangular_gradients(g, tensors, out, upper, left, unitriangular):
    """As for solve, with the part of gA that is read."""
    A, _ = tensors
    gB = linalg_solve_triangular(A.mH, g, upper=not upper, left=left, unitriangular=unitriangular)
    if not rule_wants(0):
        return None, gB
    gA = -(gB @ out.mH) if left else -(out.mH @ gB)
    return _part_read(gA, upper, unitriangular), gB


def _part_read(A, upper, unitriangular):
    return triu(A, int(unitriangular)) if upper else tril(A, -int(unitriangular))


def _triangular_tangent(tensors, tangents, out, upper, left, unitriangular):
    """As for solve, with the part of dA that is read."""
    A_t = _part_read(tangents[0], upper, unitriangular)
    B_t = tangents[1] - (A_t @ out if left else out @ A_t)
    return linalg_solve_triangular(tensors[0], B_t, upper=upper, left=left, unitriangular=unitriangular)


op("_linalg_solve_triangular(tensors, upper, left, unitriangular)", loop="triangular_solve_cpu",
   native="linalg_solve_triangular", public=False,
   node="LinalgSolveTriangularBackward0",
   tensors=lambda g, tensors, out, upper, left, unitriangular:
       _triangular_gradients(g, tensors, out, upper, left, unitriangular),
   jvp=lambda tensors, tensors_t, out, upper, left, unitriangular:
       _triangular_tangent(tensors, tensors_t, out, upper, left, unitriangular),
   batch=_triangular_batch)  # fmt: skip


@composite(**_LINALG, out="exact", out_words=EXPECTED_SCALAR_TYPE)
def linalg_solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """The solution of A X = B for a triangular matrix, of which only that triangle is read."""
    return _linalg_solve_triangular((A, B), upper, left, unitriangular)


@composite(out="exact", autocast="float32")
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """The solution of A X = b for a triangular matrix, and a copy of A; linalg.solve_triangular() is the newer form."""
    boolean("triangular_solve", upper=upper, transpose=transpose, unitriangular=unitriangular)
    for name, tensor in (("b", b), ("A", A)):
        if tensor.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {tensor.ndim} "
                "dimensions instead"
            )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if b.shape[-2] != A.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-2]} by {A.shape[-1]} "
            f"but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    matrix, is_upper = (A.mT, not upper) if transpose else (A, upper)
    solution = _linalg_solve_triangular((matrix, b), is_upper, True, unitriangular)
    copied = A.expand(*solution.shape[:-2], *A.shape[-2:]).clone()
    return return_type("triangular_solve")((solution, copied))


def _cholesky_factor_gradient(gB, L, out, upper):
    """K = L L^H: gK = -gB X^H, gL = (gK + gK^H) L."""
    gK = gB @ out.mH
    gK = -(gK + gK.mH)
    return L @ gK if upper else gK @ L


op("cholesky_solve(B, L, upper=False)", loop="cholesky_solve_cpu",
   native="cholesky_solve", autocast="float32", out=True,
   out_words=castable("cholesky_solve"), linear="B",
   B=lambda g, L, upper: cholesky_solve(g, L, upper),
   L=lambda g, L, out, upper: _cholesky_factor_gradient(cholesky_solve(g, L, upper), L, out, upper),
   doc="The solution of A X = B, with A given by its Cholesky factor.",
   batch=_cholesky_solve_batch)  # fmt: skip


def _cholesky_inverse_gradient(g, input, out, upper):
    """X = (L L^H)^-1: gL = -X (g + g^H) X L."""
    middle = -(out @ (g + g.mH) @ out)
    return input @ middle if upper else middle @ input


op("cholesky_inverse(input, upper=False)", loop="cholesky_inverse_out_cpu",
   native="cholesky_inverse", autocast="float32", out=True,
   out_words=castable("cholesky_inverse"),
   input=lambda g, input, out, upper: _cholesky_inverse_gradient(g, input, out, upper),
   doc="The inverse of a matrix given by its Cholesky factor.",
   batch=matrices)  # fmt: skip


# ---- Determinants


def _scaled_inverse(factor, A, adjoint_solve):
    """factor A^-H, for one factor per matrix."""
    return adjoint_solve(identity_like(A) * factor.unsqueeze(-1).unsqueeze(-1))


def _by_singular_values(A):
    """U, S and V^H, and the conjugate of det(U V^H)."""
    U, S, Vh = linalg_svd(A)
    return U, S, Vh, conj(_linalg_det(U)[0] * _linalg_det(Vh)[0])


def _cofactors(A):
    """The conjugate of the matrix of cofactors: the gradient of the determinant, of singular matrices too.

    It lies by columns, as do the solutions that serve where there is an inverse.
    """
    U, S, Vh, phase = _by_singular_values(A)
    others = where(identity_like(S) == 1, 1, S.unsqueeze(-2)).prod(-1)
    return (Vh.mT @ (U * (others * phase.unsqueeze(-1)).unsqueeze(-2)).mT).mT


def _cofactors_gradient(g, A):
    """Needs no derivatives of U and V, which there are none of where singular values are equal.

    With g and dA turned to U^H g V and U^H dA V, the determinant's second derivative is det(U V^H) times the sum over
    i != j of (g_ii dA_jj - g_ij dA_ji) times the product of the singular values but i and j.
    """
    U, S, Vh, phase = _by_singular_values(A)
    turned = conj(U.mH @ g @ Vh.mH)
    one = identity_like(S) == 1
    others = where(one.unsqueeze(0) | one.unsqueeze(1), 1, S.unsqueeze(-2).unsqueeze(-2)).prod(-1)
    others = others.masked_fill(one, 0).to(A.dtype)
    sums = others @ turned.diagonal(0, -2, -1).unsqueeze(-1)
    changes = where(one, sums, -(others * turned).mT)
    return (U * phase.unsqueeze(-1).unsqueeze(-1)) @ changes @ Vh


op("_linalg_cofactors(A)", forward=_cofactors, public=False,
   A=lambda g, A: _cofactors_gradient(g, A),
   batch=matrices)  # fmt: skip


def _any_singular(LU):
    pivots = LU.diagonal(0, -2, -1).abs()
    largest = pivots.amax(-1)
    rounding = LU.shape[-1] * finfo(LU.dtype).eps
    return ((pivots.amin(-1) <= rounding * largest) & isfinite(largest)).any()


def _det_gradient(g, A, result, LU, adjoint_solve):
    """g conj(det) A^-H; by the cofactors for matrices that are singular, or would be but for rounding."""
    if A.numel() == 0 or A.is_meta or not _any_singular(all_values(LU)):
        return _scaled_inverse(g * conj(result), A, adjoint_solve)
    return g.unsqueeze(-1).unsqueeze(-1) * _linalg_cofactors(A)


op("_linalg_det(A)", native="linalg_det", outputs=("result", "LU", "pivots"), node="LinalgDetBackward0", public=False,
   fused={"A": lambda g_result, A, result, LU, pivots:
          _det_gradient(g_result, A, result, LU, _by_factors(LU, pivots))},
   A=lambda g_result, A, result, LU: _det_gradient(g_result, A, result, LU, _by_solving(A)),
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_det(A):
    """The determinant of a square matrix.

    >>> import adjoint as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return _linalg_det(A)[0]


@composite
def det(input):
    """The determinant; see linalg.det()."""
    return _linalg_det(input)[0]


def _slogdet_gradient(g_sign, g_log, A, sign, adjoint_solve):
    """d log|det| + i d arg = tr(A^-1 dA): both gradients are those of one complex number."""
    if A.is_complex():
        g_log = g_log + 1j * (conj(sign) * g_sign).imag
    return _scaled_inverse(g_log, A, adjoint_solve)


op("_linalg_slogdet(A)", native="linalg_slogdet", outputs=("sign", "logabsdet", "LU", "pivots"), public=False,
   node="LinalgSlogdetBackward0",
   fused={"A": lambda g_sign, g_logabsdet, A, sign, LU, pivots:
          _slogdet_gradient(g_sign, g_logabsdet, A, sign, _by_factors(LU, pivots))},
   A=lambda g_sign, g_logabsdet, A, sign:
       _slogdet_gradient(g_sign, g_logabsdet, A, sign, _by_solving(A)),
   batch=matrices)  # fmt: skip


@composite(**_LINALG, out="exact")
def linalg_slogdet(A):
    """The sign of the determinant and the logarithm of its absolute value.

    >>> import adjoint as torch
    >>> sign, logarithm = torch.linalg.slogdet(torch.eye(2))
    >>> sign, logarithm
    (tensor(1.), tensor(0.))
    """
    return return_type("linalg_slogdet")(_linalg_slogdet(A)[:2])


@composite(out="exact")
def slogdet(input):
    """The sign of the determinant and the logarithm of its absolute value; see linalg.slogdet()."""
    return return_type("slogdet")(_linalg_slogdet(input)[:2])


@composite
def logdet(input):
    """The logarithm of the determinant: nan where that is negative, -inf where it is 0."""
    sign, logarithm = _linalg_slogdet(input)[:2]
    if input.is_complex():
        return log(sign) + logarithm
    return where(sign == -1, float("nan"), logarithm)
