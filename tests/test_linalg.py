"""Linear algebra against torch: messages, node names, layouts, large matrices, and where results are not unique.

Values and gradients of each function are compared by tests/oracle; here is what its samples leave out.
"""

import warnings

import numpy as np
import pytest
import torch

import adjoint

from .compare import VALUES, Bound, assert_same, in_tensors, lines, same
from .processes import script

SETUP = """
def numbers(*shape, seed=0, dtype="float64"):
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape)
    if dtype == "complex128":
        values = values + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    return torch.tensor(values.tolist(), dtype=getattr(torch, dtype)).reshape(shape)
L = torch.linalg
Z = torch.zeros(3, 3)
batch = torch.stack([torch.eye(3), torch.zeros(3, 3)])
nan = torch.full((2, 2), float("nan"))
int32 = torch.int32
"""


def evaluate(library, text):
    """The value of an expression."""
    scope = {"torch": library, "np": np}
    exec(SETUP, scope)
    return eval(text, scope)


def assert_same_values(text, tolerance=1e-9):
    bound = in_tensors(Bound(tolerance, tolerance))
    assert same(lambda L: evaluate(L, text), VALUES, bound, warned=None).error is None


ERRORS = lines("""
    L.det(torch.ones(3))
    L.det(torch.ones(2, 3))
    L.det(torch.ones(2, 2, dtype=torch.int64))
    L.slogdet(torch.ones(2, 3))
    L.inv(Z)
    L.inv(batch)
    L.inv(torch.ones(2, 2, dtype=torch.float16))
    torch.inverse(Z)
    L.cholesky(Z)
    L.cholesky(batch)
    L.cholesky(nan)
    torch.cholesky(batch)
    torch.cholesky_inverse(Z)
    torch.cholesky_inverse(torch.ones(2, 3))
    torch.cholesky_solve(torch.ones(2, 3), torch.ones(3, 3))
    torch.cholesky_solve(torch.ones(2), torch.ones(3, 3))
    L.lu_factor(Z)
    L.lu_factor(batch)
    L.lu_factor(Z, pivot=False)
    L.lu(torch.ones(3))
    L.solve(Z, torch.ones(3))
    L.solve(batch, torch.ones(2, 3, 1))
    L.solve(torch.eye(3), torch.ones(2, 3))
    L.solve(torch.eye(3), torch.ones(4))
    L.solve(torch.eye(3), torch.ones(3).double())
    L.solve(torch.eye(3), torch.ones(3), left=False)
    L.solve_triangular(Z, torch.ones(2, 1), upper=True)
    L.solve_triangular(Z, torch.ones(3), upper=True)
    torch.triangular_solve(torch.ones(2, 1), torch.ones(3, 3))
    torch.triangular_solve(torch.ones(3), torch.ones(3, 3))
    L.lu_solve(torch.ones(3, 3), torch.ones(3), torch.ones(3, 1))
    L.lu_solve(torch.ones(3, 3), torch.ones(2, dtype=int32), torch.ones(3, 1))
    L.lu_solve(torch.ones(3, 3), torch.zeros(3, dtype=int32), torch.ones(3, 1))
    L.lu_solve(torch.ones(3, 3), torch.full((3,), 9, dtype=int32), torch.ones(3, 1))
    torch.lu_unpack(torch.ones(3, 3), torch.zeros(3, dtype=int32))
    torch.lu_unpack(torch.ones(3, 3), torch.ones(3))
    torch.lu_unpack(torch.ones(3, 3), torch.full((3,), 9, dtype=int32))
    L.ldl_solve(torch.ones(3, 3), torch.zeros(3, dtype=int32), torch.ones(3, 1))
    L.ldl_solve(torch.ones(3, 3), torch.full((3,), 9, dtype=int32), torch.ones(3, 1))
    L.ldl_solve(torch.ones(3, 3), torch.ones(3), torch.ones(3, 1))
    L.qr(Z, mode="x")
    L.eigh(Z, UPLO="X")
    L.svd(nan)
    L.svd(Z, driver="gesvd")
    L.eig(nan)
    L.eig(torch.ones(2, 3))
    L.eigh(torch.ones(2, 2, dtype=torch.int64))
    L.lstsq(Z, Z, driver="x")
    L.lstsq(torch.ones(3), torch.ones(3))
    L.lstsq(Z, torch.ones(2))
    L.householder_product(torch.ones(2, 3), torch.ones(2))
    L.householder_product(torch.ones(3, 2), torch.ones(3))
    L.householder_product(torch.ones(3, 2), torch.ones(2).double())
    torch.geqrf(torch.ones(3))
    L.matrix_exp(torch.ones(3, 2))
    L.matrix_power(torch.ones(3, 2), 2)
    L.matrix_norm(Z, 3)
    L.matrix_norm(Z, "x")
    L.matrix_norm(Z, 2, dim=(0, 0))
    L.matrix_norm(torch.ones(3))
    L.norm(torch.ones(2, 2, 2), "fro")
    L.norm(torch.ones(2, 2, 2), "nuc", dim=0)
    L.cond(torch.ones(3))
    L.cond(torch.ones(3, 3), 7)
    L.cond(torch.ones(3, 2), 1)
    L.multi_dot([torch.ones(2)])
    L.multi_dot([torch.ones(2, 2, 2), torch.ones(2)])
    L.multi_dot([torch.ones(2, 3), torch.ones(2, 2)])
    L.cross(torch.ones(4), torch.ones(4))
    L.cross(torch.ones(3), torch.ones(3, 1))
    L.vander(torch.ones(3), N=0)
    L.tensorinv(torch.ones(3, 3), 0)
    L.tensorinv(torch.ones(3, 2), 1)
    L.tensorsolve(torch.ones(3, 2), torch.ones(3))
    torch.trace(torch.ones(3))
    torch.renorm(torch.ones(3), 2, 0, 1.0)
    torch.renorm(torch.ones(3, 3), -1, 0, 1.0)
    torch.cdist(torch.ones(3), torch.ones(3, 3))
    torch.cdist(torch.ones(2, 3), torch.ones(3, 4))
    torch.cdist(torch.ones(2, 3), torch.ones(3, 3), -1)
    torch.pdist(torch.ones(3))
    torch.norm(torch.ones(2, 2, 2), "nuc")
    L.qr(numbers(5, 3).requires_grad_(), mode="complete").R.sum().backward()
    L.qr(numbers(5, 3).requires_grad_(), mode="r").R.sum().backward()
    L.svd(numbers(3, 3, dtype="complex128").requires_grad_()).U.real.sum().backward()
    L.eigh(numbers(3, 3, dtype="complex128").requires_grad_()).eigenvectors.real.sum().backward()
    L.eig(numbers(3, 3, dtype="complex128").requires_grad_()).eigenvectors.real.sum().backward()
    torch.geqrf(numbers(3, 3).requires_grad_()).a.sum().backward()
    L.ldl_factor(torch.eye(3).requires_grad_()).LD.sum().backward()
""")


