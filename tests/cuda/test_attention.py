"""Attention on the device against the CPU: rows and keys of many lengths, sizes of heads, strides, masks."""

import pytest

import adjoint as torch
from adjoint.nn.functional import scaled_dot_product_attention as attention

CLOSE = {torch.float32: 2e-5, torch.float64: 1e-10}
NARROW = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-3}  # of products on tensor cores


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
    """Of scores in the thousands float32 keeps three digits behind the point, and exp shows what is lost."""
    query, key, value = (torch.randn(1, 1, 90, 8) * 30 for _ in range(3))
    value = value / 30
    lost = 2**-23 * float((query @ key.transpose(2, 3)).abs().max()) / 8**0.5
    wide = [each.double().requires_grad_() for each in (query, key, value)]
    there = [each.cuda().requires_grad_() for each in (query, key, value)]
    expected, ours = attention(*wide), attention(*there)
    cotangent = torch.randn(1, 1, 90, 8)
    first = torch.autograd.grad(expected, wide, cotangent.double())
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip((ours.detach(), *mine), (expected.detach(), *first), strict=True):
        assert (a.double().cpu() - b).abs().max() < 10 * lost * b.abs().max()


def test_gradients_are_the_same_each_time():
    query, key, value = (torch.randn(2, 2, 100, 32).cuda().requires_grad_() for _ in range(3))
    once, again = (torch.autograd.grad(attention(query, key, value).sum(), (query, key, value)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


def compare_narrow(query, key, value, **options):
    """Against float64 on the CPU, of the same numbers; errors are those of the largest of them."""
    here = [each.detach().double().requires_grad_() for each in (query, key, value)]
    there = [each.detach().requires_grad_() for each in (query, key, value)]
    expected, ours = attention(*(each.cpu() for each in here), **options), attention(*there, **options)
    assert ours.dtype == query.dtype
    cotangent = torch.randn(*expected.shape).to(query.dtype)
    first = torch.autograd.grad(expected, here, cotangent.double())
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip((ours.detach(), *mine), (expected.detach(), *first), strict=True):
        error = (a.double().cpu() - b.cpu()).abs().max() / b.abs().max().clamp(min=0.1)
        assert error < NARROW[query.dtype], float(error)


def narrow(dtype, *sizes):
    return [torch.randn(*size).to(dtype).cuda() for size in sizes]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (16, 16), (63, 65), (64, 64), (130, 70), (70, 130), (1, 200)])
def test_lengths_of_halves(dtype, causal, rows, keys):
    compare_narrow(*narrow(dtype, (1, 2, rows, 32), (1, 2, keys, 32), (1, 2, keys, 32)), is_causal=causal)


@pytest.mark.parametrize("size", [8, 16, 24, 64, 80, 128])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sizes_of_heads_of_halves(dtype, size):
    compare_narrow(*narrow(dtype, *[(1, 1, 150, size)] * 3), is_causal=True, scale=0.2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("rows", "keys", "size"), [(1, 1, 64), (65, 200, 64), (200, 65, 64), (70, 270, 128), (200, 50, 128)]
)
def test_lengths_for_groups_of_warps(causal, rows, keys, size):
    """Where keys are more than rows and causal, some are seen by nobody."""
    compare_narrow(*narrow(torch.bfloat16, (1, 2, rows, size), *[(1, 2, keys, size)] * 2), is_causal=causal)


@pytest.mark.parametrize("scale", [-0.3, 0.0])
@pytest.mark.parametrize("size", [32, 64])
def test_scales_that_are_not_positive(scale, size):
    compare_narrow(*narrow(torch.float16, *[(1, 1, 70, size)] * 3), is_causal=True, scale=scale)


@pytest.mark.parametrize("size", [32, 64])
def test_numbers_that_are_not_finite(size):
    """A key that is NaN is so for those who see it, and a score of -inf counts for nothing."""
    query, key, value = (torch.ones(1, 1, 150, size).half() for _ in range(3))
    key[0, 0, 100, 0], key[0, 0, 3, 0] = float("nan"), -float("inf")
    value[0, 0, 3] = 5
    out = attention(query.cuda(), key.cuda(), value.cuda(), is_causal=True).cpu()[0, 0]
    assert torch.equal(out[:100], torch.ones(100, size).half())
    assert out[100:].isnan().all()


@pytest.mark.parametrize("size", [5, 12, 136])
def test_sizes_that_tensor_cores_do_not_take(size):
    compare_narrow(*narrow(torch.bfloat16, *[(2, 1, 20, size)] * 3))


def test_halves_that_lie_in_no_vectors():
    query, key, value = torch.randn(2, 40, 3 * 4 * 8 + 3).bfloat16().cuda()[:, :, 3:].chunk(3, dim=2)
    compare_narrow(*(each.unflatten(2, (4, 8)).transpose(1, 2) for each in (query, key, value)), is_causal=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("rows", "keys", "size"), [(64, 64, 16), (65, 130, 64), (130, 65, 20), (33, 31, 96)])
def test_tf32(causal, rows, keys, size, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    compare_narrow(*narrow(torch.float32, (1, 2, rows, size), *[(1, 2, keys, size)] * 2), is_causal=causal)


def test_gradients_of_halves_are_the_same_each_time():
    query, key, value = (torch.randn(2, 2, 100, 32).half().cuda().requires_grad_() for _ in range(3))
    once, again = (torch.autograd.grad(attention(query, key, value).sum(), (query, key, value)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


def test_second_gradients_of_halves():
    query, key, value = (each.requires_grad_() for each in narrow(torch.float16, *[(1, 1, 12, 16)] * 3))
    (first,) = torch.autograd.grad(attention(query, key, value).float().square().sum(), query, create_graph=True)
    second = torch.autograd.grad(first.float().square().sum(), (query, key, value))
    wide = [each.detach().double().cpu().requires_grad_() for each in (query, key, value)]
    (expected,) = torch.autograd.grad(attention(*wide).square().sum(), wide[0], create_graph=True)
    for a, b in zip(second, torch.autograd.grad(expected.square().sum(), wide), strict=True):
        assert a.dtype == torch.float16
        assert (a.double().cpu() - b).abs().max() / b.abs().max() < 1e-2
