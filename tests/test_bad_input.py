"""Constructors fed with anything: the same value or the same kind of exception as torch, and never a crash."""

import array
import collections
import datetime
import decimal
import fractions
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import adjoint

from . import compare
from .compare import DTYPES, EXACT, VALUES, Bound, of_one_kind, same

fuzz = settings(max_examples=300)


def check(call, rtol=0.0, any_error=False):
    """The call has the same outcome in both libraries; with `any_error` the classes of exceptions may differ."""
    compare.check(call, Bound(rtol, rtol), compare.any_error if any_error else of_one_kind)


class Raises:
    """Fails at whatever it is asked for."""

    def __len__(self):
        raise KeyError("len")

    def __getitem__(self, i):
        raise KeyError("item")

    def __float__(self):
        raise KeyError("float")

    def __index__(self):
        raise KeyError("index")


class LongSequence:
    """Says that it is longer than it is."""

    def __len__(self):
        return 5

    def __getitem__(self, i):
        if i > 1:
            raise IndexError(i)
        return i


class WrongIndex:
    def __index__(self):
        return "two"


# Integers stay where torch's answer does not depend on the platform's undefined conversions.
scalars = st.one_of(
    st.booleans(),
    st.integers(-300, 300),
    st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**400]),
    st.floats(allow_subnormal=False, width=32),
    st.complex_numbers(allow_nan=False, allow_infinity=False, max_magnitude=1e6),
    st.sampled_from([np.float32(1.5), np.float64(2.5), np.int8(3), np.bool_(True), np.complex64(1j), np.float16(0.5)]),
)
plain = [
    None,
    "",
    "a",
    "text",
    b"",
    b"ab",
    ...,
    object(),
    int,
    {},
    {1: 2},
    set(),
    {3},
    math,
    range(2),
    range(0),
    slice(1),
]
library = [
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 2),
    datetime.date(2000, 1, 1),
    bytearray(b"ab"),
    memoryview(b"ab"),
]
sequences = [array.array("d", [1, 2]), array.array("b", []), collections.deque([1, 2])]
arrays_and_texts = [np.array(3), np.array([1.0, 2]), np.str_("a")]
oddities = st.sampled_from([*plain, *library, *sequences, *arrays_and_texts, Raises(), WrongIndex()])
leaves = st.one_of(scalars, scalars, oddities)
nested = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.lists(inner, min_size=2, max_size=2)
    ),
    max_leaves=12,
)


@st.composite
def regular(draw):
    """Nested lists of one shape, with at most one element replaced by anything."""
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    kind = draw(
        st.sampled_from([st.booleans(), st.integers(-100, 100), st.floats(allow_subnormal=False, width=32), scalars])
    )
    flat = draw(st.lists(kind, min_size=math.prod(shape), max_size=math.prod(shape)))
    if flat and draw(st.booleans()):
        flat[draw(st.integers(0, len(flat) - 1))] = draw(leaves)

    def build(sizes, items):
        if not sizes:
            return items[0]
        step = len(items) // sizes[0] if sizes[0] else 0
        return [build(sizes[1:], items[i * step : (i + 1) * step]) for i in range(sizes[0])]

    return build(shape, flat)


optional_dtypes = st.sampled_from([None, *DTYPES])


def keywords(library, dtype):
    return {} if dtype is None else {"dtype": getattr(library, dtype)}


@given(st.one_of(nested, regular()), optional_dtypes)
@settings(fuzz, max_examples=2000)
def test_tensor(data, dtype):
    check(lambda t: t.tensor(data, **keywords(t, dtype)))


@given(nested)
@fuzz
def test_other_functions_of_data(data):
    check(lambda t: t.as_tensor(data))
    check(lambda t: t.tensor(data, requires_grad=True))
    check(lambda t: t.ones(1, dtype=t.float64).new_tensor(data))


