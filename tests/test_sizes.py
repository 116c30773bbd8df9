"""Sizes of what is asked for: results without elements, out= of creation functions, sizes beyond memory, degrees."""

import numpy as np
import pytest
import torch

import adjoint

from .compare import Bound, assert_same, check_text, lines, programs, same

program, test_program = programs()

EMPTY = """
torch.nn.functional.adaptive_avg_pool1d(torch.ones(0, 10), 3)
torch.nn.functional.adaptive_avg_pool1d(torch.ones(0, 10), 0)
torch.nn.functional.adaptive_avg_pool1d(torch.ones(2, 0, 10), 3)
torch.nn.functional.adaptive_avg_pool2d(torch.ones(0, 10, 10), 3)
torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 0, 10, 10), 3)
torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 3, 0, 10), 3)
torch.nn.functional.adaptive_avg_pool3d(torch.ones(0, 10, 10, 10), 3)
torch.nn.functional.adaptive_max_pool1d(torch.ones(0, 10), 3)
torch.nn.functional.adaptive_max_pool2d(torch.ones(0, 10, 10), 3)
torch.nn.functional.adaptive_max_pool2d(torch.ones(2, 0, 10, 10), 3)
torch.nn.functional.adaptive_max_pool3d(torch.ones(0, 10, 10, 10), 3)
torch.nn.functional.adaptive_avg_pool2d(torch.ones(0, 2, 5, 5), (2**31, 3))
torch.nn.functional.adaptive_max_pool2d(torch.ones(0, 2, 5, 5), (2**31, 3))
torch.nn.FractionalMaxPool2d(2, output_size=(0, 0))(torch.ones(1, 2, 5, 5))
torch.nn.FractionalMaxPool2d(2, output_size=(0, 1))(torch.ones(1, 2, 5, 5))
torch.nn.FractionalMaxPool2d(2, output_size=(0, 0))(torch.ones(0, 2, 5, 5))
torch.nn.FractionalMaxPool3d(2, output_size=(0, 0, 0))(torch.ones(1, 2, 5, 5, 5))
torch.vander(torch.arange(3), 0)
torch.vander(torch.arange(3), 1)
torch.vander(torch.arange(3.0), -1)
torch.vander(torch.tensor([2.0]))
torch.vander(torch.tensor([]))
torch.combinations(torch.ones(0), 30, True)
torch.linalg.svd(torch.empty(0, 2**31), full_matrices=False)[2].shape
torch.linalg.svd(torch.empty(2**31, 0), full_matrices=False)[0].shape
torch.linalg.svd(torch.empty(0, 2**31))
torch.svd(torch.empty(2**31, 0))[0].shape
torch.empty(0, 2**62, 4)
torch.empty(2**62, 4, 0)
"""


@pytest.mark.parametrize("text", lines(EMPTY))
def test_results_without_elements(text):
    check_text(text)


@program
def gradient_of_pools_of_nothing(L):
    x = L.ones(0, 10, requires_grad=True)
    L.nn.functional.adaptive_avg_pool1d(x, 3).sum().backward()
    y = L.ones(1, 2, 5, 5, requires_grad=True)
    L.nn.functional.fractional_max_pool2d(y, 2, (0, 0)).sum().backward()
    return x.grad, y.grad


# ---- Sizes that are refused: torch's error and its words

REFUSED = """
torch.nn.functional.fractional_max_pool2d(torch.ones(1, 2, 5, 5), 2, (-1, 2))
torch.nn.AdaptiveMaxPool1d(0x3FFFFFFFFFFFFFFF)(torch.empty(2, 2, 2))
torch.nn.AdaptiveMaxPool2d((2, -1))(torch.empty(2, 2, 2, 2))
torch.nn.AdaptiveAvgPool2d((2, -1))(torch.empty(2, 2, 2, 2))
torch.nn.AdaptiveMaxPool3d(2**62)(torch.empty(2, 2, 2, 2, 2))
torch.nn.functional.interpolate(torch.ones(1, 2, 5), 2**62)
torch.nn.functional.interpolate(torch.ones(1, 2, 5), 2**63 - 1, mode="linear")
torch.nn.functional.interpolate(torch.ones(1, 2, 5, 5), (2**31, 2**31), mode="bilinear")
torch.nn.functional.interpolate(torch.ones(1, 2, 5, 5), (2**62, 3), mode="bilinear", antialias=True)
torch.nn.functional.interpolate(torch.ones(1, 2, 5, 5), scale_factor=1e300)
torch.nn.functional.interpolate(torch.ones(1, 2, 5), 0)
torch.nn.functional.pad(torch.ones(2, 3, 4), (2**62, 2), mode="replicate")
torch.nn.functional.pad(torch.ones(2, 3, 4), (2**62, 2), mode="reflect")
torch.nn.functional.pad(torch.ones(2, 3, 4), (2**62, 2), mode="circular")
torch.empty(2**62)
torch.zeros(2**40, 2**40)
torch.ones(3).repeat(2**62, 1)
torch.ones(1).expand(2**62, 4)
torch.combinations(torch.ones(3), 2**20)
torch.ones(2, 3).repeat_interleave(torch.tensor([1, 2]), 5)
torch.ones(2, 3).repeat_interleave(2, -3)
torch.movedim(torch.ones(2, 3), [0] * 1000000, [0] * 1000000)
torch.unflatten(torch.tensor(3.0), 0, [2**62, 1])
torch.tensor(3.0).unflatten(-1, (1,))
"""


