"""nn.utils beside torch's: clipping, vectors of parameters, fusion, modules without first values."""

import inspect
import math

import pytest
import torch

import adjoint
from tests.compare import same

from .compare import assert_same, build, floats, tensors

NAMES = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "skip_init",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
]


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    def described(function):
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    if name != "clip_grad_norm":
        assert described(getattr(adjoint.nn.utils, name)) == described(getattr(torch.nn.utils, name))


def parameters(L, *grads, dtype="float32"):
    result = []
    for grad in grads:
        parameter = L.nn.Parameter(L.zeros(1 if grad is None else len(grad), dtype=getattr(L, dtype)))
        parameter.grad = None if grad is None else L.tensor(grad, dtype=parameter.dtype)
        result.append(parameter)
    return result


GRADS = [[3.0, -4.0], None, [12.0], [0.0]]


@pytest.mark.parametrize("norm_type", [2, 1, 3.5, "inf", math.inf, 0, -1.0])
@pytest.mark.parametrize("max_norm", [1, 20.0, "2"])
def test_clip_norm(norm_type, max_norm):
    for dtype in ("float32", "float64"):
        results = []
        for L in (adjoint, torch):
            given = parameters(L, *GRADS, dtype=dtype)
            total = L.nn.utils.clip_grad_norm_(given, max_norm, norm_type)
            grads = [p.grad for p in given if p.grad is not None]
            again = L.nn.utils.get_total_norm(grads, norm_type)
            results.append([total, grads, again])
        assert_same(*results, dtype)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.nn.utils.clip_grad_norm_([], 1.0),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, None), 1.0),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, [3.0, math.inf]), 1.0, error_if_nonfinite=True),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, [3.0, math.nan]), 1.0),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, [3.0, 4.0])[0], 1.0),
        lambda L: L.nn.utils.clip_grad_norm_((p for p in parameters(L, [3.0, 4.0])), 1.0, foreach=True),
        lambda L: L.nn.utils.clip_grad_norm_((p for p in ()), 1.0),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, [1.0]), "a"),
        lambda L: L.nn.utils.clip_grad_norm_(parameters(L, [1.0]), 1, "a"),
        lambda L: L.nn.utils.clip_grad_norm_(3, 1),
        lambda L: L.nn.utils.clip_grad_norm_([3], 1),
        lambda L: L.nn.utils.clip_grad_norm(parameters(L, [3.0, 4.0]), 1.0),
        lambda L: L.nn.utils.get_total_norm(L.tensor([3.0, 4.0])),
        lambda L: L.nn.utils.get_total_norm([L.tensor([3.0]), L.tensor([4.0], dtype=L.float64)]),
        lambda L: L.nn.utils.get_total_norm([]),
        lambda L: L.nn.utils.clip_grads_with_norm_(parameters(L, [1.0]), 1.0, L.tensor(5.0)),
        lambda L: L.nn.utils.clip_grad_value_(parameters(L, [1.0], None), "a"),
        lambda L: L.nn.utils.parameters_to_vector(parameters(L, [1.0, 2.0], [3.0])),
        lambda L: L.nn.utils.parameters_to_vector([L.ones(2, 2), L.zeros(())]),
        lambda L: L.nn.utils.vector_to_parameters([1.0], parameters(L, [1.0])),
        lambda L: L.nn.utils.vector_to_parameters(L.ones(1), parameters(L, [1.0, 2.0])),
        lambda L: L.nn.utils.vector_to_parameters(L.ones(3), parameters(L, [1.0, 2.0])),
        lambda L: L.nn.utils.skip_init(L.nn.ReLU),
        lambda L: L.nn.utils.skip_init(int),
        lambda L: L.nn.utils.skip_init(3),
        lambda L: L.nn.utils.skip_init(L.nn.Linear, 2, 3, device="cpu", dtype=L.float64).weight.dtype.is_floating_point,
        lambda L: L.nn.utils.fuse_conv_bn_eval(L.nn.Conv2d(1, 1, 1), L.nn.BatchNorm2d(1)),
        lambda L: L.nn.utils.fuse_linear_bn_eval(L.nn.Linear(2, 3).eval(), L.nn.BatchNorm1d(3)),
        lambda L: L.nn.utils.fuse_linear_bn_eval(L.nn.Linear(2, 3).eval(), L.nn.BatchNorm1d(2).eval()),
        lambda L: L.nn.utils.fuse_conv_bn_eval(
            L.nn.Conv2d(1, 1, 1).eval(), L.nn.BatchNorm2d(1, track_running_stats=False).eval()
        ),
    ],
)
def test_odd_calls(program):
    same(program)


