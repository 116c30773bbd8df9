"""Linear algebra on the device against the CPU: values, gradients, batches, empty matrices, errors, and no cuSOLVER."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import adjoint as torch
import adjoint.nn.functional as F
from adjoint import _C

from .driver import Calls, fail, standin_only

TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
CLOSE = {torch.float32: 2e-4, torch.complex64: 2e-4, torch.float64: 1e-9, torch.complex128: 1e-9}
# One matrix, few small ones, a batch of two dimensions, no matrix, and matrices without elements.
BATCHES = [(), (3,), (2, 2), (0,), (0, 2)]
linalg = torch.linalg


@pytest.fixture(autouse=True)
def nothing_on_the_cpu():
    """What goes by way of the CPU says so: here that is an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*has no kernel on cuda yet")
        yield


@pytest.fixture
def folder():
    place = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", ""))
    if not (place / "cuda_shim.h").exists():
        pytest.skip("on the stand-in only")
    return place


def values(*shape, dtype=torch.float64):
    numbers = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64)
    real = (numbers * numbers * 0.37).sin().reshape(shape)
    if dtype.is_complex:
        return torch.complex(real, (numbers * numbers * 0.61).cos().reshape(shape)).to(dtype)
    return real.to(dtype)


def positive(*shape, dtype=torch.float64):
    a = values(*shape, dtype=dtype)
    return a @ a.mH + shape[-1] * torch.eye(shape[-1], dtype=dtype)


def symmetric(*shape, dtype=torch.float64):
    a = values(*shape, dtype=dtype)
    return a + a.mT


def listed(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def compare(function, *given, tolerance=None):
    """Calls on both devices; results agree in values, types, sizes and strides."""
    ours, expected = listed(function(*(each.cuda() for each in given))), listed(function(*given))
    for mine, theirs in zip(ours, expected, strict=True):
        assert mine.is_cuda
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        close = tolerance or CLOSE.get(given[0].dtype, 0)
        torch.testing.assert_close(mine.cpu(), theirs, rtol=close, atol=close, equal_nan=True)


def compare_gradients(function, *given):
    """First and second gradients of a function of tensors of float64 or complex128."""
    found = []
    for device in ("cuda", "cpu"):
        leaves = [each.to(device).requires_grad_() for each in given]
        outs = [out for out in listed(function(*leaves)) if out.requires_grad]
        cotangents = [values(*out.shape, dtype=out.dtype).to(device) for out in outs]
        first = torch.autograd.grad(outs, leaves, cotangents, create_graph=True)
        second = torch.autograd.grad(
            [each for each in first if each.requires_grad],
            leaves,
            [values(*each.shape, dtype=each.dtype).to(device) for each in first if each.requires_grad],
            allow_unused=True,
        )
        found.append([*first, *(each for each in second if each is not None)])
    ours, expected = found
    assert len(ours) == len(expected) > len(given)
    for mine, theirs in zip(ours, expected, strict=True):
        assert mine.is_cuda
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-8, atol=1e-8)


def assert_unitary(q, close):
    identity = torch.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1)
    torch.testing.assert_close((q.mH @ q).cpu(), identity, rtol=close, atol=close)


# ---- Factors


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_cholesky(dtype, batch, n):
    matrices = positive(*batch, n, n, dtype=dtype)
    for upper in (False, True):
        compare(lambda a, upper=upper: linalg.cholesky(a, upper=upper), matrices)
        compare(lambda a, upper=upper: linalg.cholesky_ex(a, upper=upper), matrices)
        compare(lambda a, upper=upper: torch.cholesky_inverse(linalg.cholesky(a, upper=upper), upper=upper), matrices)
    sides = values(*batch, n, 2, dtype=dtype)
    compare(lambda a, b: torch.cholesky_solve(b, linalg.cholesky(a)), matrices, sides)
    compare(lambda a, b: torch.cholesky_solve(b, linalg.cholesky(a, upper=True), upper=True), matrices, sides)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (4, 0), (1, 1), (5, 5), (6, 3), (3, 6)])