def begin_alike(ours, theirs):
    """The first words are the same, and the class but for the underline of torch's LinAlgError."""
    count = min(8, len(str(theirs).split()))
    same_class = type(ours).__name__ == type(theirs).__name__.lstrip("_")
    return same_class and " ".join(str(ours).split()).startswith(" ".join(str(theirs).split()[:count]))


@pytest.mark.parametrize("text", ERRORS)
def test_errors_begin_as_torchs(text):
    assert same(lambda L: evaluate(L, text), error=begin_alike, warned=None).error is not None


def test_linalg_error_is_a_runtime_error():
    assert issubclass(adjoint.linalg.LinAlgError, RuntimeError)
    with pytest.raises(adjoint.linalg.LinAlgError, match="The diagonal element 1 is zero"):
        adjoint.linalg.inv(adjoint.zeros(2, 2))


NODES = lines("""
    L.det(A)
    L.slogdet(A).logabsdet
    L.inv(A)
    L.inv_ex(A).inverse
    L.cholesky(S)
    torch.cholesky(S)
    L.eigh(S).eigenvalues
    L.eigvalsh(S)
    L.svd(A).U
    L.svdvals(A)
    L.eig(A).eigenvalues
    L.eigvals(A)
    L.qr(A).Q
    L.lu(A).L
    L.lu_factor(A).LU
    L.matrix_exp(A)
    L.pinv(A)
    L.solve(A, B)
    L.solve_ex(A, B).result
    L.solve_triangular(A, B, upper=True)
    L.lu_solve(*L.lu_factor(A), B)
    L.lstsq(A, B).solution
    L.cross(A, A)
    torch.cholesky_inverse(S)
    torch.cholesky_solve(B, S)
    torch.lu_unpack(*L.lu_factor(A)).U
    torch.geqrf(A).a
    torch.orgqr(A, A[0])
    torch.ormqr(A, A[0].detach(), B)
    torch.trace(A)
    torch.renorm(A, 2, 0, 1.0)
    torch.logdet(S)
    torch.nn.functional.pdist(A)
    L.norm(A)
    L.matrix_norm(A, 2)
    L.matrix_norm(A, "nuc")
""")


