"""Attention on the device against the CPU: rows and keys of many lengths, sizes of heads, strides, masks."""

import os

import pytest

import adjoint as torch
from adjoint.nn.functional import scaled_dot_product_attention as attention
from adjoint.ops import language

from .test_errors import said

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


# ---- Masks, and weights that are dropped


def some_seen(*shape):
    mask = torch.rand(*shape) > 0.4
    mask[..., :3, :] &= mask.shape[-2] == 1  # the first queries look nowhere
    return mask


MASKS = {
    "each": lambda rows, keys: some_seen(2, 3, rows, keys),
    "all heads": lambda rows, keys: some_seen(2, 1, rows, keys),
    "keys": lambda rows, keys: some_seen(2, 1, 1, keys),
    "turned": lambda rows, keys: some_seen(keys, rows).t(),
    "numbers": lambda rows, keys: torch.randn(rows, keys),
    "some numbers are -inf": lambda rows, keys: torch.zeros(3, rows, keys).masked_fill(
        some_seen(rows, keys), -torch.inf
    ),
}


def with_mask(compare, dtype, name, rows, keys, size, **options):
    mask = MASKS[name](rows, keys)
    tensors = [torch.randn(2, 3, n, size).to(dtype) for n in (rows, keys, keys)]
    compare(tensors, mask if mask.dtype == torch.bool else mask.to(dtype), **options)


def compare_masked(tensors, mask, close, **options):
    """Against float64 on the CPU, of the same numbers."""
    here = [each.double().requires_grad_() for each in tensors]
    there = [each.cuda().requires_grad_() for each in tensors]
    wide = mask if mask.dtype == torch.bool else mask.double()
    expected, ours = attention(*here, wide, **options), attention(*there, mask.cuda(), **options)
    assert "ScaledDotProduct" in type(ours.grad_fn).__name__
    cotangent = torch.randn(*expected.shape).to(mask.dtype if mask.is_floating_point() else tensors[0].dtype)
    first = torch.autograd.grad(expected, here, cotangent.double())
    mine = torch.autograd.grad(ours, there, cotangent.cuda())
    for a, b in zip((ours, *mine), (expected, *first), strict=True):
        error = (a.detach().double().cpu() - b.detach()).abs().max() / b.detach().abs().max().clamp(min=0.1)
        assert error < close, float(error)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("rows", "keys", "size"), [(1, 1, 20), (70, 130, 16), (130, 65, 64), (33, 70, 128)])
@pytest.mark.parametrize("dtype", [*CLOSE, *NARROW][:4], ids=str)
def test_masks(dtype, rows, keys, size, name):
    with_mask(compare_masked, dtype, name, rows, keys, size, close={**NARROW, **CLOSE}[dtype])