def test_lu(dtype, batch, m, n):
    matrices = values(*batch, m, n, dtype=dtype)
    assert_factors(matrices)
    # Which of several complex numbers is the greatest depends on the measure: LAPACK adds the parts' magnitudes up,
    # and cuBLAS, which factors small batches, compares moduli. Only where one stands out are pivots the same.
    chosen = with_clear_pivots(matrices) if dtype.is_complex else matrices
    compare(linalg.lu_factor, chosen)
    compare(linalg.lu_factor_ex, chosen)
    compare(linalg.lu, chosen)


def with_clear_pivots(matrices):
    """In each column one number is by far the greatest, and stays so: in the row after the diagonal."""
    rows, cols = matrices.shape[-2:]
    large = torch.eye(rows, dtype=matrices.dtype).roll(1, 0)
    return matrices + 8 * F.pad(large, (0, max(0, cols - rows)))[:, :cols]


def assert_factors(matrices):
    """P L U is the matrix, and L is bounded: by 1 in the measure that chose the pivots, so in modulus by sqrt(2)."""
    close, m, n = CLOSE[matrices.dtype], *matrices.shape[-2:]
    p, lower, upper = (each.cpu() for each in linalg.lu(matrices.cuda()))
    torch.testing.assert_close(p @ lower @ upper, matrices, rtol=close, atol=close)
    assert torch.equal(lower, lower.tril(-1) + torch.eye(m, dtype=lower.dtype)[:, : min(m, n)])
    assert torch.equal(upper, upper.triu())
    assert (lower.abs() <= (2**0.5 if lower.dtype.is_complex else 1) + close).all()
    factors, pivots = linalg.lu_factor(matrices.cuda())
    for mine, theirs in zip(torch.lu_unpack(factors, pivots), (p, lower, upper), strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_ldl(dtype, batch, n):
    matrices, sides = symmetric(*batch, n, n, dtype=dtype), values(*batch, n, 3, dtype=dtype)
    compare(linalg.ldl_factor, matrices)
    compare(lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a), b), matrices, sides)


def test_ldl_of_blocks_of_two_rows():
    """Zeros on the diagonal need them."""
    matrix = torch.tensor([[0.0, 2, 1, 3], [2, 0, 1, 1], [1, 1, 0, 5], [3, 1, 5, 0]], dtype=torch.float64)
    _, pivots = linalg.ldl_factor(matrix.cuda())
    assert (pivots < 0).any()
    compare(linalg.ldl_factor, matrix)
    compare(lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a), b), matrix, values(4, 2))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (4, 0), (1, 1), (4, 4), (6, 3), (3, 6)])
def test_qr(dtype, batch, m, n):
    matrices = values(*batch, m, n, dtype=dtype)
    for mode in ("reduced", "complete", "r"):
        compare(lambda a, mode=mode: linalg.qr(a, mode=mode), matrices)
    compare(torch.geqrf, matrices)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_reflectors(dtype, batch):
    reflectors, tau = torch.geqrf(values(*batch, 5, 3, dtype=dtype))
    compare(linalg.householder_product, reflectors, tau)
    compare(linalg.householder_product, reflectors, tau[..., :0])
    others = values(*batch, 5, 4, dtype=dtype)
    for transpose in (False, True):
        compare(lambda a, t, c, turned=transpose: torch.ormqr(a, t, c, True, turned), reflectors, tau, others)
        compare(lambda a, t, c, turned=transpose: torch.ormqr(a, t, c.mT, False, turned), reflectors, tau, others)


