"""Convolutions on the device against the CPU: forward, transposed, and all gradients."""

import pytest

import adjoint as torch
import adjoint.nn.functional as F

CLOSE = {torch.float32: 1e-4, torch.float64: 1e-10, torch.complex128: 1e-10, torch.bfloat16: 4e-2, torch.float16: 4e-3}


def compare(function, image, weight, bias, **options):
    tensors = [image, weight, bias]
    here = [each.detach().requires_grad_() for each in tensors]
    there = [each.detach().cuda().requires_grad_() for each in tensors]
    expected, ours = function(*here, **options), function(*there, **options)
    tolerance = CLOSE[image.dtype]
    assert ours.shape == expected.shape
    torch.testing.assert_close(ours.detach().cpu(), expected.detach(), rtol=tolerance, atol=tolerance)
    cotangent = torch.randn(*expected.shape, dtype=image.dtype)
    first = torch.autograd.grad(expected, here, cotangent)
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip(mine, first, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=10 * tolerance)


OPTIONS = [
    {},
    {"stride": 2},
    {"padding": 2},
    {"stride": 2, "padding": 1, "dilation": 2},
    {"stride": 3, "dilation": 2, "padding": 3},
    {"stride": (1, 2), "padding": (2, 0), "dilation": (1, 3)},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("channels", [(12, 20), (3, 70), (70, 3), (1, 1)])
@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d])
def test_options(function, channels, options):
    taken, made = channels
    weight = torch.randn(made, taken, 3, 2, dtype=torch.float64)
    if function is F.conv_transpose2d:
        weight = weight.transpose(0, 1).contiguous()
    image, bias = torch.randn(2, taken, 9, 11, dtype=torch.float64), torch.randn(made, dtype=torch.float64)
    compare(function, image, weight, bias, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.complex128])
@pytest.mark.parametrize("function", [F.conv1d, F.conv2d, F.conv3d])
def test_types_and_dimensions(function, dtype):
    dims = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}[function]
    image, weight = torch.randn(2, 10, *(7,) * dims, dtype=dtype), torch.randn(9, 10, *(3,) * dims, dtype=dtype)
    compare(function, image, weight, torch.randn(9, dtype=dtype), padding=1)


@pytest.mark.parametrize("groups", [2, 10, 20])
@pytest.mark.parametrize("stride", [1, 2])
def test_groups(groups, stride):
    image, weight = torch.randn(3, 20, 8, 8), torch.randn(40, 20 // groups, 3, 3)
    compare(F.conv2d, image, weight, torch.randn(40), groups=groups, stride=stride, padding=1)
    weight = torch.randn(20, 40 // groups, 3, 3)
    compare(F.conv_transpose2d, image, weight, torch.randn(40), groups=groups, stride=stride, padding=1)


def test_output_padding():
    image, weight = torch.randn(2, 12, 5, 6), torch.randn(12, 10, 4, 3)
    compare(F.conv_transpose2d, image, weight, torch.randn(10), stride=3, padding=1, output_padding=2)
    compare(F.conv_transpose2d, image, weight, torch.randn(10), stride=2, output_padding=1, dilation=3)


def test_kernels_of_one_element_are_products():
    compare(F.conv2d, torch.randn(3, 16, 5, 7), torch.randn(24, 16, 1, 1), torch.randn(24))
    compare(F.conv_transpose2d, torch.randn(3, 16, 5, 7), torch.randn(16, 24, 1, 1), torch.randn(24))
    compare(F.conv2d, torch.randn(3, 16, 5, 7), torch.randn(24, 16, 1, 1), torch.randn(24), stride=2, padding=1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("channels", [(12, 20), (12, 3), (3, 12)])
@pytest.mark.parametrize("size", [1, 3])
def test_halves(size, channels, dtype):
    """With few channels and as products, forward and transposed; sums are kept in float32.

    The own kernel, for few channels, rounds once. A library may round the sum before it adds the bias, and the result
    again: half a unit in the last place of either, and so at most one unit of the greater of the two.
    """
    taken, made = channels
    image, bias = torch.randn(2, taken, 5, 6, dtype=dtype), torch.randn(made, dtype=dtype)
    weight = torch.randn(made, taken, size, size, dtype=dtype)
    compare(F.conv2d, image, weight, bias)
    compare(F.conv_transpose2d, image, weight.transpose(0, 1).contiguous(), bias)
    sums = F.conv2d(image.double(), weight.double())
    exact = sums + bias.double().reshape(-1, 1, 1)
    ours = F.conv2d(image.cuda(), weight.cuda(), bias.cuda()).cpu()
    if size == 1 or made == 3:  # what cuDNN is not asked for
        assert (ours != exact.to(dtype)).sum() <= 0.02 * exact.numel()
    greater = torch.maximum(sums.abs(), exact.abs())
    terms = F.conv2d(image.double().abs(), weight.double().abs(), bias.double().abs())
    unit = torch.finfo(dtype).eps * 2 ** greater.log2().floor()
    assert ((ours.double() - exact).abs() <= unit + taken * size**2 * torch.finfo(torch.float32).eps * terms).all()


def test_many_positions():
    """More than one slice of the depth of a weight's gradient."""
    compare(F.conv1d, torch.randn(4, 9, 1500), torch.randn(10, 9, 5), torch.randn(10), padding=2)


@pytest.mark.parametrize("channels", [4, 12])
def test_integers_wrap(channels):
    image, weight = torch.randint(-(2**62), 2**62, (2, 5, 6, 6)), torch.randint(-9, 9, (channels, 5, 3, 3))
    assert torch.equal(F.conv2d(image.cuda(), weight.cuda(), stride=2).cpu(), F.conv2d(image, weight, stride=2))
