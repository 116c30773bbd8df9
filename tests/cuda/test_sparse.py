"""Sparse tensors and their kernels on the device against the CPU."""

import pytest

import adjoint as torch
from adjoint.ops import language

from .both import assert_near
from .test_indexing import LENGTHS, TYPES, agree, indices, values

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]


def entries(height, width, count, dtype=torch.float64, seed=0):
    """A matrix as (values, starts, order, columns), with entries in no order and some of them twice."""
    torch.manual_seed(seed)
    rows, columns = torch.randint(0, max(height, 1), (count,)), torch.randint(0, max(width, 1), (count,))
    starts = torch.zeros(height + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=height).cumsum(0)
    return values((count,), dtype), starts, rows.argsort(stable=True), columns


def triangle(n, count, dtype=torch.float64, seed=0):
    """Entries all over a square matrix, and a diagonal that keeps solutions small; (values, starts, order, columns)."""
    torch.manual_seed(seed)
    diagonal = torch.arange(n)
    rows, columns = (torch.cat([torch.randint(0, n, (count,)), diagonal]) for _ in range(2))
    numbers = torch.cat([torch.rand(count, dtype=torch.float64) - 0.5, torch.full((n,), 4.0, dtype=torch.float64)])
    numbers[rows == columns] = 4.0
    starts = torch.zeros(n + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=n).cumsum(0)
    return numbers.to(dtype), starts, rows.argsort(stable=True), columns


def near(function, *args):
    """The same on both devices, but for the order of sums."""
    ours = function(*[arg.cuda() if isinstance(arg, torch.Tensor) else arg for arg in args])
    assert_near(ours, function(*args))


@pytest.mark.parametrize("n", [0, *LENGTHS, 20000])
@pytest.mark.parametrize("bound", [1, 7, 1000, 2**33, 2**60])
def test_groups(n, bound):
    keys = indices((n,), bound)
    agree(lambda keys: language._sparse_group(keys, bound), keys)
    agree(lambda keys: language._sparse_group(keys, bound), keys // max(bound // 5, 1))
    agree(lambda keys: language._sparse_group(keys, bound), keys.sort().values)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(("n", "groups"), [(1, 1), (300, 40), (5000, 3), (700, 700)])
def test_sums_of_groups(dtype, n, groups):
    def sums(values, keys):
        order, numbers, starts = language._sparse_group(keys, groups)
        return language._sparse_sum_groups(values, order, starts, numbers)

    keys = indices((n,), groups)
    agree(sums, values((n,), dtype), keys)
    agree(sums, values((n, 5), dtype), keys)
    agree(sums, values((n, 3, 11), dtype), keys)


@pytest.mark.parametrize(("height", "count"), [(1, 0), (40, 9), (33, 3000), (700, 650), (3, 1000)])
@pytest.mark.parametrize("width", [1, 5, 16, 70])
def test_products(height, count, width):
    numbers, starts, order, columns = entries(height, 50, count)
    near(language._sparse_rows_product, numbers, starts, order, columns, values((50, width), torch.float64))
    wide = values((50, 2 * width), torch.float64)
    near(lambda n, s, c, d: language._sparse_rows_product(n, s, None, c, d[:, width:]), numbers, starts, columns, wide)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("width", [3, 40])
def test_products_of_types(dtype, width):
    numbers, starts, order, columns = entries(9, 31, 200, dtype)
    if dtype == torch.bool:  # the CPU counts in 8 bits
        numbers[20:] = False
    near(language._sparse_rows_product, numbers, starts, order, columns, values((31, width), dtype))
    near(language._sparse_sampled_entries, indices((300,), 31), indices((300,), 20, 7), values((31, width), dtype),
         values((20, width), dtype, 3))  # fmt: skip


@pytest.mark.parametrize("width", [0, 1, 9, 65])
@pytest.mark.parametrize("n", [0, 1, 700])
def test_samples(n, width):
    first, second = values((31, width), torch.float64), values((20, width), torch.float64, 3)
    near(language._sparse_sampled_entries, indices((n,), 31), indices((n,), 20, 7), first, second)


def test_nothing():
    numbers, starts, order, columns = entries(0, 5, 0)
    near(language._sparse_rows_product, numbers, starts, order, columns, torch.ones(5, 3, dtype=torch.float64))
    numbers, starts, order, columns = entries(4, 5, 6)
    near(language._sparse_rows_product, numbers, starts, order, columns, torch.ones(5, 0, dtype=torch.float64))
    numbers, starts, order, columns = triangle(3, 2)
    dense = torch.ones(3, 0, dtype=torch.float64)
    near(lambda *args: language._sparse_rows_solve(*args, True, False), numbers, starts, order, columns, dense)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("n", "count"), [(1, 0), (40, 300), (300, 900)])
