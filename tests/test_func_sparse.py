"""Sparse Jacobians and Hessians: against dense ones, in the number of products, and what is said of wrong patterns."""

import random
import sys

import numpy as np
import pytest
from scipy import sparse

import adjoint
from adjoint.func import grad, jacrev, jvp, sparse_hessian, sparse_jacobian, sparsity, vmap
from adjoint.func._sparse import coloring, rules, tracing

from .samples import find
from .test_op_table import NAMES, TABLE, attempt, samples_by_name

SIZE = 12


def point(*shape, seed=0, dtype="float64"):
    numbers = np.random.default_rng(seed).uniform(-1.0, 1.0, shape)
    return adjoint.tensor(numbers, dtype=getattr(adjoint, dtype))


def flat(tensor, rows):
    return tensor.detach().reshape(rows, -1).numpy()


def check_jacobian(f, x, **options):
    """Compares with jacrev; returns the sparse one."""
    found = sparse_jacobian(f, x, check=True, **options)
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), flat(jacrev(f)(x), f(x).numel()), rtol=1e-12, atol=1e-14)
    return found


def check_hessian(f, x, **options):
    found = sparse_hessian(f, x, check=True, **options)
    np.testing.assert_allclose(found.toarray(), flat(jacrev(grad(f))(x), x.numel()), rtol=1e-12, atol=1e-14)
    return found


# ---- Programs of structured steps


def tridiagonal(x):
    y = 2 * x
    y[1:] -= x[:-1] ** 2
    y[:-1] -= x[1:].sin()
    return y


