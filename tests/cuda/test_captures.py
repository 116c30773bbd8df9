"""Kernels that need nothing of the host, and their gradients, captured in a graph, where a wait would raise."""

import pytest

import adjoint as torch
from adjoint.ops import language

from .both import assert_near

F = torch.nn.functional


def grid_sample(x):
    torch.manual_seed(1)
    grid = (torch.rand(2, 5, 6, 2, dtype=torch.float64) * 2 - 1).to(x.device)
    return [x.reshape(2, 3, 4, 10), grid], lambda x, grid: F.grid_sample(x, grid, align_corners=False)


def embedding_bag(mode):
    def made(x):
        index, starts = torch.arange(30).remainder(12).to(x.device), torch.tensor([0, 4, 4, 20]).to(x.device)
        return [x.reshape(12, 20), index, starts], lambda w, i, o: F.embedding_bag(i, w, o, mode=mode)

    return made


def multilabel_margin(x):
    labels = torch.tensor([[1, 5, -1, *[0] * 17]] * 12).to(x.device)
    return [x.reshape(12, 20), labels], F.multilabel_margin_loss


def ctc(x):
    labels = torch.tensor([[1, 2, 2], [3, 1, 0]]).to(x.device)
    return [x.reshape(12, 2, 10), labels], lambda s, t: F.ctc_loss(
        s.log_softmax(2), t, (12, 9), (3, 2), reduction="none"
    )


def sparse_product(x):
    starts, columns = (torch.tensor(each).to(x.device) for each in ([0, 2, 2, 4], [0, 3, 1, 1]))
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64).to(x.device)

    def run(dense, values, starts, columns):
        return language._sparse_rows_product(values, starts, None, columns, dense)

    return [x.reshape(12, 20), values, starts, columns], run


def sparse_solve(x):
    starts, columns = (torch.tensor(each).to(x.device) for each in ([0, 1, 3, 5], [0, 0, 1, 1, 2]))
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64).to(x.device)

    def run(dense, values, starts, columns):
        return language._sparse_rows_solve(values, starts, None, columns, dense, False, False)

    return [x.reshape(3, 80), values, starts, columns], run


CASES = {
    "grid_sample": grid_sample,
    "bags_of_sums": embedding_bag("sum"),
    "bags_of_means": embedding_bag("mean"),
    "greatest_of_bags": embedding_bag("max"),
    "multilabel_margin": multilabel_margin,
    "ctc": ctc,
    "sparse_product": sparse_product,
    "sparse_solve": sparse_solve,
}


@pytest.mark.parametrize("name", CASES)
def test_captured(name):
    torch.manual_seed(0)
    x = torch.randn(240, dtype=torch.float64)

    def results(given):
        (leaf, *others), function = CASES[name](given)
        differentiable = not name.startswith("sparse")
        leaf = leaf.detach().requires_grad_(differentiable)

        def run():
            out = function(leaf, *others)
            return [out, *(torch.autograd.grad(out.sin().sum(), [leaf]) if differentiable else ())]

        return run

    expected = results(x)()
    run = results(x.cuda())
    run()  # kernels are compiled before
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ours = run()
    for _ in range(2):
        graph.replay()
        for mine, theirs in zip(ours, expected, strict=True):
            assert_near(mine, theirs)
