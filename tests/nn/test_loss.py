"""Losses as modules beside torch's."""

import pickle

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats, integers, library_of

NAMES = torch.nn.modules.loss.__all__
REDUCTIONS = ["mean", "sum", "none"]

ROWS, SHAPE = 5, (5, 4)
X, Y, Z = floats(*SHAPE), floats(*SHAPE, seed=1), floats(*SHAPE, seed=2)
CLASSES = integers(4, ROWS)
SIGNS = np.sign(floats(*SHAPE, seed=3))
P = 1 / (1 + np.exp(-X))
LOG_P = X - np.log(np.exp(X).sum(1, keepdims=True))
CLASS_WEIGHT = [0.5, 1.0, 2.0, 0.0]


def weight(L, values=CLASS_WEIGHT):
    return L.tensor(values)


# How it is made, given a reduction; inputs.
CASES = [
    (lambda L, **r: L.nn.L1Loss(**r), (X, Y)),
    (lambda L, **r: L.nn.MSELoss(**r), (X, Y)),
    (lambda L, **r: L.nn.NLLLoss(**r), (LOG_P, CLASSES)),
    (lambda L, **r: L.nn.NLLLoss(weight(L), ignore_index=2, **r), (LOG_P, CLASSES)),
    (lambda L, **r: L.nn.NLLLoss(**r), (floats(2, 3, 4, 5), integers(3, 2, 4, 5))),
    (lambda L, **r: L.nn.NLLLoss(**r), (floats(3), np.array(2))),
    (lambda L, **r: L.nn.PoissonNLLLoss(**r), (X, P)),
    (lambda L, **r: L.nn.PoissonNLLLoss(log_input=False, full=True, eps=1e-3, **r), (P, 3 * P)),
    (lambda L, **r: L.nn.GaussianNLLLoss(**r), (X, Y, P)),
    (lambda L, **r: L.nn.GaussianNLLLoss(full=True, eps=0.3, **r), (X, Y, P[:, :1])),
    (lambda L, **r: L.nn.KLDivLoss(log_target=True, **r), (LOG_P, LOG_P[::-1].copy())),
    (lambda L, **r: L.nn.KLDivLoss(**r), (LOG_P, P)),
    (lambda L, **r: L.nn.BCELoss(**r), (P, P[::-1].copy())),
    (lambda L, **r: L.nn.BCELoss(weight(L), **r), (P, P[::-1].copy())),
    (lambda L, **r: L.nn.BCEWithLogitsLoss(**r), (X, P)),
    (lambda L, **r: L.nn.BCEWithLogitsLoss(weight(L), pos_weight=weight(L, [3.0]), **r), (X, P)),
    (lambda L, **r: L.nn.HingeEmbeddingLoss(0.5, **r), (X, SIGNS)),
    (lambda L, **r: L.nn.MultiLabelMarginLoss(**r), (X, np.array([[0, 2, -1, 1], [3, -1, 0, 0]] * 2 + [[1, 0, 2, 3]]))),
    (lambda L, **r: L.nn.SmoothL1Loss(**r), (X, Y)),
    (lambda L, **r: L.nn.SmoothL1Loss(beta=0.25, **r), (X, Y)),
    (lambda L, **r: L.nn.HuberLoss(delta=0.5, **r), (X, Y)),
    (lambda L, **r: L.nn.SoftMarginLoss(**r), (X, SIGNS)),
    (lambda L, **r: L.nn.CrossEntropyLoss(**r), (X, CLASSES)),
    (lambda L, **r: L.nn.CrossEntropyLoss(weight(L), ignore_index=1, label_smoothing=0.1, **r), (X, CLASSES)),
    (lambda L, **r: L.nn.CrossEntropyLoss(weight(L), **r), (X, P)),
    (lambda L, **r: L.nn.LinearCrossEntropyLoss(4, 6, bias=True, **r), (X, CLASSES)),
    (lambda L, **r: L.nn.LinearCrossEntropyLoss(4, 6, out_features=(2,), ignore_index=1, **r), (X, integers(6, 5, 2))),
    (lambda L, **r: L.nn.MultiLabelSoftMarginLoss(weight(L), **r), (X, integers(2, *SHAPE).astype(float))),
    (lambda L, **r: L.nn.CosineEmbeddingLoss(0.1, **r), (X, Y, SIGNS[:, 0].astype(np.int64))),
    (lambda L, **r: L.nn.MarginRankingLoss(0.2, **r), (X, Y, SIGNS)),
    (lambda L, **r: L.nn.MultiMarginLoss(**r), (X, CLASSES)),
    (lambda L, **r: L.nn.MultiMarginLoss(2, 0.5, weight(L), **r), (X, CLASSES)),
    (lambda L, **r: L.nn.TripletMarginLoss(**r), (X, Y, Z)),
    (lambda L, **r: L.nn.TripletMarginLoss(2.0, 3, 1e-3, True, **r), (X, Y, Z)),
    (lambda L, **r: L.nn.TripletMarginWithDistanceLoss(margin=3.0, swap=True, **r), (X, Y, Z)),
    (lambda L, **r: L.nn.CTCLoss(**r), (floats(7, 2, 5), integers(4, 2, 3) + 1, np.array([7, 6]), np.array([3, 2]))),
    (lambda L, **r: L.nn.CTCLoss(4, zero_infinity=True, **r), (floats(2, 2, 5), integers(4, 2, 3), (2, 2), (3, 1))),
]


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    if name != "NLLLoss2d":  # torch hides its signature behind a decorator
        check_signature(name)
    ours, theirs = (getattr(getattr(L.nn, name), "__constants__", None) for L in (adjoint, torch))
    assert theirs is None or ours == theirs