@pytest.mark.parametrize("text", NODES)
def test_node_names(text):
    code = (
        f"(lambda A, S, B: {text})(numbers(3, 3).requires_grad_(), torch.eye(3).double().requires_grad_(), Z.double())"
    )
    assert same(lambda L: type(evaluate(L, code).grad_fn).__name__, warned=None).error is None


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("m", "n"), [(400, 400), (500, 390), (390, 500)])
def test_large_lu(m, n, dtype):
    assert_same_values(f"L.lu_factor_ex(numbers({m}, {n}, dtype='{dtype}'))", 1e-8)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_large_cholesky(dtype, upper):
    text = "(lambda A: L.cholesky(A @ A.mH + torch.eye(400), upper={}))(numbers(400, 400, dtype='{}'))"
    assert_same_values(text.format(upper, dtype), 1e-8)
    broken = "(lambda A: L.cholesky_ex(A @ A.mH - 3 * torch.eye(400)).info > 0)(numbers(400, 400, dtype='{}'))"
    assert_same_values(broken.format(dtype))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_equations_with_many_columns_are_split(threads, dtype):
    before = adjoint.get_num_threads()
    adjoint.set_num_threads(threads)
    try:
        A = f"(numbers(300, 300, dtype='{dtype}') + 40 * torch.eye(300))"
        B = f"numbers(300, 170, dtype='{dtype}')"
        for call in lines("""
            L.solve(A, B)
            L.solve(A, B.mT, left=False)
            L.inv(A)
            L.solve_triangular(A, B, upper=True)
            L.solve_triangular(A.mT, B.mT, upper=False, left=False)
            torch.cholesky_solve(B, A, upper=True)
            L.lu_solve(*L.lu_factor(A), B.mT, left=False, adjoint=True)
        """):
            assert_same_values(f"(lambda A, B: {call})({A}, {B})", 1e-8)
    finally:
        adjoint.set_num_threads(before)


LAYOUTS = ["{}.mT", "{}[::2, 1::2]", "{}.mT[1::2, ::2]", "{}[:4, :4].mT.expand(2, 4, 4)", "{}[:4, :4].flip(0)"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    A = layout.format("(numbers(8, 8) + 5 * torch.eye(8))")
    for call in lines("""
        L.inv(A)
        L.det(A)
        L.lu_factor(A)
        L.solve(A, A.mT)
        L.solve_triangular(A, A, upper=False)
        L.solve_triangular(A.mT, A, upper=False, left=False, unitriangular=True)
        L.svdvals(A)
        L.eigvalsh(A)
        L.qr(A).R.abs()
        L.matrix_exp(A)
        L.cross(A[..., :3], A[..., 1:4])
        torch.cdist(A, A.mT)
        L.matrix_norm(A, 1)
    """):
        assert_same_values(f"(lambda A: {call})({A})", 1e-8)


UNUSUAL = lines("""
    torch.chain_matmul(numbers(2, 3), numbers(3, 4), numbers(4, 5))
    torch.chain_matmul(numbers(2, 3))
    torch.lu(torch.zeros(2, 2))
    L.cond(Z)
    L.cond(Z, "fro")
    L.det(torch.ones(0, 0))
    L.slogdet(torch.ones(2, 0, 0))
    L.svdvals(torch.ones(0, 3))
    L.svd(torch.ones(0, 3), full_matrices=True)
    L.qr(torch.ones(3, 0), mode="complete")
    L.pinv(torch.ones(2, 0, 3))
    L.lstsq(torch.ones(3, 0), torch.ones(3, 2)).solution
    L.matrix_rank(torch.ones(3, 3), tol=0.5)
    L.matrix_rank(torch.ones(3, 3), atol=torch.tensor(10.0))
    L.matrix_power(2 * torch.eye(2), -3)
    L.eigvalsh(nan)
    L.matrix_exp(torch.zeros(2, 3, 3))
    torch.logdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    torch.cdist(numbers(30, 4), numbers(40, 4))
    torch.cdist(numbers(30, 4), numbers(40, 4), compute_mode="donot_use_mm_for_euclid_dist")
    torch.cdist(numbers(2, 1, 3, 4), numbers(5, 6, 4), p=float("inf"))
    torch.pdist(numbers(1, 4))
    L.norm(torch.ones(0, 4), float("inf"))
""")


@pytest.mark.parametrize("text", UNUSUAL)
def test_unusual_calls(text):
    assert_same_values(text, 1e-6)


def test_gradient_of_repeated_singular_values():
    x = adjoint.eye(3, requires_grad=True)
    adjoint.linalg.svd(x).S.sum().backward()
    assert x.grad.tolist() == np.eye(3).tolist()


def test_gradient_of_the_determinant_of_singular_matrices_is_the_cofactors():
    x = adjoint.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]], dtype=adjoint.float64, requires_grad=True)
    adjoint.linalg.det(x).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [[[4, -2], [-2, 1]], [[3, 0], [0, 1]]], atol=1e-12)
    assert adjoint.autograd.gradgradcheck(adjoint.linalg.det, x[:1].detach().requires_grad_(), atol=1e-3)