@pytest.mark.parametrize("kind", ["bools", "numbers", "shifted", "apart"])
@pytest.mark.parametrize(("rows", "keys", "size"), [(70, 300, 64), (300, 201, 64), (200, 130, 16), (33, 70, 128)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_masks_that_hide_ranges_of_keys(dtype, rows, keys, size, kind):
    """From both ends, in the middle, all of them; in memory that begins or goes on anywhere."""
    tensors = [torch.randn(5, 2, n, size).to(dtype) for n in (rows, keys, keys)]
    seen = torch.ones(5, 1, 1, keys, dtype=torch.bool)
    seen[0, ..., keys // 2 :] = False
    seen[1, ..., : keys - 3] = False
    seen[2, ..., 5 : keys - 1] = False
    seen[3] = False
    mask = seen if kind == "bools" else torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, -torch.inf)
    step = 2 if kind == "apart" else 1
    memory = torch.zeros(mask.numel() * step + 1, dtype=mask.dtype).cuda()
    place = memory[1 if kind == "shifted" else 0 :][: mask.numel() * step : step].view(mask.shape)
    place.copy_(mask)
    close = {**NARROW, **CLOSE}[dtype]
    here, there = ([each.to(d).detach().requires_grad_() for each in tensors] for d in (torch.float64, "cuda"))
    wide = mask if kind == "bools" else mask.double()
    pairs = [(attention(*here, wide), here), (attention(*there, place), there)]
    cotangent = torch.randn(pairs[0][0].shape).to(dtype)
    (expected, first), (ours, mine) = (
        (out, torch.autograd.grad(out, given, cotangent.to(out.device, out.dtype))) for out, given in pairs
    )
    assert ours[3].abs().max().item() == 0
    for a, b in zip((ours, *mine), (expected, *first), strict=True):
        assert (a.detach().double().cpu() - b.detach()).abs().max() < close * b.detach().abs().max().clamp(min=0.1)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("scale", [-0.3, 0.0])
def test_masks_and_scales_that_are_not_positive(name, scale):
    with_mask(compare_masked, torch.float16, name, 70, 66, 64, close=NARROW[torch.float16], scale=scale)


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_tf32(name, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    with_mask(compare_masked, torch.float32, name, 70, 130, 32, close=NARROW[torch.float32])


@pytest.mark.parametrize("size", [32, 20])  # of halves, tensor cores do not take 20
def test_floats_as_mask_of_halves(size):
    tensors, mask = [torch.randn(2, 3, 40, size).half().cuda() for _ in range(3)], torch.randn(40, 40).cuda()
    ours, expected = attention(*tensors, mask), attention(*(each.double() for each in tensors), mask.double())
    assert (ours.double() - expected).abs().max().item() < NARROW[torch.float16]


def explicit(query, key, value, kept, mask=None, is_causal=False):
    """By the matrix of all scores, with what its shares are multiplied by."""
    scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5
    if is_causal:
        mask = torch.ones(scores.shape[2:], dtype=torch.bool, device=query.device).tril()
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(3) * kept @ value


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"mask": True}], ids=str)
@pytest.mark.parametrize(("rows", "keys", "size"), [(1, 3, 20), (70, 130, 16), (130, 65, 64), (33, 70, 128)])
@pytest.mark.parametrize("dtype", [*CLOSE, *NARROW][:4], ids=str)
def test_weights_that_are_dropped(dtype, rows, keys, size, options):
    tensors = [torch.randn(2, 3, n, size).to(dtype).cuda().requires_grad_() for n in (rows, keys, keys)]
    wide = [each.detach().double().requires_grad_() for each in tensors]
    mask = (torch.rand(rows, keys) > 0.3).cuda() if options.get("mask") else None
    if mask is not None:
        mask[:, 0] = True
    causal = options.get("is_causal", False)
    torch.manual_seed(5)
    ours = attention(*tensors, mask, 0.3, causal)
    torch.manual_seed(5)
    draws = torch.randint(2**63 - 1, (2,), device="cuda")
    kept = language._attention_kept(draws, *tensors[:2], 0.3).double()
    expected = explicit(*wide, kept, mask, causal)
    cotangent = torch.randn(*expected.shape).to(dtype).cuda()
    first = torch.autograd.grad(expected, wide, cotangent.double())
    mine = torch.autograd.grad(ours, tensors, cotangent)
    for a, b in zip((ours, *mine), (expected, *first), strict=True):
        # Results are rounded before gradients take them, and are of the size of 1: both round.
        error = (a.detach().double() - b.detach()).abs().max() / b.detach().abs().max().clamp(min=1)
        assert error.item() < 2 * {**NARROW, **CLOSE}[dtype]


def test_what_is_dropped_looks_drawn():
    """As many in each row and column as chance would drop, and rows and columns that have nothing to do with others."""
    query, key = torch.zeros(2, 2, 500, 8, device="cuda"), torch.zeros(2, 2, 400, 8, device="cuda")
    drops = []
    for p in (0.1, 0.5):
        draws = torch.randint(2**63 - 1, (2,), device="cuda")
        kept = language._attention_kept(draws, query, key, p).cpu()
        assert sorted(set(kept.flatten().tolist())) == pytest.approx([0, 1 / (1 - p)])
        dropped = (kept == 0).double().reshape(2000, 400)
        drops.append(dropped)
        for along in (0, 1):
            n = dropped.shape[along]
            off = (dropped.mean(along) - p) / (p * (1 - p) / n) ** 0.5
            assert off.abs().max().item() < 5
            assert off.square().mean().item() == pytest.approx(1, abs=0.25)
        for matrix in (dropped, dropped.t()):
            centred = (matrix - p)[:300]
            between = (centred @ centred.t() / matrix.shape[1]).fill_diagonal_(0) / (p * (1 - p))
            assert between.abs().max().item() < 6 / matrix.shape[1] ** 0.5
    assert ((drops[0] - 0.1) * (drops[1] - 0.5)).mean().abs().item() < 5 * 0.15 / 800000**0.5
    assert language._attention_kept(draws, query, key, 1.0).cpu().abs().max().item() == 0


