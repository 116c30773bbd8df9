"""Linear, Bilinear, Identity and the distances beside torch's."""

import pytest

from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats


@pytest.mark.parametrize("name", ["Linear", "Bilinear", "Identity", "PairwiseDistance", "CosineSimilarity"])
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias):
    for shape in [(3,), (4, 3), (2, 4, 3), (0, 3)]:
        check(lambda L: L.nn.Linear(3, 5, bias=bias), floats(*shape))


@pytest.mark.parametrize("bias", [True, False])
def test_bilinear(bias):
    check(lambda L: L.nn.Bilinear(3, 2, 5, bias), floats(4, 3), floats(4, 2, seed=1))


def test_distances():
    x, y = floats(4, 3), floats(4, 3, seed=1)
    for p in (1, 2.0, 3, float("inf")):
        check(lambda L, p=p: L.nn.PairwiseDistance(p, keepdim=True), x, y)
    check(lambda L: L.nn.PairwiseDistance(), x, y)
    for dim in (0, 1, -1):
        check(lambda L, dim=dim: L.nn.CosineSimilarity(dim, eps=1e-3), x, y)


def test_identity():
    check(lambda L: L.nn.Identity(3, key=4), floats(2))


def test_training():
    check_trajectory(lambda L: L.nn.Sequential(L.nn.Linear(3, 8), L.nn.Linear(8, 2)), floats(6, 3), lr=0.01)
    check_trajectory(lambda L: L.nn.Bilinear(3, 2, 2), floats(6, 3), floats(6, 2, seed=1), lr=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L.nn.Linear(3, 2)(L.ones(4)),
        lambda L: L.nn.Linear(3, 2)(L.ones(2, 4)),
        lambda L: L.nn.Bilinear(0, 2, 3),
        lambda L: L.nn.Linear(3, 2, dtype=L.int64),
        lambda L: repr(L.nn.Linear(0, 2)),
    ],
)
def test_errors(wrong):
    same(wrong)
