"""Elements looked up, counted and told apart, on the device against the CPU."""

import pytest

import adjoint as torch

from .test_indexing import LENGTHS, NUMBERS, agree, indices, values


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_searchsorted(dtype):
    rows, wanted = values((3, 700), dtype).sort(dim=1).values, values((3, 90), dtype, seed=4)
    for right in (False, True):
        agree(lambda s, v, r=right: torch.searchsorted(s, v, right=r), rows, wanted)
        agree(lambda s, v, r=right: torch.searchsorted(s[1], v, right=r), rows, wanted)
        agree(lambda s, v, r=right: torch.bucketize(v.t(), s[1], right=r), rows, wanted)


@pytest.mark.parametrize("n", [*LENGTHS, 70000])
def test_counts(n):
    agree(torch.bincount, indices((n,), 37))
    agree(lambda i: torch.bincount(i, minlength=6000), indices((n,), 5900))
    agree(lambda x: torch.histc(x, bins=20), values((n,)))
    agree(lambda x: torch.histc(x, bins=5000, min=-3, max=2), values((n,)))
    agree(lambda x: torch.histogram(x, bins=9).hist, values((n,)))
    here, there = (torch.histogram(x, bins=9).bin_edges for x in (values((n,)), values((n,)).cuda()))
    torch.testing.assert_close(there.cpu(), here, rtol=2.0**-23, atol=2.0**-23)  # a device fuses steps and start
    agree(lambda x: torch.histogram(x, bins=torch.tensor([-3.0, 0.5, 1.0, 4.0]).to(x.device)), values((n,)))
    agree(lambda x: torch.histogramdd(x, bins=[4, 5]).hist, values((n, 2)))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8], ids=str)
def test_unique(n, dtype):
    x = values((n, 3), dtype)
    if dtype.is_floating_point:
        x = x.masked_fill(values((n, 3), seed=6) > 5.5, float("nan"))
    agree(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    agree(lambda x: torch.unique(x.t(), return_inverse=True), x)
    agree(lambda x: torch.unique_consecutive(x[:, 0] > 0, return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("n", [0, *LENGTHS])
@pytest.mark.parametrize("dtype", [*NUMBERS, torch.bool], ids=str)
def test_unique_rows(n, dtype):
    x = values((n, 3), dtype)
    x[:, 0] = x[:, 0] * 0 if dtype == torch.bool else (x[:, 0] / 16).to(dtype)
    agree(lambda x: torch.unique(x, dim=0, return_inverse=True, return_counts=True), x)
    agree(lambda x: torch.unique(x[:, :1], dim=0, return_inverse=True, return_counts=True), x)
    agree(lambda x: torch.unique(x.reshape(3, -1), dim=1, return_inverse=True, return_counts=True), x)
    agree(lambda x: torch.unique_consecutive(x[:, :1], dim=0, return_inverse=True, return_counts=True), x)


def test_rows_with_nan_count_for_themselves():
    x = values((700, 2)).masked_fill(values((700, 2), seed=6) > 4, float("nan"))
    rows, inverse, counts = torch.unique(x.cuda(), dim=0, return_inverse=True, return_counts=True)
    torch.testing.assert_close(rows[inverse].cpu(), x, rtol=0, atol=0, equal_nan=True)
    numbers = x[~x.isnan().any(1)]
    assert rows.shape[0] == 700 - numbers.shape[0] + torch.unique(numbers, dim=0).shape[0]
    assert counts.sum().item() == 700
    assert (counts[rows.isnan().any(1)] == 1).all().item()
    assert (torch.bincount(inverse) == counts).all().item()