def test_drops_follow_from_two_numbers():
    draws = torch.tensor([2**62 + 12345, 987654321])
    query, key = torch.zeros(1, 2, 30, 4), torch.zeros(1, 2, 50, 4)
    for dtype in (torch.float32, torch.float64):
        here = [query.to(dtype), key.to(dtype)]
        table = [[draws_of_row(draws.tolist(), row, key, 0.3) for key in range(50)] for row in range(60)]
        expected = torch.tensor(table, dtype=dtype).reshape(1, 2, 30, 50)
        assert torch.equal(language._attention_kept(draws, *here, 0.3), expected)
        ours = language._attention_kept(draws.cuda(), *(each.cuda() for each in here), 0.3)
        assert torch.equal(ours.cpu(), expected)


def mixed(x):
    x = (x ^ x >> 16) * 0x7FEB352D % 2**32
    x = (x ^ x >> 15) * 0x846CA68B % 2**32
    return x ^ x >> 16


def draws_of_row(draws, row, key, p):
    (a, b), half = draws, 2**32
    first = mixed(mixed(row % half ^ a % half) ^ row // half ^ a // half)
    second = mixed(first ^ b % half) ^ b // half
    return 0 if (mixed(key ^ first) ^ second) * 0x9E3779B1 % half < p * half else 1 / (1 - p)


@pytest.mark.parametrize("dropped", [0.0, 0.3])
def test_second_gradients_with_a_mask(dropped):
    tensors = [torch.randn(1, 2, n, 4, dtype=torch.float64).cuda().requires_grad_() for n in (5, 6, 6)]
    mask = torch.randn(5, 6, dtype=torch.float64).cuda().requires_grad_()

    def run(*given):
        torch.manual_seed(2)
        return attention(*given[:3], given[3], dropped)

    assert torch.autograd.gradcheck(run, (*tensors, mask))
    assert torch.autograd.gradgradcheck(run, (*tensors, mask), atol=1e-4)


def test_batches_of_gradients_with_drops():
    tensors = [torch.randn(1, 2, n, 4, dtype=torch.float64).cuda().requires_grad_() for n in (5, 6, 6)]
    mask = some_seen(5, 6).cuda()
    out = attention(*tensors, mask, 0.4)
    cotangents = torch.randn(3, *out.shape, dtype=torch.float64).cuda()
    together = torch.autograd.grad(out, tensors, cotangents, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(out, tensors, one, retain_graph=True) for one in cotangents]
    for all_of_one, parts in zip(together, zip(*each, strict=True), strict=True):
        torch.testing.assert_close(all_of_one, torch.stack(parts))


def test_under_vmap():
    tensors = [torch.randn(4, 1, 2, n, 4).cuda() for n in (5, 6, 6)]
    mask = some_seen(4, 5, 6).cuda()
    ours = torch.vmap(attention)(*tensors, mask)
    for i in range(4):
        torch.testing.assert_close(ours[i], attention(*(each[i] for each in tensors), mask[i]))


def derived(function, times):
    """The gradient of a function's sum of squares, so many times."""
    if times == 0:
        return lambda *given: [function(*given)]
    before = derived(function, times - 1)
    return torch.func.grad(lambda *given: sum(each.square().sum() for each in before(*given)), (0, 1, 2))


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("randomness", ["same", "different"])
def test_drops_under_vmap(randomness, times):
    tensors = [torch.randn(3, 1, 2, n, 4, dtype=torch.float64).cuda() for n in (5, 6, 6)]
    torch.manual_seed(3)
    dropping = derived(lambda *given: attention(*given, None, 0.4), times)
    ours = torch.vmap(dropping, randomness=randomness)(*tensors)
    torch.manual_seed(3)
    draws = torch.randint(2**63 - 1, (2,) if randomness == "same" else (3, 2), device="cuda")
    for i, drawn in enumerate(draws.expand(3, 2)):
        kept = language._attention_kept(drawn, tensors[0][i], tensors[1][i], 0.4)
        expected = derived(lambda *given, kept=kept: explicit(*given, kept), times)(*(each[i] for each in tensors))
        for a, b in zip(ours, expected, strict=True):
            torch.testing.assert_close(a[i], b)


@pytest.mark.parametrize("wanted", [(0, 1, 2), (1, 2), (1,), (2,)], ids=str)
def test_no_matrix_of_scores_is_in_memory(wanted):
    tensors = [torch.randn(1, 1, 1024, 8).cuda().requires_grad_(i in wanted) for i in range(3)]
    mask = (torch.rand(1024) > 0.5).cuda()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    attention(*tensors, mask, 0.1).sum().backward()
    assert torch.cuda.max_memory_allocated() - before < 1024 * 1024


@pytest.mark.parametrize("wanted", [(1, 2), (1,), (2,)], ids=str)
def test_gradients_of_some(wanted):
    tensors = [torch.randn(1, 2, n, 8).cuda().requires_grad_() for n in (5, 6, 6)]
    mask = some_seen(5, 6).cuda()
    cotangent = torch.randn(1, 2, 5, 8).cuda()
    all_three = torch.autograd.grad(attention(*tensors, mask), tensors, cotangent)
    some = [each.detach().requires_grad_(i in wanted) for i, each in enumerate(tensors)]
    attention(*some, mask).backward(cotangent)
    for i, each in enumerate(some):
        assert torch.equal(each.grad, all_three[i]) if i in wanted else each.grad is None


@pytest.mark.parametrize("batch", [1, 2])
def test_batches_of_cotangents_alone(batch):
    """Of a batch of one, what all share is a view without a stride."""
    tensors = [torch.randn(batch, 2, n, 4).cuda() for n in (5, 6, 6)]
    kept = *tensors, *language._attention(*tensors, None, 0.5, False, 0.0, None)
    cotangents = torch.randn(3, batch, 2, 5, 4).cuda()

    def gradients(cotangent):
        return language._attention_gradients(cotangent, *kept, None, 0.5, False, 0.0, None)

    together, each = torch.vmap(gradients)(cotangents), [gradients(one) for one in cotangents]
    for all_of_one, parts in zip(together, zip(*each, strict=True), strict=True):
        torch.testing.assert_close(all_of_one, torch.stack(parts))


@pytest.fixture
def waits_fail():
    yield lambda: torch.cuda.set_sync_debug_mode("error")
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("sizes", [(2, 3, 5, 4), (2, 3, 5, 7), (3, 5, 4)], ids=str)
def test_nothing_is_waited_for(sizes, waits_fail):
    """Also not where there is no kernel: values of another size, one dimension less, the gradient of the mask."""
    query = torch.randn(*sizes[:-1], 4).cuda().requires_grad_()
    value, mask = torch.randn(*sizes).cuda().requires_grad_(), torch.randn(5, 5).cuda().requires_grad_()
    seen = (torch.rand(5, 5) > 0.5).cuda()
    waits_fail()
    attention(query, query, value, mask, 0.3).sum().backward()
    attention(query, query, value, seen).sum().backward()
    assert mask.grad.shape == (5, 5)


def test_masks_that_do_not_fit():
    x = torch.zeros(1, 2, 5, 4)
    for mask in (torch.zeros(3, 5), torch.zeros(2, 2, 5, 5), torch.zeros(1, 1, 1, 5, 5)):
        with pytest.raises(RuntimeError) as expected:
            attention(x, x, x, mask)
        with pytest.raises(RuntimeError) as ours:
            attention(x.cuda(), x.cuda(), x.cuda(), mask.cuda())
        assert str(ours.value) == str(expected.value)


# ---- Other GPUs than the one at hand

PROGRAM = """
for dtype, close in ((torch.float32, 1e-4), (torch.float16, 1e-2)):
    for size in (64, 128):
        for mask in (None, torch.ones(150, 150, dtype=torch.bool).tril()):
            there = [torch.randn(1, 1, 150, size).to(dtype).cuda().requires_grad_() for _ in range(3)]
            here = [each.detach().double().cpu().requires_grad_() for each in there]
            results = []
            for tensors in (there, here):
                seen = None if mask is None else mask.to(tensors[0].device)
                out = torch.nn.functional.scaled_dot_product_attention(*tensors, seen, 0.0, mask is None)
                results.append([out, *torch.autograd.grad(out.sum(), tensors)])
            for ours, expected in zip(*results):
                assert (ours.detach().double().cpu() - expected.detach()).abs().max() < close * expected.abs().max()
print(torch.cuda.get_device_capability())
"""


@pytest.mark.skipif("ADJOINT_STANDIN_FOLDER" not in os.environ, reason="the stand-in driver is any GPU")
@pytest.mark.parametrize("capability", [75, 80, 86])
def test_other_gpus(capability):
    """Before sm_80 there are no products of warps, before sm_90 none of groups; shared memory is less, too."""
    assert said(PROGRAM, ADJOINT_STANDIN_CAPABILITY=str(capability)) == str((capability // 10, capability % 10))