def recurrence(x):
    out = [x[0]]
    for i in range(1, x.shape[0]):
        out.append(x[i] * x[i - 1] + 0.1 * out[i // 2])
    return adjoint.stack(out)


def written(x):
    z = adjoint.zeros_like(x)
    z[::2] = x[::2] * x[1::2]
    z[1::2].add_(x[1::2] ** 2)
    z[[0, 3]] = x[:2].exp()
    z.view(3, 4)[1].mul_(x[4:8])
    return z


SPARSE = adjoint.tensor(np.diag(np.arange(1.0, SIZE), 1) + np.diag(np.ones(SIZE - 2), -2))
KERNEL = adjoint.tensor([[[1.0, 0.0, -2.0]]], dtype=adjoint.float64)
MASK = adjoint.tensor([True, False, False] * 4)

STEPS = {
    "stencil": tridiagonal,
    "shifted": lambda x: x.roll(1) * x,
    "reversed": lambda x: x.flip(0).sin() + x,
    "padded": lambda x: adjoint.nn.functional.pad(x[2:] * x[:-2], (1, 1)) + x,
    "reshaped": lambda x: (x.view(3, 4).t() * 1.5).reshape(-1),
    "folded": lambda x: x.unfold(0, 3, 3).prod(-1).repeat_interleave(3),
    "rows": lambda x: x.view(4, 3).softmax(-1).reshape(-1),
    "sorted in rows": lambda x: x.view(4, 3).sort(-1).values.flatten() * x,
    "extremes": lambda x: (x.view(4, 3).max(1).values[:, None] * x.view(4, 3)).flatten(),
    "normalized": lambda x: adjoint.nn.functional.layer_norm(x.view(3, 4), (4,)).flatten(),
    "sums": lambda x: x.view(4, 3).sum(1).repeat(3) * x,
    "matrix": lambda x: SPARSE @ x,
    "matrices": lambda x: (SPARSE[:3, :3] @ x.view(3, 4) + x.view(4, 3).t() @ SPARSE[:4, 1:5]).flatten(),
    "batch of matrices": lambda x: (SPARSE.view(3, 12, 4)[:, :4] @ x.view(3, 4, 1)).flatten(),
    "products": lambda x: (x.view(3, 2, 2) @ x.view(3, 2, 2).mT).flatten(),
    "linear": lambda x: adjoint.nn.functional.linear(x.view(2, 6), SPARSE[:6, :6], x[:6]).flatten(),
    "solved": lambda x: adjoint.linalg.solve(x.view(3, 2, 2) + 3 * adjoint.eye(2).double(), x.view(3, 2, 2)).flatten(),
    "transformed": lambda x: adjoint.fft.irfft(adjoint.fft.rfft(x.view(3, 4)) ** 2, 4).flatten(),
    "convolved": lambda x: adjoint.nn.functional.conv1d(x.view(1, 1, -1), KERNEL, padding=1).flatten() + x,
    "pooled": lambda x: adjoint.nn.functional.avg_pool1d(x.view(1, 1, -1), 3, 1, 1).flatten() * x,
    "indexed": lambda x: x[[2, 0, 0, 1, 5, 4, 3, 7, 6, 11, 10, 9]] * x[0],
    "gathered": lambda x: x.view(3, 4).gather(1, adjoint.tensor([[3, 2, 1, 0]] * 3)).flatten(),
    "scattered": lambda x: x.scatter_add(0, adjoint.tensor([0, 0, 5]), x[3:6]),
    "masked": lambda x: x.masked_fill(MASK, 0.5) + adjoint.where(MASK, x.sin(), x.flip(0)),
    "chosen": lambda x: adjoint.where(x > 0, x * 2, x.roll(2)),
    "clamped": lambda x: x.clamp(-0.5, 0.5) + x.roll(1).relu(),
    "joined": lambda x: adjoint.cat([x[6:], x[:3] * x[3:6], x[:3]]),
    "complex": lambda x: adjoint.view_as_real(adjoint.complex(x[::2], x[1::2]) ** 2).flatten(),
    "accumulated": lambda x: x.view(4, 3).cumsum(1).flatten(),
    "recurrence": recurrence,
    "written": written,
    "detached": lambda x: x * x.sum().detach() + x.detach().roll(1),
    "differentiated": lambda x: grad(lambda y: (y[1:] * y[:-1] * x[1:]).sum())(x),
    "pushed": lambda x: jvp(lambda y: y**2 * x.roll(1), (x,), (x,))[1],
    "mapped": lambda x: vmap(lambda row: row * row.sum())(x.view(4, 3)).flatten(),
}


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name):
    f, x = STEPS[name], point(SIZE)
    check_jacobian(f, x)
    check_hessian(lambda x: (f(x).sin()).sum(), x)


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    steps = [STEPS[random.Random(f"{seed} {i}").choice(list(STEPS))] for i in range(3)]

    def f(x):
        for step in steps:
            x = step(x).sin() + 0.1 * x
        return x

    x = point(SIZE, seed=seed)
    check_jacobian(f, x)
    check_hessian(lambda x: (f(x) ** 2).sum(), x)


@pytest.mark.parametrize(
    ("f", "entries"),
    [
        (tridiagonal, 34),
        (lambda x: adjoint.where(x > x.mean(), x, x.roll(1)), 24),
        (lambda x: x * (x > x.mean()), 12),
        (lambda x: x.detach() * x.flip(0), 12),
        (lambda x: x.view(3, 4).softmax(1), 48),
        (lambda x: SPARSE @ x, 21),
        (lambda x: adjoint.linalg.inv(x.view(3, 2, 2)), 48),
        (lambda x: adjoint.view_as_complex(x.view(6, 2)).abs(), 12),
        (lambda x: adjoint.cdist(x[:6].view(3, 2), x[6:].view(3, 2)), 36),
        (lambda x: adjoint.cdist(x.view(2, 3, 2), adjoint.eye(2).double()), 24),
        (lambda x: adjoint.fft.rfft(x.view(3, 4)).abs(), 36),
        (lambda x: adjoint.zeros_like(x), 0),
        (lambda x: x.new_zeros(12).index_put_((adjoint.tensor([1, 3]),), x[:2]), 2),
        (lambda x: x.clone().masked_fill_(x > 0, 0.0), 12),
        (lambda x: recurrence(x)[2], 3),
    ],
)
def test_patterns_are_no_larger_than_they_need_to_be(f, entries):
    assert len(sparsity(f, point(SIZE)).rows) == entries
    check_jacobian(f, point(SIZE))


def test_a_mask_that_depends_on_values():
    def f(x):
        y = x * 2
        y[y > 0] = 0.0
        return y

    assert len(sparsity(f, point(SIZE)).rows) == SIZE
    check_jacobian(f, point(SIZE))


@pytest.mark.parametrize("name", ["chosen", "clamped", "sorted in rows", "extremes", "normalized"])
def test_patterns_do_not_depend_on_values(name):
    first, second = (sparsity(STEPS[name], point(SIZE, seed=seed)) for seed in (1, 2))
    assert (first.rows == second.rows).all()
    assert (first.columns == second.columns).all()


class Square(adjoint.autograd.Function):
    """Without ops, and without forward mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return adjoint.tensor(x.detach().numpy() ** 2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Straight(adjoint.autograd.Function):
    """Steps with the derivative of a line: ops show another one."""

    @staticmethod
    def forward(ctx, x, y):
        return (x > 0).double() + y.round()

    @staticmethod
    def backward(ctx, g):
        return g, g.flip(0)


def changed_afterwards(x):
    y = x[:2] * 2
    z = Straight.apply(y, y)
    y.zero_()
    return z[:1] * 2


WEIGHT = adjoint.ones(4, dtype=adjoint.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("f", "entries"),
    [
        (Square.apply, 16),
        (lambda x: Square.apply(x[:2]), 4),
        (lambda x: Square.apply(x[:2]) + x[2:], 6),
        (lambda x: adjoint.cat([Square.apply(part) for part in x.split(2)]), 8),
        (lambda x: Square.apply(Square.apply(x[1:3])), 4),
        (lambda x: Square.apply(WEIGHT * 2) * x, 4),
        (lambda x: Straight.apply(x[:2], x[2:]), 8),
        (lambda x: Straight.apply(x[:2], WEIGHT[:2])[0], 2),
        (lambda x: grad(lambda x: Square.apply(x).sum())(x), 4),
        (changed_afterwards, 2),
    ],
)
def test_results_of_custom_functions_depend_on_all_of_their_inputs(f, entries):
    assert len(sparsity(f, point(4)).rows) == entries
    check_jacobian(f, point(4), mode="reverse")


def test_a_hessian_without_forward_mode():
    check_hessian(lambda x: (Square.apply(x) * x.roll(1)).sum(), point(4), mode="reverse")


def test_changes_that_autograd_does_not_see():
    def of_data(x):
        y = x * 1
        y.data.zero_()
        return y * 1

    def detached(x):
        y = x * 1
        y.detach().mul_(x.flip(0).detach())
        return y * 1

    def without_grad(x):
        with adjoint.no_grad():
            return x[1:] * 2

    for f in (of_data, detached):
        np.testing.assert_array_equal(sparse_jacobian(f, point(4)).toarray(), np.eye(4))
    # Forward mode goes on there.
    np.testing.assert_array_equal(sparse_jacobian(without_grad, point(4)).toarray(), 2 * np.eye(4)[1:])


# ---- Ops


def test_rules_are_of_ops_that_there_are():
    assert not {*rules.RULES, *rules.WITHOUT_GRADIENT, *tracing.COPYING, *tracing.DRAWING} - set(TABLE)


# Samples of kl_div and of functions that torch has deprecated.
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss", "ignore:`nn.functional.* is deprecated")
@pytest.mark.parametrize("part", range(4))
def test_the_pattern_of_every_op_has_all_entries(part):
    """That of its gradient, too, which is made of other ops."""
    checked = 0
    for name in NAMES[part::4]:
        for sample in [sample for sample in samples_by_name()[name] if sample.precise == "float64"][:2]:
            f, x = of_vector(name, sample)
            if f is None or not is_small(f, x):
                continue
            check_entries(f, x, (name, sample))
            if sample.gradgrad:
                check_entries(grad(lambda x, f=f: f(x).sin().sum()), x, (name, sample, "gradient"))
            checked += 1
    assert checked > 100


def is_small(f, x):
    """Whether a call, if it can be made, has a gradient, and not too many of them."""

    def gradient(_):
        y = f(x)
        return y.requires_grad and y.sum().backward() is None and max(x.numel(), y.numel()) < 200

    came = attempt(gradient)
    return came.error is None and came.value


def check_entries(f, x, what):
    output = f(x)
    rows = [adjoint.autograd.grad(y, x, retain_graph=True)[0] for y in output if output.requires_grad]
    missing = (adjoint.stack(rows) != 0).numpy() & ~sparse_array(sparsity(f, x)) if rows else np.zeros(0)
    assert not missing.any(), what


def of_vector(name, sample):
    """(a sample's call as a function from vector to vector, a vector); None where its result has no derivative."""
    args, kwargs, tensors = sample.make(adjoint)
    leaves = [x for x in tensors if x.requires_grad]
    if not leaves or sample.seed:
        return None, None
    sizes = [x.numel() for x in leaves]

    def f(x):
        parts = dict(zip(map(id, leaves), x.split(sizes), strict=True))

        def replaced(value):
            if isinstance(value, list | tuple):
                return type(value)(map(replaced, value))
            return parts[id(value)].reshape(value.shape) if id(value) in parts else value

        result = find(adjoint, name)(*map(replaced, args), **{key: replaced(value) for key, value in kwargs.items()})
        tensors = [y for y in (result if isinstance(result, tuple | list) else [result]) if adjoint.is_tensor(y)]
        real = [adjoint.view_as_real(y) if y.is_complex() else y for y in tensors]
        return adjoint.cat([y.reshape(-1).double() for y in real]) if real else x[:0]

    return f, adjoint.cat([x.detach().reshape(-1) for x in leaves]).requires_grad_()


def sparse_array(pattern):
    return pattern.matrix(np.ones(len(pattern.rows), bool)).toarray()


# ---- Products


def counted(f):
    def call(x):
        call.count += 1
        return f(x)

    call.count = 0
    return call


@pytest.mark.parametrize("size", [5, 10_000])
def test_a_tridiagonal_jacobian_takes_three_products(size):
    f, x = counted(tridiagonal), point(size)
    pattern = sparsity(f, x)
    assert f.count == 1
    assert pattern.coloring.passes == 3
    found = sparse_jacobian(f, x, pattern, chunk_size=1)
    assert f.count == 4
    sparse_jacobian(f, x, pattern)
    assert f.count == 5  # all at once
    below, above = (-2 * x[:-1]).numpy(), (-x[1:].cos()).numpy()
    expected = sparse.diags_array([below, np.full(size, 2.0), above], offsets=[-1, 0, 1])
    assert abs(found - expected).max() < 1e-14


def test_the_mode_that_takes_fewer_products():
    wide = sparsity(lambda x: adjoint.cat([x.sum()[None], x**2]), point(SIZE)).coloring
    assert (wide.mode, wide.passes) == ("reverse", 2)
    tall = sparsity(lambda x: x * x[0], point(SIZE)).coloring
    assert (tall.mode, tall.passes) == ("forward", 2)
    check_jacobian(lambda x: adjoint.cat([x.sum()[None], x**2]), point(SIZE))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_mode_that_is_asked_for(mode):
    for f in (tridiagonal, lambda x: adjoint.cat([x.sum()[None], x**2]), lambda x: x * x[0]):
        check_jacobian(f, point(SIZE), mode=mode)
        check_hessian(lambda x, f=f: (f(x) ** 2).sum(), point(SIZE), mode=mode)
    lacking = np.eye(SIZE, dtype=bool)
    with pytest.raises(ValueError, match=f"lacks .* {'rows' if mode == 'forward' else 'columns'}, the first of them 0"):
        sparse_jacobian(tridiagonal, point(SIZE), lacking, mode=mode, check=True)
    with pytest.raises(ValueError, match="sparse_hessian: the pattern lacks entries"):
        sparse_hessian(lambda x: (x[1:] * x[:-1]).exp().sum(), point(SIZE), lacking, mode=mode, check=True)


def test_a_hessian_takes_fewer_products_than_its_columns():
    def arrow(x):
        return (x[0] * x[1:] ** 2).sum() + x[0] ** 3

    pattern = sparsity(grad(arrow), point(SIZE))
    assert pattern.coloring.passes == SIZE
    assert pattern.symmetric_coloring.passes == 2
    check_hessian(arrow, point(SIZE), pattern=pattern)


@pytest.mark.parametrize("seed", range(40))
def test_colorings_of_random_patterns(seed):
    chance = np.random.default_rng(seed)
    m, n = chance.integers(1, 15, 2)
    pattern = chance.random((m, n)) < chance.random() * 0.6
    values = np.where(pattern, chance.standard_normal((m, n)), 0.0)
    matrix = adjoint.tensor(values)
    found = sparse_jacobian(lambda x: matrix @ x, point(n), pattern)
    np.testing.assert_allclose(found.toarray(), values, atol=1e-14)
    for groups, members, counts in ((*np.nonzero(pattern), (m, n)), (*np.nonzero(pattern.T), (n, m))):
        colors, passes = coloring.distinct(groups, members, counts)
        assert passes == colors.max(initial=-1) + 1
        pairs = list(zip(groups, colors[members], strict=True))
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("seed", range(40))
def test_colorings_of_random_symmetric_patterns(seed):
    chance = np.random.default_rng(seed)
    n = int(chance.integers(1, 20))
    lower = np.tril(chance.random((n, n)) < chance.random() * 0.6)
    values = np.where(lower | lower.T, chance.standard_normal((n, n)), 0.0)
    values = values + values.T
    matrix = adjoint.tensor(values)
    found = sparse_hessian(lambda x: 0.5 * (x @ (matrix @ x)), point(n), lower)  # the mirror image is added
    np.testing.assert_allclose(found.toarray(), values, atol=1e-13)
    pattern = sparsity(lambda x: matrix @ x, point(n))
    assert pattern.symmetric_coloring.passes <= pattern.coloring.passes


# ---- Results


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_type_is_that_of_the_function(dtype):
    x = point(SIZE, dtype=dtype)
    for f in (tridiagonal, lambda x: adjoint.cat([x.sum()[None], x])):
        assert sparse_jacobian(f, x, check=True).dtype == dtype
        assert sparse_jacobian(lambda x, f=f: f(x).double(), x, check=True).dtype == "float64"
        assert sparse_jacobian(lambda x, f=f: f(x).float(), x, check=True).dtype == "float32"
    assert sparse_hessian(lambda x: (tridiagonal(x) ** 2).sum(), x, check=True).dtype == dtype
    assert sparse_jacobian(adjoint.zeros_like, x).dtype == dtype


def test_dimensions_are_flattened_in_row_major_order():
    def f(x):
        return x.t()[:, :, None] * adjoint.ones(2).double()

    x = point(3, 4)
    assert sparse_jacobian(f, x).shape == (24, 12)
    check_jacobian(f, x)
    check_jacobian(lambda x: x.sum(), x)
    check_hessian(lambda x: (x[1:] * x[:-1]).prod(1).sum(), x)


@pytest.mark.parametrize(("inputs", "outputs"), [(0, 0), (3, 0), (0, 2), (3, 2)])
def test_without_entries(inputs, outputs):
    found = sparse_jacobian(lambda x: adjoint.zeros(outputs), adjoint.zeros(inputs), check=True)
    assert found.shape == (outputs, inputs)
    assert found.nnz == 0
    assert sparse_hessian(lambda x: x.sum(), adjoint.ones(inputs), check=True).nnz == 0


def test_results_have_all_of_the_pattern_and_may_be_changed():
    pattern = sparsity(lambda x: x**2, adjoint.zeros(4))
    found = sparse_jacobian(lambda x: x**2, adjoint.zeros(4), pattern)
    assert found.nnz == 4
    found.eliminate_zeros()
    assert found.nnz == 0
    np.testing.assert_array_equal(sparse_jacobian(lambda x: x**2, adjoint.ones(4), pattern).toarray(), 2 * np.eye(4))


def test_there_is_no_history_and_none_is_needed():
    x = point(4).requires_grad_()
    weight = point(4).requires_grad_()
    expected = np.diag((2 * x * weight).detach().numpy())
    with adjoint.no_grad():
        np.testing.assert_allclose(sparse_jacobian(lambda x: x**2 * weight, x).toarray(), expected)
    np.testing.assert_allclose(sparse_jacobian(lambda x: x**2 * weight, x).toarray(), expected)
    assert x.grad is None
    assert weight.grad is None


def test_changes_of_the_input_stay_inside_of_a_trace():
    x = point(4)
    before = x.clone()
    sparsity(lambda x: x.mul_(2), x)
    assert (x == before).all()


# ---- Patterns that are given

PATTERN = np.eye(SIZE, dtype=bool) | np.eye(SIZE, k=1, dtype=bool) | np.eye(SIZE, k=-1, dtype=bool)


@pytest.mark.parametrize(
    "pattern",
    [
        PATTERN,
        adjoint.tensor(PATTERN),
        sparse.csr_array(PATTERN),
        sparse.coo_matrix(PATTERN.astype(float)),
        np.nonzero(PATTERN),
        [adjoint.tensor(part) for part in np.nonzero(PATTERN)],
        tuple(part.tolist() * 2 for part in np.nonzero(PATTERN)),
        np.ones((SIZE, SIZE), bool),
    ],
)
def test_given_patterns(pattern):
    check_jacobian(tridiagonal, point(SIZE), pattern=pattern)
    check_hessian(lambda x: (x[1:] * x[:-1]).exp().sum(), point(SIZE), pattern=pattern)


def test_explicit_zeros_of_a_given_matrix_count_as_entries():
    pattern = sparse.csr_array(PATTERN)
    pattern.data[:] = False
    check_jacobian(tridiagonal, point(SIZE), pattern=pattern)


def test_a_pattern_that_lacks_entries():
    x = point(SIZE)
    diagonal = np.eye(SIZE, dtype=bool)
    sparse_jacobian(tridiagonal, x, diagonal)  # nobody has asked
    with pytest.raises(ValueError, match=r"sparse_jacobian: the pattern lacks entries: .* in 12 of 12 rows, .* 0; add"):
        sparse_jacobian(tridiagonal, x, diagonal, check=True)
    with pytest.raises(ValueError, match="sparse_hessian: the pattern lacks entries"):
        sparse_hessian(lambda x: (x[1:] * x[:-1]).exp().sum(), x, diagonal, check=True)
    lacking = PATTERN.copy()
    lacking[3, 2] = False
    for dtype in ("float32", "float64"):
        with pytest.raises(ValueError, match="in 1 of 12 rows, the first of them 3"):
            sparse_jacobian(tridiagonal, x.to(getattr(adjoint, dtype)), lacking, check=True)


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        (np.ones((3, 4), bool), ValueError, r"a row for each of the 4 elements of func\(x\), got shape \(3, 4\)"),
        (np.eye(5, 4, dtype=bool), ValueError, r"a row for each of the 4 elements"),
        (np.ones((4, 1), bool), ValueError, r"a column for each of the 4 elements of x, got shape \(4, 1\)"),
        (np.ones((4, 4)), TypeError, "expected a pattern that is a Sparsity, .*, got ndarray of float64"),
        (np.ones(4, bool), TypeError, "expected a pattern that is a Sparsity"),
        (adjoint.ones(4, 4), TypeError, "got Tensor of torch.float32"),
        ("diagonal", TypeError, "got str"),
        (([0, 1], [0]), ValueError, "expected as many rows as columns, got 2 and 1"),
        (([0, 4], [0, 1]), ValueError, "expected rows from 0 to 3, got 0 to 4"),
        (([0, 1], [-1, 1]), ValueError, "expected columns from 0 to 3, got -1 to 1"),
        (([0.5], [1]), TypeError, "expected rows and columns of integers, got float64"),
    ],
)
def test_wrong_patterns(pattern, error, message):
    with pytest.raises(error, match=f"sparse_jacobian: .*{message}"):
        sparse_jacobian(lambda x: x * 2, point(4), pattern)


