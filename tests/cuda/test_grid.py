"""Samples at the points of a grid on the device against the CPU, with first and second derivatives."""

import math

import pytest

import adjoint as torch

from .both import assert_near, both_ways

F = torch.nn.functional
MODES = ["bilinear", "nearest", "bicubic"]
PADDINGS = ["zeros", "border", "reflection"]


def image_and_grid(sizes, points, dtype=torch.float64, reach=1.4):
    """Points inside, at some distance, and a few far away."""
    torch.manual_seed(3)
    dims = len(sizes) - 2
    grid = (torch.rand(sizes[0], *points, dims, dtype=torch.float64) * 2 - 1) * reach
    grid.view(-1, dims)[::7] *= 3
    return torch.randn(*sizes, dtype=torch.float64).to(dtype), grid.to(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
def test_planes(mode, padding, align):
    """300 points: more than a block has threads."""
    image, grid = image_and_grid((2, 3, 9, 13), (25, 12))
    both_ways(
        lambda x, g: F.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=align), image, grid, twice=True
    )


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("padding", PADDINGS)
def test_volumes(mode, padding):
    image, grid = image_and_grid((2, 3, 5, 4, 7), (3, 11, 9))
    both_ways(lambda x, g: F.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=False), image, grid,
              twice=True)  # fmt: skip


@pytest.mark.parametrize("channels", [1, 16, 40, 300])
@pytest.mark.parametrize("mode", MODES)
def test_many_channels_of_few_points(channels, mode):
    """Channels are shared out among blocks, and lanes of a warp add up the gradient of a point."""
    image, grid = image_and_grid((1, channels, 6, 5), (3, 3))
    both_ways(lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=True), image, grid)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_types(dtype):
    image, grid = image_and_grid((2, 5, 8, 8), (9, 31), torch.float64)
    image, grid = (image * 8).round() / 8, (grid * 16).round() / 16
    both_ways(lambda x, g: F.grid_sample(x, g, align_corners=True), image.to(dtype), grid.to(dtype))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_points_that_are_no_numbers(mode, padding):
    image, grid = image_and_grid((1, 2, 4, 5), (3, 3))
    flat = grid.view(-1)
    flat[0], flat[5], flat[8], flat[12], flat[17] = math.nan, math.inf, -math.inf, 1e30, -1e30
    image[0, 0, 0, 0] = math.inf
    ours = F.grid_sample(image.cuda(), grid.cuda(), mode=mode, padding_mode=padding, align_corners=False)
    assert_near(ours, F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=False))


def test_images_of_one_element():
    image, grid = image_and_grid((2, 3, 1, 1), (4, 4))
    for padding in PADDINGS:
        for align in (False, True):
            for mode in MODES:
                both_ways(lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), image, grid)


@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (2, 0, 3, 3)])
def test_nothing(shape):
    image, grid = torch.ones(shape), torch.zeros(shape[0], 4, 5, 2)
    both_ways(lambda x, g: F.grid_sample(x, g, align_corners=False), image, grid)


def test_no_points():
    both_ways(lambda x, g: F.grid_sample(x, g, align_corners=False), torch.ones(2, 3, 4, 4), torch.zeros(2, 0, 5, 2))


@pytest.mark.parametrize("mode", MODES)
def test_a_gradient_with_one_order(mode):
    """What was asked to be deterministic is the same to the last bit, and right."""
    image, grid = image_and_grid((2, 4, 9, 8), (40, 30), torch.float32)

    def gradient(device):
        x = image.detach().to(device).requires_grad_()
        F.grid_sample(x, grid.to(device), mode=mode, align_corners=False).sin().sum().backward()
        return x.grad.cpu()

    expected, loose = gradient("cpu"), gradient("cuda")
    torch.use_deterministic_algorithms(True)
    try:
        first, second = gradient("cuda"), gradient("cuda")
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(first, second)
    assert_near(first, expected, factor=10)
    assert_near(loose, expected, factor=10)
