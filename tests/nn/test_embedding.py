"""Embedding and EmbeddingBag beside torch's."""

import numpy as np
import pytest

import adjoint
from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats, integers


@pytest.mark.parametrize("name", ["Embedding", "EmbeddingBag"])
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding_idx": 2},
        {"padding_idx": -1},
        {"max_norm": 1.0},
        {"max_norm": 1.5, "norm_type": 1.0},
        {"scale_grad_by_freq": True},
    ],
    ids=str,
)
def test_embedding(options):
    for indices in (integers(5, 3, 4), integers(5, 6), np.array(3)):
        check(lambda L: L.nn.Embedding(5, 3, **options), indices)


BAGS = (np.array([1, 2, 4, 4, 0, 2]), np.array([0, 2, 6]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"max_norm": 1.0}, {"include_last_offset": True}], ids=str)
def test_bags(mode, options):
    check(lambda L: L.nn.EmbeddingBag(5, 3, mode=mode, **options), *BAGS)
    if "include_last_offset" not in options:
        check(lambda L: L.nn.EmbeddingBag(5, 3, mode=mode, **options), integers(5, 3, 4))


LAID_OUT = {
    "offsets": ([1, 2, 4, 2, 0, 3], [0, 2, 2, 6]),
    "empty bags": ([1, 2, 4, 2, 0, 3], [0, 0, 3, 6, 6]),
    "padding alone": ([2, 2, 2], [0, 1, 3]),
    "no indices": ([], [0, 0]),
    "rows": ([[1, 2], [2, 4]], None),
    "offsets with rows": ([[1, 2]], [0]),
    "beyond the end": ([1, 2], [0, 5]),
    "not from 0": ([1, 2], [1, 2]),
}


@pytest.mark.parametrize("layout", LAID_OUT)
@pytest.mark.parametrize("include_last_offset", [False, True])
@pytest.mark.parametrize("padding_idx", [None, 2, -1, 5])
def test_bags_of_every_layout(layout, include_last_offset, padding_idx):
    indices, offsets = LAID_OUT[layout]
    rows = floats(5, 3).tolist()

    def program(L):
        results = []
        for mode, weighted in (("sum", False), ("sum", True), ("mean", False), ("max", False), ("mean", True)):
            weight = L.tensor(rows, dtype=L.float64, requires_grad=True)
            given = L.tensor(indices, dtype=L.int64)
            factors = (given * 0.5 + 1).requires_grad_() if weighted else None
            try:
                result = L.nn.functional.embedding_bag(
                    given,
                    weight,
                    None if offsets is None else L.tensor(offsets),
                    mode=mode,
                    per_sample_weights=None if factors is None else factors.double(),
                    include_last_offset=include_last_offset,
                    padding_idx=padding_idx,
                )
                (result * L.arange(float(result.numel()), dtype=L.float64).view(result.shape)).sum().backward()
                results.append([(x.detach() * 2**20).round() for x in (result, weight.grad) if x is not None])
                results.append(None if factors is None else (factors.grad * 2**10).round())
            except (RuntimeError, ValueError, NotImplementedError) as error:
                results.append((type(error).__name__, str(error)[:30]))
        return results

    same(program)


def test_bags_with_weights():
    make = lambda L: L.nn.EmbeddingBag(5, 3, mode="sum")
    check(make, *BAGS, floats(6))
    check(make, integers(5, 2, 3), None, floats(2, 3))
    check(lambda L: L.nn.EmbeddingBag(5, 3, scale_grad_by_freq=True), *BAGS)


@pytest.mark.parametrize("freeze", [True, False])
def test_pretrained(freeze):
    rows = floats(4, 3).tolist()
    check(lambda L: L.nn.Embedding.from_pretrained(L.tensor(rows), freeze, 1), integers(4, 5))
    check(lambda L: L.nn.EmbeddingBag.from_pretrained(L.tensor(rows), freeze, mode="sum"), integers(4, 2, 3))


