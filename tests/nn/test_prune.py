"""Pruning beside torch's."""

import pytest
import torch.nn.utils.prune  # noqa: F401 (torch imports it only when asked)

from tests.compare import same

from .compare import check, check_trajectory, floats


def layer(L):
    return L.nn.Linear(3, 4)


def twice(L, first, second):
    module = layer(L)
    first(L.nn.utils.prune, module)
    second(L.nn.utils.prune, module)
    return module


METHODS = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "random": lambda p, m: p.random_unstructured(m, "weight", amount=5),
    "random share": lambda p, m: p.random_unstructured(m, "weight", amount=0.4),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", amount=3),
    "random structured": lambda p, m: p.random_structured(m, "weight", amount=1, dim=1),
    "random rows": lambda p, m: p.random_structured(m, "weight", amount=0.5, dim=0),
    "ln": lambda p, m: p.ln_structured(m, "weight", amount=1, n=2, dim=0),
    "ln columns": lambda p, m: p.ln_structured(m, "weight", amount=1, n=float("inf"), dim=-1),
    "nothing": lambda p, m: p.l1_unstructured(m, "weight", amount=0),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    check(lambda L: METHODS[name](L.nn.utils.prune, layer(L)), floats(2, 3))


@pytest.mark.parametrize("second", ["l1", "ln", "random rows", "random"])
@pytest.mark.parametrize("first", ["l1", "ln"])
def test_one_after_the_other(first, second):
    check(lambda L: twice(L, METHODS[first], METHODS[second]), floats(2, 3))


def test_masks_and_scores():
    mask = [[1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]]
    scores = floats(4, 3).tolist()
    check(lambda L: L.nn.utils.prune.custom_from_mask(layer(L), "weight", L.tensor(mask)), floats(2, 3))
    check(
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", 4, importance_scores=L.tensor(scores)),
        floats(2, 3),
    )


@pytest.mark.parametrize("amount", [3, 0.5])
def test_global_pruning(amount):
    def make(L):
        net = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Linear(4, 2))
        prune = L.nn.utils.prune
        prune.global_unstructured([(m, "weight") for m in net], pruning_method=prune.L1Unstructured, amount=amount)
        return net

    check(make, floats(2, 3))


def test_removal():
    def program(L):
        L.manual_seed(0)
        prune = L.nn.utils.prune
        module = twice(L, METHODS["l1"], METHODS["ln"])
        original = module.weight_orig
        before = [prune.is_pruned(module), [type(m).__name__ for m in next(iter(module._forward_pre_hooks.values()))]]
        prune.remove(module, "weight")
        return before, prune.is_pruned(module), list(module.state_dict()), module.weight is original, module.weight

    same(program)


def test_own_method():
    def program(L):
        class EverySecond(L.nn.utils.prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        module = L.nn.Linear(3, 4)
        EverySecond.apply(module, "bias")
        return module.bias_mask, list(module.state_dict()), EverySecond().prune(L.ones(3))

    same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", -1),
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", 1.5),
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", "all"),
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", 100),
        lambda L: L.nn.utils.prune.random_structured(layer(L), "weight", 100, 0),
        lambda L: L.nn.utils.prune.random_structured(layer(L), "bias", 1, 0),
        lambda L: L.nn.utils.prune.random_structured(layer(L), "weight", 1, 5),
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "other", 1),
        lambda L: L.nn.utils.prune.custom_from_mask(layer(L), "weight", L.ones(3, 3)),
        lambda L: L.nn.utils.prune.l1_unstructured(layer(L), "weight", 1, importance_scores=L.ones(3, 3)),
        lambda L: L.nn.utils.prune.remove(layer(L), "weight"),
        lambda L: L.nn.utils.prune.global_unstructured(3, L.nn.utils.prune.L1Unstructured, amount=1),
        lambda L: L.nn.utils.prune.global_unstructured(
            [(layer(L), "weight")], L.nn.utils.prune.RandomStructured, amount=1
        ),
        lambda L: L.nn.utils.prune.PruningContainer().add_pruning_method(3),
        lambda L: L.nn.utils.prune.BasePruningMethod(),
        lambda L: L.nn.utils.prune.is_pruned(L.nn.Sequential(L.nn.utils.prune.identity(layer(L), "bias"))),
    ],
)
def test_errors(wrong):
    same(wrong)


def test_training():
    check_trajectory(
        lambda L: METHODS["l1"](L.nn.utils.prune, layer(L)),
        floats(5, 3),
        loss=lambda result: (result.sin() - 0.5).square().mean(),
    )
