"""Elements found from their places, on the device against the CPU."""

import pytest

import adjoint as torch

from .driver import counted
from .test_indexing import LENGTHS, NUMBERS, TYPES, agree, indices, values


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_ranges(dtype):
    for n in (1, 2, 33, 1001):
        for make in (
            lambda n, device: torch.arange(0, n, dtype=dtype, device=device),
            lambda n, device: torch.arange(n, 0, -1, dtype=dtype, device=device),
            lambda n, device: torch.linspace(2, 90, n, dtype=dtype, device=device),
            lambda n, device: torch.logspace(0, 2, n, dtype=dtype, device=device),
        ):
            try:
                expected = make(n, "cpu")
            except RuntimeError:
                continue
            ours = make(n, "cuda").cpu()
            rough = {torch.float16: 1e-2, torch.bfloat16: 2e-2}.get(dtype, 1e-5)
            whole = not dtype.is_floating_point
            torch.testing.assert_close(ours, expected, rtol=0 if whole else rough, atol=1 if whole else rough)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_triangles(dtype):
    x = values((3, 40, 33), dtype)
    for diagonal in (-50, -3, 0, 5, 60):
        agree(lambda x, d=diagonal: (x.tril(d), x.triu(d)), x)
        agree(lambda x, d=diagonal: (x.mT.tril(d), x.permute(1, 0, 2).triu(d)), x)


@pytest.mark.parametrize("offset", [-70, -7, 0, 3, 40, 90])
def test_places_of_triangles(offset):
    for rows, columns in ((1, 1), (60, 33), (33, 60), (7, 0)):
        for make in (torch.tril_indices, torch.triu_indices):
            expected = make(rows, columns, offset)
            torch.testing.assert_close(make(rows, columns, offset, device="cuda").cpu(), expected, rtol=0, atol=0)


def test_rolls_and_repeats():
    x = values((9, 31, 5))
    agree(lambda x: (x.roll(3, 0), x.roll(-7, 1), x.roll((2, 4), (1, 2)), x.roll(11)), x)
    for n in LENGTHS:
        repeats = indices((n,), 5)
        agree(lambda x, r: torch.repeat_interleave(x, r, dim=0), values((n, 2)), repeats)
        agree(torch.repeat_interleave, repeats)
    with pytest.raises(RuntimeError, match="negative"):
        torch.repeat_interleave(torch.tensor([1, -1]).cuda())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_class_scores(dtype, reduction):
    loss = torch.nn.functional.nll_loss
    for n in (1, 300, 5000, 50000):
        scores, target = values((n, 7), dtype), indices((n,), 7)
        weight = values((7,), dtype).abs() + 1
        for extra in ({}, {"weight": weight}, {"ignore_index": 3}):
            here, there = scores.clone().requires_grad_(), scores.cuda().requires_grad_()
            moved = {name: value.cuda() if isinstance(value, torch.Tensor) else value for name, value in extra.items()}
            ours = loss(there, target.cuda(), reduction=reduction, **moved)
            expected = loss(here, target, reduction=reduction, **extra)
            torch.testing.assert_close(ours.detach().cpu(), expected.detach())
            expected.sum().backward()
            ours.sum().backward()
            torch.testing.assert_close(there.grad.cpu(), here.grad)


def test_target_outside():
    out = torch.nn.functional.nll_loss(torch.zeros(4, 3).cuda(), torch.tensor([0, 1, 5, 2]).cuda())
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        out.cpu()


@pytest.mark.parametrize("n", [16384, 16385, 40000])
def test_many_repeats(n):
    repeats = torch.arange(n) % 3
    expected = torch.arange(n).repeat_interleave(repeats)
    assert torch.equal(torch.arange(n).cuda().repeat_interleave(repeats.cuda()).cpu(), expected)


def test_pieces_share_a_launch():
    x = torch.randn(8, 16, 3 * 32, device="cuda", requires_grad=True)
    parts = x.split(32, 2)
    g = [torch.randn(8, 16, 32).cuda() for _ in parts]
    (wanted,) = torch.autograd.grad(parts, x, g, retain_graph=True)
    assert torch.equal(wanted.cpu(), torch.cat([each.cpu() for each in g], 2))
    with counted() as launches:
        torch.autograd.grad(parts, x, g)
    assert launches == [1]


def test_pieces_of_many_kinds():
    pieces = [torch.arange(n * 5.0).reshape(n, 5)[:, 1:4] for n in (2, 2, 3, 1, 1, 1, 1, 0, 2)]
    pieces[1], pieces[4] = pieces[1].to(torch.float64), pieces[4].to(torch.int64)
    for dim in (0, 1):
        given = pieces if dim == 0 else [pieces[0], pieces[1], pieces[8]]
        assert torch.equal(torch.cat([each.cuda() for each in given], dim).cpu(), torch.cat(given, dim))
    stacked = [torch.randn(3, 4).t() for _ in range(5)]
    assert torch.equal(torch.stack([each.cuda() for each in stacked], 1).cpu(), torch.stack(stacked, 1))
