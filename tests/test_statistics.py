"""Order statistics, distinct values, histograms and finite differences against torch, where op_db has no sample:
ties, nan, empty tensors, out=, messages; and long rows, whose kernels take other ways than short ones."""

import math

import numpy as np
import pytest
import torch

import adjoint

from .compare import Bound, assert_same, same

NAN, INF = float("nan"), float("inf")

PROGRAMS = {
    # ---- Medians and other elements by rank
    "median with ties": lambda t: t.tensor([2, 1, 2, 2, 1]).median(0),
    "median with nan": lambda t: t.tensor([1.0, NAN, 0.0, NAN]).median(0),
    "nanmedian": lambda t: t.tensor([1.0, NAN, 0.0, NAN]).nanmedian(0),
    "nanmedian of nan": lambda t: t.tensor([NAN, NAN]).nanmedian(0),
    "median of nothing": lambda t: (t.zeros(0).median(), t.zeros(0, dtype=t.int64).median()),
    "median of an empty dimension": lambda t: t.zeros(3, 0).median(1),
    "median of empty slices": lambda t: t.zeros(3, 0).median(0),
    "median of bool": lambda t: t.tensor([True]).median(),
    "median of complex": lambda t: t.tensor([1j]).median(0),
    "median node": lambda t: t.tensor([1.0, 2.0], requires_grad=True).median(),
    "median gradient with ties": lambda t: gradient(t, lambda x: x.median(), [1.0, 2.0, 2.0, 2.0, 3.0, 2.0]),
    "median gradient with nan": lambda t: gradient(t, lambda x: x.median(), [NAN, 2.0, NAN, 2.0]),
    "nanmedian gradient": lambda t: gradient(t, lambda x: x.nanmedian(), [NAN, 2.0, NAN, 2.0]),
    "median with out and no dim": lambda t: t.median(t.zeros(3), out=t.zeros(())),
    "mode": lambda t: t.tensor([[1, 3, 3, 1], [2, 2, 0, 0]]).mode(1),
    "mode keeps dim": lambda t: t.tensor([[1.0, 3.0, 3.0]]).mode(-1, True),
    "mode of an empty dimension": lambda t: t.zeros(3, 0).mode(),
    "kthvalue": lambda t: t.tensor([5.0, 1.0, NAN, 3.0]).kthvalue(4),
    "kthvalue out of range": lambda t: t.zeros(2, 3).kthvalue(5, 0),
    "kthvalue of 0": lambda t: t.zeros(3).kthvalue(0),
    "kthvalue into its input": lambda t: kthvalue_into_input(t),
    "aminmax": lambda t: t.tensor([[3.0, NAN], [1.0, 2.0]]).aminmax(dim=1, keepdim=True),
    "aminmax of nothing": lambda t: t.zeros(0).aminmax(),
    "aminmax gradient with ties": lambda t: gradient(
        t, lambda x: x.aminmax().max * 3 + x.aminmax().min, [1.0, 1.0, 2.0, 2.0]
    ),
    "aminmax into another type": lambda t: t.aminmax(t.zeros(3), out=(t.zeros(()), t.zeros((), dtype=t.float64))),
    # ---- Quantiles, covariances
    "quantile with nan": lambda t: t.tensor([[NAN, 1.0], [1.0, 2.0]]).quantile(0.5, dim=1),
    "nanquantile": lambda t: t.tensor([NAN, 1.0, 2.0, 4.0]).nanquantile(t.tensor([0.0, 0.5, 1.0])),
    "quantile keeps dim": lambda t: t.zeros(2, 3, 4).quantile(t.tensor([0.1, 0.2]), dim=1, keepdim=True),
    "quantile keeps all": lambda t: t.zeros(2, 3).quantile(0.5, keepdim=True),
    "quantile of no q": lambda t: t.zeros(3).quantile(t.tensor([])),
    "quantile too large": lambda t: t.zeros(3).quantile(1.5),
    "quantile of ints": lambda t: t.tensor([1, 2]).quantile(0.5),
    "quantile of nothing": lambda t: t.zeros(0).quantile(0.5),
    "quantile of another type": lambda t: t.zeros(3).quantile(t.tensor([0.5], dtype=t.float64)),
    "quantile gradient": lambda t: gradient(t, lambda x: x.quantile(0.25, interpolation="midpoint"), [3.0, 1.0, 2.0]),
    "cov of ints": lambda t: t.tensor([[0, 2], [1, 1], [2, 0]]).T.cov(),
    "cov of one": lambda t: t.tensor(3.0).cov(),
    "cov of nothing": lambda t: (t.zeros(0, 3).cov(), t.zeros(3, 0).cov()),
    "cov of bool": lambda t: t.tensor([True]).cov(),
    "cov with zero weights": lambda t: t.tensor([1.0, 2.0]).cov(fweights=t.tensor([0, 0])),
    "corrcoef of one": lambda t: t.tensor([1.0, 2.0, 3.0]).corrcoef(),
    # ---- Distinct values and membership
    "unique with nan": lambda t: t.unique(t.tensor([NAN, 1.0, NAN, 1.0]), return_inverse=True, return_counts=True),
    "unique of bool": lambda t: t.tensor([[True, False]]).unique(return_inverse=True),
    "unique of near integers": lambda t: (
        (t.arange(40) * 7 % 11 - 5).view(8, 5).t().unique(return_inverse=True, return_counts=True)
    ),
    "unique of near small integers": lambda t: (t.arange(300) % 256).to(t.uint8).unique(return_counts=True),
    "unique of far integers": lambda t: t.tensor([2**63 - 1, -(2**63), 0, 0, -(2**63)]).unique(return_inverse=True),
    "unique of nothing": lambda t: t.zeros(0, 3).unique(return_inverse=True, return_counts=True),
    "unique rows": lambda t: t.tensor([[1, 2], [1, 2], [0, 5]]).unique(dim=0, return_inverse=True, return_counts=True),
    "unique columns": lambda t: t.tensor([[2, 1, 2], [0, 1, 0]]).unique(dim=-1),
    "unique rows of nothing": lambda t: t.zeros(0, 3).unique(dim=0),
    "unique of empty slices": lambda t: t.zeros(0, 3).unique(dim=1),
    "unique dim of a number": lambda t: t.tensor(3.0).unique(dim=0),
    "unique dim out of range": lambda t: t.zeros(2).unique(dim=3),
    "unique of complex": lambda t: t.tensor([1j]).unique(),
    "unique node": lambda t: t.tensor([1.0, 1.0], requires_grad=True).unique(),
    "unique rows node": lambda t: t.tensor([1.0, 1.0], requires_grad=True).unique(dim=0),
    "runs": lambda t: t.tensor([1, 1, 2, 2, 1]).unique_consecutive(return_inverse=True, return_counts=True),
    "runs of rows": lambda t: t.tensor([[1, 1], [1, 1], [0, 0]]).unique_consecutive(dim=0, return_counts=True),
    "isin a number": lambda t: (t.isin(t.tensor([1, 2]), 2), t.isin(1, t.tensor([1, 2]))),
    "isin nan": lambda t: t.isin(t.tensor([NAN, 1.0]), t.tensor([NAN, 1.0])),
    "isin nothing": lambda t: t.isin(t.tensor([[1, 2]]), t.tensor([]), invert=True),
    "isin other types": lambda t: t.isin(t.tensor([300]), t.tensor([44], dtype=t.uint8)),
    "isin bool": lambda t: t.isin(t.tensor([True]), t.tensor([True])),
    "isin two numbers": lambda t: t.isin(1, 1),
    # ---- Histograms
    "histc": lambda t: t.tensor([0.0, 1.0, 2.0, 2.999, 3.0, 3.1, NAN]).histc(3, 0, 3),
    "histc of nothing": lambda t: t.zeros(0).histc(3),
    "histc of equal elements": lambda t: t.ones(2).histc(3),
    "histc of infinities": lambda t: t.tensor([1.0, INF]).histc(3),
    "histc with bounds exchanged": lambda t: t.ones(2).histc(3, 5, 2),
    "histc without bins": lambda t: t.ones(2).histc(0),
    "histc of ints": lambda t: t.tensor([1]).histc(),
    "histogram": lambda t: t.histogram(t.tensor([1.0, 2.0, 3.0]), 2, range=(0.0, 4.0)),
    "histogram of one value": lambda t: t.histogram(t.tensor([5.0]), 2),
    "histogram of edges": lambda t: t.histogram(t.tensor([1.0, 2.0, 5.0]), t.tensor([1.0, 2.0, 5.0])),
    "histogram of falling edges": lambda t: t.histogram(t.tensor([1.0, 2.0]), t.tensor([3.0, 2.0, 1.0])),
    "histogram density": lambda t: t.histogram(t.tensor([1.0, 2.0, 3.0, 4.0]), 2, density=True),
    "histogram without bins": lambda t: t.histogram(t.tensor([1.0]), 0),
    "histogram of no edges": lambda t: t.histogram(t.tensor([1.0]), t.tensor([])),
    "histogram with range exchanged": lambda t: t.histogram(t.tensor([1.0]), 2, range=(4.0, 0.0)),
    "histogram of ints": lambda t: t.histogram(t.tensor([1]), 2),
    "histogram with wrong weights": lambda t: t.histogram(t.zeros(3), 2, weight=t.zeros(1)),
    "histogramdd": lambda t: t.histogramdd(t.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), bins=[2, 2]),
    "histogramdd with one bin count": lambda t: t.histogramdd(t.tensor([[1.0, 2.0], [3.0, 4.0]]), bins=2),
    "histogramdd in no dimensions": lambda t: t.histogramdd(t.zeros(2, 0), bins=[]),
    "histogramdd of a row": lambda t: t.histogramdd(t.zeros(2), bins=[2]),
    "histogramdd with a short range": lambda t: t.histogramdd(t.zeros(2, 2), bins=[2, 2], range=[0.0, 1.0, 0.0]),
    # ---- Differences and integrals
    "diff of bool": lambda t: t.tensor([True, False, True, True]).diff(n=2),
    "diff of uint8 wraps": lambda t: t.tensor([3, 1], dtype=t.uint8).diff(),
    "diff beyond the end": lambda t: t.tensor([1.0, 2.0]).diff(n=5),
    "diff of a number": lambda t: t.tensor(1.0).diff(),
    "diff with the wrong shape": lambda t: t.zeros(2, 3).diff(prepend=t.zeros(3, 1)),
    "trapezoid of ints": lambda t: (t.trapezoid(t.tensor([1, 2, 3])), t.trapezoid(t.tensor([1, 2]), t.tensor([0, 3]))),
    "trapezoid of nothing": lambda t: (t.trapezoid(t.zeros(0)), t.trapezoid(t.zeros(3, 0, dtype=t.int32))),
    "trapezoid of a number": lambda t: t.trapezoid(t.tensor(1.0)),
    "trapezoid of bool": lambda t: t.trapezoid(t.tensor([True])),
    "trapezoid of too many places": lambda t: t.trapezoid(t.zeros(2, 3), t.zeros(4)),
    "gradient of a number": lambda t: t.gradient(t.tensor(1.0)),
    "gradient of too few": lambda t: t.gradient(t.zeros(2, 3), edge_order=2),
    "gradient of bytes": lambda t: t.gradient(t.zeros(3, dtype=t.uint8)),
    "gradient of halves": lambda t: t.gradient(t.tensor([1, 4, 9], dtype=t.float16)),
    "gradient with a wrong dim": lambda t: t.gradient(t.zeros(2), dim=4),
    # ---- Index patterns
    "combinations of nothing": lambda t: (t.combinations(t.zeros(0)), t.combinations(t.tensor([1, 2]), 3)),
    "combinations of none": lambda t: t.combinations(t.tensor([1, 2]), 0),
    "combinations of a matrix": lambda t: t.combinations(t.zeros(2, 2)),
    "triangles": lambda t: [f(4, 3, k) for f in (t.tril_indices, t.triu_indices) for k in (-9, -2, 0, 1, 9)],
    "a triangle of few entries": lambda t: t.triu_indices(1 << 40, 3),
    "a triangle of floats": lambda t: t.tril_indices(2, 3, dtype=t.float32),
    "a negative triangle": lambda t: t.tril_indices(-1, 3),
    # ---- Masked
    "masked mean of nothing": lambda t: t.masked.mean(t.ones(3), mask=t.tensor([False])),
    "masked amax of nothing": lambda t: t.masked.amax(t.ones(3, dtype=t.int32), mask=t.tensor([False])),
    "masked amax of bool": lambda t: t.masked.amax(t.tensor([True]), mask=t.tensor([True])),
    "masked argmax": lambda t: t.masked.argmax(t.tensor([3.0, 5.0, 4.0]), mask=t.tensor([True, False, True])),
    "masked mean of ints": lambda t: t.masked.mean(t.tensor([1, 2]), 0),
    "masked median of ints": lambda t: t.masked.median(t.tensor([1, 2]), 0, mask=t.tensor([False, False])),
    "masked sum with a mask of ints": lambda t: t.masked.sum(t.tensor([1.0, 2.0]), mask=t.tensor([0, 7])),
    "masked sum with too large a mask": lambda t: t.masked.sum(t.zeros(2), mask=t.zeros(1, 2, dtype=t.bool)),
    "masked sum of a dim twice": lambda t: t.masked.sum(t.zeros(2, 2), (0, 0)),
    "masked var": lambda t: t.masked.var(t.tensor([1.0, 5.0, 3.0]), mask=t.tensor([True, False, True])),
    # ---- Others
    "nansum as ints": lambda t: t.tensor([NAN, 1.5]).nansum(dtype=t.int64),
    "nansum of bool": lambda t: t.tensor([True, True]).nansum(),
    "sum_to_size of ints": lambda t: [t.ones(2, 3, dtype=t.int32).sum_to_size(s) for s in ((2, 3), (1, 3), (3,))],
    "logcumsumexp of complex infinities": lambda t: t.tensor([complex(1, 2), complex(-INF, 3)]).logcumsumexp(0),
    "where with the greatest integers": lambda t: t.where(t.tensor([True, False]), -(2**63), 2**63 - 1),
}


