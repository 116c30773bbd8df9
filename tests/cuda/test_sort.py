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
