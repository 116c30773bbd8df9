"""Reductions on the device against the CPU: sizes that end within a packet, a warp, a block; strides; every type."""

import pytest

import adjoint as torch

from .driver import counted

ROWS = [1, 31, 33, 1025, 5000]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EXACT = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
COMPLEX = [torch.complex64, torch.complex128]


def numbers(*shape, dtype=torch.float32):
    """The same numbers each time, of both signs, in no order."""
    count = 1
    for size in shape:
        count *= size
    places = torch.arange(count, dtype=torch.float64)
    values = (places * 12.9898).sin() * 3 + (places * 0.37).cos()
    if dtype.is_complex:
        values = torch.complex(values, (places * 0.77).sin())
    elif not dtype.is_floating_point:
        values = (values * 10).abs() if dtype in (torch.uint8, torch.bool) else values * 10
    return values.reshape(shape).to(dtype)


def check(function, *tensors, rtol=None, atol=None):
    expected = function(*tensors)
    result = function(*(tensor.cuda() for tensor in tensors))
    if isinstance(expected, torch.Tensor):
        expected, result = [expected], [result]
    for mine, theirs in zip(result, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        low = theirs.dtype in (torch.float16, torch.bfloat16)
        close = {"rtol": rtol or (1e-2 if low else 1e-5), "atol": atol or (1e-2 if low else 1e-4)}
        if not theirs.dtype.is_floating_point and not theirs.dtype.is_complex:
            close = {"rtol": 0, "atol": 0}
        torch.testing.assert_close(mine.cpu(), theirs, equal_nan=True, **close)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("dim", [0, 1, 2, (0, 2), (0, 1), None])
def test_sum_of_sizes(n, dim):
    check(lambda x: x.sum(dim), numbers(3, n, 5))
    check(lambda x: x.sum(dim), numbers(2, 3, n))
    check(lambda x: x.sum(dim), numbers(n, 2, 4))


@pytest.mark.parametrize("dtype", FLOATS + EXACT + COMPLEX, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "amax", "amin", "argmax", "argmin", "var", "mean"])
def test_types(name, dtype):
    floats = dtype.is_floating_point or dtype.is_complex
    if (
        (dtype.is_complex and name.startswith(("am", "arg")))
        or (dtype == torch.bool and name.startswith("arg"))
        or (not floats and name in ("var", "mean"))
    ):
        return
    for shape in [(7, 70), (70, 7), (3, 1026)]:
        x = numbers(*shape, dtype=dtype)
        x = x / 3 if name == "prod" and floats else x
        for dim in (0, 1):
            check(lambda x, dim=dim: getattr(torch, name)(x, dim), x)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("dim", [0, 1])
def test_kinds(n, dim):
    for x in (numbers(n, 3), numbers(3, n), numbers(40, n).t()):
        for function in (
            lambda x: x.max(dim),
            lambda x: x.min(dim),
            lambda x: torch.aminmax(x, dim=dim),
            lambda x: torch.var_mean(x, dim, correction=0),
            lambda x: torch.logsumexp(x, dim),
            lambda x: torch.nansum(torch.where(x > 1, float("nan"), x), dim),
        ):
            check(function, x)
        for p in (0, 1, 2, 3, 2.5, -1, float("inf"), float("-inf")):
            check(lambda x, p=p: torch.linalg.vector_norm(x, p, dim), x, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int8], ids=str)
@pytest.mark.parametrize("shape", [(3, 8), (9, 1024), (300, 24), (1030, 8), (4100, 64), (9000, 16)], ids=str)
def test_columns_by_packets(shape, dtype):
    x = numbers(*shape, dtype=dtype) / (1 if dtype == torch.int8 else 8)
    check(lambda x: x.sum(0), x, atol=0.5 if dtype == torch.float16 else None)
    check(lambda x: x.max(0), x)
    if dtype == torch.float32:
        check(lambda x: torch.var_mean(x, 0), x)
        check(lambda x: torch.logsumexp(x, 0), x)


