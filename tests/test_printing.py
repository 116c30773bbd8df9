"""Tensors print as torch prints them: `repr`, `format` and the print options, compared with torch byte by byte."""

import math
import time

import numpy as np
import pytest
import torch

import adjoint
from adjoint import _printing

FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
DTYPES = [*FLOATS, *COMPLEX, *INTEGERS, "bool"]
SHAPES = [(), (1,), (3,), (9,), (10,), (40,), (1001,), (2, 3), (1, 30), (40, 40), (2, 1, 3), (3, 7, 9), (2, 2, 2, 2)]

nan, inf = math.nan, math.inf


def both(values, dtype, **kwargs):
    """The same tensor in both libraries."""
    ours = adjoint.tensor(values, dtype=getattr(adjoint, dtype), **kwargs)
    theirs = torch.tensor(values, dtype=getattr(torch, dtype), **kwargs)
    return ours, theirs


def assert_same_text(ours, theirs):
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)


def set_options(**options):
    adjoint.set_printoptions(**options)
    torch.set_printoptions(**options)


@pytest.fixture(autouse=True)
def restore_state():
    yield
    set_options(profile="default")
    adjoint.set_default_dtype(adjoint.float32)
    torch.set_default_dtype(torch.float32)


def random_reals(rng, shape, largest):
    """Arrays of many kinds: integral, tiny, huge, all zero, close to the limits where the notation changes."""
    kind = rng.integers(9)
    values = rng.standard_normal(shape)
    if kind == 1:
        values = values * 10 ** rng.uniform(-12, 12)
    elif kind == 2:
        values = np.round(values * 10 ** rng.uniform(0, 5))
    elif kind == 3:
        values = np.abs(values) * 10 ** rng.uniform(-3, 3)
    elif kind == 4:
        values = 10 ** (rng.random(shape) * rng.uniform(0, 12) - rng.uniform(0, 6))
    elif kind == 5:
        values = np.copysign(0.0, values)
    elif kind == 6:
        values = 1 + rng.random(shape) * 999.5
    elif kind == 7:
        values = np.round(1 + rng.random(shape) * 1001)
    elif kind == 8:
        values = np.sign(values) * 10.0 ** rng.integers(-5, 10, shape)
    values = np.clip(values, -largest, largest)
    for special in (0.0, -0.0, nan, inf, -inf):
        if rng.random() < 0.1:
            values = np.where(rng.random(shape) < rng.random(), special, values)
    return values