# ---- Equations


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_solve(dtype, batch, n):
    matrices, sides = values(*batch, n, n, dtype=dtype), values(*batch, n, 3, dtype=dtype)
    compare(linalg.solve, matrices, sides)
    compare(lambda a, b: linalg.solve(a, b.mT, left=False), matrices, sides)
    compare(linalg.inv, matrices)
    compare(linalg.det, matrices)
    compare(linalg.slogdet, matrices)
    for adjoint in (False, True):
        compare(
            lambda a, b, adjoint=adjoint: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=adjoint), matrices, sides
        )
        compare(
            lambda a, b, adjoint=adjoint: linalg.lu_solve(*linalg.lu_factor(a), b.mT, left=False, adjoint=adjoint),
            matrices,
            sides,
        )


def test_batches_that_broadcast():
    matrices, sides = values(2, 1, 4, 4, dtype=torch.complex128), values(3, 4, 2, dtype=torch.complex128)
    compare(linalg.solve, matrices, sides)
    compare(lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), matrices, sides)
    compare(lambda a, b: linalg.solve_triangular(a, b, upper=True), matrices, sides)
    compare(lambda a, b: torch.cholesky_solve(b, a), matrices.tril(), sides)
    compare(lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a), b), matrices + matrices.mT, sides)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles(dtype, batch, upper, left, unit):
    def solve(a, b):
        return linalg.solve_triangular(a, b if left else b.mT, upper=upper, left=left, unitriangular=unit)

    for n in (0, 1, 5):
        matrices, sides = positive(*batch, n, n, dtype=dtype), values(*batch, n, 2, dtype=dtype)
        compare(solve, matrices, sides)
        compare(lambda a, b: solve(a.mT, b), matrices, sides)
        compare(lambda a, b: solve(a.mH, b), matrices, sides)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(4, 4), (6, 3), (3, 6), (5, 0), (0, 3), (1, 1)])
def test_least_squares(dtype, batch, m, n):
    matrices, sides = values(*batch, m, n, dtype=dtype), values(*batch, m, 2, dtype=dtype)
    compare(lambda a, b: linalg.lstsq(a, b, driver="gels"), matrices, sides)


def test_least_squares_as_they_come():
    """The driver for full rank is the one of a GPU, as torch has it."""
    matrix, side = values(6, 3), values(6, 2)
    ours = linalg.lstsq(matrix.cuda(), side.cuda())
    assert ours.rank.shape == (0,)
    torch.testing.assert_close(ours.solution.cpu(), linalg.lstsq(matrix, side).solution)
    warnings.filterwarnings("ignore", message=".*has no kernel on cuda yet")
    compare(lambda a, b: linalg.lstsq(a, b, driver="gelsd"), matrix, side)


# ---- Spectra


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (4, 0), (1, 1), (4, 4), (6, 3), (3, 6)])
@pytest.mark.parametrize("full", [False, True])
def test_svd(dtype, batch, m, n, full):
    matrices, close = values(*batch, m, n, dtype=dtype), CLOSE[dtype]
    compare(linalg.svdvals, matrices)
    U, S, Vh = linalg.svd(matrices.cuda(), full_matrices=full)
    for mine, theirs in zip((U, S, Vh), linalg.svd(matrices, full_matrices=full), strict=True):
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
    k = S.shape[-1]
    product = (U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :]
    torch.testing.assert_close(product.cpu(), matrices, rtol=close, atol=close)
    assert_unitary(U, close)
    assert_unitary(Vh.mH, close)