def test_a_pattern_for_a_hessian_is_square():
    with pytest.raises(ValueError, match=r"sparse_hessian: expected a square pattern, got shape \(3, 4\)"):
        sparse_hessian(lambda x: (x * x).sum(), point(4), np.ones((3, 4), bool))


# ---- Errors


@pytest.mark.parametrize("function", [sparsity, sparse_jacobian, sparse_hessian])
def test_wrong_inputs(function):
    name = function.__name__
    for x, message in (
        ([1.0], "a tensor x, got list"),
        (adjoint.ones(2).half(), r"x of float32 or float64, .* torch\.float16"),
    ):
        with pytest.raises(TypeError, match=f"{name}: expected {message}"):
            function(adjoint.sum, x)
    with pytest.raises(TypeError, match=r"x of float32 or float64, which SciPy has, got torch\.complex128"):
        function(adjoint.sum, point(2) + 1j)
    with pytest.raises(RuntimeError, match=f"{name}: gives a matrix of SciPy, which cannot be under vmap"):
        vmap(lambda x: function(adjoint.sum, x))(point(2, 2))


def test_wrong_functions():
    x, pattern = point(4), np.eye(4, dtype=bool)
    for options in ({}, {"pattern": pattern}):
        with pytest.raises(TypeError, match="expected func to return a tensor, got tuple"):
            sparse_jacobian(lambda x: (x, x), x, **options)
        with pytest.raises(
            TypeError, match=r"expected func\(x\) of float32 or float64, which SciPy has, got torch.int64"
        ):
            sparse_jacobian(lambda x: x.long(), x, **options)
        with pytest.raises(
            RuntimeError, match=r"Expected f\(\*args\) to return a scalar Tensor, got tensor with 1 dims"
        ):
            sparse_hessian(lambda x: x * 2, x, **options)
    for function in (sparse_jacobian, sparse_hessian):
        with pytest.raises(ValueError, match=f"{function.__name__}: expected a mode of forward or reverse, .* 'both'"):
            function(lambda x: x.sum(), x, mode="both")
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        sparse_jacobian(lambda x: x * 2, x, chunk_size=0)


def test_errors_of_the_function_are_its_own_and_close_the_level():
    with pytest.raises(RuntimeError, match="size of tensor a"):
        sparsity(lambda x: x[1:] + x, point(4))
    assert not adjoint._C._open_levels()


def test_a_pattern_too_large_to_be_written_down():
    with pytest.raises(RuntimeError, match=r"sparsity: each result of renorm\(\) counts as .* 400000000 entries; give"):
        sparsity(lambda x: adjoint.renorm(x.view(-1, 1), 2, 0, 1.0), adjoint.zeros(20_000))


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    for function in (sparsity, sparse_jacobian, sparse_hessian):
        with pytest.raises(ImportError, match=f"{function.__name__}: needs SciPy, .* install it, or use jacrev"):
            function(adjoint.sum, point(4))