def random_values(rng, shape, dtype):
    """Nested lists of random elements that the dtype can hold."""
    if dtype == "bool":
        return (rng.random(shape) < rng.random()).tolist()
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        high = min(limits.max, 10 ** int(rng.integers(0, 19)))
        low = max(limits.min, -high) if rng.random() < 0.5 else 0
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True).tolist()
    largest = 6.0e4 if dtype == "float16" else 1.0e30
    values = random_reals(rng, shape, largest)
    if dtype in COMPLEX:
        pairs = np.empty(shape, dtype=np.complex128)
        pairs.real = values
        pairs.imag = random_reals(rng, shape, largest)
        values = pairs
    return values.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_tensors(shape, dtype):
    rng = np.random.default_rng([len(dtype), len(shape), *shape])
    for _ in range(20 if math.prod(shape) < 100 else 6):
        assert_same_text(*both(random_values(rng, shape, dtype), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(10))
def test_random_options(seed, dtype):
    rng = np.random.default_rng([seed, len(dtype), DTYPES.index(dtype)])
    choices = {
        "profile": ["default", "short", "full"],
        "precision": range(11),
        "threshold": [0, 5, 2.5, 50, 500, inf],
        "edgeitems": range(6),
        "linewidth": range(140),
        "sci_mode": [True, False],
    }
    for _ in range(10):
        chosen = {name: values[rng.integers(len(values))] for name, values in choices.items() if rng.random() < 0.4}
        set_options(profile="default")
        set_options(**chosen)
        shape = SHAPES[rng.integers(len(SHAPES))]
        assert_same_text(*both(random_values(rng, shape, dtype), dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "values",
    [
        1.0,
        0.5,
        nan,
        -inf,
        -0.0,
        123456.0,
        [1.0, 1000.0],
        [1.0, 1008.0],
        [1.5, 1500.0],
        [0.3, 300.0],
        [0.7, 700.0],
        [0.1, 100.0],
        [1.0e-4],
        [0.99e-4, 0.1],
        [inf, -inf],
        [nan, 1.0],
        [inf, 1.5],
        [-0.0, 1.5],
        [0.0, 0.0],
        [0.0, 1.0e-7],
        [[-1.0], [2.0]],
    ],
    ids=str,
)
def test_notation_of_floats(values, dtype):
    assert_same_text(*both(values, dtype))


@pytest.mark.parametrize("values", [1.0e8, 1.0e8 + 8, [1.0e8 + 0.5], [5.0e-324], [1.0e308, 1.0e-308], 1.0e300], ids=str)
def test_notation_of_extreme_doubles(values):
    assert_same_text(*both(values, "float64"))


@pytest.mark.parametrize(
    "values",
    [
        1 + 2j,
        [1 + 2j, 3 + 400j],
        [1.5 + 2j, -100 - 400.5j],
        [1.5 + 2j, -1.0e9j],
        [complex(nan, inf), 1.5 + 2j],
        [complex(inf, -inf), complex(1, -0.0)],
        [complex(-1, nan), complex(-0.0, 1)],
        [1 + 2j] * 30,
        [10.5 - 200.25j] * 9,
    ],
    ids=lambda values: str(values)[:40],
)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_notation_of_complex(values, dtype):
    assert_same_text(*both(values, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (3, 0, 2000)], ids=str)
def test_no_elements(shape, dtype):
    ours = adjoint.zeros(shape, dtype=getattr(adjoint, dtype))
    theirs = torch.zeros(shape, dtype=getattr(torch, dtype))
    assert_same_text(ours, theirs)


@pytest.mark.parametrize("default", ["float32", "float64", "float16", "bfloat16"])
def test_dtype_is_left_out_when_it_goes_without_saying(default):
    adjoint.set_default_dtype(getattr(adjoint, default))
    torch.set_default_dtype(getattr(torch, default))
    for dtype in DTYPES:
        assert_same_text(*both([1, 0, 1], dtype))
        assert_same_text(*both([], dtype))
        assert_same_text(*both(1, dtype))


@pytest.mark.parametrize("threshold", [0, 10, 1000])
def test_views(threshold):
    set_options(threshold=threshold)
    values = (np.arange(2 * 9 * 8) / 3).reshape(2, 9, 8).tolist()
    ours, theirs = both(values, "float32")
    views = [
        lambda x: x.transpose(0, 1),
        lambda x: x[:, ::2, 1:],
        lambda x: x[1, 2],
        lambda x: x[0, 0, 0],
        lambda x: x[:1, :1, :1].expand(1, 8, 9),
        lambda x: x[..., 3],
    ]
    for view in views:
        assert_same_text(view(ours), view(theirs))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (2,), (6,), (7,), (8,), (9,), (3, 5), (0, 2), (50, 50)], ids=str)
def test_autograd_suffixes(shape, dtype):
    values = np.linspace(0.5, 2.5, math.prod(shape)).reshape(shape).tolist()
    if 0 in shape:
        ours = adjoint.zeros(shape, dtype=getattr(adjoint, dtype), requires_grad=True)
        theirs = torch.zeros(shape, dtype=getattr(torch, dtype), requires_grad=True)
    else:
        ours, theirs = both(values, dtype, requires_grad=True)
    assert_same_text(ours, theirs)
    for result in (lambda x: x * 2, lambda x: x + 1, lambda x: x.exp()):
        assert_same_text(result(ours), result(theirs))
    if math.prod(shape) < 100:  # longer sums differ in their last digits
        assert_same_text(ours.sum(), theirs.sum())
    if not theirs.is_complex():  # torch negates a complex zero to +0 or -0, depending on the size
        assert_same_text(-ours, -theirs)
    assert_same_text(ours.detach(), theirs.detach())


@pytest.mark.parametrize("linewidth", range(20, 75))
def test_suffixes_move_to_a_line_of_their_own(linewidth):
    set_options(linewidth=linewidth)
    ours, theirs = both([1.5, 2.5, 3.5], "float64", requires_grad=True)
    assert_same_text(ours, theirs)
    assert_same_text(ours * 2, theirs * 2)