@standin_only
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "n"), [(4, 4), (6, 3), (3, 6), (40, 3), (3, 40)])
def test_svd_that_jacobi_gives_up(dtype, m, n):
    """The stand-in's method does where the first element is 1234.5; another one computes."""
    matrices, close = values(3, m, n, dtype=dtype), 1e3 * CLOSE[dtype]
    matrices[1, 0, 0] = 1234.5
    for given in (matrices, matrices[1]):
        calls = Calls("gesvd")
        compare(linalg.svdvals, given, tolerance=close)
        for full in (False, True):
            U, S, Vh = linalg.svd(given.cuda(), full_matrices=full)
            k = S.shape[-1]
            product = (U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :]
            torch.testing.assert_close(product.cpu(), given, rtol=close, atol=close)
            assert_unitary(U, close)
            assert_unitary(Vh.mH, close)
        assert calls["gesvd"] == 3


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(dtype, batch, n, uplo):
    matrices, close = values(*batch, n, n, dtype=dtype), CLOSE[dtype]
    compare(lambda a: linalg.eigvalsh(a, UPLO=uplo), matrices)
    L, Q = linalg.eigh(matrices.cuda(), UPLO=uplo)
    triangle = matrices.tril(-1) if uplo == "L" else matrices.triu(1)
    diagonal = torch.diag_embed(matrices.diagonal(dim1=-2, dim2=-1).real)
    torch.testing.assert_close(
        ((Q * L.unsqueeze(-2)) @ Q.mH).cpu(), triangle + triangle.mH + diagonal.to(dtype), rtol=close, atol=close
    )
    assert_unitary(Q, close)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_eig(dtype, batch, n):
    matrices, close = values(*batch, n, n, dtype=dtype), 10 * CLOSE[dtype]
    L, V = linalg.eig(matrices.cuda())
    for mine, theirs in zip((L, V), linalg.eig(matrices), strict=True):
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
    torch.testing.assert_close(
        (matrices.cuda().to(V.dtype) @ V).cpu(), (V * L.unsqueeze(-2)).cpu(), rtol=close, atol=close
    )
    torch.testing.assert_close(V.abs().square().sum(-2).cpu(), torch.ones(*batch, n).to(V.real.dtype))
    alone = linalg.eigvals(matrices.cuda())
    torch.testing.assert_close(alone.sum(-1).cpu(), L.sum(-1).cpu(), rtol=close, atol=close)


def test_eig_of_pairs_and_real_values():
    matrix = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 2]], dtype=torch.float64)
    found = linalg.eigvals(matrix.cuda()).cpu()
    assert sorted((round(z.real, 9), round(z.imag, 9)) for z in found.tolist()) == [(0.0, -1.0), (0.0, 1.0), (2.0, 0.0)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.3, 1.0, 4.0])
def test_matrix_exp(dtype, batch, size):
    """Norms that each degree is for, and squares."""
    for n in (0, 1, 4):
        compare(torch.matrix_exp, size * values(*batch, n, n, dtype=dtype), tolerance=20 * CLOSE[dtype])


def test_matrix_exp_of_different_norms():
    sizes = torch.tensor([1e-3, 40.0, 0.0, 3.0, 0.2], dtype=torch.float64).reshape(-1, 1, 1)
    matrices = sizes * (values(5, 4, 4) - values(5, 4, 4).mT) / 2
    compare(torch.matrix_exp, matrices)
    matrices[2, 1, 1] = float("inf")
    matrices[3, 0, 0] = float("nan")
    compare(torch.matrix_exp, matrices)


# ---- Matrices too large for routines that take many


def test_larger_matrices():
    matrices, sides = positive(2, 260, 260), values(2, 260, 2)
    compare(linalg.cholesky, matrices)
    compare(linalg.solve, matrices, sides)
    compare(linalg.slogdet, matrices)
    compare(torch.geqrf, values(2, 258, 2))
    compare(linalg.eigvalsh, positive(2, 34, 34))
    compare(linalg.svdvals, values(2, 34, 5))
    large = positive(2, 514, 514).tril()
    compare(lambda a, b: linalg.solve_triangular(a, b, upper=False), large, values(2, 514, 1))


