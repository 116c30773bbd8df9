"""Cross products and distances on the device against the CPU."""

import pytest

import adjoint as torch

NORMS = [0.0, 1.0, 2.0, 3.0, 0.5, float("inf")]
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-10}


def compare(function, *tensors):
    here = [each.detach().requires_grad_() for each in tensors]
    there = [each.detach().cuda().requires_grad_() for each in tensors]
    expected, ours = function(*here), function(*there)
    tolerance = CLOSE[expected.dtype]
    torch.testing.assert_close(ours.detach().cpu(), expected.detach(), rtol=tolerance, atol=tolerance)
    cotangent = torch.randn(*expected.shape, dtype=expected.dtype)
    first = torch.autograd.grad(expected, here, cotangent)
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip(mine, first, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=10 * tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 70, 3), (65, 33, 40)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cdist(p, sizes, dtype):
    n, m, size = sizes
    a, b = torch.randn(2, n, size, dtype=dtype), torch.randn(2, m, size, dtype=dtype)
    b[0, 0] = a[0, 0]
    compare(lambda x, y: torch.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist"), a, b)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("sizes", [(2, 1), (9, 70), (60, 3), (1, 5)])
def test_pdist(p, sizes):
    compare(lambda x: torch.nn.functional.pdist(x, p), torch.randn(*sizes, dtype=torch.float64))


def test_nan_is_the_greatest():
    a, b = torch.randn(3, 40), torch.randn(4, 40)
    a[1, 7] = float("nan")
    expected = torch.cdist(a, b, float("inf"))
    torch.testing.assert_close(torch.cdist(a.cuda(), b.cuda(), float("inf")).cpu(), expected, equal_nan=True)
    expected = torch.nn.functional.pdist(a, float("inf"))
    ours = torch.nn.functional.pdist(a.cuda(), float("inf")).cpu()
    torch.testing.assert_close(ours, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.int8, torch.complex64])
def test_cross(dtype):
    for shape, axis in [((3,), 0), ((5, 3), 1), ((3, 300), 0), ((2, 3, 4, 5), 1)]:
        if dtype in (torch.int64, torch.int8):
            a, b = (torch.randint(-100, 100, shape).to(dtype) for _ in range(2))
        else:
            a, b = (torch.randn(*shape, dtype=dtype) for _ in range(2))
        tolerance = 0 if dtype in (torch.int64, torch.int8) else 2e-3 if dtype == torch.float16 else 1e-6
        ours = torch.linalg.cross(a.cuda(), b.cuda(), dim=axis).cpu()
        torch.testing.assert_close(ours, torch.linalg.cross(a, b, dim=axis), rtol=tolerance, atol=tolerance)
