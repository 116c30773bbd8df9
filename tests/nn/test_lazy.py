"""Lazy modules beside torch's: before the first call, at it, and loaded without one."""

import copy
import pickle

import pytest
import torch

import adjoint
from tests.compare import same

from .compare import assert_same, build, check, check_signature, check_trajectory, floats

LAZY = {
    "LazyLinear": ((3,), (5, 4)),
    "LazyConv1d": ((4, 3), (2, 3, 6)),
    "LazyConv2d": ((4, 3), (2, 3, 6, 5)),
    "LazyConv3d": ((4, 2), (2, 3, 4, 3, 4)),
    "LazyConvTranspose1d": ((4, 3), (2, 3, 6)),
    "LazyConvTranspose2d": ((4, 3), (2, 3, 4, 5)),
    "LazyConvTranspose3d": ((4, 2), (2, 3, 2, 3, 2)),
    "LazyBatchNorm1d": ((), (4, 3)),
    "LazyBatchNorm2d": ((), (4, 3, 2, 2)),
    "LazyBatchNorm3d": ((), (4, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": ((), (4, 3, 5)),
    "LazyInstanceNorm2d": ((), (4, 3, 2, 2)),
    "LazyInstanceNorm3d": ((), (4, 3, 2, 2, 2)),
}


def states(module):
    return {name: repr(value) for name, value in module.state_dict().items()}


@pytest.mark.parametrize("name", LAZY)
def test_first_call_makes_an_ordinary_module(name):
    check_signature(name)
    arguments, shape = LAZY[name]
    for bias in (True, False):
        ours, theirs = build(lambda L, bias=bias: getattr(L.nn, name)(*arguments, bias=bias))
        assert repr(ours) == repr(theirs)
        assert states(ours) == states(theirs)
        assert ours.has_uninitialized_params()

    def called(L):
        module = getattr(L.nn, name)(*arguments)
        L.manual_seed(3)
        module(L.ones(shape))
        assert type(module) is getattr(L.nn, name.removeprefix("Lazy"))
        assert type(module.weight) is L.nn.Parameter
        assert not module._forward_pre_hooks
        assert not module._load_state_dict_pre_hooks
        assert not hasattr(module, "_load_hook")
        return module

    check(called, floats(*shape))


def test_training():
    def started(L):
        module = L.nn.Sequential(L.nn.LazyConv1d(3, 3), L.nn.LazyBatchNorm1d(), L.nn.LazyLinear(2))
        module(L.ones(2, 2, 6))
        return module

    check_trajectory(started, floats(4, 2, 6), lr=0.01, loss=lambda result: (result.sin() - 0.5).square().mean())


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.nn.LazyLinear(3).weight.shape,
        lambda L: L.nn.LazyLinear(3).weight.sum(),
        lambda L: L.nn.LazyLinear(3).weight.numel(),
        lambda L: L.nn.LazyLinear(3).weight.detach(),
        lambda L: (L.nn.LazyLinear(3).weight.size(), L.nn.LazyLinear(3).weight.requires_grad),
        lambda L: str(L.nn.LazyLinear(3).double().weight.dtype),
        lambda L: str(L.nn.LazyBatchNorm1d().half().running_mean.dtype),
        lambda L: L.nn.LazyLinear(3).share_memory(),
        lambda L: repr(list(L.nn.LazyLinear(3).parameters())),
        lambda L: repr(L.nn.UninitializedBuffer()),
        lambda L: L.nn.LazyLinear(3).reset_parameters(),
        lambda L: L.nn.LazyLinear(3).zero_grad(),
        lambda L: L.nn.parameter.is_lazy(L.nn.LazyLinear(3).weight),
        lambda L: repr(copy.deepcopy(L.nn.LazyLinear(3)).weight),
        lambda L: repr(pickle.loads(pickle.dumps(L.nn.LazyLinear(3, dtype=L.float64))).weight),
        lambda L: L.nn.LazyLinear(3)(),
        lambda L: L.nn.LazyLinear(3)(L.ones(2, 3), L.ones(2)),
        lambda L: L.nn.LazyLinear(3)(input=L.ones(2, 3)).shape,
        lambda L: L.nn.LazyConv2d(4, 3)(L.ones(2, 5)),
        lambda L: L.nn.LazyConv2d(4, 3)(L.ones(3, 5, 5)).shape,
        lambda L: L.nn.LazyConv2d(4, 3, groups=2)(L.ones(3, 5, 5)),
        lambda L: L.nn.LazyBatchNorm2d()(L.ones(2, 5)),
        lambda L: L.nn.LazyInstanceNorm2d()(L.ones(5, 3, 3)),
        lambda L: L.nn.Linear(5, 3).load_state_dict(L.nn.LazyLinear(3).state_dict()),
        lambda L: str(L.nn.LazyLinear(3).load_state_dict(L.nn.LazyLinear(3).state_dict())),
        lambda L: repr(L.nn.UninitializedParameter(dtype=L.float64).materialize((2, 3))),
    ],
)
def test_before_the_first_call(program):
    same(program)


def test_loading_gives_shapes():
    def program(L):
        lazy = L.nn.Sequential(L.nn.LazyLinear(2), L.nn.LazyBatchNorm1d())
        full = L.nn.Sequential(L.nn.Linear(3, 2), L.nn.BatchNorm1d(2))
        full[0].weight.data.fill_(2.0)
        message = str(lazy.load_state_dict(full.state_dict()))
        shapes = [tuple(value.shape) for value in lazy.state_dict().values()]
        before = repr(lazy)
        first_row = lazy[0].weight[0].tolist()
        lazy(L.ones(4, 3))
        return message, shapes, before, first_row, repr(lazy), lazy[0].weight[0].tolist()

    same(program)


def test_own_lazy_module():
    def program(L):
        class Scale(L.nn.modules.lazy.LazyModuleMixin, L.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = L.nn.UninitializedParameter()

            def initialize_parameters(self, x):
                if self.has_uninitialized_params():
                    with L.no_grad():
                        self.scale.materialize(x.shape[-1:])
                        self.scale.fill_(3.0)

            def forward(self, x):
                return x * self.scale

        module = Scale()
        before = module.has_uninitialized_params()
        return before, module(L.ones(2)), module.has_uninitialized_params(), type(module) is Scale, module(L.ones(2))

    same(program)


@pytest.mark.parametrize("initialise", [None, lambda self, x: None])
def test_lazy_module_that_does_not_initialise(initialise):
    def program(L):
        class Broken(L.nn.modules.lazy.LazyModuleMixin, L.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = L.nn.UninitializedParameter()

        if initialise is not None:
            Broken.initialize_parameters = initialise
        return Broken()(L.ones(1))

    same(program)


def test_first_values_are_drawn_at_the_first_call():
    def program(L):
        L.manual_seed(7)
        lazy = L.nn.LazyConv2d(2, 3)
        after_making = L.rand(1)
        lazy(L.ones(1, 3, 4, 4))
        return after_making, lazy.weight.flatten()[:4].detach(), L.rand(1)

    ours, theirs = program(adjoint), program(torch)
    assert_same(list(ours), list(theirs))