@pytest.mark.parametrize("text", lines(REFUSED))
def test_refused(text):
    code = compile(text, "<call>", "eval")
    outcome = same(lambda library: eval(code, {"torch": library}))
    assert outcome.kind not in ("value", "MemoryError")
    assert outcome.message


@pytest.mark.parametrize(
    ("dims", "kernel", "size"), [(2, 2**63 - 1, 2), (2, 2, 2**63 - 1), (3, 2**63 - 1, 2), (3, 2, 2**63 - 1)]
)
def test_fractional_windows_whose_ends_overflow(dims, kernel, size):
    # Torch adds the two up, and goes on with what overflowed.
    pool = getattr(adjoint.nn.functional, f"fractional_max_pool{dims}d")
    with pytest.raises(RuntimeError, match=f"pool {'height' if dims == 2 else 'time'} {kernel} too large relative to"):
        pool(adjoint.ones(2, 3, *(5,) * dims), kernel, size)


# ---- Interpolation by filters

LANCZOS = """
torch.nn.functional.interpolate(torch.arange(25.0).reshape(1, 1, 5, 5), 3, mode="lanczos", antialias=True)
torch.nn.functional.interpolate(torch.arange(25.0).reshape(1, 1, 5, 5), 7, mode="lanczos", antialias=True)
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5), 3, mode="lanczos", align_corners=False, antialias=True)
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5), 3, mode="lanczos", align_corners=True, antialias=True)
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5), 3, mode="lanczos", align_corners=True)
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5), 3, mode="lanczos")
torch.nn.functional.interpolate(torch.ones(1, 1, 5), 3, mode="lanczos")
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5, 5), 3, mode="lanczos")
torch.nn.functional.interpolate(torch.ones(1, 1, 5, 5), 3, mode="bogus", align_corners=True)
"""


@pytest.mark.parametrize("text", lines(LANCZOS))
def test_lanczos(text):
    check_text(text, Bound(1e-6, 1e-6))


@pytest.mark.parametrize("size", [3, 4, 7, 12])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_filters_take_no_infinity_from_outside_of_their_window(mode, size):
    for place in range(9):
        image = np.ones((1, 1, 9, 9), np.float32)
        image[0, 0, place, place] = np.inf
        result, expected = (
            library.nn.functional.interpolate(library.tensor(image), size, mode=mode, antialias=True).numpy()
            for library in (adjoint, torch)
        )
        inside = np.isfinite(expected)
        assert np.array_equal(np.isfinite(result), inside)
        np.testing.assert_allclose(result[inside], expected[inside], 1e-5)


# ---- out= of creation functions