@pytest.mark.parametrize("width", [1, 5, 33, 70])
def test_triangular_systems(upper, unit, n, count, width):
    matrix = triangle(n, count)
    dense = values((n, width), torch.float64)
    near(lambda *args: language._sparse_rows_solve(*args, upper, unit), *matrix, dense)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("width", [2, 40])
def test_triangular_systems_of_types(dtype, width):
    matrix = triangle(20, 60, dtype)
    near(lambda *args: language._sparse_rows_solve(*args, True, False), *matrix, values((20, width), dtype))


def test_halves_are_added_up_in_float32():
    ones, starts = torch.ones(4096, dtype=torch.float16), torch.tensor([0, 4096])
    zeros = torch.zeros(4096, dtype=torch.int64)
    for width in (1, 40):
        dense = torch.ones(1, width, dtype=torch.float16)
        ours = language._sparse_rows_product(
            *[each.cuda() for each in (ones, starts)], None, zeros.cuda(), dense.cuda()
        )
        assert ours.tolist() == [[4096.0] * width]
    ours = language._sparse_sum_groups(ones.cuda(), torch.arange(4096).cuda(), starts.cuda(), zeros.cuda())
    assert ours.tolist() == [4096.0]


@pytest.mark.parametrize("column", [-1, 5])
def test_entries_outside(column):
    numbers, starts, order, columns = entries(4, 5, 6)
    columns[3] = column
    dense = torch.ones(5, 2, dtype=torch.float64).cuda()
    given = [each.cuda() for each in (numbers, starts, order, columns)]
    outside = "index out of range: a sparse tensor has entries outside of its sizes"
    for call in (
        lambda: language._sparse_rows_product(*given, dense),
        lambda: language._sparse_sampled_entries(given[3], given[3], dense, dense),
        lambda: language._sparse_rows_solve(
            given[0], torch.cat([given[1], given[1][-1:]]), *given[2:], dense, True, True
        ),
    ):
        wrong = call()
        with pytest.raises(IndexError, match=outside):
            wrong.cpu()
    assert dense.sum().item() == 10


def test_starts_outside():
    """What a program has changed may lead anywhere, and does no harm."""
    numbers, starts, order, columns = entries(4, 5, 6)
    dense = torch.ones(5, 2, dtype=torch.float64).cuda()
    for place, start in ((1, -3), (2, 1000), (0, 2**62)):
        changed = starts.clone()
        changed[place] = start
        wrong = language._sparse_rows_product(numbers.cuda(), changed.cuda(), order.cuda(), columns.cuda(), dense)
        if start == 2**62:  # an empty row
            wrong.cpu()
            continue
        with pytest.raises(IndexError, match="index out of range"):
            wrong.cpu()


# ---- Sparse tensors, by programs that both devices run


def matrix(height=9, width=7, dtype=torch.float64, seed=0):
    """A dense matrix of which half is zero."""
    torch.manual_seed(seed)
    return (torch.randn(height, width, dtype=dtype) * (torch.rand(height, width) > 0.5)).detach()


LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
PROGRAMS = {
    "coalesce": lambda m, x: torch.sparse_coo_tensor(m.to_sparse().indices() // 2, m.to_sparse().values(), m.shape),
    "transpose": lambda m, x: m.to_sparse().t(),
    "permute": lambda m, x: m.to_sparse().permute(1, 0).coalesce(),
    "index_select": lambda m, x: m.to_sparse().index_select(0, torch.tensor([3, 0, 3], device=m.device)),
    "sum": lambda m, x: torch.sparse.sum(m.to_sparse(), 0),
    "softmax": lambda m, x: torch.sparse.softmax(m.to_sparse(), 1),
    "add": lambda m, x: m.to_sparse() + m.t().to_sparse().t(),
    "mul": lambda m, x: m.to_sparse() * m.roll(1, 0).to_sparse(),
    "mm": lambda m, x: torch.sparse.mm(m.to_sparse(), x),
    "dense_by_sparse": lambda m, x: x.t() @ m.t().to_sparse(),
    "addmm": lambda m, x: torch.sparse.addmm(torch.ones(9, 3).to(x), m.to_sparse(), x, beta=0.5),
    "csr_mm": lambda m, x: m.to_sparse_csr() @ x,
    "csc_mm": lambda m, x: m.to_sparse_csc() @ x,
    "mv": lambda m, x: m.to_sparse_csr().mv(x[:, 0]),
    "bsr": lambda m, x: m[:8, :6].to_sparse_bsr((2, 3)) @ x[:6],
    "sparse_by_sparse": lambda m, x: torch.sparse.mm(m.to_sparse(), m.t().to_sparse()),
    "mask": lambda m, x: (x @ x.t()).sparse_mask(m[:7].to_sparse()),
    "back": lambda m, x: m.to_sparse_csr().to_sparse_csc().to_sparse_coo(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    def run(m, x):
        found = PROGRAMS[name](m, x)
        return found if found.layout is torch.strided else found.to_dense()

    torch.manual_seed(1)
    m, x = matrix(), torch.randn(7, 3, dtype=torch.float64)
    sides = []
    for device in ("cpu", "cuda"):
        leaves = [each.to(device).requires_grad_() for each in (m, x)]
        out = run(*leaves)
        weights = torch.arange(out.numel(), dtype=torch.float64).sin().reshape(out.shape).to(device)
        sides.append([out, *torch.autograd.grad((out * weights).sum(), leaves, allow_unused=True)])
    for expected, ours in zip(*sides, strict=True):
        assert (ours is None) == (expected is None)
        if expected is not None:
            assert ours.device.type == "cuda"
            assert_near(ours.to_dense(), expected.to_dense())


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_moves(layout):
    here = matrix().to_sparse(layout=layout)
    there = here.cuda()
    assert (there.layout, there.device.type, there.values().device.type) == (layout, "cuda", "cuda")
    back = there.cpu()
    assert back.device.type == "cpu"
    assert torch.equal(back.to_dense(), here.to_dense())
    assert there.to("cpu", torch.float32).dtype == torch.float32
    assert_near(there.to_dense(), here.to_dense())


def test_a_move_has_a_gradient():
    leaf = matrix().to_sparse().coalesce().requires_grad_()
    leaf.cuda().to_dense().sin().sum().backward()
    assert leaf.grad.device.type == "cpu"
    assert_near(leaf.grad.to_dense(), matrix().cos() * (matrix() != 0))


def test_triangular_solve():
    lower = (torch.tril(matrix(9, 9)) + 4 * torch.eye(9, dtype=torch.float64)).detach()
    right = torch.arange(27.0, dtype=torch.float64).reshape(9, 3)
    for device in ("cpu", "cuda"):
        found = torch.triangular_solve(right.to(device), lower.to(device).to_sparse_csr(), upper=False).solution
        assert_near(lower @ found.cpu(), right)


@pytest.mark.parametrize("module", [torch.nn.Embedding, torch.nn.EmbeddingBag])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.SparseAdam, torch.optim.Adagrad])
def test_training_with_sparse_gradients(module, kind):
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = module(20, 5, sparse=True).to(device)
        optimizer = kind(model.parameters(), lr=0.1)
        for step in range(4):
            index = torch.randint(0, 20, (6, 3), generator=torch.Generator().manual_seed(step)).to(device)
            optimizer.zero_grad()
            model(index).sin().sum().backward()
            assert model.weight.grad.is_sparse
            optimizer.step()
        found.append(model.weight)
    assert_near(found[1], found[0])
