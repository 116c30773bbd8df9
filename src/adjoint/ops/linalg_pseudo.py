"""Rank, pseudoinverse, least squares, and approximations of low rank. In the formulas ^H is the conjugate transpose."""

from .batching import aligned, call, is_tensor, or_empty, repeated
from .checks import boolean
from .declaration import return_type
from .language import (
    Tensor,
    _linalg_eigh,
    _linalg_lstsq,
    _linalg_pinv,
    _linalg_svd,
    complex64,
    complex128,
    composite,
    float32,
    float64,
    linalg_eigvalsh,
    linalg_qr,
    linalg_svd,
    linalg_svdvals,
    maximum,
    op,
    randn,
    rule_wants,
    where,
)
from .linalg_solve import is_zero
from .out_words import castable

_LINALG = {"namespace": "linalg"}
_EPSILON = {float32: 2.0**-23, complex64: 2.0**-23, float64: 2.0**-52, complex128: 2.0**-52}


# ---- Batch rules; see batching.py


def _pinv_batch(op, size, batched, A, atol, rtol, hermitian):
    """The tolerances are numbers, or tensors that broadcast with the matrices."""
    given = [A if batched[0] else repeated(A, size), atol, rtol]
    places = [i for i in range(3) if is_tensor(given[i])]
    has_batch = [i == 0 or batched[i] for i in places]
    tensors = aligned(has_batch, [given[i] for i in places], [2 if i == 0 else 0 for i in places])
    for i, tensor in zip(places, tensors, strict=True):
        given[i] = tensor
    return call(op, *given, hermitian)


def _lstsq_batch(op, size, batched, tensors, rcond, driver):
    tensors = aligned((True, True), tensors, (2, 2))
    solution, *others = call(op, tensors, rcond, driver)
    if size:
        return solution, *(or_empty(one, size) for one in others)
    residuals, _, values = others
    left_out = (residuals.dim() == 1, driver == "gels", values.dim() == 1)  # whose sizes do not show it
    return solution, *(one.new_empty(0, 0) if is_out else one for one, is_out in zip(others, left_out, strict=True))


# ---- Rank and pseudoinverse


def _check_type(A):
    if A.dtype not in _EPSILON:
        raise RuntimeError(f"This function doesn't handle types other than float and double; got {A.dtype}")


def _tolerances(name, A, atol, rtol):
    """The absolute and relative tolerances, with torch's defaults: rtol is eps * max(m, n) unless atol is given."""
    for label, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{name}: {label} tensor of complex type is not supported. Got {value.dtype}")
    default = _EPSILON[A.dtype] * max(A.shape[-2:])
    if rtol is None:
        if isinstance(atol, Tensor):
            rtol = where(atol > 0, 0.0, default)
        else:
            rtol = 0.0 if atol is not None and atol > 0 else default
    return 0.0 if atol is None else atol, rtol


def _cut(largest, atol, rtol):
    """The size below which singular values count as 0."""
    if isinstance(atol, Tensor):
        atol = atol.unsqueeze(-1)
    if isinstance(rtol, Tensor):
        rtol = rtol.unsqueeze(-1)
    relative = rtol * largest
    return maximum(relative, relative.new_tensor(atol) if not isinstance(atol, Tensor) else atol.to(relative.dtype))


