"""Reductions, scans and sorting against torch: types, corner values, empty tensors, messages and return types."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint

from . import compare
from .compare import VALUES, Bound, in_tensors, same

NAN, INF = float("nan"), float("inf")
TYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
# Values that expose how NaN, infinities, signed zeros and ties are treated.
AWKWARD = [[1.0, 3.0, 3.0, -2.0], [NAN, 1.0, NAN, INF], [-INF, -0.0, 0.0, INF], [-INF, -INF, -INF, -INF]]


def both(make):
    """The same thing made by both libraries."""
    return make(adjoint), make(torch)


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return random.integers(0 if dtype == "uint8" else -6, 7, shape)
    values = np.round(random.uniform(-3, 3, shape), 2)
    return values + 1j * np.round(random.uniform(-3, 3, shape), 2) if "complex" in dtype else values


def tensors(shape, dtype, seed=0):
    values = numbers(shape, dtype, seed)
    return both(lambda lib: lib.tensor(values.ravel().tolist(), dtype=getattr(lib, dtype)).reshape(shape))


# Sums of the half types round at other places.
BOUNDS = in_tensors(Bound(1e-5, 1e-6)) | dict.fromkeys(("float16", "bfloat16"), Bound(2e-2, 1e-6))


def assert_same(mine, theirs, rtol=None):
    """Same structure, shapes, types and values, nan for nan."""
    compare.assert_same(mine, theirs, bound=Bound(rtol, 1e-6) if rtol else BOUNDS)


def assert_same_outcome(call, rtol=None, words=3, warned=60):
    """`call(library)` gives the same values, or raises the same type of exception with the same first words."""
    same(call, VALUES, Bound(rtol, 1e-6) if rtol else BOUNDS, compare.words(words), warned)


REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "var",
    "std",
    "norm",
    "nansum",
    "count_nonzero",
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_types_of_reductions(name, dtype):
    for dim in ((), (1,)):
        mine, theirs = tensors((3, 4), dtype)
        assert_same_outcome(
            lambda lib, dim=dim, pair=(mine, theirs): getattr(pair[lib is torch], name)(*norm_first(name, dim))
        )


def norm_first(name, dim):
    return (2, *dim) if name == "norm" and dim else dim


@pytest.mark.parametrize(
    "name",
    [
        "cumsum",
        "cumprod",
        "cummax",
        "cummin",
        "logcumsumexp",
        "softmax",
        "log_softmax",
        "logsumexp",
        "sort",
        "argsort",
        "topk",
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
def test_types_along_a_dimension(name, dtype):
    mine, theirs = tensors((3, 4), dtype)
    arguments = (2,) if name == "topk" else ()
    options = {"dim": 1, "stable": True} if name in ("sort", "argsort") else {"dim": 1}
    pair = (mine, theirs)

    def call(lib):
        result = getattr(pair[lib is torch], name)(*arguments, **options)
        # Which of equal elements topk picks is not specified.
        return result.values if name == "topk" else result

    assert_same_outcome(call, words=1)


@pytest.mark.parametrize("target", ["float32", "float64", "int64", "int8", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "mean"])
def test_dtype_argument(name, dtype, target):
    pair = tensors((2, 3), dtype)
    # Torch warns, once in a process, that complex numbers lose a part.
    assert_same_outcome(lambda lib: getattr(pair[lib is torch], name)(1, dtype=getattr(lib, target)), warned=None)


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "mean",
        "prod",
        "amax",
        "amin",
        "max",
        "min",
        "argmax",
        "argmin",
        "var",
        "std",
        "norm",
        "nansum",
        "any",
        "all",
    ],
)
def test_awkward_values(name):
    for arguments in ((), (1,), (0,)):
        assert_same_outcome(lambda lib, a=arguments: getattr(lib.tensor(AWKWARD), name)(*norm_first(name, a)))


@pytest.mark.parametrize(
    "name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "logsumexp", "sort"]
)
def test_awkward_values_along_a_dimension(name):
    for dim in (0, 1):
        options = {"stable": True} if name == "sort" else {}
        assert_same_outcome(lambda lib, d=dim, o=options: getattr(lib.tensor(AWKWARD), name)(dim=d, **o))


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, -1, INF, -INF])
def test_norms_of_awkward_values(p):
    assert_same_outcome(lambda lib: lib.tensor(AWKWARD).norm(p))
    assert_same_outcome(lambda lib: lib.tensor(AWKWARD).norm(p, 1))


@pytest.mark.parametrize("name", [*REDUCTIONS, "cumsum", "cummax", "sort", "argsort", "softmax", "logsumexp", "topk"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), ()])
def test_empty_and_scalar(name, shape):
    for dim in ((), *((d,) for d in range(-len(shape) - 1, len(shape) + 1))):
        if (name == "softmax" and not dim) or (name == "cummax" and dim and not -len(shape) <= dim[0] < len(shape)):
            continue  # torch takes no missing dim for the first, and does not check the dim of nothing for the second
        arguments = (1, *dim) if name == "topk" else norm_first(name, dim)
        # Torch warns of variances of nothing, even where there are none.
        assert_same_outcome(lambda lib, a=arguments: getattr(lib.ones(shape), name)(*a), words=2, warned=None)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "std", "any", "all", "nansum", "logsumexp"])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # variances of nothing: both warn
def test_every_set_of_dims(name, keepdim):
    mine, theirs = pair = tensors((2, 3, 1, 4), "float64")
    for count in range(1, 5):
        for dims in itertools.combinations(range(4), count):
            dims = tuple(d - 4 if i % 2 else d for i, d in enumerate(dims))
            assert_same_outcome(lambda lib, d=dims: getattr(pair[lib is torch], name)(dim=d, keepdim=keepdim))
    del mine, theirs


@settings(max_examples=60)
@given(st.data())
def test_sums_of_views(data):
    """Any strides: permuted, sliced, reversed, expanded."""
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    dims = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    values = numbers(shape, "float64")

    def call(lib):
        x = lib.tensor(values.ravel().tolist(), dtype=lib.float64).reshape(shape).permute(tuple(order))
        x = x[tuple(slice(None, None, step) for step in steps)]
        return x.sum(dims), x.amin(dims) if x.numel() else x.sum(), x.cumsum(0), x.prod(0)

    assert_same_outcome(call, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "name", "arguments"),
    [
        ([1.0, 3.0, 3.0], "max", ()),
        ([1.0, 3.0, 3.0], "amax", ()),
        ([1.0, 3.0, 3.0], "max", (0,)),
        ([1.0, NAN, 3.0], "max", ()),
        ([1.0, NAN, 3.0], "min", (0,)),
        ([0.0, 2.0, 3.0], "prod", ()),
        ([0.0, 0.0, 3.0], "prod", ()),
        ([0.0, 0.0, 3.0], "prod", (0,)),
        ([2.0, 0.0, 3.0, 0.0], "cumprod", (0,)),
        ([1.0, 1.0], "std", ()),
        ([1.0], "std", ()),
        ([1.0], "var", ()),
        ([0.0, 0.0], "norm", ()),
        ([0.0, 3.0, -4.0], "norm", ()),
        ([0.0, 3.0, -4.0], "norm", (1,)),
        ([0.0, 3.0, -4.0], "norm", (3,)),
        ([0.0, 3.0, -4.0], "norm", (0.5,)),
        ([3.0, -3.0, 1.0], "norm", (INF,)),
        ([NAN, 3.0], "nansum", ()),
        ([-INF, 1.0], "logsumexp", (0,)),
        ([-INF, 1.0], "softmax", (0,)),
        ([-INF, 1.0], "log_softmax", (0,)),
        ([1.0, -INF, 2.0], "logcumsumexp", (0,)),
        ([1000.0, -1000.0, 2.0], "logcumsumexp", (0,)),
        ([1.0, 1.0, 0.0], "cummax", (0,)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # variances of nothing: both warn
def test_gradients_at_awkward_values(values, name, arguments):
    def call(lib):
        x = lib.tensor(values, dtype=lib.float64, requires_grad=True)
        result = getattr(x, name)(*arguments)
        result = result[0] if isinstance(result, tuple) else result
        weights = lib.arange(1, 1 + result.numel(), dtype=lib.float64).reshape(result.shape)
        return lib.autograd.grad((result * weights).sum(), x)

    assert_same_outcome(call)


@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0, 0.0, 5.0], [0.0, 1.0, 2.0], [0.0], [1.5, -2.0, 0.5]])
@pytest.mark.parametrize("name", ["cumprod", "prod"])
def test_second_gradients_of_products_with_zeros(name, values):
    def call(lib):
        x = lib.tensor(values, dtype=lib.float64, requires_grad=True)
        weights = lib.arange(1, 1 + len(values), dtype=lib.float64)
        first = lib.autograd.grad((getattr(x, name)(0) * weights).sum(), x, create_graph=True)[0]
        return lib.autograd.grad((first * weights).sum(), x)[0] if first.requires_grad else first * 0

    assert_same_outcome(call)


def test_logcumsumexp_gradient_does_not_overflow():
    """Sums over exp(x - y) in plain order would overflow where x rises by hundreds."""
    x = adjoint.tensor([-900.0, 0.0, 900.0, 1.0], dtype=adjoint.float64, requires_grad=True)
    x.logcumsumexp(0).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [1.0, 1.0, 2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("name", ["max", "min", "sort", "topk", "cummax", "cummin"])
def test_named_results(name):
    arguments = (2, 0) if name == "topk" else (0,)
    mine, theirs = both(lambda lib: getattr(lib.tensor([[1.0, 2.0], [0.0, 5.0]]), name)(*arguments))
    assert repr(mine) == repr(theirs)
    values, indices = mine
    assert mine.values is values
    assert mine.indices is indices
    assert not indices.requires_grad
    assert indices.dtype == adjoint.int64


def test_max_has_three_forms():
    x = adjoint.tensor([[1.0, 4.0], [3.0, 2.0]], requires_grad=True)
    assert x.max().item() == 4
    assert x.max(1).indices.tolist() == [1, 0]
    assert x.max(x * 0 + 2).tolist() == [[2, 4], [3, 2]]
    assert [y.grad_fn.name() for y in (x.max(), x.max(0).values, x.max(x))] == [
        "MaxBackward1",
        "MaxBackward0",
        "MaximumBackward0",
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(dim=None), lambda x: x.mean(), lambda x: x.mean(0),
        lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.amax(), lambda x: x.amin(0), lambda x: x.max(),
        lambda x: x.var(), lambda x: x.std(0), lambda x: x.norm(), lambda x: x.logsumexp(0), lambda x: x.softmax(0),
        lambda x: x.log_softmax(0), lambda x: x.cumsum(0), lambda x: x.cumprod(0), lambda x: x.logcumsumexp(0),
        lambda x: x.nansum(), lambda x: x.msort(),
    ],
)  # fmt: skip
def test_node_names(call):
    mine, theirs = both(lambda lib: call(lib.ones(2, 3, requires_grad=True)).grad_fn.name())
    assert mine == theirs


def test_numpy_spellings():
    mine, theirs = tensors((2, 3), "float64")
    for name in ("sum", "mean", "prod", "var", "std", "amax", "argmax", "any"):
        assert_same(getattr(mine, name)(axis=1, keepdims=True), getattr(theirs, name)(dim=1, keepdim=True))
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        mine.sum(axes=1)


def test_softmax_without_dim_warns():
    x = adjoint.ones(2, 3)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        y = adjoint.nn.functional.softmax(x)
    assert y.tolist() == adjoint.nn.functional.softmax(x, dim=1).tolist()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_second_gradients(name):
    x = adjoint.tensor([0.3, -1.2, 0.7], dtype=adjoint.float64, requires_grad=True)
    adjoint.autograd.gradgradcheck(lambda x: getattr(x, name)(0).pow(3), (x,))


def test_sum_of_many_is_accurate():
    """Pairwise summation: the error does not grow with the count."""
    x = adjoint.full((1_000_001,), 0.1)
    assert math.isclose(x.sum().item(), 0.1 * 1_000_001, rel_tol=1e-6)
    assert math.isclose(adjoint.full((70_000,), 60000.0, dtype=adjoint.float16).mean().item(), 60000.0)


@pytest.mark.parametrize("shape", [(2, 3, 4), (4,), (1, 3, 1)])
def test_out(shape):
    values = numbers(shape, "float64")

    def call(lib):
        x = lib.tensor(values.ravel().tolist(), dtype=lib.float64).reshape(shape)
        out, indices = lib.empty(0, dtype=lib.float64), lib.empty(0, dtype=lib.int64)
        assert lib.sum(x, 0, out=out) is out
        total = out.clone()
        lib.max(x, 0, out=(out, indices))
        return total, out, indices, lib.cumsum(x, 0, out=lib.empty(shape, dtype=lib.float64))

    assert_same_outcome(call)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_too_few_degrees_of_freedom_warn(name):
    for lib in (adjoint, torch):
        with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
            getattr(lib, name)(lib.ones(1))


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize("correction", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (0, 1), (1,), (2, 3), ()])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_variances_of_few_elements_warn_as_in_torch(name, correction, shape, device):
    for dim in (None, *range(len(shape))):
        same(lambda lib, d=dim: getattr(lib, name)(lib.ones(shape, device=device), d, correction=correction), VALUES)


# ---- Digits


@pytest.mark.parametrize("n", [2400, 24000, 240000])
@pytest.mark.parametrize("seed", range(3))
def test_sums_of_coarse_squares(seed, n):
    # Near 10000 floats are multiples of 2**-10; the last digits of their squared differences are never 2 or 3 (mod 4),
    # so that a total which is too large for them loses all of them in one direction.
    x = (1e4 + np.random.default_rng(seed).standard_normal(n)).astype("float32")
    exact = np.square(x.astype("float64") - 1e4).sum()
    sums = [library.nn.functional.mse_loss(library.from_numpy(x), library.full((n,), 1e4), reduction="sum")
            for library in (adjoint, torch)]  # fmt: skip
    for total in sums:
        assert abs(total.item() / exact - 1) < 1.8e-7
    strided = adjoint.from_numpy(x)[::2] - 1e4
    assert abs(strided.norm().item() / math.sqrt(np.square(x[::2].astype("float64") - 1e4).sum()) - 1) < 1.8e-7


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 16, 17])
def test_short_rows_have_the_bits_of_rows_with_gaps(length):
    numbers = np.random.default_rng(length).standard_normal((1003, length + 1))
    for dtype in ("float32", "float64", "float16", "int32", "int64", "complex64", "bool"):
        scale = 1 if dtype == "float16" else 4  # the products of larger halves are infinite
        gaps = (scale * numbers).astype(dtype)[:, :length]
        ordered = dtype not in ("complex64", "bool")
        close = {"rtol": 2e-3, "atol": 2e-2} if dtype == "float16" else {"rtol": 1e-5, "atol": 1e-4}
        for name in ("sum", "prod", "any", *(("amax", "argmin") if ordered else ())):
            call = getattr(adjoint, name)
            packed, spread = (call(adjoint.from_numpy(x), 1) for x in (np.ascontiguousarray(gaps), gaps))
            assert packed.tolist() == spread.tolist(), (name, dtype)
            expected = getattr(torch, name)(torch.from_numpy(gaps), 1)
            np.testing.assert_allclose(packed.numpy(), expected.numpy(), **close)