def test_pretrained_rows_are_shared():
    def program(L):
        rows = L.zeros(2, 2)
        table = L.nn.Embedding.from_pretrained(rows, freeze=False)
        rows += 1
        return table.weight, table.weight.requires_grad

    same(program)


def test_rows_are_scaled_in_place():
    def program(L):
        table = L.nn.Embedding(3, 2, max_norm=1.0, _weight=L.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
        first = table(L.tensor([0, 1]))
        return first, table.weight

    same(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: repr(L.nn.Embedding(4, 3, 1, 2.0, 1.0, True, True)),
        lambda L: L.nn.Embedding(4, 3, padding_idx=-1).padding_idx,
        lambda L: {k: v for k, v in vars(L.nn.Embedding(4, 3)).items() if k[0] != "_"},
        lambda L: {k: v for k, v in vars(L.nn.EmbeddingBag(4, 3)).items() if k[0] != "_"},
        lambda L: repr(L.nn.EmbeddingBag(4, 3, 1.0, 1.0, True, "sum", True, None, True, 2)),
        lambda L: L.nn.Embedding(4, 3, padding_idx=4),
        lambda L: L.nn.Embedding(4, 3, padding_idx=-5),
        lambda L: L.nn.Embedding(4, 3, _weight=L.ones(2, 3)),
        lambda L: L.nn.Embedding.from_pretrained(L.ones(3)),
        lambda L: L.nn.Embedding(4, 3)(L.tensor([4])),
        lambda L: L.nn.Embedding(4, 3)(L.tensor([-1])),
        lambda L: L.nn.Embedding(4, 3)(L.tensor([1.0])),
        lambda L: L.nn.Embedding(4, 3, dtype=L.float64)(L.tensor([1], dtype=L.int32)).dtype == L.float64,
        lambda L: L.nn.Embedding(0, 3).weight,
        lambda L: L.nn.EmbeddingBag(4, 3, mode="foo")(L.tensor([[1]])),
        lambda L: L.nn.EmbeddingBag(4, 3, padding_idx=9),
        lambda L: L.nn.EmbeddingBag(4, 3, _weight=L.ones(2, 3)),
        lambda L: L.nn.EmbeddingBag.from_pretrained(L.ones(3)),
        lambda L: L.nn.EmbeddingBag(4, 3)(L.tensor([1])),
        lambda L: L.nn.EmbeddingBag(4, 3)(L.tensor([[1]]), L.tensor([0])),
        lambda L: L.nn.EmbeddingBag(4, 3)(L.tensor([[1]]), None, L.ones(1, 1)),
    ],
)
def test_attributes_and_errors(program):
    same(program)


def loss(result):
    return (result.sin() - 0.5).square().mean()


def test_training():
    def text_net(L):
        return L.nn.Sequential(L.nn.Embedding(5, 3, padding_idx=0), L.nn.Linear(3, 4))

    # Tables of less than 16 numbers: more of them are drawn in float32 with the last bit of a vectorised logarithm.
    check_trajectory(text_net, integers(5, 5, 3), loss=loss)
    check_trajectory(lambda L: L.nn.EmbeddingBag(5, 3), integers(5, 5, 3), loss=loss)
    check_trajectory(lambda L: L.nn.Embedding(5, 3, max_norm=1.0), integers(5, 5, 3), loss=loss)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_one_bag_for_many_weights_at_once(mode):
    table = adjoint.randn(5, 1, requires_grad=True)
    out = adjoint.nn.functional.embedding_bag(adjoint.tensor([[1, 1, 3]]), table, mode=mode)
    weights = adjoint.arange(1.0, 8.0).reshape(7, 1, 1)
    rows = adjoint.autograd.grad(out, table, weights, is_grads_batched=True, retain_graph=True)[0]
    apart = [adjoint.autograd.grad(out, table, each, retain_graph=True)[0] for each in weights]
    assert adjoint.equal(rows, adjoint.stack(apart))