# ---- Layouts


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x[::2, 1:6, :5],
        lambda x: x[::2, 1:6, :5].mT,
        lambda x: x[:3, 1:10:2, 1:10:2],
        lambda x: x[0, :5, :5].expand(4, 5, 5),
        lambda x: x[1:2, :5, :5].expand(3, 2, 5, 5),
        lambda x: x.movedim(0, -1)[:5, :5, :5],
        lambda x: x[:2, :5, :5].flip(0, 1),
    ],
)
def test_layouts(layout):
    """What is taken out of a larger tensor, on both devices alike."""
    whole = values(6, 12, 10)
    compare(lambda x: linalg.inv(layout(x)), whole)
    compare(lambda x: linalg.det(layout(x)), whole)
    compare(lambda x: linalg.lu_factor(layout(x)), whole)
    compare(lambda x: torch.lu_unpack(layout(x), linalg.lu_factor(layout(x))[1]), whole)
    compare(lambda x: linalg.qr(layout(x)), whole)
    compare(lambda x: linalg.svdvals(layout(x)), whole)
    compare(lambda x: torch.matrix_exp(layout(x)), whole)
    compare(lambda x: linalg.solve_triangular(layout(x), layout(x).mT, upper=True), whole)
    compare(lambda x: torch.cholesky_solve(layout(x), layout(x)), whole)
    compare(lambda x: torch.ormqr(layout(x), layout(x)[..., 0], layout(x)), whole)
    compare(lambda x: linalg.lu_solve(layout(x), linalg.lu_factor(layout(x))[1], layout(x)), whole)


# ---- Gradients

SQUARE, BATCH = values(4, 4), values(2, 3, 3)


def of_singular_values(a):
    U, S, Vh = linalg.svd(a, full_matrices=False)
    return (U * S.exp().unsqueeze(-2)) @ Vh


def of_eigenvalues(a):
    L, Q = linalg.eigh(a + a.mH)
    return (Q * L.sin().unsqueeze(-2)) @ Q.mH


def of_general_eigenvalues(a):
    L, V = linalg.eig(a)
    return V @ torch.diag_embed(L.sin()) @ linalg.inv(V)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda a: linalg.cholesky(a @ a.mH + 4 * torch.eye(4, dtype=a.dtype, device=a.device)), (SQUARE,)),
        (lambda a: linalg.lu(a)[1:], (SQUARE,)),
        (linalg.solve, (BATCH, values(2, 3, 2))),
        (linalg.solve, (values(3, 3, dtype=torch.complex128), values(3, 2, dtype=torch.complex128))),
        (linalg.inv, (BATCH,)),
        (linalg.det, (BATCH,)),
        (linalg.slogdet, (BATCH,)),
        (linalg.qr, (values(5, 3),)),
        (linalg.qr, (values(2, 4, 3, dtype=torch.complex128),)),
        (lambda a, b: linalg.solve_triangular(a, b, upper=True), (BATCH + 3 * torch.eye(3), values(2, 3, 2))),
        (lambda a, b: torch.cholesky_solve(b, a.tril()), (BATCH + 3 * torch.eye(3), values(2, 3, 2))),
        (lambda a, b: linalg.lstsq(a, b, driver="gels").solution, (values(5, 3), values(5, 2))),
        (linalg.svdvals, (values(2, 4, 3),)),
        (of_singular_values, (SQUARE,)),
        (linalg.eigvalsh, (symmetric(2, 4, 4),)),
        (of_eigenvalues, (values(4, 4, dtype=torch.complex128),)),
        (of_general_eigenvalues, (SQUARE,)),
        (torch.matrix_exp, (BATCH,)),
        (torch.matrix_exp, (values(9, 9),)),
        (linalg.pinv, (values(5, 3),)),
        (linalg.householder_product, (values(4, 3) / 4, values(3))),
    ],
)
def test_gradients(function, given):
    compare_gradients(function, *given)


# ---- Errors


def message_of(function, *given):
    with pytest.raises(RuntimeError) as caught:
        function(*given)
    return type(caught.value), str(caught.value)


def with_a_bad_one(bad):
    matrices = positive(3, 4, 4)
    matrices[1] = bad
    return matrices


SINGULAR = torch.ones(4, 4, dtype=torch.float64)


