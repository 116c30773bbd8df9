"""nn.init beside torch's: the same numbers under the same seed, the same errors and warnings."""

import inspect

import pytest
import torch

import adjoint
from tests.compare import VALUES, WHOLE, in_tensors, same

from .compare import BOUNDS

DEPRECATED = [name for name in torch.nn.init.__all__ if f"{name}_" in torch.nn.init.__all__]


def test_names():
    assert sorted(adjoint.nn.init.__all__) == sorted(torch.nn.init.__all__)
    for name in torch.nn.init.__all__:
        if name in DEPRECATED:
            continue
        ours, theirs = (
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(L.nn.init, name)).parameters.values()]
            for L in (adjoint, torch)
        )
        assert ours == theirs, name


SHAPES = {
    "uniform_": [(5,), (3, 4), (0, 2), (40,)],
    "normal_": [(5,), (3, 4), (0, 2), (40,)],
    "trunc_normal_": [(5,), (3, 4), (0,), (40,)],
    "xavier_uniform_": [(3, 4), (2, 3, 5), (0, 3), (2, 3, 2, 2)],
    "xavier_normal_": [(3, 4), (2, 3, 5), (4, 5, 6)],
    "kaiming_uniform_": [(3, 4), (2, 3, 5), (0, 3), (2, 3, 2, 2)],
    "kaiming_normal_": [(3, 4), (2, 3, 5), (0, 3), (4, 5, 6)],
    "orthogonal_": [(3, 4), (4, 3), (2, 3, 2), (0, 3), (5, 5)],
    "ones_": [(2, 3), ()],
    "zeros_": [(2, 3), ()],
    "eye_": [(2, 3), (3, 2)],
    "dirac_": [(3, 2, 3), (2, 3, 2, 2), (4, 2, 1, 2, 3)],
}
OPTIONS = {
    "uniform_": [{"a": -2, "b": 3.5}],
    "normal_": [{"mean": 2, "std": 0.1}, {"std": 0}],
    "trunc_normal_": [{"mean": 1, "std": 0.5, "a": 0, "b": 1}, {"mean": 9}, {"a": -0.1, "b": 0.2}, {"std": 0.02}],
    "xavier_uniform_": [{"gain": 3}],
    "xavier_normal_": [{"gain": 0.5}],
    "kaiming_uniform_": [{"a": 1, "mode": "fan_out"}, {"nonlinearity": "relu"}, {"nonlinearity": "tanh", "a": 2}],
    "kaiming_normal_": [{"a": 1, "mode": "FAN_OUT"}, {"nonlinearity": "selu"}],
    "orthogonal_": [{"gain": 2.5}],
}


def agree(program, dtype="float32"):
    """Asserts that both libraries give the same numbers, up to rounding, and the same warnings; returns these."""

    def seeded(L):
        L.manual_seed(7)
        return program(L)

    ours = same(seeded, VALUES, in_tensors(BOUNDS[dtype]), warned=WHOLE)
    assert ours.error is None
    return ours.warnings


@pytest.mark.parametrize("name", SHAPES)
def test_values(name):
    for shape in SHAPES[name]:
        for options in [{}, *OPTIONS.get(name, [])]:
            for dtype in ("float32", "float64"):

                def program(L, shape=shape, options=options, dtype=dtype):
                    tensor = L.zeros(shape, dtype=getattr(L, dtype)).requires_grad_()
                    result = getattr(L.nn.init, name)(tensor, **options)
                    after = L.rand(1)  # as many numbers were drawn
                    return result is tensor, result, after, tensor._version > 0 or not tensor.numel()

                agree(program, dtype)


@pytest.mark.parametrize("name", [name for name in SHAPES if name.endswith(("uniform_", "normal_", "orthogonal_"))])
def test_own_generator(name):
    def program(L):
        generator = L.Generator().manual_seed(11)
        tensor = getattr(L.nn.init, name)(L.zeros(3, 4), generator=generator)
        return tensor, L.rand(1, generator=generator)

    agree(program)


def test_groups():
    agree(lambda L: [L.nn.init.dirac_(L.ones(shape), 2) for shape in [(4, 2, 3), (6, 2, 2, 2), (2, 3, 1, 2, 3)]])


def test_sparse():
    for sparsity in (0.1, 0.5, 1.0):

        def program(L, sparsity=sparsity):
            return L.nn.init.sparse_(L.zeros(7, 5), sparsity, std=0.2), L.rand(1)

        agree(program)
    agree(lambda L: L.nn.init.sparse_(L.zeros(7, 5), 0.2, generator=L.Generator().manual_seed(1)).shape)


@pytest.mark.parametrize("name", DEPRECATED)
def test_names_of_old(name):
    arguments = {"constant": (2.0,), "sparse": (0.3,)}.get(name, ())
    shape = (3, 2, 3) if name == "dirac" else (3, 4)

    def program(L):
        return getattr(L.nn.init, name)(L.zeros(shape), *arguments)

    assert agree(program)


GAINS = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"]


@pytest.mark.parametrize("nonlinearity", [*GAINS, "tanh", "relu", "leaky_relu", "selu", "x"])
def test_gains(nonlinearity):
    for param in (None, 0.3, 2, True, "a"):
        same(lambda L, param=param: L.nn.init.calculate_gain(nonlinearity, param))


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.nn.init.xavier_uniform_(L.ones(2)),
        lambda L: L.nn.init.kaiming_uniform_(L.ones(2)),
        lambda L: L.nn.init.kaiming_uniform_(L.ones(2, 2), mode="x"),
        lambda L: L.nn.init.kaiming_normal_(L.ones(2, 2), nonlinearity="y"),
        lambda L: L.nn.init.kaiming_uniform_(L.ones(2, 2), a="x"),
        lambda L: L.nn.init.xavier_uniform_(L.ones(3, 0)),
        lambda L: L.nn.init.xavier_normal_(L.ones(0, 0)),
        lambda L: L.nn.init.orthogonal_(L.ones(2)),
        lambda L: L.nn.init.sparse_(L.ones(2), 0.1),
        lambda L: L.nn.init.eye_(L.ones(2)),
        lambda L: L.nn.init.dirac_(L.ones(2)),
        lambda L: L.nn.init.dirac_(L.ones(3, 2, 2), 2),
        lambda L: L.nn.init.uniform_(L.ones(2), 2, 1),
        lambda L: L.nn.init.normal_(L.ones(2), 0, -1),
        lambda L: L.nn.init.constant_(L.ones(2), 2.5),
        lambda L: L.nn.init.constant_(L.ones(2, dtype=L.int64), 3),
        lambda L: L.nn.init.orthogonal_(L.ones(2, 2, dtype=L.int64)),
        lambda L: L.nn.init.trunc_normal_(L.ones(3), 0, 1, 2, -2),
        lambda L: L.nn.init.trunc_normal_(L.ones(3), std=0.0),
        lambda L: L.nn.init._calculate_fan_in_and_fan_out(L.ones(2, 3, 4)),
        lambda L: L.nn.init._calculate_correct_fan(L.ones(2, 3, 4), "fan_out"),
    ],
)
def test_odd_calls(program):
    same(program)


@pytest.mark.parametrize("option", ["mean", "std", "a", "b"])
def test_a_truncated_normal_distribution_that_accepts_nothing(option):
    with pytest.raises(ValueError, match="trunc_normal_: expected a finite mean"):
        adjoint.nn.init.trunc_normal_(adjoint.ones(2), **{option: float("nan")})
