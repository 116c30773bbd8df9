"""Normalisation on the device against the CPU: rows of all lengths, planes, groups, and their gradients."""

import pytest

import adjoint as torch
from adjoint.nn import functional as F

from .driver import counted
from .test_reduce import check, numbers


def gradients(function, *tensors):
    """The result and all gradients."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    out = function(*leaves)
    cotangent = (torch.arange(out.numel(), dtype=torch.float64) * 0.7).sin().reshape(out.shape)
    return [out.detach(), *torch.autograd.grad(out, leaves, cotangent.to(out.dtype).to(out.device))]


def check_all(function, *tensors, **close):
    check(lambda *given: gradients(function, *given), *tensors, **close)


@pytest.mark.parametrize("n", [1, 31, 33, 256, 768, 1025, 5000, 9000, 17_000])
def test_layer_norm(n):
    rows = 3 if n > 1000 else 70
    x, w, b = numbers(rows, n) + 10, numbers(n) * 0.5 + 1, numbers(n)
    check_all(lambda x, w, b: F.layer_norm(x, (n,), w, b), x, w, b, rtol=1e-3, atol=2e-3 if n == 1 else 1e-3)
    check_all(lambda x: F.layer_norm(x, (n,)), x, rtol=1e-3, atol=1e-3)


def test_launches_of_layer_norm():
    x, w, b = (numbers(*size).cuda().requires_grad_() for size in ((64, 128), (128,), (128,)))
    g = numbers(64, 128).cuda()
    for inputs, count in (((x, w, b), 2), ((x,), 2)):
        out = F.layer_norm(x, (128,), w, b)
        torch.autograd.grad(out, inputs, g, retain_graph=True)
        with counted() as launches:
            torch.autograd.grad(out, inputs, g)
        assert launches == [count]


@pytest.mark.parametrize("n", [33, 1028])
def test_rms_norm(n):
    check_all(lambda x, w: F.rms_norm(x, (n,), w), numbers(50, n), numbers(n))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_types(dtype):
    x, w, b = numbers(20, 72, dtype=dtype), numbers(72, dtype=dtype), numbers(72, dtype=dtype)
    check_all(lambda x, w, b: F.layer_norm(x, (72,), w, b), x, w, b, atol=3e-2)
    planes, w, b = numbers(4, 6, 8, dtype=dtype), numbers(6, dtype=dtype), numbers(6, dtype=dtype)
    check_all(lambda x, w, b: F.group_norm(x, 3, w, b), planes, w, b, atol=3e-2)
    check_all(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), planes, w, b, atol=3e-2)


def test_nearly_equal_values():
    x = 1000 + numbers(5, 300) * 1e-2
    check(lambda x: F.layer_norm(x, (300,)), x, rtol=2e-3, atol=2e-3)


def test_strides():
    x, w = numbers(40, 60).t(), numbers(80)[::2]
    check_all(lambda x, w: F.layer_norm(x, (40,), w), x, w)


@pytest.mark.parametrize("shape", [(4, 6, 8), (5, 7), (2, 3, 33, 5), (64, 4, 1), (3, 5, 1025)])
def test_batch_norm(shape):
    channels = shape[1]
    x, w, b = numbers(*shape) + 3, numbers(channels) * 0.5 + 1, numbers(channels)

    def training(x, w, b):
        mean, var = torch.zeros_like(w).detach(), torch.ones_like(w).detach()
        results = gradients(lambda *given: F.batch_norm(given[0], mean, var, *given[1:], training=True), x, w, b)
        return [*results, mean, var]

    check(training, x, w, b, rtol=1e-3, atol=1e-3)
    mean, var = numbers(channels), numbers(channels) ** 2 + 0.5
    check(lambda x, w, b, m, v: gradients(lambda *g: F.batch_norm(g[0], m, v, *g[1:]), x, w, b), x, w, b, mean, var)
    check_all(lambda x: F.batch_norm(x, None, None, training=True), x, rtol=1e-3, atol=1e-3)


def test_channels_last():
    x, w = (numbers(4, 8, 5, 6) + 1).to(memory_format=torch.channels_last), numbers(8)
    check_all(
        lambda x, w: F.batch_norm(x.contiguous(memory_format=torch.channels_last), None, None, w, training=True), x, w
    )


@pytest.mark.parametrize("shape", [(4, 6, 8), (5, 6), (2, 6, 33, 5), (3, 12, 1025)])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm(shape, groups):
    if shape == (5, 6) and groups == 6:
        return  # one element is its own mean
    w, b = numbers(shape[1]), numbers(shape[1]) + 1
    check_all(lambda x, w, b: F.group_norm(x, groups, w, b), numbers(*shape), w, b, rtol=1e-3, atol=1e-3)


def test_some_gradients_only():
    x, w, b = numbers(40, 48), numbers(48), numbers(48)
    w_only = lambda x, w, b: gradients(lambda w: F.layer_norm(x, (48,), w, b), w)
    check(w_only, x, w, b)
    b_only = lambda x, w, b: gradients(lambda b: F.layer_norm(x, (48,), w, b), b)
    check(b_only, x, w, b)
    planes, w = numbers(4, 6, 8), numbers(6)
    check(lambda x, w: gradients(lambda w: F.batch_norm(x, None, None, w, training=True), w), planes, w)
    check(lambda x, w: gradients(lambda x: F.group_norm(x, 2, w), x), planes, w)


def test_gradients_for_many_weights_at_once():
    weights = numbers(5, 4, 1, 6)  # of one channel: the statistics are the same ones for all weights

    def batched(normalize):
        def rows(x, weights):
            x = x.requires_grad_()
            return torch.autograd.grad(normalize(x), x, weights, is_grads_batched=True)[0]

        check(rows, numbers(4, 1, 6), weights, rtol=1e-3, atol=1e-4)

    batched(lambda x: F.batch_norm(x, None, None, training=True))
    batched(lambda x: F.batch_norm(x, torch.zeros_like(x[0, :, 0]), torch.ones_like(x[0, :, 0])))
    batched(lambda x: F.group_norm(x, 1))
