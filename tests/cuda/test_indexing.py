"""Indexing kernels on the device against the CPU: sizes beyond one block, strides, every type."""

import pytest

import adjoint as torch

from .driver import counted

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
    x, i = torch.zeros(4, 3).cuda(), torch.tensor([7]).cuda()
    wrong = x.index_select(0, i)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        wrong.cpu()
    assert x.cpu().sum().item() == 0
    x.index_add_(0, i, x[:1] + 1)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x.cpu()
    assert x.cpu().sum().item() == 0


def close(function, *args):
    """The same on both devices but for roundings of half types, which a device's sums have once."""
    expected = function(*args)
    ours = function(*[arg.cuda() if isinstance(arg, torch.Tensor) else arg for arg in args])
    rough = {torch.float16: 2e-2, torch.bfloat16: 1e-1}.get(expected.dtype, 0)
    torch.testing.assert_close(ours.cpu(), expected, rtol=rough, atol=rough, equal_nan=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_writes_of_every_type(dtype):
    x, src, i = values((37, 24), dtype), values((90, 24), dtype, seed=7), indices((90, 24), 37)
    agree(lambda x, i, s: x.clone().scatter_(0, i, s), x, i, src)
    agree(lambda x, i, s: x.t().clone().scatter_(1, i.t(), s.t()), x, i, src)
    agree(lambda x, i: x.clone().scatter_(0, i, 1), x, i)
    close(lambda x, i, s: x.clone().scatter_add_(0, i, s), x, i, src)
    close(lambda x, i, s: x.clone().scatter_add_(0, i[:9], s), x, i, src)
    line = i[:, 0].clone()
    close(lambda x, i, s: x.clone().index_add_(0, i, s), x, line, src)
    agree(lambda x, i, s: x.clone().index_copy_(0, i, s), x, line, src)
    agree(lambda x, i: x.clone().index_fill_(0, i - 3, 1), x, line)
    agree(lambda x, i, j, s: x.clone().index_put_((i - 2, j), s), x, i[:24], indices((24, 24), 24), src[:24])
    close(lambda x, i, j, s: x.clone().index_put_((i, j), s, True), x, i[:24], indices((24, 24), 24), src[:24])
    agree(lambda x, i, s: x.clone().index_put_((i,), s), x, line, src)
    close(lambda x, i, s: x.clone().index_put_((i,), s, True), x, line, src)
    agree(lambda x, i, s: x.clone().put_(i - 4, s), x, i, src)
    close(lambda x, i, s: x.clone().put_(i, s, True), x, i, src)


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16], ids=str)
def test_reductions(reduce, include_self, dtype):
    if reduce == "prod" and dtype == torch.float16:
        return  # more than the type holds
    x, src, i = values((11, 30), dtype), values((40, 30), dtype, seed=7), indices((40, 30), 9)
    close(lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include_self), x, i, src)
    if reduce != "sum":
        close(lambda x, i, s: x.index_reduce(0, i, s, reduce, include_self=include_self), x, i[:, 0].clone(), src)


@pytest.mark.parametrize("n", LENGTHS)
def test_many_entries(n):
    for slots in (1, 7, 300, 70000):
        x, i, src = values((slots, 2), torch.float64), indices((n, 2), slots), values((n, 2), torch.float64, seed=3)
        agree(lambda x, i, s: x.scatter(0, i, s), x, i, src)
        close(lambda x, i, s: x.scatter_add(0, i, s), x, i, src)
        close(lambda x, i, s: x.index_add(0, i, s, alpha=2), x, i[:, 1].clone(), src)
        agree(lambda x, i, s: x.index_copy(0, i, s), x, i[:, 1].clone(), src)
        agree(lambda x, i, s: x.index_put((i, i % 2), s), x, i, src)


def test_many_lines():
    x, i, src = values((9000, 3), torch.float64), indices((9000, 40), 3), values((9000, 40), torch.float64, seed=3)
    agree(lambda x, i, s: x.scatter(1, i, s), x, i, src)
    agree(lambda x, i, s: x.scatter_add(1, i, s), x, i, src)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_long_lines(dtype):
    x, i, src = values((150, 9), dtype), indices((150, 70), 9), values((150, 70), dtype, seed=3)
    agree(lambda x, i, s: x.scatter(1, i, s), x, i, src)
    close(lambda x, i, s: x.scatter_add(1, i, s), x, i, src)