@pytest.mark.parametrize("function", [linalg.inv, torch.inverse, linalg.lu_factor, lambda a: linalg.solve(a, a)])
@pytest.mark.parametrize("matrices", [SINGULAR, with_a_bad_one(SINGULAR), torch.zeros(2, 3, 3)])
def test_singular(function, matrices):
    assert message_of(function, matrices.cuda()) == message_of(function, matrices)


@pytest.mark.parametrize("function", [linalg.cholesky, torch.cholesky, lambda a: linalg.cholesky(a, upper=True)])
@pytest.mark.parametrize("matrices", [-SINGULAR, with_a_bad_one(-SINGULAR), with_a_bad_one(torch.nan)])
def test_not_positive(function, matrices):
    assert message_of(function, matrices.cuda()) == message_of(function, matrices)


def test_other_failures():
    zero = torch.zeros(3, 3, dtype=torch.float64)
    half = torch.tensor([[0.0, 1.0, 2.0]] * 3, dtype=torch.float64)
    for function in (
        torch.cholesky_inverse,
        lambda a: linalg.ldl_factor_ex(a, check_errors=True),
        lambda a: linalg.lstsq(half.to(a.device)[:, :2], a, driver="gels"),
        lambda a: linalg.lstsq(half.to(a.device).mT[:2], a[:2], driver="gels"),
        lambda a: linalg.eig(a + torch.nan),
        lambda a: linalg.svd(a + torch.inf),
        lambda a: linalg.svdvals((a + torch.nan).expand(2, 3, 3)),
        lambda a: linalg.lu_solve(a, torch.zeros(3, dtype=torch.int32, device=a.device), a),
        lambda a: linalg.lu_solve(a, torch.full((3,), 4, dtype=torch.int32, device=a.device), a),
        lambda a: linalg.ldl_solve(a, torch.tensor([1, 2, -3], dtype=torch.int32, device=a.device), a),
        lambda a: torch.lu_unpack(a, torch.tensor([1, 2, 7], dtype=torch.int32, device=a.device)),
    ):
        assert message_of(function, zero.cuda()) == message_of(function, zero)


def test_what_is_not_finite():
    """Its eigenvalues are nan, and others of the batch are not."""
    matrices = with_a_bad_one(torch.nan)
    compare(linalg.eigvalsh, matrices)
    ours = linalg.eigh(matrices.cuda())[1].cpu()
    assert ours[1].isnan().all()
    assert ours[[0, 2]].isfinite().all()
    compare(linalg.lu_factor_ex, torch.zeros(2, 3, 3))


def test_drivers():
    matrix = values(4, 3).cuda()
    torch.testing.assert_close(linalg.svdvals(matrix, driver="gesvd"), linalg.svdvals(matrix))
    with pytest.raises(RuntimeError, match="unknown svd driver other"):
        linalg.svd(matrix, driver="other")
    with pytest.raises(RuntimeError, match="only supported on CUDA inputs"):
        linalg.svd(matrix.cpu(), driver="gesvd")


# ---- The libraries


def test_all_kernels_are_the_device_s():
    assert not [name for name in _C._cuda_kernels(False) if name.startswith("linalg.")]


def test_hermitian_factors_are_the_cpu_s():
    warnings.filterwarnings("ignore", message=".*has no kernel on cuda yet")
    matrices, sides = positive(2, 4, 4, dtype=torch.complex128), values(2, 4, 3, dtype=torch.complex128)
    compare(lambda a: linalg.ldl_factor(a, hermitian=True), matrices)
    compare(lambda a, b: linalg.ldl_solve(*linalg.ldl_factor(a, hermitian=True), b, hermitian=True), matrices, sides)