RANGES = {
    "arange": lambda L, out: L.arange(6, out=out),
    "linspace": lambda L, out: L.linspace(0, 10, 6, out=out),
    "logspace": lambda L, out: L.logspace(0, 5, 6, 2, out=out),
}
OUTS = {
    "strided": lambda L: L.zeros(12)[::2],
    "transposed": lambda L: L.zeros(2, 3).t(),
    "column": lambda L: L.zeros(6, 1),
    "rows": lambda L: L.zeros(2, 3, dtype=L.float64),
    "integers": lambda L: L.zeros(12, dtype=L.int32)[1::2],
    "empty": lambda L: L.zeros(0),
    "expanded": lambda L: L.zeros(1).expand(6),
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("name", RANGES)
def test_ranges_into_out(name, out):
    def run(library):
        target = OUTS[out](library)
        result = RANGES[name](library, target)
        return result, result is target, tuple(result.stride()), target._base

    same(run)


MATRICES = {
    "full": lambda L, out: L.full((2, 3), 4, out=out),
    "ones": lambda L, out: L.ones(2, 3, out=out),
    "zeros": lambda L, out: L.zeros(2, 3, out=out),
    "eye": lambda L, out: L.eye(2, 3, out=out),
    "rand": lambda L, out: L.rand(2, 3, out=out),
    "randn": lambda L, out: L.randn(2, 3, out=out),
    "randint": lambda L, out: L.randint(0, 9, (2, 3), out=out),
    "normal": lambda L, out: L.normal(0.0, 1.0, (2, 3), out=out),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_into_out(name):
    for make in (
        lambda L: L.ones(3, 2).t(),
        lambda L: L.ones(2, 6)[:, ::2],
        lambda L: L.ones(2, 3),
        lambda L: L.ones(0),
    ):

        def run(library, make=make):
            library.manual_seed(0)
            target = make(library)
            result = MATRICES[name](library, target)
            close = [[round(value, 3) for value in row] for row in result.tolist()]
            return close, result is target, tuple(result.stride())

        same(run)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64", "bool"])
def test_randperm_into_out(dtype):
    def run(library):
        library.manual_seed(0)
        target = library.zeros(10, dtype=getattr(library, dtype))[::2]
        library.randperm(5, out=target)
        return target._base

    same(run)


@pytest.mark.parametrize("name", ["full", "ones", "zeros", "empty", "eye", "rand", "arange", "linspace", "logspace"])
def test_out_that_shall_require_grad(name):
    calls = {
        "full": lambda L, **kw: L.full((3,), 1.5, **kw),
        "ones": lambda L, **kw: L.ones(3, **kw),
        "zeros": lambda L, **kw: L.zeros(3, **kw),
        "empty": lambda L, **kw: L.empty(3, **kw),
        "eye": lambda L, **kw: L.eye(3, **kw),
        "rand": lambda L, **kw: L.rand(3, **kw),
        "arange": lambda L, **kw: L.arange(3, **kw),
        "linspace": lambda L, **kw: L.linspace(0, 1, 3, **kw),
        "logspace": lambda L, **kw: L.logspace(0, 1, 3, **kw),
    }

    def run(library):
        out = library.zeros(3, 3) if name == "eye" else library.zeros(3)
        result = calls[name](library, out=out, requires_grad=True)
        return result is out, out.requires_grad, out.is_leaf

    same(run)


@pytest.mark.parametrize(
    ("size", "stride"),
    [
        ((0, 0), (-1, -1)),
        ((2, 0), (-1, -1)),
        ((1,), (-1,)),
        ((1, 5), (-1, 1)),
        ((0, 5, 3), (7, -1, 2)),
        ((0, 5, 3), (-7, 4, -2)),
        ((3, 0), (-7, 4)),
        ((1, 1), (-5, -2)),
        ((2, 2), (-1, -1)),
        ((1, 5), (-1, -1)),
        ((3,), (2**62,)),
    ],
)
def test_empty_strided(size, stride):
    same(lambda library: (library.empty_strided(size, stride).shape, library.empty_strided(size, stride).stride()))


# ---- Strides and NaN


@pytest.mark.parametrize("size", [(2, 2), (1, 2), (0, 2)])
def test_view_as_complex_of_odd_strides(size):
    same(lambda library: library.view_as_complex(library.ones(20).as_strided(size, (3, 1))))


@program
def view_as_complex_with_a_dimension_of_one(L):
    result = L.view_as_complex(L.arange(20.0).as_strided((2, 1, 2), (2, 3, 1)))
    return result, result.stride()


@pytest.mark.parametrize("slices", [12, 17, 40, 200])
@pytest.mark.parametrize("seed", range(20))
def test_unique_slices_with_nan(seed, slices):
    choices = [0.0, -0.0, 1.0, 2.0, 3.0] + [np.nan] * (seed % 2 + 1)
    numbers = np.random.default_rng(seed).choice(choices, (slices, 1 + seed % 3)).tolist()

    def run(library):
        return library.tensor(numbers).unique(dim=0, return_inverse=True, return_counts=True)

    same(run)


# ---- Polynomials of any degree

POLYNOMIALS = [f"{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
PLACES = [0.5, -0.3, 0.999, -0.9999, 1.0, -1.0, 0.0, 1.0001, -1.001, 1.0000001, -1.00000001, 2.0, 1e-5, 1 - 1e-9]


@pytest.mark.parametrize("degree", [50, 65536, 65537, 100001])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_large_degree(name, degree):
    theirs = getattr(torch.special, name)(torch.tensor(PLACES, dtype=torch.float64), degree)
    ours = getattr(adjoint.special, name)(adjoint.tensor(PLACES, dtype=adjoint.float64), degree)
    assert_same(ours, theirs, bound=Bound(1e-6, 1e-9))


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_any_degree_end(name):
    # Recurrences of this length would outlast the tests.
    for degree in (2**31, 2**62, 2**63 - 1):
        result = getattr(adjoint.special, name)(adjoint.tensor(PLACES * 1000), degree)
        assert result.shape == (len(PLACES) * 1000,)
    degrees = adjoint.tensor([2**62, 3, 2**40])
    number = getattr(adjoint.special, name)(adjoint.tensor(0.25), degrees)
    assert number[1] == getattr(adjoint.special, name)(adjoint.tensor(0.25), 3)