@given(st.lists(leaves, max_size=3))
@fuzz
def test_legacy_constructor(args):
    if any(isinstance(arg, int) and abs(arg) > 300 for arg in args):
        return

    def make(t):
        result = t.Tensor(*args)
        return result if isinstance(args[0] if args else 0, list | tuple) else result.shape

    same(make, (), error=compare.any_error, warned=None)


sizes = st.one_of(
    st.lists(st.one_of(st.integers(-1, 4), leaves), max_size=4),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.integers(-2, 5),
    leaves,
)


def allocates_too_much(size):
    """Sizes whose memory some systems grant and others do not."""
    items = size if isinstance(size, list | tuple) else [size]
    sizes = [item for item in items if isinstance(item, int) and not isinstance(item, bool)]
    return any(300 < item < 2**70 for item in sizes) or 2**20 < math.prod(sizes) < 2**70


@given(sizes, optional_dtypes)
@settings(fuzz, max_examples=1000)
def test_sizes(size, dtype):
    if allocates_too_much(size):
        return
    check(lambda t: t.zeros(size, **keywords(t, dtype)), any_error=True)
    check(lambda t: t.empty(size, **keywords(t, dtype)).shape, any_error=True)
    check(lambda t: t.ones(2).new_ones(size, **keywords(t, dtype)), any_error=True)
    if isinstance(size, list | tuple):
        check(lambda t: t.zeros(*size), any_error=True)


@given(sizes, leaves, optional_dtypes)
@settings(fuzz, max_examples=1000)
def test_full(size, value, dtype):
    half = dtype in ("float16", "bfloat16")
    if isinstance(value, np.bool_ | np.complexfloating):
        return  # floats to torch
    if allocates_too_much(size) or (half and isinstance(value, int | float) and abs(value) > 60000):
        return  # torch refuses values beyond half precision or not, by the number of elements
    check(lambda t: t.full(size, value, **keywords(t, dtype)), any_error=True)


@given(leaves, leaves, st.one_of(st.none(), leaves), optional_dtypes)
@settings(fuzz, max_examples=1000)
def test_arange(start, end, step, dtype):
    bounds = [start, end] if step is None else [start, end, step]
    if any(isinstance(bound, complex | np.complexfloating) for bound in bounds):
        return  # torch takes or refuses them by the order of its checks
    if any(isinstance(bound, float | np.number) and not abs(bound) < 1e4 for bound in bounds):
        return  # the number of elements, or its overflow
    if any(isinstance(bound, int) and abs(bound) > 1000 for bound in bounds):
        return
    if isinstance(bounds[-1], float) and 0 < abs(bounds[-1]) < 1e-2:
        return
    half = dtype in ("float16", "bfloat16")
    check(lambda t: t.arange(*bounds, **keywords(t, dtype)), rtol=1e-2 if half else 1e-5, any_error=True)


def is_array_number(value):
    """An array without dimensions: a number here, and in torch in some functions; see docs/differences.md."""
    return isinstance(value, np.ndarray) and value.ndim == 0


@given(leaves, leaves, leaves, optional_dtypes)
@fuzz
def test_linspace(start, end, steps, dtype):
    if allocates_too_much([steps]):
        return
    if is_array_number(steps):
        return
    check(lambda t: t.linspace(start, end, steps, **keywords(t, dtype)), rtol=1e-2, any_error=True)


@given(leaves, leaves)
@fuzz
def test_eye(n, m):
    if allocates_too_much([n, m]):
        return
    check(lambda t: t.eye(n))
    if m is None:
        return  # as if it were left out, see docs/differences.md
    check(lambda t: t.eye(n, m), any_error=True)


@given(leaves, leaves, sizes)
@fuzz
def test_random_arguments(low, high, size):
    if allocates_too_much(size) or any(isinstance(bound, np.complexfloating) for bound in (low, high)):
        return
    if is_array_number(low) or is_array_number(high):
        return
    for call in (
        lambda t: t.randint(low, high, size).shape,
        lambda t: t.randint(high, size).shape,
        lambda t: t.rand(size).shape,
        lambda t: t.ones(3).uniform_(low, high).shape,
        lambda t: t.ones(3).random_(low, high).shape,
        lambda t: t.ones(3).geometric_(low).shape,
        lambda t: t.normal(low, high, size).shape,
    ):
        check(call, any_error=True)


