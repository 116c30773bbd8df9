"""vmap of ops that count, or that take numbers: histograms, ranges and fills, in one call for the whole batch."""

import pytest

import adjoint
from adjoint.func import _batch_loop

from .compare import OPS, VALUES, assert_same, programs, raised

program, test_program = programs(OPS, warned=None)

X = adjoint.tensor([[0.3, -1.0, 2.5, 2.5, 0.0], [4.0, 1.0, 1.0, 3.0, -2.0], [1.5, 1.5, 1.5, 1.5, 1.5]])
COUNTS = adjoint.tensor([[0, 3, 1], [3, 3, 0], [2, 1, 3]])
REPEATS = adjoint.tensor([[1, 0, 3], [2, 2, 0], [0, 0, 4]])
NUMBERS = adjoint.tensor([0.5, -1.0, 3.0])
EDGES = adjoint.tensor([[-2.0, 0.0, 1.5, 2.5], [0.0, 1.0, 1.5, 5.0], [-1.0, 0.0, 3.0, 4.0]])
CALLS = {
    "bincount": (lambda i: adjoint.bincount(i), (COUNTS,)),
    "bincount, at least": (lambda i: adjoint.bincount(i, minlength=6), (COUNTS,)),
    "bincount of int32": (lambda i: adjoint.bincount(i, minlength=6), (COUNTS.int(),)),
    "bincount, weights": (lambda i, w: adjoint.bincount(i, w), (COUNTS, X[:, :3])),
    "bincount, double weights": (lambda i, w: adjoint.bincount(i, w), (COUNTS, X[:, :3].double())),
    "bincount, integer weights": (lambda i, w: adjoint.bincount(i, w), (COUNTS, COUNTS)),
    "bincount, shared weights": (lambda i: adjoint.bincount(i, X[0, :3]), (COUNTS,)),
    "bincount, shared counts": (lambda w: adjoint.bincount(COUNTS[0], w), (X[:, :3],)),
    "bincount of nothing": (lambda i: adjoint.bincount(i, minlength=2), (COUNTS[:, :0],)),
    "histc": (lambda x: adjoint.histc(x, 4), (X,)),
    "histc between bounds": (lambda x: adjoint.histc(x, 5, -1.0, 2.5), (X,)),
    "histc of halves": (lambda x: adjoint.histc(x, 4), (X.half(),)),
    "histc of doubles": (lambda x: adjoint.histc(x.reshape(5, 1), 3), (X.double(),)),
    "histc of numbers": (lambda x: adjoint.histc(x, 3), (NUMBERS,)),
    "histc with nan": (lambda x: adjoint.histc(x.log(), 3, -2.0, 2.0), (X,)),
    "histc of nothing": (lambda x: adjoint.histc(x, 3), (X[:, :0],)),
    "histogram": (lambda x: adjoint.histogram(x, 4), (X,)),
    "histogram, density": (lambda x: adjoint.histogram(x, 4, range=(-1.0, 3.0), density=True), (X,)),
    "histogram, weights": (lambda x, w: adjoint.histogram(x, 3, weight=w), (X, X.exp())),
    "histogram, shared weights": (lambda x: adjoint.histogram(x, 3, weight=X[0]), (X,)),
    "histogram of edges": (lambda x: adjoint.histogram(x, EDGES[0]), (X,)),
    "histogram of edges of its own": (lambda x, e: adjoint.histogram(x, e), (X, EDGES)),
    "histogram of shared points": (lambda e: adjoint.histogram(X[0], e), (EDGES,)),
    "histogramdd": (lambda x: adjoint.histogramdd(x[:4].reshape(2, 2), [3, 2])[0], (X,)),
    "histogramdd of edges": (lambda x, e: adjoint.histogramdd(x[:4].reshape(2, 2), [e, EDGES[0]])[0], (X, EDGES)),
    "repeat_interleave": (lambda r: adjoint.repeat_interleave(X[0, :3], r), (REPEATS,)),
    "repeat_interleave of both": (lambda x, r: adjoint.repeat_interleave(x, r, output_size=4), (X[:, :3], REPEATS)),
    "repeat_interleave of repeats": (lambda r: adjoint.repeat_interleave(r), (REPEATS,)),
    "linspace": (lambda a: adjoint.linspace(a, 4.0, 6), (NUMBERS,)),
    "linspace of both": (lambda a, b: adjoint.linspace(a, b, 5, dtype=adjoint.float64), (NUMBERS, NUMBERS.exp())),
    "linspace of integers": (lambda a: adjoint.linspace(0, a, 4, dtype=adjoint.int64), (COUNTS[:, 1],)),
    "linspace between floats": (lambda a: adjoint.linspace(a, 9.7, 4, dtype=adjoint.int64), (NUMBERS,)),
    "logspace between floats": (lambda a: adjoint.logspace(a, 2.7, 3, dtype=adjoint.int64), (NUMBERS,)),
    "linspace of one": (lambda a: adjoint.linspace(a, 4.0, 1), (NUMBERS,)),
    "linspace of none": (lambda a: adjoint.linspace(a, 4.0, 0), (NUMBERS,)),
    "logspace": (lambda a: adjoint.logspace(a, 2.0, 5), (NUMBERS,)),
    "logspace of two": (lambda a: adjoint.logspace(0.0, a, 5, base=2.0), (NUMBERS.double(),)),
    "full": (lambda a: adjoint.full((2, 3), a), (NUMBERS,)),
    "full, of a type": (lambda a: adjoint.full((2,), a, dtype=adjoint.float64), (COUNTS[:, 0],)),
    "full_like": (lambda x, a: adjoint.full_like(x, a), (X, NUMBERS)),
    "full_like of what is shared": (lambda a: adjoint.full_like(X, a, dtype=adjoint.float64), (NUMBERS,)),
    "new_full": (lambda x, a: x.new_full((2,), a), (COUNTS, NUMBERS)),
    "new_full of what is shared": (lambda a: X.new_full((2, 1), a), (NUMBERS,)),
    "scalar_tensor": (lambda a: adjoint.scalar_tensor(a, dtype=adjoint.float64), (NUMBERS,)),
}


