"""Sobol sequences: torch's points, digit by digit, and what they are made of."""

import copy
import pickle

import numpy as np
import pytest
import torch
from scipy.stats import qmc

import adjoint
from adjoint.quasirandom import directions

from .compare import EXACT, LIBRARIES, VALUES, programs, same
from .processes import script

program, test_program = programs()


def engine(L, *args, **options):
    return L.quasirandom.SobolEngine(*args, **options)


def test_direction_numbers():
    ours, theirs = (engine(L, 21201).sobolstate for L in LIBRARIES)
    assert np.array_equal(ours.numpy(), theirs.numpy())
    own = [directions._own_table()[place] for place in range(directions.OWN - 1)]
    assert own == directions._table(directions.OWN + 1)[: directions.OWN - 1]


def test_points_are_scipys():
    # SciPy's first 2^14 points of 40 dimensions in one go.
    ours = engine(adjoint, 40).draw(1 << 14, dtype=adjoint.float64)
    assert np.array_equal(ours.numpy(), qmc.Sobol(40, scramble=False, bits=30).random(1 << 14))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 0}, {"scramble": True, "seed": 12345}])
@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
def test_draws(dimension, options, dtype):
    def run(L):
        it = engine(L, dimension, **options)
        results = []
        for n in (1, 1, 3, 10, 100, 1, 7, 64, 1000):
            results += [it.draw(n, dtype=getattr(L, dtype)), it.quasi, it.num_generated]
        return results, it.shift, it.sobolstate, repr(it)

    same(run, look=VALUES, bound=EXACT)


@program
def without_a_seed_the_default_generator_counts(L):
    L.manual_seed(3)
    first = engine(L, 3, scramble=True).draw(4)
    return first, L.rand(2), engine(L, 3, True, None).draw(2)


@program
def a_seed_leaves_the_default_generator_alone(L):
    L.manual_seed(3)
    engine(L, 3, scramble=True, seed=5)
    return L.rand(2)


@program
def going_back_and_forth(L):
    it = engine(L, 4, scramble=True, seed=1)
    first = it.draw(5)
    again = it.reset() is it and it.draw(5)
    ahead = it.fast_forward(1000) is it and it.draw(3)
    fresh = engine(L, 4).fast_forward(6)
    return first, again, ahead, it.num_generated, fresh.quasi, fresh.draw(2), engine(L, 4).fast_forward(0).draw(1)


@program
def powers_of_two(L):
    it = engine(L, 3)
    return it.draw_base2(2), it.draw_base2(2), it.num_generated, engine(L, 2).draw_base2(0)


@program
def into_a_tensor(L):
    it, out, other = engine(L, 3, True, 2), L.empty(2, 3), L.empty(0, dtype=L.float64)
    drawn = it.draw(2, out=out)
    more = it.draw(3, out=other, dtype=L.float64)
    return drawn is out, out, more is other, other, it.draw(0)


@program
def default_type(L):
    L.set_default_dtype(L.float64)
    try:
        it = engine(L, 2, True, 4)
        return it.draw(3), it._first_point
    finally:
        L.set_default_dtype(L.float32)


@program
def default_device(L):
    with L.device("meta"):
        return engine(L, 2, True, 4).draw(3)


@program
def copies(L):
    it = engine(L, 3, True, 1)
    it.draw(3)
    twin, other = copy.deepcopy(it), pickle.loads(pickle.dumps(it))
    return it.draw(2), twin.draw(2), other.draw(2)


def refused(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)[:50]
    return None


@pytest.mark.parametrize(
    "call",
    [
        lambda L: engine(L, 0),
        lambda L: engine(L, 21202),
        lambda L: engine(L, -1),
        lambda L: engine(L, 2).draw(0),
        lambda L: engine(L, 2).draw(-1),
        lambda L: engine(L, 2).fast_forward(1).draw(-1),
        lambda L: engine(L, 2).draw(2, dtype=L.float16),
        lambda L: engine(L, 2).draw(2, dtype=L.int64),
        lambda L: engine(L, 2).fast_forward(4).draw_base2(3),
        lambda L: engine(L, 2, True, seed="a"),
    ],
)
def test_refusals(call):
    theirs, ours = (refused(lambda L=L: call(L)) for L in LIBRARIES)
    assert ours is not None
    assert (ours[0], ours[1][:30]) == (theirs[0], theirs[1][:30])


def test_refusals_in_words():
    for call, error, words in [
        (lambda: engine(adjoint, 1.5), TypeError, "expected the dimension as an int; got float"),
        (lambda: engine(adjoint, True), TypeError, "expected the dimension as an int; got bool"),
        (lambda: engine(adjoint, 2).draw(1.5), TypeError, "expected an int; got float"),
        (lambda: engine(adjoint, 2).fast_forward(-1), ValueError, "expected a number from 0 up; got -1"),
        (lambda: engine(adjoint, 2).draw_base2(-1), ValueError, "expected a power from 0 to 30; got -1"),
        (lambda: engine(adjoint, 2).draw(2**31), ValueError, r"the sequence has 2\*\*30 points"),
        (lambda: engine(adjoint, 2).fast_forward(2**30).draw(1), ValueError, "1073741824 were drawn"),
    ]:
        with pytest.raises(error, match=words):
            call()


def test_the_last_points():
    ours, theirs = (engine(L, 3).fast_forward(2**30 - 3).draw(2).tolist() for L in LIBRARIES)
    assert ours == theirs


def test_without_scipy():
    program = (
        "import sys; sys.modules['scipy'] = None; import adjoint\n"
        "assert adjoint.quasirandom.SobolEngine(1111).draw(2).shape == (2, 1111)\n"
        "try: adjoint.quasirandom.SobolEngine(1112)\n"
        "except RuntimeError as error: print(error)\n"
    )
    words = "more than 1111 dimensions are taken from SciPy, which is not installed; got dimension=1112"
    assert words in script(program).stdout


def test_points_fill_the_cube_evenly():
    # Of 2^10 points each of 32 equal boxes of any two coordinates gets as many.
    points = engine(adjoint, 2, True, 9).draw(1 << 10, dtype=adjoint.float64).numpy()
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=[4, 8], range=[[0, 1], [0, 1]])
    assert (counts == 32).all()
    assert torch.quasirandom.SobolEngine.MAXDIM == adjoint.quasirandom.SobolEngine.MAXDIM
