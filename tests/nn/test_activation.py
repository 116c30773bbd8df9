"""Activations as modules beside torch's."""

import inspect

import pytest
import torch

import adjoint
from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats

NAMES = [name for name in torch.nn.modules.activation.__all__ if name != "MultiheadAttention"]


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    check_signature(name)
    constants = getattr(getattr(torch.nn, name), "__constants__", [])
    assert getattr(getattr(adjoint.nn, name), "__constants__", []) == constants


CASES = [
    "Threshold(0.1, 20)",
    "Threshold(0.1, -2.5)",
    "ReLU()",
    "RReLU()",
    "RReLU(0.2, 0.9)",
    "RReLU(0.3, 0.3)",
    "Hardtanh()",
    "Hardtanh(-2, 0.5)",
    "ReLU6()",
    "Sigmoid()",
    "Hardsigmoid()",
    "Tanh()",
    "SiLU()",
    "Mish()",
    "Hardswish()",
    "ELU()",
    "ELU(2)",
    "CELU()",
    "CELU(2.5)",
    "SELU()",
    "GLU()",
    "GLU(1)",
    "GELU()",
    "GELU('tanh')",
    "Hardshrink()",
    "Hardshrink(0.1)",
    "LeakyReLU()",
    "LeakyReLU(0.2)",
    "LogSigmoid()",
    "Softplus()",
    "Softplus(2, 3)",
    "Softshrink()",
    "Softshrink(0.1)",
    "PReLU()",
    "PReLU(4, 0.1)",
    "Softsign()",
    "Tanhshrink()",
    "Softmin(1)",
    "Softmax(0)",
    "Softmax(dim=-1)",
    "Softmax2d()",
    "LogSoftmax(2)",
]


def made(text):
    return lambda L: eval(f"nn.{text}", {"nn": L.nn})


@pytest.mark.parametrize("text", CASES)
def test_values(text):
    assert {case.split("(")[0] for case in CASES} == set(NAMES)
    x = 3 * floats(2, 4, 3, 2)
    # torch multiplies by 1 / 6 in single precision when it differentiates a hardsigmoid in double precision.
    dtypes = ("float32",) if text == "Hardsigmoid()" else ("float64", "float32")
    check(made(text), x, dtypes=dtypes)
    check(made(text), x, dtypes=dtypes, training=False)
    options = [made(text)(L) for L in (adjoint, torch)]
    assert repr(options[0]) == repr(options[1])
    kept = [{k: v for k, v in vars(m).items() if not k.startswith("_")} for m in options]
    assert kept[0] == kept[1]


IN_PLACE = [name for name in NAMES if "inplace" in inspect.signature(getattr(torch.nn, name)).parameters]
IN_PLACE.remove("Threshold")  # takes arguments: below


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    def program(L):
        module = getattr(L.nn, name)(inplace=True)
        L.manual_seed(0)
        x = L.tensor([-4.0, -0.5, 0.0, 0.5, 7.0], requires_grad=True)
        y = x.clone()
        z = module(y)
        z.sum().backward()
        return repr(module), z is y, [round(v, 5) for v in (*z.tolist(), *x.grad.tolist())]

    same(program)


def test_threshold_in_place():
    same(lambda L: [L.nn.Threshold(0.5, 2.0, inplace=True)(L.tensor([0.0, 1.0])), repr(L.nn.Threshold(1, 2, True))])


@pytest.mark.parametrize(
    "program",
    [
        lambda L: repr(L.nn.Hardtanh(min_value=-2, max_value=3)),
        lambda L: L.nn.Hardtanh(2, 1),
        lambda L: L.nn.Sigmoid(3),
        lambda L: L.nn.Tanh(x=3),
        lambda L: L.nn.GELU("x")(L.ones(2)),
        lambda L: L.nn.GLU()(L.ones(3)),
        lambda L: L.nn.PReLU(3)(L.ones(2, 2)),
        lambda L: L.nn.Softmax2d()(L.ones(2)),
        lambda L: L.nn.Softmax()(L.ones(2, 2)),
        lambda L: L.nn.Softmin()(L.ones(2, 2)),
        lambda L: L.nn.LogSoftmax()(L.ones(2, 2, 2)),
        lambda L: L.nn.Softmax(3)(L.ones(2)),
        lambda L: L.nn.RReLU(0.5, 0.1)(L.ones(2)),
        lambda L: L.nn.ReLU()("text"),
        lambda L: L.nn.PReLU(dtype=L.float64).weight,
        lambda L: L.nn.Softshrink(-1.0)(L.ones(2)),
    ],
)
def test_odd_calls(program):
    same(program)


@pytest.mark.parametrize("name", ["ReLU", "GELU", "SiLU", "PReLU", "Softplus", "RReLU", "Mish"])
def test_training(name):
    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Linear(3, 8), getattr(L.nn, name)(), L.nn.Linear(8, 2)), floats(6, 3), lr=0.01
    )