def test_custom_function_is_named():
    class Twice(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    result = Twice.apply(adjoint.tensor([1.0, 2.0], requires_grad=True))
    assert repr(result) == "tensor([2., 4.], grad_fn=<TwiceBackward>)"


@pytest.mark.parametrize("values", [1.5, [1.5, 2.0], [[1.0, 2.0]] * 3])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_parameter(values, requires_grad):
    ours, theirs = both(values, "float32")
    ours = adjoint.nn.Parameter(ours, requires_grad=requires_grad)
    theirs = torch.nn.Parameter(theirs, requires_grad=requires_grad)
    assert_same_text(ours, theirs)
    assert f"{ours}" == f"{theirs}"
    assert_same_text(ours.detach(), theirs.detach())


def test_large_tensors_are_read_only_at_their_edges():
    ours, theirs = adjoint.arange(10_000_000), torch.arange(10_000_000)
    start = time.perf_counter()
    text = repr(ours)
    assert time.perf_counter() - start < 0.5
    assert text == repr(theirs)
    assert_same_text(ours.reshape(100, 1000, 100), theirs.reshape(100, 1000, 100))


@pytest.mark.parametrize(
    ("value", "dtype", "spec"),
    [
        (2.5, "float32", ".2f"),
        (2.5, "float64", ""),
        (2.5, "float32", ">10"),
        (1.5, "bfloat16", ""),
        (nan, "float32", ".1f"),
        (2, "int64", "05"),
        (2, "int32", "d"),
        (True, "bool", ""),
        (True, "bool", "d"),
        (1 + 2j, "complex64", ".2f"),
        ([2.5], "float32", ""),
        ([[1, 2]], "int64", ""),
    ],
)
def test_format(value, dtype, spec):
    ours, theirs = both(value, dtype)
    assert format(ours, spec) == format(theirs, spec)


def test_format_of_a_result_and_of_a_parameter():
    x = adjoint.tensor(1.5, requires_grad=True)
    assert f"{x}" == "1.5"
    assert f"{x * 2:.3f}" == "3.000"
    assert f"{adjoint.nn.Parameter(adjoint.tensor(1.5)):.2f}" == "1.50"


def test_format_errors():
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__; '.2f' needs.*\(2,\)"):
        format(adjoint.tensor([1.0, 2.0]), ".2f")
    with pytest.raises(ValueError, match="Unknown format code"):
        format(adjoint.tensor(1.0), "d")


def test_options_keep_what_is_not_given_except_sci_mode():
    adjoint.set_printoptions(precision=2, sci_mode=True)
    adjoint.set_printoptions(edgeitems=5)
    assert _printing.get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 5,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_profiles():
    set_options(profile="short", precision=7)
    expected = {"precision": 7, "threshold": 1000, "edgeitems": 2, "linewidth": 80, "sci_mode": None}
    assert _printing.get_printoptions() == expected
    set_options(profile="full")
    assert _printing.get_printoptions()["threshold"] == inf
    assert_same_text(*both(list(range(1200)), "int64"))
    set_options(profile="default")
    assert_same_text(*both(list(range(1200)), "int64"))


def test_printoptions_holds_inside_the_block_only():
    x = adjoint.tensor([1.23456])
    adjoint.set_printoptions(precision=3, sci_mode=True)
    before = _printing.get_printoptions()
    with _printing.printoptions(precision=1, sci_mode=False):
        assert repr(x) == "tensor([1.2])"
        with _printing.printoptions(precision=2):
            assert repr(x) == "tensor([1.23])"
        assert repr(x) == "tensor([1.2])"
    assert _printing.get_printoptions() == before
    assert repr(x) == "tensor([1.235e+00])"


def test_printoptions_are_put_back_after_an_exception():
    def fail():
        with _printing.printoptions(precision=1):
            raise KeyError("inside")

    before = _printing.get_printoptions()
    with pytest.raises(KeyError, match="inside"):
        fail()
    assert _printing.get_printoptions() == before


def test_no_line_limit():
    adjoint.set_printoptions(linewidth=inf)
    assert "\n" not in repr(adjoint.arange(500))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "wide"}, 'profile must be "default", "short" or "full"; got \'wide\''),
        ({"precision": -1}, "precision must be an integer >= 0; got -1"),
        ({"precision": 2.0}, "precision must be an integer >= 0; got 2.0"),
        ({"edgeitems": "3"}, "edgeitems must be an integer >= 0; got '3'"),
        ({"threshold": nan}, r"threshold must be a number \(math.inf for no limit\); got nan"),
        ({"linewidth": "wide"}, r"linewidth must be a number \(math.inf for no limit\); got 'wide'"),
    ],
)
def test_bad_options_change_nothing(options, message):
    before = _printing.get_printoptions()
    with pytest.raises(ValueError, match=message):
        adjoint.set_printoptions(sci_mode=True, **options)
    assert _printing.get_printoptions() == before