def test_every_loss_is_tried():
    tried = {type(make(torch)).__name__ for make, _ in CASES}
    assert tried | {"NLLLoss2d"} == set(NAMES)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # kl_div's, of both
def test_values(number, reduction):
    make, inputs = CASES[number]
    fixed = type(make(torch)).__name__ in ("MultiLabelSoftMarginLoss", "HingeEmbeddingLoss", "SoftMarginLoss")

    def call(module, *args):
        if fixed:  # not differentiable by their targets, in torch
            args = (args[0], *(arg.detach() for arg in args[1:]))
        return module(*args)

    check(lambda L: make(L, reduction=reduction), *inputs, call=call)


def test_custom_distance():
    check(lambda L: L.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1)), X, Y, Z)
    check(lambda L: L.nn.TripletMarginWithDistanceLoss(distance_function=L.nn.PairwiseDistance(1)), X, Y, Z)


@pytest.mark.parametrize("name", ["L1Loss", "NLLLoss", "BCEWithLogitsLoss", "MultiMarginLoss", "PoissonNLLLoss"])
@pytest.mark.parametrize("old", [(None, True), (True, None), (False, None), (False, True), (True, False), (None, 0)])
def test_arguments_of_old(name, old):
    same(lambda L: getattr(L.nn, name)(size_average=old[0], reduce=old[1]).reduction)
    same(lambda L: L.nn._reduction.legacy_get_string(*old))
    same(lambda L: L.nn._reduction.legacy_get_enum(*old, emit_warning=False))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "elementwise_mean", "x", None])
def test_numbers_of_reductions(reduction):
    same(lambda L: L.nn._reduction.get_enum(reduction))