def gradient(t, function, values):
    x = t.tensor(values, requires_grad=True)
    function(x).backward()
    return x.grad


def kthvalue_into_input(t):
    x = t.zeros(10)
    return t.kthvalue(x, 5, out=(x, t.zeros((), dtype=t.int64)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    same(PROGRAMS[name])


# ---- Long rows


def awkward(shape, nan_at=None):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    if nan_at is not None:
        values.reshape(-1)[nan_at] = NAN
    return values


@pytest.mark.parametrize("size", [1, 31, 32, 33, 127, 2047, 2048, 2049, 70001])
@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_extremes_of_rows_and_columns(size, nan, dtype):
    for at in {0, size // 2, size - 1} if nan else {None}:
        for shape in ((size,), (size, 3), (3, size)):
            values = awkward(shape, at)
            x = adjoint.from_numpy(values).to(getattr(adjoint, dtype))
            y = torch.from_numpy(values).to(getattr(torch, dtype))
            for dim in range(len(shape)):
                for name in ("amax", "amin"):
                    mine, theirs = getattr(x, name)(dim), getattr(y, name)(dim)
                    assert str(mine.double().tolist()) == str(theirs.double().tolist())
                both = x.aminmax(dim=dim)
                assert str(both.max.double().tolist()) == str(y.amax(dim).double().tolist())
                assert str(both.min.double().tolist()) == str(y.amin(dim).double().tolist())


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("size", [1, 4, 5, 511, 512, 513, 1030])
def test_scans_of_long_rows(name, size):
    values = np.random.default_rng(1).uniform(0.5, 1.5, (3, size)).astype(np.float32)
    for dtype in ("float32", "float64", "int64", "bfloat16"):
        x = adjoint.from_numpy(values).to(getattr(adjoint, dtype))
        y = torch.from_numpy(values).to(getattr(torch, dtype))
        mine, theirs = getattr(x, name)(1), getattr(y, name)(1)
        mine, theirs = (r[0] if isinstance(r, tuple) else r for r in (mine, theirs))
        tolerance = 1.6e-2 if dtype == "bfloat16" else 1e-5
        assert_same(mine, theirs, bound=Bound(tolerance))


def test_products_that_would_overflow_in_another_order():
    for values in ([1e300, 1e-200, 1e-200, 1e100, 1.0], [1e-30, 1e-30, 1e30, 1e30, 3e38, 10.0]):
        same(lambda t, values=values: t.tensor(values, dtype=t.float64).cumprod(0))
    same(lambda t: t.tensor([1.0, INF, 0.0, 2.0, 1.0, 1.0]).cumprod(0))
    same(lambda t: t.tensor([1.0, INF, -INF, 2.0, 1.0, 1.0]).cumsum(0))


def test_norm_of_large_floats():
    """Squares that a float cannot hold."""
    x = adjoint.full((100,), 1e30)
    assert x.norm().item() == pytest.approx(1e31, rel=1e-6)
    assert x.reshape(10, 10).norm(dim=0).tolist() == pytest.approx([3.1622776e30] * 10, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(5, 40), (40, 5), (3, 7)])
def test_softmax_of_masked_rows(dtype, shape):
    values = np.random.default_rng(2).standard_normal(shape) * 50
    values[np.random.default_rng(3).random(shape) < 0.5] = -INF
    values[0] = 1.0
    for dim in (0, 1):
        for name in ("softmax", "log_softmax", "logsumexp"):
            mine = getattr(adjoint.tensor(values, dtype=getattr(adjoint, dtype)), name)(dim)
            theirs = getattr(torch.tensor(values, dtype=getattr(torch, dtype)), name)(dim)
            tolerance = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 1.6e-2}[dtype]
            assert_same(mine, theirs, bound=Bound(tolerance, tolerance))


def test_histograms_of_many_elements():
    values = np.random.default_rng(4).integers(0, 1000, 200_000).astype(np.float32) / 100
    x, y = adjoint.from_numpy(values), torch.from_numpy(values)
    assert x.histc(10, 0, 10).tolist() == y.histc(10, 0, 10).tolist()
    edges = np.array([0.0, 0.5, 1.0, 7.0, 9.5], dtype=np.float32)
    for bins in (10, edges):
        mine = adjoint.histogram(x, adjoint.from_numpy(bins) if bins is edges else bins)
        theirs = torch.histogram(y, torch.from_numpy(bins) if bins is edges else bins)
        assert mine.hist.tolist() == theirs.hist.tolist()
        assert mine.bin_edges.tolist() == pytest.approx(theirs.bin_edges.tolist())


def test_ranges_that_overflow():
    """Positions that are not numbers must not become places."""
    for dtype, most in ((adjoint.float32, 3e38), (adjoint.float64, 1.7e308)):
        x = adjoint.tensor([-most, 0.0, most], dtype=dtype)
        assert x.histc(4, -most, most).sum().item() == 3
        assert adjoint.histogram(x, 4, range=(-most, most)).hist.shape == (4,)


def test_distinct_elements_of_many():
    values = np.random.default_rng(5).integers(0, 500, 5000)
    x, y = adjoint.from_numpy(values), torch.from_numpy(values)
    for mine, theirs in zip(x.unique(True, True, True), y.unique(True, True, True), strict=True):
        assert mine.tolist() == theirs.tolist()
    rows, there = x.reshape(-1, 2) % 20, y.reshape(-1, 2) % 20
    for mine, theirs in zip(rows.unique(True, True, True, 0), there.unique(True, True, True, 0), strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 5), (3, 4), (2, 1, 3), (2, 3, 4)])
def test_sorted_elements_lie_as_their_input(shape):
    def strides(library):
        x = library.arange(math.prod(shape)).reshape(shape)
        for turned in (x, x.transpose(0, -1), x.unsqueeze(0).expand(3, *shape), x[..., ::2]):
            values, places = turned.sort(0, descending=True)
            yield values.tolist(), values.stride(), places.stride(), turned.argsort(-1).stride()

    assert list(strides(adjoint)) == list(strides(torch))


def test_variances_inside_of_norms_do_not_warn():
    """Of no elements there is a second derivative of a norm, and no degree of freedom; warnings are errors here."""
    for library in (adjoint, torch):
        x = library.ones((0, 4, 2), dtype=library.float64, requires_grad=True)
        for norm in (library.nn.functional.group_norm, library.nn.functional.layer_norm):
            y = norm(x, 2 if norm is library.nn.functional.group_norm else (2,))
            (first,) = library.autograd.grad(y.sum(), x, create_graph=True)
            (second,) = library.autograd.grad((first * first).sum(), x)
            assert second.shape == x.shape
        _, mean, rstd = library.native_group_norm(x, None, None, 0, 4, 2, 2, 1e-5)
        assert (mean.shape, rstd.shape) == ((0, 2), (0, 2))