@pytest.fixture
def looped(monkeypatch):
    """The names of ops that are called once for each element."""
    names = set()
    monkeypatch.setattr(_batch_loop, "_warned", names)
    return names


@pytest.mark.parametrize("name", CALLS)
def test_one_call_for_all(name, looped):
    f, given = CALLS[name]
    ours = adjoint.vmap(f)(*given)
    each = [f(*one) for one in zip(*given, strict=True)]
    if not isinstance(ours, tuple):
        ours, each = (ours,), [(one,) for one in each]
    expected = tuple(adjoint.stack(column) for column in zip(*each, strict=True))
    assert_same(tuple(ours), expected, VALUES, OPS)
    assert not looped


@pytest.mark.parametrize("name", ["bincount, at least", "histc", "histogram", "repeat_interleave", "linspace", "full"])
def test_nested(name, looped):
    f, (given,) = CALLS[name]
    ours = adjoint.vmap(adjoint.vmap(f))(adjoint.stack([given, given.flip(0)]))
    ours, once = (y if isinstance(y, tuple) else (y,) for y in (ours, adjoint.vmap(f)(given)))
    assert_same(tuple(ours), tuple(adjoint.stack([y, y.flip(0)]) for y in once), VALUES, OPS)
    assert not looped


@program
def gradients_of_ranges(L):
    x = L.tensor([0.5, -1.0, 2.0], dtype=L.float64)
    spaced = lambda a: L.linspace(a, a * a, 4, dtype=L.float64)
    powers = lambda a: L.logspace(0.5, a, 4, 2.0, dtype=L.float64)
    return [L.func.grad(lambda x, f=f: (L.vmap(f)(x) ** 2).sum())(x) for f in (spaced, powers)]


@program
def numbers_that_differ(L):
    x = L.tensor([2, 3])
    calls = [L.arange, L.eye, L.zeros, L.ones, L.empty, lambda n: L.linspace(0, 1, n), lambda n: L.full((n,), 1.0)]
    return [raised(lambda call=call: L.vmap(call)(x), 60) for call in calls]


@pytest.mark.parametrize("call", [adjoint.bincount, adjoint.repeat_interleave])
def test_sizes_that_differ(call):
    with pytest.raises(RuntimeError, match="output dynamic shape"):
        adjoint.vmap(call)(adjoint.tensor([[1, 2], [3, 4]]))


@program
def wrong_counts(L):
    x = L.tensor([[1, -2], [3, 4]])
    calls = [lambda i: L.bincount(i), lambda i: L.bincount(i * 1.0), lambda i: L.bincount(i[None].abs())]
    calls += [lambda i: L.histc(i * 1.0, 0), lambda i: L.histc(i * 1.0, 3, 2, 1), lambda i: L.histc(i / 0.0, 3)]
    calls += [lambda i: L.repeat_interleave(i)]
    return [raised(lambda call=call: L.vmap(call)(x), 27) for call in calls]
