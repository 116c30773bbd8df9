"""Elementwise ops over operands that lie in any way: turned, cut, broadcast, at any address."""

import random

import pytest

import adjoint as torch


def operand(draw, shape, dtype):
    """Numbers in a row, and what of them, and how, a tensor of a shape that broadcasts to this one shows."""
    sizes = [n if draw.random() < 0.7 else 1 for n in shape]
    sizes = sizes[draw.randrange(len(sizes)) :] if draw.random() < 0.3 else sizes
    order = draw.sample(range(len(sizes)), len(sizes)) if draw.random() < 0.5 else list(range(len(sizes)))
    room = [sizes[d] + draw.choice([0, 0, 2]) for d in order]
    first = draw.choice([0, 0, 0, 1, 4])
    memory = torch.randint(-5, 5, [first + torch.Size(room).numel()]).to(dtype)
    cut = tuple(slice(0, sizes[d]) for d in order)
    turn = [order.index(d) for d in range(len(sizes))]
    return memory, lambda memory: memory[first:].view(room)[cut].permute(turn)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool], ids=str)
def test_operands_of_any_strides(dtype):
    draw = random.Random(3)
    for _ in range(60):
        shape = [draw.choice([1, 2, 3, 4, 5, 8, 16]) for _ in range(draw.randint(1, 4))]
        (a, as_first), (b, as_second) = operand(draw, shape, dtype), operand(draw, shape, dtype)
        wanted = torch.where(as_first(a) > 0, as_first(a), as_second(b))
        there = torch.where(as_first(a.cuda()) > 0, as_first(a.cuda()), as_second(b.cuda()))
        assert torch.equal(there.cpu(), wanted)
        wanted, there = as_first(a) + as_second(b), as_first(a.cuda()) + as_second(b.cuda())
        assert torch.equal(there.cpu(), wanted)
        whole = as_first(a.cuda()).expand(wanted.shape)
        assert torch.equal(whole.contiguous().cpu(), as_first(a).expand(wanted.shape))


def test_writing_into_a_part():
    for first, count in ((0, 8), (8, 16), (1, 8), (4, 3)):
        here, part = torch.zeros(5, 40, dtype=torch.float16), torch.randn(5, count).half()
        there = here.cuda()
        here[:, first : first + count] = part
        there[:, first : first + count] = part.cuda()
        assert torch.equal(there.cpu(), here)
        there[:, first : first + count] += part.cuda()[0]
        here[:, first : first + count] += part[0]
        assert torch.equal(there.cpu(), here)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_long_rows_at_any_address(dtype):
    """Copies by vectors of what does not begin at them."""
    numbers = torch.arange(7 * 3100).remainder(251).to(dtype)
    there = numbers.cuda()
    for first, step, count in [(0, 3001, 3000), (1, 3008, 3001), (5, 2999, 2999), (3, 3100, 2051), (0, 3008, 2999)]:
        rows, there_rows = (x[first:].as_strided((6, count), (step, 1), first) for x in (numbers, there))
        assert torch.equal(there_rows.contiguous().cpu(), rows)
        for offset, length in [(0, 3003), (2, 3008), (1, 3001)]:
            room = torch.zeros(6 * length + 8).to(dtype)
            there_room = room.cuda()
            for memory, source in ((room, rows), (there_room, there_rows)):
                memory[offset:].as_strided((6, min(count, length)), (length, 1), offset).copy_(source[:, :length])
            assert torch.equal(there_room.cpu(), room)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("number", [torch.float64, torch.float32, torch.bfloat16])
def test_numbers_of_other_types_on_the_device(dtype, number):
    x, scale = torch.linspace(-3, 3, 40).to(dtype), torch.tensor(0.7, dtype=number)
    there, scale_there = x.cuda(), scale.cuda()

    def both(function):
        ours, expected = function(there, scale_there), function(x, scale)
        assert ours.dtype == expected.dtype
        assert torch.equal(ours.cpu(), expected)

    for _ in range(2):
        both(lambda x, scale: scale * x)
        both(lambda x, scale: scale * -x)
        both(lambda x, scale: x + scale)
        both(lambda x, scale: scale - x)
        both(lambda x, scale: x.reshape(8, 5).t() - scale)
        both(lambda x, scale: x.clone().add_(scale))
        both(lambda x, scale: torch.where(x > 0, scale, x))
        both(lambda x, scale: torch.lerp(x, -x, scale))