def test_columns_that_lie_anyhow():
    memory = numbers(2 * 300 * 32 + 1)
    for begin in (0, 1):
        x = memory[begin : begin + 2 * 300 * 32].reshape(2, 300, 32)
        check(lambda x: x.sum(1), x)
        check(lambda x: x.sum((0, 1)), x)
        check(lambda x: x[:, :, 4:28].argmin(1), x)
        check(lambda x: x[:, ::3, 1:9].sum(1), x)
        check(lambda x: x.flip(1).amax((0, 1)), x)
        check(lambda x: x.transpose(0, 1).sum(0), x)


def test_columns_have_the_same_bits_at_any_address():
    memory = numbers(9000 * 16 + 1).cuda()
    for n in (300, 9000):
        for dtype in (torch.float32, torch.bfloat16):
            halves = memory.to(dtype)
            moved = torch.zeros_like(halves)
            moved[1:] = halves[:-1]
            first, second = (each[i : i + n * 16].reshape(n, 16).sum(0) for i, each in enumerate((halves, moved)))
            assert torch.equal(first, second)


def test_short_columns_take_one_launch():
    x = numbers(1024, 128).cuda()
    x.sum(0)
    with counted() as launches:
        x.sum(0)
    assert launches == [1]


@pytest.mark.parametrize("count", [70_000, 300_001])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
def test_parts_of_long_rows(count, dtype):
    """So long that several blocks have a part each."""
    x = numbers(count, dtype=dtype)
    check(lambda x: x.abs().sum(dtype=torch.float32 if dtype.is_floating_point else None), x)
    check(lambda x: x.argmax(), x)
    check(lambda x: x.max(), x)
    check(lambda x: x.reshape(-1, 1)[: count // 2 * 2].reshape(-1, 2).argmin(0), x)
    if dtype.is_floating_point:
        check(lambda x: torch.var_mean(x.float()), x)


def test_strides():
    x = numbers(6, 7, 8, 9)
    for view in (
        lambda x: x.permute(3, 1, 0, 2),
        lambda x: x[:, ::2, 1:, ::3],
        lambda x: x.flip(0, 3)[1:],
        lambda x: x[:, :1].expand(6, 5, 8, 9),
        lambda x: x.reshape(-1)[1:3001],
    ):
        for dim in (0, -1, None):
            check(lambda x, view=view, dim=dim: view(x).sum(dim), x)
            check(lambda x, view=view, dim=dim: view(x).argmax(dim), x)


def test_nans_and_ties():
    x = torch.zeros(3, 100)
    x[0, 40] = x[0, 90] = float("nan")
    x[1, 30] = x[1, 31] = x[1, 99] = 5
    for dim in (0, 1):
        check(lambda x, dim=dim: x.max(dim), x)
        check(lambda x, dim=dim: x.min(dim), x)
        check(lambda x, dim=dim: x.amax(dim), x)
        check(lambda x, dim=dim: x.t().contiguous().argmax(dim), x)
    wild = torch.tensor([[float("inf"), 1.0], [float("-inf"), float("-inf")], [float("inf"), float("-inf")]])
    check(lambda x: torch.logsumexp(x, 1), wild)
    check(lambda x: torch.logsumexp(x, 0), wild)


def test_empty():
    x = torch.zeros(0, 3)
    for function in (
        lambda x: x.sum(0),
        lambda x: x.prod(0),
        lambda x: x.sum(1),
        lambda x: torch.logsumexp(x, 0),
        lambda x: x.all(),
        lambda x: x.mean(),
        lambda x: x.norm(),
    ):
        check(function, x)
    with pytest.raises(IndexError):
        x.cuda().amax(0)
    with pytest.raises(IndexError):
        x.cuda().argmax(0)


def test_large_values_have_norms():
    check(lambda x: x.norm(), torch.full((1000,), 1e25))


def test_the_same_bits_each_time():
    x = numbers(100_000).cuda()
    first = x.sum().item()
    padded = torch.zeros(100_001).cuda()
    padded[1:] = x
    assert padded[1:].sum().item() == first
    assert x.sum().item() == first


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("inner", [(), (5,)])
def test_segments(kind, inner):
    x, lengths = numbers(600, *inner) / 3, torch.tensor([0, 100, 1, 399, 40, 60])
    check(lambda x, lengths: torch.segment_reduce(x, kind, lengths=lengths, initial=1.0, unsafe=True), x, lengths)