@pytest.mark.parametrize(
    "program",
    [
        lambda L: repr(L.nn.NLLLoss2d()),
        lambda L: repr(
            L.nn.LinearCrossEntropyLoss(3, 4, out_features=(2, 5), options=L.nn.LinearCrossEntropyOptions())
        ),
        lambda L: L.nn.LinearCrossEntropyLoss(3, 4, weight=L.ones(4)).state_dict().keys(),
        lambda L: L.nn.LinearCrossEntropyLoss(3, 4, out_features=2),
        lambda L: repr(L.nn.TripletMarginWithDistanceLoss()),
        lambda L: L.nn.TripletMarginWithDistanceLoss(margin=-1),
        lambda L: L.nn.TripletMarginLoss(0),
        lambda L: L.nn.MultiMarginLoss(3),
        lambda L: L.nn.MultiMarginLoss(weight=L.ones(2, 2)),
        lambda L: list(L.nn.CrossEntropyLoss(L.ones(2)).state_dict()),
        lambda L: list(L.nn.CrossEntropyLoss().state_dict()),
        lambda L: list(L.nn.BCEWithLogitsLoss(L.ones(2), pos_weight=L.ones(2)).state_dict()),
        lambda L: L.nn.NLLLoss("weight"),
        lambda L: L.nn.MSELoss(reduction="x")(L.ones(2), L.ones(2)),
        lambda L: L.nn.MSELoss(reduction=None)(L.ones(2), L.ones(2)),
        lambda L: L.nn.GaussianNLLLoss(reduction="x")(L.ones(2), L.ones(2), L.ones(2)),
        lambda L: L.nn.GaussianNLLLoss()(L.ones(2), L.ones(2), -L.ones(2)),
        lambda L: L.nn.MSELoss()(L.ones(2), L.ones(2, 1)),
        lambda L: L.nn.KLDivLoss()(L.ones(2), L.ones(2)),
        lambda L: L.nn.KLDivLoss(reduction="batchmean")(L.ones(2, 2), L.ones(2, 2)),
        lambda L: L.nn.BCELoss()(L.tensor([1.5]), L.ones(1)),
        lambda L: L.nn.BCELoss()(L.ones(2), L.ones(3)),
        lambda L: L.nn.CrossEntropyLoss()(L.ones(2, 3), L.tensor([0, 3])),
        lambda L: L.nn.CrossEntropyLoss()(L.ones(2, 3), L.tensor([0, 1, 2])),
        lambda L: L.nn.CrossEntropyLoss(label_smoothing=2.0)(L.ones(2, 3), L.tensor([0, 1])),
        lambda L: L.nn.NLLLoss()(L.ones(2, 3), L.tensor([0.0, 1.0])),
        lambda L: L.nn.CosineEmbeddingLoss()(L.ones(2, 3), L.ones(2, 3), L.ones(2, 3)),
        lambda L: L.nn.MarginRankingLoss()(L.ones(2, 3), L.ones(2), L.ones(2)),
        lambda L: L.nn.HuberLoss(delta=0.0)(L.ones(2), L.ones(2)),
        lambda L: L.nn.SmoothL1Loss(beta=-1.0)(L.ones(2), L.ones(2)),
        lambda L: L.nn.CTCLoss()(L.ones(2, 1, 3), L.tensor([[1, 2]]), L.tensor([3]), L.tensor([2])),
        lambda L: L.nn.modules.loss._Loss(False).reduction,
        lambda L: L.nn.modules.loss._WeightedLoss(L.ones(2), None, False).reduction,
    ],
)
def test_odd_calls(program):
    same(program)


def test_weight_moves_and_pickles():
    loss = adjoint.nn.CrossEntropyLoss(adjoint.tensor([1.0, 2.0])).double()
    assert loss.weight.dtype is adjoint.float64
    assert pickle.loads(pickle.dumps(loss)).weight.tolist() == [1.0, 2.0]


def test_probabilities_are_not_compared_with_integers():
    same(lambda L: L.nn.functional.binary_cross_entropy(L.tensor([0.5]), L.tensor([1])))


def network(L, outputs):
    return L.nn.Sequential(L.nn.Linear(3, 8), L.nn.Tanh(), L.nn.Linear(8, outputs))


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"])
def test_training_to_numbers(name):
    loss = {L.__name__: getattr(L.nn, name)() for L in (adjoint, torch)}
    target = floats(6, 2, seed=2)

    def value(result):
        library = library_of(result)
        return loss[library.__name__](result, library.from_numpy(target).to(result.dtype))

    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Linear(3, 8), L.nn.Tanh(), L.nn.Linear(8, 2)), floats(6, 3), loss=value
    )


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "MultiMarginLoss"])
def test_training_to_classes(name):
    loss = {L.__name__: getattr(L.nn, name)() for L in (adjoint, torch)}
    target = integers(4, 6)

    def value(result):
        library = library_of(result)
        return loss[library.__name__](result, library.from_numpy(target))

    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Linear(3, 8), L.nn.Tanh(), L.nn.Linear(8, 4)), floats(6, 3), loss=value
    )


@pytest.mark.parametrize("shape", [(0, 1, 3), (3, 0, 3), (3, 1, 0), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss_of_nothing(shape, reduction):
    batch = shape[1] if len(shape) == 3 else 1

    def program(L):
        probabilities = L.ones(*shape, requires_grad=True)
        targets, lengths = L.ones(batch, 0, dtype=L.int64), L.zeros(batch, dtype=L.int64)
        return L.nn.functional.ctc_loss(probabilities, targets, lengths, lengths, reduction=reduction)

    assert same(program).kind == "RuntimeError"


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("mean", [1e3, 1e6])
def test_large_means_keep_their_digits(mean, name, reduction):
    """As many as the last rounding leaves, whatever the number of elements and their order in memory."""
    values = np.random.default_rng(0).standard_normal((2, 301, 1001))
    values[0] += mean
    x, y = adjoint.tensor(values).float()
    loss = getattr(adjoint.nn.functional, name)
    for a, b in ((x, y), (x.t(), y.t()), (x[:, ::2], y[:, ::2])):
        exact = loss(a.double(), b.double(), reduction=reduction).item()
        assert loss(a, b, reduction=reduction).item() == pytest.approx(exact, rel=3e-7)
