"""torch.testing: what assert_close accepts, and every word of what it says; what make_tensor draws."""

import warnings

import pytest

import adjoint

from .compare import programs, raised, same

program, test_program = programs()
NAN = float("nan")
PAIRS = {
    "values": lambda L: (L.tensor([1.0, 2.0]), L.tensor([1.0, 2.5])),
    "close": lambda L: (L.tensor([1.0, 2.0]), L.tensor([1.0, 2.0 + 1e-7])),
    "many": lambda L: (L.zeros(2, 3), L.tensor([[0.0, 1.0, 0.0], [3.0, 0.0, 0.0]])),
    "shapes": lambda L: (L.zeros(2), L.zeros(3)),
    "dtypes": lambda L: (L.zeros(2), L.zeros(2, dtype=L.float64)),
    "integers": lambda L: (L.tensor([1, 2]), L.tensor([1, 3])),
    "bools": lambda L: (L.tensor([True, False]), L.tensor([True, True])),
    "complex": lambda L: (L.tensor([1 + 1j]), L.tensor([1 + 2j])),
    "halves": lambda L: (L.tensor([1.0], dtype=L.float16), L.tensor([1.0005], dtype=L.float16)),
    "scalars": lambda L: (1.0, 1.1),
    "ints": lambda L: (1, 2),
    "0-d": lambda L: (L.tensor(1.0), L.tensor(2.0)),
    "truth": lambda L: (True, False),
    "sequences": lambda L: ([1.0, L.zeros(2)], [1.0, L.ones(2)]),
    "lengths": lambda L: ([1], [1, 2]),
    "nested": lambda L: ({"a": [1, (2, 3)]}, {"a": [1, (2, 4)]}),
    "keys": lambda L: ({"a": 1}, {"b": 1}),
    "nan": lambda L: (L.tensor([NAN]), L.tensor([NAN])),
    "none": lambda L: (None, 1),
    "nones": lambda L: (None, None),
    "grad": lambda L: (L.zeros(2), L.zeros(2, requires_grad=True)),
}
OPTIONS = {
    "equal_nan": (lambda L: (L.tensor([NAN]), L.tensor([NAN])), {"equal_nan": True}),
    "tolerances": (lambda L: (L.zeros(2), L.ones(2)), {"atol": 1.0, "rtol": 0.0}),
    "only atol": (lambda L: (L.zeros(2), L.ones(2)), {"atol": 1.0}),
    "exact": (lambda L: (L.ones(2), L.ones(2) + 1e-6), {"atol": 0, "rtol": 0}),
    "check_dtype": (lambda L: (L.ones(2), L.ones(2, dtype=L.float64)), {"check_dtype": False}),
    "check_stride": (lambda L: (L.ones(2, 3).t(), L.ones(3, 2)), {"check_stride": True}),
    "msg": (lambda L: (L.zeros(2), L.ones(2)), {"msg": "hello"}),
    "msg function": (lambda L: (L.zeros(2), L.ones(2)), {"msg": lambda text: f"<{text}>"}),
}


def word_for_word(ours, theirs):
    return (type(ours).__name__, str(ours)) == (type(theirs).__name__, str(theirs))


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    same(lambda L: L.testing.assert_close(*PAIRS[name](L)), error=word_for_word)


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    pair, options = OPTIONS[name]
    same(lambda L: L.testing.assert_close(*pair(L), **options), error=word_for_word)


def test_what_cannot_be_compared():
    for pair in ((adjoint.zeros(2), 3), ("a", "a"), (object(), object()), (1, [1])):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            adjoint.testing.assert_close(*pair)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"])
def test_pairs_of_small_floats(dtype):
    for value, options in ((1.0, {}), (2.0, {}), (2.0, {"rtol": 1, "atol": 0}), (NAN, {}), (NAN, {"equal_nan": True})):
        for shape in ((2, 2), ()):

            def compared(L, value=value, options=options, shape=shape):
                of = lambda number: L.full(shape, number).to(getattr(L, dtype))
                L.testing.assert_close(of(value) if value != value else of(1.0), of(value), **options)

            same(compared, error=word_for_word)


@program
def older_comparison(L):
    cases = [
        (L.ones(2), L.ones(2, dtype=L.float64)),
        ([1.0], [1.0]),
        (L.ones(2), L.ones(2) * 1.1),
        (L.tensor([NAN]), L.tensor([NAN])),
        (L.ones(1, dtype=L.float16), L.ones(1) + 1e-3),
        (L.tensor([1]), L.tensor([2])),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch: FutureWarning
        return [raised(lambda: L.testing.assert_allclose(*case)) for case in cases]  # noqa: B023 - called at once


@program
def made_tensors(L):
    make = L.testing.make_tensor
    L.manual_seed(3)
    types = [L.float32, L.float64, L.float16, L.bfloat16, L.int64, L.int8, L.uint8, L.bool, L.complex64, L.complex128]
    made = [make((2, 3), dtype=dtype, device="cpu") for dtype in types]
    made += [
        make(2, 3, dtype=L.float32, device="cpu", low=0, high=1, requires_grad=True),
        make(5, dtype=L.float32, device="cpu", low=float("-inf"), high=1),
        make((), dtype=L.float32, device="cpu", noncontiguous=True),
        make(4, dtype=L.int8, device="cpu", low=0, high=1, exclude_zero=True),
        make(4, dtype=L.bool, device="cpu", exclude_zero=True),
        make(4, dtype=L.float32, device="cpu", low=0, high=0, exclude_zero=True),
        make(4, dtype=L.int64, device="cpu", low=0.5, high=3.7),
        make(4, dtype=L.uint8, device="cpu", low=-5, high=300),
    ]
    apart = make((2, 3), dtype=L.float32, device="cpu", noncontiguous=True)
    last = make((2, 3, 2, 2), dtype=L.float32, device="cpu", memory_format=L.channels_last)
    return made, apart, apart.stride(), last, last.stride()


@program
def tensors_that_cannot_be_made(L):
    options = [
        {"dtype": L.int64, "requires_grad": True},
        {"dtype": L.float32, "low": 1, "high": 0},
        {"dtype": L.int64, "low": 1, "high": 1},
        {"dtype": L.float32, "low": NAN, "high": 1},
        {"dtype": L.float32, "high": -20},
        {"dtype": L.float32, "noncontiguous": True, "memory_format": L.contiguous_format},
    ]
    return [raised(lambda: L.testing.make_tensor(3, device="cpu", **option)) for option in options]  # noqa: B023 - at once
