"""AdaptiveLogSoftmaxWithLoss beside torch's."""

import numpy as np
import pytest

from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats

TARGETS = np.array([0, 4, 5, 6, 12, 19])


def make(L, **options):
    return L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, **options)


def test_signature():
    check_signature("AdaptiveLogSoftmaxWithLoss")


@pytest.mark.parametrize("bias", [False, True])
def test_values(bias):
    x = floats(6, 8)
    check(lambda L: make(L, head_bias=bias), x, TARGETS)
    check(lambda L: make(L, head_bias=bias), x[0], np.array(7))
    check(make, x, np.zeros(6, dtype=np.int64))
    check(make, x, call=lambda module, input: module.log_prob(input))
    for scale in (0.1, 10.0):
        check(make, scale * floats(40, 8), call=lambda module, input: module.predict(input))


def test_training():
    check_trajectory(make, floats(6, 8), TARGETS, loss=lambda result: result.loss)


def test_reset_draws_anew():
    def program(L):
        L.manual_seed(3)
        module = make(L)
        module.reset_parameters()
        return module.state_dict()

    same(program)


@pytest.mark.parametrize("cutoffs", [[], [5, 5], [5, 20], [0, 5], [5.5], (10, 5), [5, 10]])
def test_cutoffs(cutoffs):
    same(lambda L: repr(L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs, 2.0)))


def test_tiny_clusters_warn():
    same(lambda L: list(L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).state_dict()))


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((4, 8), [0, 6, 12]),
        ((4, 8), [[0, 6, 12, 3]]),
        ((8,), [0]),
        ((1, 8), 0),
        ((2, 8), [0, 20]),
        ((2, 8), [-1, 12]),
        ((2, 4, 8), [0, 1]),
        ((2, 7), [0, 1]),
    ],
)
def test_errors(shape, target):
    same(lambda L: make(L)(L.ones(shape), L.tensor(target)))


def test_an_input_without_dimensions_beside_a_row_of_targets():
    same(lambda L: make(L)(L.tensor(0.0), L.arange(3)))
