"""Attention on the device against the CPU: rows and keys of many lengths, sizes of heads, strides, masks."""

import pytest

import adjoint as torch
from adjoint.nn.functional import scaled_dot_product_attention as attention

CLOSE = {torch.float32: 2e-5, torch.float64: 1e-10}


def compare(query, key, value, **options):
    here = [each.detach().requires_grad_() for each in (query, key, value)]
    there = [each.detach().cuda().requires_grad_() for each in (query, key, value)]
    expected, ours = attention(*here, **options), attention(*there, **options)
    tolerance = CLOSE[query.dtype]
    torch.testing.assert_close(ours.detach().cpu(), expected.detach(), rtol=tolerance, atol=tolerance)
    cotangent = torch.randn(*expected.shape, dtype=query.dtype)
    first = torch.autograd.grad(expected, here, cotangent)
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip(mine, first, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (7, 7), (64, 64), (65, 130), (130, 65), (1, 200), (33, 31)])
def test_lengths(dtype, causal, rows, keys):
    query = torch.randn(2, 3, rows, 16, dtype=dtype)
    key, value = torch.randn(2, 3, keys, 16, dtype=dtype), torch.randn(2, 3, keys, 16, dtype=dtype)
    compare(query, key, value, is_causal=causal)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 3, 17, 64, 100, 128, 200, 300])
def test_sizes_of_heads(dtype, size):
    query, key, value = (torch.randn(1, 2, 70, size, dtype=dtype) for _ in range(3))
    compare(query, key, value, is_causal=True, scale=0.3)


def test_heads_that_lie_inside_of_rows():
    query, key, value = torch.randn(2, 40, 3 * 4 * 8).chunk(3, dim=2)
    compare(*(each.reshape(2, 40, 4, 8).transpose(1, 2) for each in (query, key, value)), is_causal=True)


def test_large_scores():
    query, key, value = (torch.randn(1, 1, 90, 8) * 30 for _ in range(3))
    compare(query, key, value / 30)


def test_gradients_are_the_same_each_time():
    query, key, value = (torch.randn(2, 2, 100, 32).cuda().requires_grad_() for _ in range(3))
    once, again = (torch.autograd.grad(attention(query, key, value).sum(), (query, key, value)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