@pytest.mark.parametrize("value", [1, 2.5, -1])
def test_clip_value(value):
    def program(L):
        given = parameters(L, *GRADS)
        kept = [p.grad for p in given]
        L.nn.utils.clip_grad_value_(given, value)
        L.nn.utils.clip_grad_value_(given[0], value)
        return [p.grad for p in given], [p.grad is k for p, k in zip(given, kept, strict=True)]

    same(program)


def test_vector_is_shared():
    def program(L):
        first, second = L.nn.Parameter(L.ones(3)), L.nn.Parameter(L.ones(2, 2))
        vector = L.arange(7.0)
        L.nn.utils.vector_to_parameters(vector, [first, second])
        before = [first.tolist(), second.tolist()]
        vector.zero_()
        return before, first, second, L.nn.utils.parameters_to_vector([first, second])

    same(program)


def test_skip_init_uses_no_random_numbers():
    def program(L):
        L.manual_seed(0)
        module = L.nn.utils.skip_init(L.nn.Linear, 3, out_features=2)
        return L.rand(1), [(name, p.shape, p.requires_grad) for name, p in module.named_parameters()]

    same(program)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "ConvTranspose2d", "Linear"])
def test_fusion(kind, affine, bias):
    if kind == "Linear" and not affine:
        return  # torch takes norms with weights only
    dims = int(kind[-2]) if kind != "Linear" else 1

    def make(L):
        size = (3, 4) if kind == "Linear" else (3, 4, 2)
        norm = getattr(L.nn, f"BatchNorm{dims}d")(4, affine=affine)
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        if affine:
            L.nn.init.normal_(norm.weight)
            L.nn.init.normal_(norm.bias)
        return L.nn.Sequential(getattr(L.nn, kind)(*size, bias=bias), norm).eval()

    x = floats(2, 3) if kind == "Linear" else floats(2, 3, *(5,) * dims)
    fused = []
    for L, (layer, norm) in zip((adjoint, torch), build(make), strict=True):
        if kind == "Linear":
            result = L.nn.utils.fuse_linear_bn_eval(layer, norm)
        else:
            result = L.nn.utils.fuse_conv_bn_eval(layer, norm, transpose="Transpose" in kind)
        assert result is not layer
        (given,) = tensors(L, [x])
        near = bool(((result(given) - norm(layer(given))).abs() < 1e-5).all())
        named = dict(result.named_parameters())
        fused.append([result(given), named, [p.requires_grad for p in named.values()], repr(result), near])
    assert_same(*fused)
    assert fused[0][-1]


def test_memory_formats():
    def program(L):
        net = L.nn.Sequential(
            L.nn.Conv2d(2, 3, 3), L.nn.Sequential(L.nn.ConvTranspose2d(3, 2, 2)), L.nn.Conv3d(2, 2, 2)
        )
        assert L.nn.utils.convert_conv2d_weight_memory_format(net, L.channels_last) is net
        strides = [p.stride() for p in net.parameters()]
        L.nn.utils.convert_conv3d_weight_memory_format(net, L.channels_last_3d)
        return strides, [p.stride() for p in net.parameters()]

    same(program)