@standin_only
def test_small_matrices_are_done_together():
    def calls(routine, function, *given):
        found = Calls(routine)
        function(*(each.cuda() for each in given))
        return found[routine]

    many = positive(50, 4, 4)
    assert calls("potrfBatched", linalg.cholesky, many) == 1
    assert calls("getrfBatched", linalg.lu_factor, many) == 1
    assert calls("getrsBatched", linalg.solve, many, many) == 1
    assert calls("geqrfBatched", torch.geqrf, many) == 1
    assert calls("trsmBatched", lambda a: linalg.solve_triangular(a, a, upper=True), many) == 1
    assert calls("syevjBatched", linalg.eigvalsh, many) == 1
    assert calls("gesvdjBatched", linalg.svdvals, many) == 1
    assert calls("syevd", linalg.eigvalsh, many[0]) == 1


@standin_only
def test_nothing_waits():
    """Factors and solutions are queued; the program waits where it asks for an answer."""
    matrices, sides = positive(3, 4, 4).cuda(), values(3, 4, 2).cuda()
    steps = [
        lambda: linalg.cholesky_ex(matrices),
        lambda: linalg.lu_factor_ex(matrices),
        lambda: linalg.det(matrices),
        lambda: linalg.slogdet(matrices),
        lambda: linalg.inv_ex(matrices),
        lambda: linalg.qr(matrices),
        lambda: linalg.solve_triangular(matrices, sides, upper=True),
        lambda: torch.cholesky_solve(sides, matrices),
        lambda: linalg.ldl_factor_ex(matrices),
    ]
    for step in steps:
        step()  # compiles
    calls = Calls("cuStreamSynchronize")
    for step in steps:
        step()
    assert calls["cuStreamSynchronize"] == 0
    linalg.inv(matrices)
    assert calls["cuStreamSynchronize"] == 1


def test_other_devices_and_streams():
    matrices = positive(2, 4, 4)
    if torch.cuda.device_count() > 1:
        there = matrices.to("cuda:1")
        for function in (linalg.inv, linalg.cholesky, linalg.eigvalsh, torch.matrix_exp):
            ours = function(there)
            assert ours.device == torch.device("cuda:1")
            torch.testing.assert_close(ours.cpu(), function(matrices))
    stream = torch.cuda.Stream()
    there = matrices.cuda()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        ours = linalg.inv(there)
    stream.synchronize()
    torch.testing.assert_close(ours.cpu(), linalg.inv(matrices))


PROGRAM = """
import adjoint as torch
a = torch.randn(3, 4, 4, dtype=torch.float64)
p = a @ a.mT + torch.eye(4, dtype=torch.float64)
for function in (torch.linalg.inv, torch.linalg.cholesky, torch.linalg.svdvals, torch.linalg.eigvalsh, torch.linalg.det,
                 torch.matrix_exp, torch.linalg.qr, lambda x: torch.linalg.solve(x, x)):
    torch.testing.assert_close(function(p.cuda())[0].cpu(), function(p)[0])
"""


def said_by(program, **variables):
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr


def test_without_cusolver(folder, tmp_path):
    """The CPU computes, and a warning says what to install."""
    for name in ("libcuda.so.1", "libnvrtc.so.13", "libcublas.so.13", "cuda_shim.h"):
        (tmp_path / name).symlink_to(folder / name)
    said = said_by(PROGRAM, ADJOINT_CUDA_LIBRARIES=str(tmp_path))
    assert said.count("pip install nvidia-cusolver") == 1
    assert "linalg.inverse has no kernel on cuda yet" in said


@standin_only
def test_launches_that_are_waited_for():
    program = PROGRAM.replace("for function in", "import warnings; warnings.simplefilter('error')\nfor function in")
    assert said_by(program, CUDA_LAUNCH_BLOCKING="1") == ""


@standin_only
def test_a_library_that_fails():
    matrix = positive(4, 4).cuda()
    fail("potrf", 6)
    with pytest.raises(RuntimeError, match="CUDA error: cuSOLVER failed with status 6"):
        linalg.cholesky(matrix)
    torch.testing.assert_close(linalg.cholesky(matrix).cpu(), linalg.cholesky(matrix.cpu()))
