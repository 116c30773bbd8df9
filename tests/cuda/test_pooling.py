"""Pooling, folding and resampling on the device against the CPU, at sizes of more than one block."""

import pytest

import adjoint as torch

from .test_indexing import values

F = torch.nn.functional


def assert_near(ours, expected, atol):
    """As close as is usual, or of float32 as `atol` says."""
    bounds = {"rtol": 1.3e-6, "atol": max(1e-5, atol)} if expected.dtype is torch.float32 else {}
    torch.testing.assert_close(ours.detach().cpu(), expected.detach(), **bounds)


def with_gradient(function, x, atol=0):
    """On both devices: the values, and the gradient where there is one."""
    here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
    expected, ours = function(here), function(there)
    assert_near(ours, expected, atol)
    cotangent = values(expected.shape, x.dtype, seed=9)
    expected.backward(cotangent)
    ours.backward(cotangent.cuda())
    assert_near(there.grad, here.grad, atol * max(1, expected.numel() / x.numel()))  # each goes to as many


POOLS = [
    lambda x: F.max_pool2d(x, 3, stride=1, padding=1),
    lambda x: F.max_pool2d(x, 2),
    lambda x: F.max_pool2d(x, 3, stride=2, padding=1, dilation=2, ceil_mode=True),
    lambda x: F.avg_pool2d(x, 3, stride=2, padding=1),
    lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    lambda x: F.adaptive_avg_pool2d(x, (5, 3)),
    lambda x: F.adaptive_max_pool2d(x, (5, 3)),
    lambda x: F.unfold(x, (3, 2), dilation=2, padding=1, stride=2),
]


@pytest.mark.parametrize("number", range(len(POOLS)))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_windows(number, dtype):
    with_gradient(POOLS[number], values((3, 50, 23, 17), dtype))


def test_unpooling():
    def there_and_back(x):
        out, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(out, places, 2, output_size=x.shape)

    with_gradient(there_and_back, values((4, 40, 16, 18), torch.float64))


MODES = [
    {"mode": "nearest", "size": (31, 9)},
    {"mode": "nearest-exact", "scale_factor": 1.7},
    {"mode": "bilinear", "size": (40, 29), "align_corners": True},
    {"mode": "bilinear", "scale_factor": (0.4, 2.3), "recompute_scale_factor": False},
    {"mode": "bilinear", "size": (1, 1), "align_corners": True},
    {"mode": "bicubic", "size": (40, 12), "align_corners": False},
    {"mode": "bicubic", "scale_factor": 3.1},
    {"mode": "bilinear", "size": (9, 7), "antialias": True},
    {"mode": "bilinear", "size": (1, 30), "antialias": True, "align_corners": True},
    {"mode": "bilinear", "scale_factor": (0.31, 1.9), "antialias": True, "recompute_scale_factor": False},
    {"mode": "bicubic", "size": (20, 5), "antialias": True},
    {"mode": "bicubic", "size": (47, 23), "antialias": True, "align_corners": True},
    {"mode": "lanczos", "size": (6, 31), "antialias": True},
]


@pytest.mark.parametrize("how", MODES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_interpolation(how, dtype):
    # Where a point lies between others is a product less a half, which a GPU rounds once and the CPU twice: half a unit
    # in the last place of coordinates up to 23, so 2^-20. In one direction the four weights change by 3 per unit, taken
    # together, in the other they amount to 1.4, and the numbers that they weigh go up to 50 / 8.
    bound = 2.0**-20 * 2 * 3 * 1.4 * 50 / 8 if how["mode"] == "bicubic" else 0
    with_gradient(lambda x: F.interpolate(x, **how), values((3, 20, 23, 17), dtype), bound)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_filters_take_no_infinity_from_outside_of_their_window(mode):
    x = torch.ones(1, 1, 30, 9).index_put((torch.tensor(0), torch.tensor(0), torch.tensor(4), torch.tensor(3)),
                                          torch.tensor(torch.inf))  # fmt: skip
    expected = F.interpolate(x, (7, 5), mode=mode, antialias=True)
    assert expected.isfinite().any()
    result = F.interpolate(x.cuda(), (7, 5), mode=mode, antialias=True).cpu()
    torch.testing.assert_close(result, expected, equal_nan=True)


@pytest.mark.parametrize("mode", ["replicate", "reflect", "circular"])
@pytest.mark.parametrize("pad", [(3, 2, 5, 1), (-2, 4, 3, -1), (0, 16, 22, 0)])
def test_paddings(mode, pad):
    with_gradient(lambda x: F.pad(x, pad, mode=mode), values((3, 20, 23, 17), torch.float64))