@composite(**_LINALG, out=True, out_words=castable("torch.linalg.matrix_rank"), autocast="float32")
def linalg_matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values greater than max(atol, rtol * the greatest).

    >>> import adjoint as torch
    >>> torch.linalg.matrix_rank(torch.ones(3, 2))
    tensor(1)
    """
    boolean("linalg_matrix_rank", hermitian=hermitian)
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    _check_type(A)
    A = A.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = _tolerances("torch.linalg.matrix_rank", A, atol, rtol)
    if A.numel() == 0:
        return A.new_zeros(A.shape[:-2]).long()
    values = linalg_eigvalsh(A).abs() if hermitian else linalg_svdvals(A)
    largest = values.amax(-1, keepdim=True)
    return (values > _cut(largest, atol, rtol)).sum(-1)


def _pinv(A, atol, rtol, hermitian):
    if A.numel() == 0:
        return A.new_empty(*A.shape[:-2], A.shape[-1], A.shape[-2])
    atol, rtol = _tolerances("torch.linalg.pinv", A, atol, rtol)
    if hermitian:
        values, V = _linalg_eigh(A, "L", True)
        sizes = values.abs()
        cut = _cut(sizes.amax(-1, keepdim=True), atol, rtol)
        return (V * where(sizes > cut, 1 / values, 0.0).unsqueeze(-2)) @ V.mH
    U, S, Vh = _linalg_svd(A, False, True)
    cut = _cut(S[..., :1], atol, rtol)
    return (Vh.mH * where(cut < S, 1 / S, 0.0).unsqueeze(-2)) @ U.mH


def pinv_gradient(g, A, Z):
    """-Z^H g Z^H + (I - A Z) g^H Z Z^H + Z^H Z g^H (I - Z A), for the pseudoinverse Z."""
    gh, Zh = g.mH, Z.mH
    right, left = gh @ Z @ Zh, Zh @ (Z @ gh)
    return right - A @ (Z @ right) + left - (left @ Z) @ A - Zh @ (g @ Zh)


op("_linalg_pinv(A, atol, rtol, hermitian)", forward=_pinv, node="LinalgPinvBackward0", public=False,
   A=lambda g, A, out: pinv_gradient(g, A, out),
   batch=_pinv_batch)  # fmt: skip


@composite(**_LINALG, out=True, out_words=castable("linalg.pinv"))
def linalg_pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudoinverse: singular values up to max(atol, rtol * the greatest) count as 0.

    >>> import adjoint as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    boolean("linalg_pinv", hermitian=hermitian)
    if A.ndim < 2 or A.dtype not in _EPSILON:
        raise RuntimeError(
            f"linalg.pinv({A.dtype}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if rcond is not None:
        atol, rtol = 0.0, rcond
    return _linalg_pinv(A, atol, rtol, hermitian)


@composite(autocast="float32")
def pinverse(input, rcond=1e-15):
    """The pseudoinverse; see linalg.pinv()."""
    return linalg_pinv(input, rcond)


# ---- Least squares


def _lstsq_gradients(g, g_residuals, tensors, solution, residuals):
    """X = Z B with the pseudoinverse Z of A; the residual R = A X - B is orthogonal to what A can reach."""
    A, B = tensors
    gA = gB = None
    if not is_zero(g):
        Z = linalg_pinv(A)
        gB = Z.mH @ g
        if rule_wants(0):
            gA = pinv_gradient(g @ B.mH, A, Z)
    if residuals.numel() and not is_zero(g_residuals):
        weighted = 2 * (A @ solution - B) * g_residuals.unsqueeze(-2)
        gB = -weighted if gB is None else gB - weighted
        if rule_wants(0):
            more = weighted @ solution.mH
            gA = more if gA is None else gA + more
    return gA, gB


op("_linalg_lstsq(tensors, rcond, driver)", native="linalg_lstsq", node="LinalgLstsqBackward0", public=False,
   outputs=("solution", "residuals", "rank", "singular_values"),
   tensors=lambda g_solution, g_residuals, tensors, solution, residuals:
       _lstsq_gradients(g_solution, g_residuals, tensors, solution, residuals),
   batch=_lstsq_batch)  # fmt: skip


@composite(
    **_LINALG,
    out=True,
    out_words=tuple(
        castable("torch.linalg.lstsq", name) for name in ("solution", "solution", "rank", "singular_values")
    ),
    autocast="float32",
)
def linalg_lstsq(A, B, rcond=None, *, driver=None):
    """The X with the least |A X - B|, the residuals, the rank and the singular values, as far as the driver finds them.

    >>> import adjoint as torch
    >>> torch.linalg.lstsq(torch.eye(2), torch.tensor([1.0, 3.0])).solution
    tensor([1., 3.])
    """
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if (B.shape[-1] if vector else B.shape[-2]) != A.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2})")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {A.dtype} and other's "
            f"dtype {B.dtype}"
        )
    _check_type(A)
    sides = B.unsqueeze(-1) if vector else B
    if driver is None:
        driver = "gels" if A.is_cuda else "gelsy"
    results = _linalg_lstsq((A, sides), rcond, driver)
    if vector:
        solution, residuals, rank, values = results
        results = solution.squeeze(-1), residuals.squeeze(-1) if residuals.ndim > 1 else residuals, rank, values
    return return_type("linalg_lstsq")(results)


# ---- Few singular values of large matrices


# Each round squares how much the greatest singular values stand out; two or three are usual.
_MOST_ROUNDS = 10000


def _range_of(A, q, niter):
    """Orthonormal columns that nearly span what A can reach, from `q` random directions.

    Halko, Martinsson and Tropp, Finding structure with randomness (2009), algorithm 4.4.
    """
    Q = linalg_qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(min(niter, _MOST_ROUNDS)):
        Q = linalg_qr(A.mH @ Q)[0]
        Q = linalg_qr(A @ Q)[0]
    return Q


def _check_matrix(name, A):
    if A.ndim < 2:
        raise IndexError(f"Dimension out of range: {name}() expects a matrix or a batch of them; got {A.ndim}-D")


@composite(method=False)
def svd_lowrank(A, q=6, niter=2, M=None):
    """The `q` greatest singular values of A (less M), nearly, with their vectors: U, S and V."""
    q = 6 if q is None else q
    _check_matrix("svd_lowrank", A)
    if M is not None:
        A = A - M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mH
    Q = _range_of(A, q, niter)
    U, S, Vh = linalg_svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@composite(method=False)
def pca_lowrank(A, q=None, center=True, niter=2):
    """The `q` greatest principal components of the rows of A, nearly: U, S and V."""
    _check_matrix("pca_lowrank", A)
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"pca_lowrank: expected a floating point tensor; got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