@given(
    st.dictionaries(
        st.sampled_from(["dtype", "device", "requires_grad", "out", "layout", "pin_memory", "names2", ""]),
        leaves,
        max_size=2,
    )
)
@fuzz
def test_keywords(options):
    check(lambda t: t.zeros(2, **options), any_error=True)
    if not any(value is None for value in options.values()):
        check(lambda t: t.tensor([1.0], **options), any_error=True)
    check(lambda t: t.rand(2, **options).shape, any_error=True)


array_types = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.datetime64_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.array_dtypes(max_size=2),
    st.just(np.dtype(object)),
)


@st.composite
def arrays(draw):
    """An array of any type, cut by slices of any step."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    try:
        values = np.zeros(shape, draw(array_types))
    except TypeError:
        values = np.zeros(shape)
    if draw(st.booleans()) and values.dtype.kind in "biufc":
        values[...] = np.arange(values.size).reshape(shape) % 7
    if values.ndim and draw(st.booleans()):
        values = values[draw(hnp.basic_indices(values.shape, allow_ellipsis=True))]
    if isinstance(values, np.ndarray) and draw(st.booleans()):
        values = values.T
    if isinstance(values, np.ndarray) and draw(st.integers(0, 4)) == 0:
        values.setflags(write=False)
    return values


def has_type(values):
    """Unsigned types of more than 8 bits are torch's alone."""
    return values.dtype.kind != "u" or values.dtype.itemsize == 1


@given(arrays(), optional_dtypes)
@settings(fuzz, max_examples=1000)
def test_arrays(values, dtype):
    if not isinstance(values, np.ndarray) or not has_type(values):
        return
    if values.size < 2 and min(values.strides, default=0) < 0:
        return  # torch refuses negative strides even where there is nothing to step over
    for call in (
        lambda t: t.tensor(values, **keywords(t, dtype)),
        lambda t: t.from_numpy(values),
        lambda t: t.as_tensor(values),
        lambda t: t.tensor([values, values]),
    ):
        check(call)


@given(arrays())
@fuzz
def test_dlpack_of_arrays(values):
    if not isinstance(values, np.ndarray) or not has_type(values):
        return
    if min(values.strides, default=0) < 0:
        with np.testing.assert_raises((ValueError, BufferError)):
            adjoint.from_dlpack(values)
        return  # torch ends the process
    check(lambda t: t.from_dlpack(values))


@given(st.binary(max_size=40), st.sampled_from(DTYPES), st.integers(-3, 9), st.integers(-3, 20))
@fuzz
def test_frombuffer(data, dtype, count, offset):
    def make(t):
        result = t.frombuffer(bytearray(data), dtype=getattr(t, dtype), count=count, offset=offset)
        return result.view(t.uint8) if dtype == "bool" and t is adjoint else result

    same(make, () if dtype == "bool" else VALUES, EXACT, of_one_kind, warned=None)


@given(leaves)
@fuzz
def test_from_anything(value):
    check(lambda t: t.from_dlpack(value) if not isinstance(value, np.ndarray) else 0)
    check(lambda t: t.from_numpy(value))
    check(lambda t: t.frombuffer(value, dtype=t.uint8))
    check(lambda t: t.manual_seed(value).initial_seed())
    if not isinstance(value, np.generic):  # torch has another word for NumPy's
        check(lambda t: t.Generator().manual_seed(value).initial_seed())
    check(lambda t: t.Generator().set_state(value))


@pytest.mark.parametrize("value", [None, 5, 1.5, object()], ids=["none", "int", "float", "object"])
def test_size_of_what_has_no_items(value):
    same(lambda L: L.Size(value))
    with pytest.raises(TypeError, match=r"object is not iterable: torch\.Size\(\) takes an iterable of 'int'"):
        adjoint.Size(value)
