"""cross_entropy on a device is one pass over the scores: against log_softmax and nll_loss on the CPU."""

import pytest

import adjoint as torch

from .both import assert_near
from .driver import counted

functional = torch.nn.functional
# Rows of one class, of less than a packet, of packets and a rest, and as long as need several turns of a block.
SIZES = [(3, 1), (5, 7), (2, 64), (33, 50), (2, 20011), (0, 4)]


def losses(scores, target, weight, reduction, device):
    """The loss and its gradient in the scores, computed on a device."""
    scores = scores.to(device).requires_grad_()
    weight = None if weight is None else weight.to(device)
    loss = functional.cross_entropy(scores, target.to(device), weight, reduction=reduction)
    loss.backward(torch.ones_like(loss) * 0.7)
    return loss.detach().cpu(), scores.grad.cpu()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_against_the_cpu(size, dtype, weighted, reduction):
    torch.manual_seed(0)
    scores = (3 * torch.randn(size)).to(dtype)
    target = torch.randint(0, size[1], size[:1])
    target[1:2] = -100
    weight = torch.rand(size[1]).to(dtype) + 0.5 if weighted else None
    for got, wanted in zip(
        *(losses(scores, target, weight, reduction, device) for device in ("cuda", "cpu")), strict=True
    ):
        assert got.dtype == dtype
        assert_near(got, wanted)


def test_scores_at_any_address():
    memory = torch.randn(1 + 6 * 37, dtype=torch.float16)
    target = torch.tensor([5, 0, 36, 1, 2, 7])
    for first in (0, 1):
        scores = memory[first : first + 6 * 37]
        wanted = losses(scores.view(6, 37), target, None, "sum", "cpu")
        there = memory.cuda()[first : first + 6 * 37].view(6, 37).requires_grad_()
        loss = functional.cross_entropy(there, target.cuda(), reduction="sum")
        (gradient,) = torch.autograd.grad(0.7 * loss, there)
        for got, expected in zip((loss, gradient), wanted, strict=True):
            assert_near(got, expected)


def test_great_and_infinite_scores():
    inf, nan = float("inf"), float("nan")
    scores = torch.tensor([[1e4, 1e4 - 1, -1e4], [-inf, 0.0, 1.0], [inf, 0.0, 1.0], [nan, 0.0, 1.0], [-inf] * 3])
    target = torch.tensor([0, 1, 1, 2, 0])
    for got, wanted in zip(*(losses(scores, target, None, "none", device) for device in ("cuda", "cpu")), strict=True):
        assert_near(got, wanted)


def test_second_gradients():
    target = torch.tensor([3, 1, -100], device="cuda")
    scores = torch.randn(3, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    for reduction in ("mean", "none"):
        loss = lambda x, reduction=reduction: functional.cross_entropy(x, target, reduction=reduction)
        assert torch.autograd.gradcheck(loss, scores, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(loss, scores)


def test_autocast_takes_halves_and_gives_a_float():
    torch.manual_seed(1)
    scores, target = torch.randn(8, 40, dtype=torch.bfloat16), torch.randint(0, 40, (8,))
    weight = torch.rand(40)
    here, there = scores.float().requires_grad_(), scores.cuda().requires_grad_()
    wanted = functional.cross_entropy(here, target, weight)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = functional.cross_entropy(there, target.cuda(), weight.cuda())
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.cpu(), wanted, rtol=1e-6, atol=1e-6)
    wanted.backward()
    loss.backward()
    assert there.grad.dtype == torch.bfloat16
    torch.testing.assert_close(there.grad.cpu(), here.grad.to(torch.bfloat16), rtol=0.01, atol=1e-5)


def test_under_vmap_and_jacrev():
    scores, target = torch.randn(4, 6, 5, device="cuda"), torch.randint(0, 5, (4, 6), device="cuda")
    batched = torch.func.vmap(torch.func.grad(functional.cross_entropy))(scores, target)
    for got, one, its in zip(batched, scores, target, strict=True):
        torch.testing.assert_close(got, torch.func.grad(functional.cross_entropy)(one, its))


def test_a_wrong_target():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        functional.cross_entropy(torch.randn(2, 5, device="cuda"), torch.tensor([1, 5], device="cuda")).item()
    torch.cuda.synchronize()


def test_what_it_takes():
    scores = torch.randn(512, 1000, device="cuda", requires_grad=True)
    target = torch.randint(0, 1000, (512,), device="cuda")
    functional.cross_entropy(scores, target).backward()  # compiles
    scores.grad = None
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    with counted() as forward:
        loss = functional.cross_entropy(scores, target)
    assert torch.cuda.max_memory_allocated() - held < scores.numel()  # a quarter of a copy's bytes
    with counted() as backward:
        loss.backward()
    assert (forward, backward) == ([2], [2])  # backward begins with a tensor of 1
    assert torch.cuda.max_memory_allocated() - held < 5 * scores.numel()
