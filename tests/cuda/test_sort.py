"""Sorting and selection on the device against the CPU: short and long rows, strides, NaN, every type."""

import pytest

import adjoint as torch

from .test_indexing import LENGTHS, NUMBERS, agree, values

CHOICES = [
    lambda x: torch.sort(x, dim=1, stable=True),
    lambda x: torch.sort(x, dim=1, descending=True, stable=True),
    lambda x: torch.topk(x, (x.shape[1] + 2) // 3, dim=1),
    lambda x: torch.topk(x, 1, dim=1, largest=False),
    lambda x: torch.kthvalue(x, (x.shape[1] + 1) // 2, dim=1),
    lambda x: torch.median(x, dim=1),
    lambda x: torch.mode(x, dim=1),
]


def with_nan(x):
    return x.masked_fill(values(x.shape, seed=5) > 4, float("nan"))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_lengths(n, rows):
    if n * rows > 30000:
        rows = 2
    for choice in CHOICES:
        agree(choice, values((rows, n)))
        agree(choice, with_nan(values((rows, n))))


@pytest.mark.parametrize("dtype", [*NUMBERS, torch.bool], ids=str)
@pytest.mark.parametrize("n", [70, 4100])
def test_types(dtype, n):
    for choice in CHOICES[:2] if dtype == torch.bool else CHOICES:
        agree(choice, values((2, n), dtype))


@pytest.mark.parametrize("n", [7, 1500, 4200])
def test_columns(n):
    for choice in CHOICES:
        agree(lambda x, choice=choice: choice(x.t()), with_nan(values((n, 5))))
        agree(lambda x, choice=choice: choice(x.flip(1)[:, ::2]), with_nan(values((3, 2 * n))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int8, torch.bfloat16], ids=str)
@pytest.mark.parametrize("k", [1, 3, 40, 1000])
def test_few_of_long_rows(dtype, k):
    x = values((3, 9000), dtype)
    for largest in (False, True):
        agree(lambda x, large=largest: torch.topk(x, k, dim=1, largest=large), x)
        agree(lambda x, large=largest: torch.topk(x.t(), k, dim=0, largest=large), x)
        if dtype.is_floating_point:
            agree(lambda x, large=largest: torch.topk(x, k, dim=1, largest=large), with_nan(x))


def test_all_nan_and_zeros():
    x = torch.full((2, 50), float("nan"))
    zeros = torch.tensor([[0.0, -0.0] * 20])
    for choice in CHOICES:
        agree(choice, x)
        agree(choice, zeros)
    agree(lambda x: torch.nanmedian(x, dim=1), x)
    agree(lambda x: torch.nanmedian(x, dim=1), with_nan(values((4, 5000))))
    agree(lambda x: torch.nanmedian(x, dim=1), with_nan(values((4, 50))))


def test_many_rows():
    agree(lambda x: torch.sort(x, dim=1, stable=True), values((700, 20)))
    agree(lambda x: torch.sort(x, dim=0, stable=True), values((20, 700)))
    agree(lambda x: torch.sort(x, dim=1, stable=True), values((3, 5000, 2)))


TILE = 384 * 16  # elements of up to 4 bytes that a block of the radix sort has; half as many of 8 bytes


@pytest.mark.parametrize("n", [TILE - 1, TILE, TILE + 1, 2 * TILE + 33, 5 * TILE // 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int8, torch.float16], ids=str)
def test_tiles(n, dtype):
    for descending in (False, True):
        agree(lambda x, down=descending: torch.sort(x, descending=down, stable=True), values((n,), dtype))
        agree(lambda x, down=descending: torch.sort(x, descending=down, stable=True), many_digits(n, dtype))


def many_digits(n, dtype):
    """Numbers of both signs that differ in all of their bits."""
    torch.manual_seed(9)
    if dtype.is_floating_point:
        x = torch.randn(n).to(dtype) * torch.tensor([1.0, -1e-4, 3e4]).to(dtype)[torch.randint(0, 3, (n,))]
        x[::7], x[::11], x[::13], x[::17] = 0.0, -0.0, float("nan"), float("-inf")
        return x
    bits = torch.iinfo(dtype).bits
    return torch.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, (n,)).to(dtype)


@pytest.mark.parametrize("dtype", [*NUMBERS, torch.bool], ids=str)
def test_all_digits(dtype):
    x = values((6000,), dtype) if dtype == torch.bool else many_digits(6000, dtype)
    agree(lambda x: torch.sort(x, stable=True), x)
    agree(lambda x: torch.sort(x, descending=True, stable=True), x)


def test_signs_of_zeros_and_bits_stay():
    x = torch.tensor([0.0, -0.0, 1.0, -1.0]).repeat(3000)
    ours = torch.sort(x.cuda(), stable=True).values.cpu()
    assert (ours.signbit() == torch.sort(x, stable=True).values.signbit()).all().item()


@pytest.mark.parametrize("value", [0, 3, -7, 2**40 + 5])
def test_equal_elements(value):
    x = torch.full((9000,), value)
    agree(lambda x: torch.sort(x, stable=True), x)
    x[5000] = value - 1
    agree(lambda x: torch.sort(x, stable=True), x)
    x[100:8000] = torch.arange(7900) % 300 * 2**33
    agree(lambda x: torch.sort(x, stable=True), x)


@pytest.mark.parametrize("rows", [2, 5, 300])
def test_long_rows(rows):
    n = 4097 if rows == 300 else 6000
    x = many_digits(rows * n, torch.int8 if rows == 300 else torch.float32).reshape(rows, n)
    agree(lambda x: torch.sort(x, dim=1, stable=True), x)
    if rows == 5:
        agree(lambda x: torch.sort(x.t(), dim=0, descending=True, stable=True), x)
        agree(lambda x: torch.sort(x[:, ::2], dim=1, stable=True), torch.cat([x, x], 1))