def second_change(A, X, Y):
    """How det changes with X and Y: the polynomial's coefficient, from determinants of columns that are exchanged."""
    n = len(A)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    changed = [[X[:, k] if k == i else Y[:, k] if k == j else A[:, k] for k in range(n)] for i, j in pairs]
    return sum((np.linalg.det(np.stack(columns, 1)) for columns in changed), start=0 * A[0, 0])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in (1, 2, 3, 5) for rank in range(n + 1)])
def test_second_gradient_of_the_determinant_at_every_rank(n, rank, dtype):
    rng = np.random.default_rng(n)

    def numbers():
        values = rng.standard_normal((n, n))
        return values + 1j * rng.standard_normal((n, n)) if dtype == "complex128" else values

    # Equal singular values, and others
    for A in (np.eye(n, dtype=dtype), numbers()):
        A[:, rank:] = 0
        X, Y = numbers(), numbers()
        x = adjoint.tensor(A).requires_grad_()
        (gradient,) = adjoint.autograd.grad(adjoint.linalg.det(x).real, x, create_graph=True)
        along = (gradient.conj() * adjoint.tensor(X)).sum().real
        (second,) = adjoint.autograd.grad(along, x, allow_unused=True)
        found = 0 if second is None else np.sum(second.numpy().conj() * Y).real
        assert found == pytest.approx(second_change(A, X, Y).real, abs=1e-12)


def test_second_gradient_of_the_determinant_of_some_singular_matrices_of_a_batch():
    x = adjoint.tensor(np.stack([np.diag([1.0, 2, 3]), np.diag([1.0, 0, 0]), np.ones((3, 3))])).requires_grad_()
    check = adjoint.autograd.gradgradcheck
    assert check(lambda x: adjoint.linalg.det(x), x[:2].detach().requires_grad_())
    by_one = adjoint.func.vmap(adjoint.func.hessian(adjoint.linalg.det))(x)
    expected = adjoint.stack([adjoint.func.hessian(adjoint.linalg.det)(one) for one in x])
    adjoint.testing.assert_close(by_one, expected)


def test_out_has_the_names_of_the_results():
    A = adjoint.eye(2)
    U, S, Vh = (adjoint.empty(0) for _ in range(3))
    result = adjoint.linalg.svd(A, out=(U, S, Vh))
    assert result.S is S
    assert S.tolist() == [1, 1]
    assert repr(adjoint.linalg.slogdet(A)).startswith("torch.return_types.linalg_slogdet(\nsign=tensor(1.)")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_exponential_of_larger_matrices_and_its_derivatives(dtype, scale):
    def run(library):
        scope = {"torch": library, "np": np}
        exec(SETUP, scope)
        A = (scope["numbers"](2, 9, 9, dtype=dtype) * (scale / 3)).requires_grad_()
        result = library.linalg.matrix_exp(A)
        (first,) = library.autograd.grad(result, A, scope["numbers"](2, 9, 9, seed=1, dtype=dtype), create_graph=True)
        (second,) = library.autograd.grad(library.linalg.vector_norm(first), A)
        return result, first, second

    assert_same(run(adjoint), run(torch), bound=Bound(1e-11, 1e-12, (0.0, np.inf)))


