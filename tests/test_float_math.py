"""Functions of floats that are not the C library's (csrc/cpu/float_exp.h and float_vectors.h): how exact they are."""

import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import tanh_table

# In units of the last place, with the widest vectors; the C library promises 4 for its own.
LIMITS = {"exp": 1.0, "sigmoid": 2.5, "sin": 2.0, "cos": 2.0, "tanh": 1.5}
WIDE = adjoint._C._instruction_set() == "avx512"
STEP = 1999  # of every so many bit patterns, one is tried: a prime, so that all last bits occur

INF, NAN = float("inf"), float("nan")
TINY, LEAST = 1e-40, 2.0**-149


def exactly(name, x):
    x = x.astype(np.float64)
    return 1 / (1 + np.exp(-x)) if name == "sigmoid" else getattr(np, name)(x)


def computed(name, x):
    return getattr(adjoint, name)(adjoint.from_numpy(x)).numpy()


@pytest.fixture(scope="module")
def sample():
    """Finite floats of all sizes, and more of those of everyday size."""
    bits = np.arange(0, 2**32, STEP, dtype=np.uint32)
    x = bits.view(np.float32)
    everyday = np.linspace(-110, 110, 500_001, dtype=np.float32)
    return np.concatenate([x[np.isfinite(x)], everyday, everyday / 50])


@pytest.mark.parametrize("name", LIMITS)
def test_errors_are_small(name, sample):
    if name == "sigmoid":
        sample = sample[sample > -88]  # below, as in torch, it is 1 / inf
    got = computed(name, sample)
    with np.errstate(over="ignore"):
        expected = exactly(name, sample)
        finite = np.isfinite(expected.astype(np.float32))
    assert (got[~finite] == INF).all()
    got, expected, sample = got[finite], expected[finite], sample[finite]
    unit = 2.0 ** np.maximum(np.frexp(expected)[1] - 24, -149)
    error = np.abs(got - expected) / unit
    assert error.max() <= (LIMITS[name] if WIDE else 4), sample[error.argmax()]


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "sigmoid"])
def test_nothing_is_more_than_one(name, sample):
    assert np.abs(computed(name, sample)).max() <= (1 if WIDE else 1 + 2.0**-23)


SPECIAL = {
    "exp": [(INF, INF), (-INF, 0.0), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (88.72283, 3.4027983e38), (88.72284, INF),
            (1e30, INF), (-87.5, 9.982351e-39), (-103.97, LEAST), (-104.0, 0.0), (-1e30, 0.0), (TINY, 1.0)],
    "sigmoid": [(INF, 1.0), (-INF, 0.0), (NAN, NAN), (0.0, 0.5), (-1e30, 0.0), (1e30, 1.0)],
    "sin": [(INF, NAN), (-INF, NAN), (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-LEAST, -LEAST)],
    "cos": [(INF, NAN), (-INF, NAN), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (TINY, 1.0)],
    "tanh": [(INF, 1.0), (-INF, -1.0), (NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-LEAST, -LEAST),
             (9.2, 1.0), (-1e30, -1.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    pairs = np.array(SPECIAL[name], dtype=np.float32)
    for count in (1, 5, 100):  # alone, in a part of a vector, in several vectors
        got = computed(name, np.repeat(pairs[:, 0], count)).reshape(-1, count)
        for value, expected in zip(got, pairs[:, 1], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=0)
            assert np.isnan(expected) or (np.signbit(value) == np.signbit(expected)).all()


@pytest.mark.parametrize("name", LIMITS)
def test_every_nan_stays_one(name):
    bits = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFC00123, 0xFFFFFFFF], dtype=np.uint32)
    assert np.isnan(computed(name, bits.view(np.float32))).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_large_neighbours_change_no_bits(name):
    near = np.linspace(-131072, 131072, 4001, dtype=np.float32)
    mixed = near.copy()
    mixed[::7] = [1e6, 3e38, INF, NAN, -1e9, 131073, -2e5, 1e20] * 71 + [1e7] * 4
    expected = exactly(name, mixed[np.isfinite(mixed)])
    got = computed(name, mixed)
    assert np.array_equal(np.delete(got, np.s_[::7]), np.delete(computed(name, near), np.s_[::7]))
    np.testing.assert_allclose(got[np.isfinite(mixed)], expected, rtol=0, atol=2e-7)
    assert np.isnan(got[~np.isfinite(mixed)]).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_slopes_are_those_of_the_functions(name):
    values = np.concatenate([np.linspace(-9, 9, 1001, dtype=np.float32), np.float32([1e6, -1e30])])
    x = adjoint.from_numpy(values).requires_grad_()
    g = adjoint.from_numpy(np.linspace(0.5, 2, len(values), dtype=np.float32))
    getattr(adjoint, name)(x).backward(g)
    slope = adjoint.cos(x.detach()) if name == "sin" else -adjoint.sin(x.detach())
    assert adjoint.equal(x.grad, g * slope)


def test_the_exponential_has_the_same_bits_in_other_loops(sample):
    x = adjoint.from_numpy(sample[np.abs(sample) < 200])
    assert adjoint.equal(adjoint.nn.functional.silu(x), x / (1 + (-x).exp()))
    assert adjoint.equal(adjoint.sigmoid(x), 1 / (1 + (-x).exp()))


def test_the_table_is_what_its_program_fits():
    header = Path(tanh_table.__file__).parent.parent / "csrc" / "cpu" / "tanh_table.h"
    assert tanh_table.table() in header.read_text()