def test_embedding_gradient():
    def gradient(weight, i, padding_idx):
        weight = weight.detach().requires_grad_()
        out = torch.nn.functional.embedding(i, weight, padding_idx=padding_idx)
        (out * torch.arange(out.numel(), device=out.device).reshape(out.shape).to(out.dtype)).sum().backward()
        return weight.grad

    weight, i = values((50, 12), torch.float64), indices((60, 100), 50)
    agree(gradient, weight, i, None)
    agree(gradient, weight, i, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64, torch.int8], ids=str)
@pytest.mark.parametrize("width", [1, 3, 4, 12])
def test_rows_that_many_entries_name(dtype, width):
    def same(function, x, i, src):
        """Where the CPU rounds each sum, ours is that of wider numbers."""
        wide = torch.float32 if dtype == torch.float16 else dtype
        expected = function(x.to(wide), i, src.to(wide)).to(dtype)
        assert (function(x.cuda(), i.cuda(), src.cuda()).cpu() == expected).all().item()

    x, src = values((40, width), dtype), values((3000, width), dtype, seed=3)
    every = indices((3000,), 40)
    for i in (every, every * 0 + 7, every % 2 * 39, every.sort().values, (every > 38).to(torch.int64)):
        same(lambda x, i, s: x.index_add(0, i, s), x, i, src)
        same(lambda x, i, s: x.index_add(0, i, s, alpha=3), x[:, ::2], i, src[:, ::2])
        same(lambda x, i, s: x.t().index_add(1, i, s.t()), x, i, src)


@pytest.mark.parametrize(("n", "rows", "last"), [(600, 2, 1), (9000, 300, 288)])
def test_entries_of_the_last_slot_end_with_the_others(n, rows, last):
    """What lies behind the sorted slots may look like one more of the last: a place, or a slot before its last pass."""
    i = torch.zeros(n, dtype=torch.int64) if rows == 2 else indices((n,), 31) + 1
    i[0] = i[n // 2] = i[n - 1] = last
    close(lambda x, i, s: x.index_put((i,), s, True), values((rows, 3)), i, values((n, 3), seed=3))


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("reduce", ["mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_reductions_of_many_entries(reduce, include_self):
    x, src = values((6, 4), torch.float64), values((6000, 4), torch.float64, seed=7)
    for i in (indices((6000,), 6), indices((6000,), 6) * 0 + 2):
        close(lambda x, i, s: x.index_reduce(0, i, s, reduce, include_self=include_self), x, i, src)


@pytest.fixture
def one_order():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


SUMS = {
    "scatter_add": lambda x, i, s: x.scatter_add(0, i[:, None].expand_as(s), s),
    "scatter_reduce": lambda x, i, s: x.scatter_reduce(0, i[:, None].expand_as(s), s, "sum"),
    "index_add": lambda x, i, s: x.index_add(0, i, s),
    "index_put": lambda x, i, s: x.index_put((i,), s, True),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("width", [1, 12])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_sums_with_and_without_an_order(name, width, dtype, request):
    x, i, src = values((700, width), dtype), indices((9000,), 700), values((9000, width), dtype, seed=3)
    agree(SUMS[name], x, i, src)
    request.getfixturevalue("one_order")
    agree(SUMS[name], x, i, src)


def memory_and_launches(function, *args):
    """The bytes and launches beside the result and its copy of the input."""
    args = [arg.cuda() for arg in args]
    function(*args).cpu()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with counted() as launches:
        result = function(*args)
    return torch.cuda.max_memory_allocated() - before - 4 * result.numel(), launches[0]


@pytest.mark.parametrize("n", [40, 9000])
def test_sums_as_they_come_are_one_launch(n, request):
    args = values((512, 8)), indices((n,), 512), values((n, 8), seed=3)
    for name in ("scatter_add", "scatter_reduce", "index_add"):
        assert memory_and_launches(SUMS[name], *args) == (0, 1)
    # torch's has one order always
    assert memory_and_launches(SUMS["index_put"], *args)[1] > 1
    request.getfixturevalue("one_order")
    assert memory_and_launches(SUMS["index_add"], *args)[1] > 1