@pytest.mark.parametrize("transpose", [False, True])
def test_complex_triangles_are_transposed_not_conjugated(transpose):
    results = []
    for library in (torch, adjoint):
        A, b = (evaluate(library, f"numbers(3, {n}, dtype='complex128')").requires_grad_() for n in (3, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.triangular_solve is deprecated there
            solution = library.triangular_solve(b, A, transpose=transpose)[0]
        (solution * library.tensor([1j, 2.0])).sum().abs().backward()
        results.append((solution, A.grad, b.grad))
    assert_same(results[1], results[0], bound=Bound(1e-9, 1e-9))


PIVOTS = [[-1, -1, -1], [-3, -3, -3], [1, -1, 3], [1, 2, -3], [-1, -2, -3], [0, 1, 2], [4, 1, 1], [-(2**31), 1, 1]]


@pytest.mark.parametrize("pivots", PIVOTS)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_pivots_that_lead_out_of_the_matrix(pivots, dtype):
    # torch gives rubbish for blocks of two rows that are half there, or ends the process.
    program = f"""
import adjoint as torch
LD, B = torch.eye(3, dtype=torch.{dtype}), torch.ones(3, 2, dtype=torch.{dtype})
for solve in (torch.linalg.ldl_solve, torch.linalg.lu_solve, lambda LD, p, B: torch.lu_unpack(LD, p)):
    for shape in ((3,), (1, 3)):
        try:
            print(solve(LD.reshape(*shape, 3), torch.tensor({pivots}, dtype=torch.int32).reshape(shape), B))
        except RuntimeError as error:
            print("refused:", error)
"""
    run = script(program, timeout=60)
    refused = run.stdout.count("refused: Pivots given to ldl_solve must")
    assert refused == 2
    valid_for_lu = all(1 <= pivot <= 3 for pivot in pivots)
    assert run.stdout.count("refused:") == (2 if valid_for_lu else 6)


@pytest.mark.parametrize("pivots", [[-1, -1, -1, -1], [-2, -1, 3, 4], [1, -3, -3, 4], [4, 4, 4, 4], [-4, -4, -4, -4]])
def test_pivots_in_pairs(pivots):
    A, B = np.eye(4) + 0.1, np.arange(8.0).reshape(4, 2)
    results = [L.linalg.ldl_solve(L.tensor(A), L.tensor(pivots, dtype=L.int32), L.tensor(B)) for L in (adjoint, torch)]
    assert_same(*results, bound=Bound(1e-12))


# ---- Without values

META = lines("""
    L.cholesky(A)
    torch.cholesky(A, upper=True)
    L.lu_factor(A)
    L.lu(A)
    torch.lu_unpack(*L.lu_factor(A))
    L.qr(A)
    L.householder_product(A, A[..., 0])
    torch.ormqr(A, A[..., 0], B)
    L.solve(A, B)
    L.solve(A, B.mT, left=False)
    L.lu_solve(*L.lu_factor(A), B, adjoint=True)
    L.solve_triangular(A, B, upper=True)
    torch.cholesky_solve(B, A)
    torch.cholesky_inverse(A)
    L.inv(A)
    L.det(A)
    L.slogdet(A)
    L.lstsq(B, A)
    L.lstsq(A, B, driver="gelsd")
    L.cond(A, 1)
    L.svd(B, full_matrices=False)
    L.svdvals(A)
    L.eigh(A)
    L.eigvalsh(A)
    L.eig(A)
    L.eigvals(A)
    L.matrix_exp(A)
""")
WITHOUT_RULE = lines("""
    L.ldl_factor(A)
    L.ldl_solve(A, A[0].int(), B)
    torch.geqrf(A)
    L.qr(A, "complete")
    L.svd(A)
""")


def results_of(text, A, B):
    value = eval(text, {"torch": adjoint, "L": adjoint.linalg, "A": A, "B": B})
    return [value] if isinstance(value, adjoint.Tensor) else list(value)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("text", [*META, "L.pinv(A)"])
def test_results_without_values_are_recorded(text, dtype):
    A, B = (adjoint.ones(2, 4, n, dtype=getattr(adjoint, dtype), device="meta", requires_grad=True) for n in (4, 3))
    results = [y for y in results_of(text, A, B) if y.requires_grad]
    sum(y.abs().sum() for y in results).backward()
    gradients = [(x, x.grad) for x in (A, B) if x.grad is not None]
    assert results
    assert gradients
    for x, gradient in gradients:
        assert (gradient.is_meta, gradient.shape, gradient.dtype) == (True, x.shape, x.dtype)


@pytest.mark.parametrize("text", [*META, *WITHOUT_RULE])
def test_results_without_values_take_no_memory(text):
    n = 10**6
    A, B = adjoint.ones(n, n, device="meta"), adjoint.ones(n, 3, device="meta")
    assert all(y.is_meta for y in results_of(text, A, B))
