"""Bags of rows on the device against the CPU."""

import pytest

import adjoint as torch

from .both import assert_near, both_ways

F = torch.nn.functional
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def indices(n, rows, seed=1):
    torch.manual_seed(seed)
    return torch.randint(0, rows, (n,))


def offsets(n, bags, seed=2):
    """Some bags are empty, and the first begins at 0."""
    torch.manual_seed(seed)
    starts = torch.randint(0, n + 1, (bags,)).sort().values
    starts[0] = 0
    return starts


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(("n", "bags", "width"), [(1, 1, 1), (33, 7, 5), (700, 90, 33), (5000, 11, 3), (300, 400, 70)])
def test_modes(mode, n, bags, width):
    torch.manual_seed(0)
    table, index, starts = torch.randn(29, width, dtype=torch.float64), indices(n, 29), offsets(n, bags)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), table, index, starts)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, padding_idx=3), table, index, starts)
    if bags > 1:
        both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, include_last_offset=True), table, index, starts)


@pytest.mark.parametrize(("n", "bags", "width"), [(33, 7, 5), (700, 90, 40), (9000, 2, 2)])
def test_factors(n, bags, width):
    torch.manual_seed(0)
    table, factors = torch.randn(29, width, dtype=torch.float64), torch.randn(n, dtype=torch.float64)
    index, starts = indices(n, 29), offsets(n, bags)
    both_ways(lambda w, f, i, o: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=f, padding_idx=5),
              table, factors, index, starts)  # fmt: skip


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_types(mode, dtype):
    torch.manual_seed(0)
    table = (torch.randn(40, 9) * 8).round().div(8).to(dtype)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), table, indices(300, 40), offsets(300, 50))
    both_ways(lambda w, i: F.embedding_bag(i.view(20, 15), w, mode=mode), table, indices(300, 40).int())


def test_halves_are_added_up_in_float32():
    """4096 ones in a half: one more would be lost each time."""
    table = torch.ones(2, 3, dtype=torch.float16, device="cuda").requires_grad_()
    index = torch.zeros(4096, dtype=torch.int64, device="cuda")
    out = F.embedding_bag(index, table, torch.tensor([0], device="cuda"), mode="sum")
    assert out.tolist() == [[4096.0] * 3]
    out = F.embedding_bag(index, table, torch.arange(4096, device="cuda"), mode="sum")
    out.backward(torch.ones_like(out))
    assert table.grad.tolist() == [[4096.0] * 3, [0.0] * 3]
    table.grad = None
    out = F.embedding_bag(index, table, torch.arange(4096, device="cuda"), mode="max")
    out.backward(torch.ones_like(out))
    assert table.grad.tolist() == [[4096.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_by_frequency(mode):
    torch.manual_seed(0)
    table = torch.randn(12, 6, dtype=torch.float64)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, scale_grad_by_freq=True, padding_idx=4),
              table, indices(500, 12), offsets(500, 40))  # fmt: skip


def test_greatest_with_nan():
    table = torch.randn(6, 4)
    table[2, 1] = table[0, 0] = float("nan")
    index, starts = torch.tensor([0, 1, 2, 3, 2, 4]), torch.tensor([0, 3, 4])
    ours = F.embedding_bag(index.cuda(), table.cuda(), starts.cuda(), mode="max")
    assert_near(ours, F.embedding_bag(index, table, starts, mode="max"))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_nothing(mode):
    none = torch.tensor([], dtype=torch.int64)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), torch.ones(4, 3), none, torch.tensor([0, 0, 0]))
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), torch.ones(4, 3), none, none)


@pytest.mark.parametrize("rows", [1, 2, 3, 40])
@pytest.mark.parametrize("n", [31, 32, 33, 64, 65, 200, 1025])
def test_rows_that_occur_everywhere(rows, n):
    """A row's gradient is put together from chunks of 32 indices: it ends within one, or goes on for many."""
    torch.manual_seed(0)
    table = torch.randn(rows, 3, dtype=torch.float64)
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o), table, indices(n, rows), offsets(n, 20))
    both_ways(lambda w, i, o: F.embedding_bag(i, w, o, padding_idx=0), table, indices(n, rows), offsets(n, 20))


def test_gradients_have_one_order():
    torch.manual_seed(0)
    table = torch.randn(5, 33, device="cuda")
    index, starts = indices(3000, 5).cuda(), offsets(3000, 700).cuda()
    for mode in ("sum", "max"):
        found = []
        for _ in range(2):
            leaf = table.detach().requires_grad_()
            F.embedding_bag(index, leaf, starts, mode=mode).sin().sum().backward()
            found.append(leaf.grad)
        assert torch.equal(*found)


@pytest.mark.parametrize(
    ("index", "starts", "message"),
    [
        ([1, 2, 9], [0, 1], r"an index of input takes value 9 which is not in the valid range \[0, 4\)"),
        ([1, -2, 3], [0, 1], r"an index of input takes value -2 which is not in the valid range \[0, 4\)"),
        ([1, 2, 3], [1, 2], r"offsets\[0\] has to be 0.*got 1"),
        ([1, 2, 3], [0, 7], r"offsets\[-1\] can not be greater than input's length 3 but got offsets\[-1\] of 7"),
        ([1, 2, 3], [0, 2, 1], "expected offsets that do not decrease; got 1 after 2"),
    ],
)
@pytest.mark.parametrize("mode", ["mean", "max"])
def test_wrong_values(index, starts, message, mode):
    """They are found by the device, do no harm there, and are raised by whoever waits."""
    table = torch.ones(4, 2, device="cuda")
    out = F.embedding_bag(torch.tensor(index).cuda(), table, torch.tensor(starts).cuda(), mode=mode)
    with pytest.raises(RuntimeError, match=message):
        out.cpu()
    assert table.sum().item() == 8


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_one_bag_for_many_weights_at_once(mode):
    table, index, weights = torch.randn(5, 1), torch.tensor([[1, 1, 3]]), torch.arange(1.0, 8.0).reshape(7, 1, 1)

    def rows(table, index, weights):
        leaf = table.requires_grad_()
        return torch.autograd.grad(F.embedding_bag(index, leaf, mode=mode), leaf, weights, is_grads_batched=True)[0]

    assert_near(rows(table.cuda(), index.cuda(), weights.cuda()), rows(table, index, weights))
