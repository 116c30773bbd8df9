"""Pooling, folding and resampling on the device against the CPU, at sizes of more than one block."""

import pytest

import adjoint as torch

from .test_indexing import values

F = torch.nn.functional


def with_gradient(function, x):
    """On both devices: the values, and the gradient where there is one."""
    here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
    expected, ours = function(here), function(there)
    torch.testing.assert_close(ours.detach().cpu(), expected.detach())
    cotangent = values(expected.shape, x.dtype, seed=9)
    expected.backward(cotangent)
    ours.backward(cotangent.cuda())
    torch.testing.assert_close(there.grad.cpu(), here.grad)


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
]


@pytest.mark.parametrize("how", MODES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_interpolation(how, dtype):
    with_gradient(lambda x: F.interpolate(x, **how), values((3, 20, 23, 17), dtype))


@pytest.mark.parametrize("mode", ["replicate", "reflect", "circular"])
@pytest.mark.parametrize("pad", [(3, 2, 5, 1), (-2, 4, 3, -1), (0, 16, 22, 0)])
def test_paddings(mode, pad):
    with_gradient(lambda x: F.pad(x, pad, mode=mode), values((3, 20, 23, 17), torch.float64))
