"""Indexing kernels on the device against the CPU: sizes beyond one block, strides, every type."""

import pytest

import adjoint as torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
NUMBERS = [*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
TYPES = [*NUMBERS, torch.bool, torch.complex64, torch.complex128]
LENGTHS = [1, 31, 33, 1025, 5000]


def values(shape, dtype=torch.float32, seed=0):
    """Numbers with a few equal ones among them."""
    torch.manual_seed(seed)
    numbers = torch.randint(-50, 50, shape)
    if dtype.is_floating_point or dtype.is_complex:
        return (numbers.to(torch.float64) / 8).to(dtype)
    return (numbers % 2 == 0) if dtype == torch.bool else numbers.abs().to(dtype)


def indices(shape, size, seed=1):
    torch.manual_seed(seed)
    return torch.randint(0, size, shape)


def agree(function, *args):
    """The same on both devices, to the last bit."""
    expected = function(*args)
    ours = function(*[arg.cuda() if isinstance(arg, torch.Tensor) else arg for arg in args])
    expected, ours = (pair if isinstance(pair, tuple | list) else (pair,) for pair in (expected, ours))
    for mine, theirs in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_reads_of_every_type(dtype):
    x = values((37, 24), dtype)
    agree(lambda x, i: x.gather(1, i), x, indices((37, 50), 24))
    agree(lambda x, i: x.index_select(0, i), x, indices((75,), 37))
    agree(lambda x, i: x.t().index_select(1, i), x, indices((75,), 37))
    agree(lambda x, i, j: x[i, j - 3], x, indices((11, 9), 37), indices((9,), 24))
    agree(lambda x, i: x.take(i - 5), x, indices((400,), 37 * 24 - 5))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.complex128], ids=str)
def test_masks(n, dtype):
    x, mask = values((n, 3), dtype), values((n, 3), torch.bool, seed=2)
    agree(torch.masked_select, x, mask)
    agree(lambda x, m: torch.masked_select(x.t(), m.t()), x, mask)
    agree(lambda x, m, s: x.masked_scatter(m, s), x, mask, values((n * 3,), dtype, seed=3))
    agree(lambda x, m: x.masked_fill(m, 1), x, mask)
    agree(lambda x, m, y: torch.where(m, x, y), x, mask, values((n, 3), dtype, seed=4))
    agree(lambda x, m, y: torch.where(m[:, :1], x, y.flip(0)), x, mask, values((n, 3), dtype, seed=4))
    agree(torch.nonzero, x)
    agree(lambda x: torch.nonzero(x.t()), x)
    agree(lambda x: torch.nonzero_static(x, size=n), x)
    assert torch.count_nonzero(x.cuda()).item() == torch.count_nonzero(x).item()


def test_index_outside():
    x, i = torch.zeros(4, 3, device="cuda"), torch.tensor([7], device="cuda")
    x.index_select(0, i)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        torch.cuda.synchronize()
    torch.cuda.synchronize()


def test_out_shares_memory():
    def shift(x, i):
        return torch.index_select(x, 0, i, out=x)

    agree(shift, values((64, 5)), torch.arange(64).flip(0))
