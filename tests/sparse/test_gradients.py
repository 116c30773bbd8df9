"""Gradients of sparse tensors: torch's values and layouts, finite differences, and second derivatives."""

import pytest
import torch

import adjoint

from ..compare import CLOSE, same
from . import coo, dense, seen, settled


def total(L, result):
    """A number that depends on every entry in a way of its own."""
    if result.layout is not L.strided:
        return L.sparse.sum(result * result)
    return (result * dense(L, *result.shape, seed=5)).sum()


# What torch can differentiate, too, and gives gradients of these layouts for.
WITH_TORCH = {
    "to_dense": lambda L, x, d: x.to_dense(),
    "to_dense_all": lambda L, x, d: x.to_dense(masked_grad=False),
    "to_dense_mul": lambda L, x, d: x.to_dense() * d,
    "coalesce": lambda L, x, d: x.coalesce(),
    "values": lambda L, x, d: x.coalesce().values() ** 2,
    "mul_number": lambda L, x, d: x * 2,
    "neg": lambda L, x, d: -x,
    "div": lambda L, x, d: x / 4,
    "mul_dense": lambda L, x, d: x.coalesce() * d,
    "dense_add": lambda L, x, d: d + x,
    "dense_sub": lambda L, x, d: d - x,
    "sum": lambda L, x, d: x.sum() * 2,
    "sparse_sum": lambda L, x, d: L.sparse.sum(x),
    "sparse_sum_0": lambda L, x, d: L.sparse.sum(x, 0),
    "t": lambda L, x, d: x.t(),
    "mm": lambda L, x, d: x.mm(d.t()),
    "matmul": lambda L, x, d: x @ d.t(),
    "mm_dense": lambda L, x, d: d.t().mm(x),
    "sparse_mm": lambda L, x, d: L.sparse.mm(x, d.t()),
    "mv": lambda L, x, d: x.mv(d[0]),
    "addmm": lambda L, x, d: L.addmm(L.ones(x.shape[0], x.shape[0], dtype=L.float64), x, d.t(), beta=2, alpha=3),
    "sparse_addmm": lambda L, x, d: L.sparse.addmm(L.ones(x.shape[0], x.shape[0], dtype=L.float64), x, d.t(), alpha=3),
    "sparse_sparse": lambda L, x, d: L.sparse.mm(x, x.t()).to_dense(),
    "softmax": lambda L, x, d: L.sparse.softmax(x, 1),
    "log_softmax": lambda L, x, d: L.sparse.log_softmax(x, 0),
    "clone": lambda L, x, d: x.clone(),
    "double": lambda L, x, d: x.to(L.float32).to(L.float64).to_dense(),
    "square": lambda L, x, d: x**2,
    "mask": lambda L, x, d: d.sparse_mask(x.detach()),
}


# The gradient of torch has entries where the factors have none.
LAYOUTS = [name for name in WITH_TORCH if name != "sparse_sparse"]


@pytest.mark.parametrize("kind", ["coalesced", "uncoalesced"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_torch(name, kind):
    def call(L):
        x = coo(L, kind).requires_grad_()
        d = dense(L, *x.shape).requires_grad_()
        result = WITH_TORCH[name](L, x, d)
        grads = L.autograd.grad(total(L, result), (x, d), allow_unused=True)
        return [settled(g) for g in grads]

    same(call, bound={"float64": CLOSE["float64"] * 1e3})


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_values(name):
    """The leaf is the tensor of values that a sparse one is made of."""

    def call(L):
        like = coo(L, "uncoalesced")
        values = like._values().clone().requires_grad_()
        x = L.sparse_coo_tensor(like._indices(), values, like.shape)
        d = dense(L, *x.shape).requires_grad_()
        return L.autograd.grad(total(L, WITH_TORCH[name](L, x, d)), (values, d), allow_unused=True)

    same(call, bound={"float64": CLOSE["float64"] * 1e3})


# Those that torch cannot differentiate, or not twice.
ALSO = {
    "sqrt": lambda L, x, d: x.sqrt(),
    "sin": lambda L, x, d: x.sin(),
    "tanh": lambda L, x, d: x.tanh(),
    "log1p": lambda L, x, d: x.log1p(),
    "norm": lambda L, x, d: x.norm(),
    "select": lambda L, x, d: x[1],
    "slice": lambda L, x, d: x[1:, :2],
    "index_select": lambda L, x, d: x.index_select(1, L.tensor([2, 0, 2])),
    "cat": lambda L, x, d: L.cat([x, x * 3], 1),
    "stack": lambda L, x, d: L.stack([x, x * x]),
    "unsqueeze": lambda L, x, d: x.unsqueeze(0),
    "mul_sparse": lambda L, x, d: x * (x + x),
    "add": lambda L, x, d: x + x * x.coalesce(),
    "sampled": lambda L, x, d: L.sparse.sampled_addmm(x, d, L.ones(x.shape[1], x.shape[1], dtype=L.float64), alpha=2),
    "bmm": lambda L, x, d: L.bmm(L.stack([x, x * 2]), L.stack([d.t(), d.t()])),
    "hspmm": lambda L, x, d: L.hspmm(x, d.t()),
    "smm": lambda L, x, d: L.smm(x, d.t()),
    "transpose": lambda L, x, d: x.transpose(0, 1) * 2,
}


@pytest.mark.parametrize("kind", ["coalesced", "uncoalesced", "hybrid", "empty"])
@pytest.mark.parametrize("name", {**WITH_TORCH, **ALSO})
def test_first_and_second_derivatives_by_differences(name, kind):
    if name == "double":
        return
    function = {**WITH_TORCH, **ALSO}[name]
    matrices = ("m", "t", "add", "sampled", "bmm", "smm", "hspmm", "sparse_", "index_select")
    if (
        kind == "hybrid"
        and name.startswith(matrices)
        and name not in ("to_dense", "to_dense_mul", "add", "index_select")
    ):
        return
    like = coo(adjoint, kind).coalesce()
    values = like.values().clone().requires_grad_()
    d = dense(adjoint, *like.shape).requires_grad_()

    def of_values(values, d):
        x = adjoint.sparse_coo_tensor(like.indices(), values, like.shape, is_coalesced=True)
        result = function(adjoint, x, d)
        return result.to_dense() if result.layout is not adjoint.strided else result

    result = of_values(values, d)
    inputs = tuple(adjoint.autograd.grad(result.sum(), (values, d), allow_unused=True, retain_graph=True))
    if all(g is None for g in inputs):
        return
    assert adjoint.autograd.gradcheck(of_values, (values, d))
    assert adjoint.autograd.gradgradcheck(of_values, (values, d))


@pytest.mark.parametrize("masked", [True, False])
def test_gradcheck_takes_sparse_inputs(masked):
    x = coo(adjoint, "coalesced").requires_grad_()
    check = adjoint.autograd.gradcheck
    assert check(lambda x: adjoint.sparse.mm(x, adjoint.ones(5, 2, dtype=x.dtype)), x, masked=masked)
    assert check(lambda x: x * x, x, masked=masked)
    assert adjoint.sparse.as_sparse_gradcheck(check)(lambda x: x.to_dense() ** 2, (x,), masked=masked)
    assert adjoint.autograd.gradgradcheck(lambda x: (x * x).to_dense(), x, masked=masked)


ACCUMULATED = {
    "sparse_sparse": ("sparse", "sparse"),
    "sparse_dense": ("sparse", "dense"),
    "dense_sparse": ("dense", "sparse"),
    "same": ("same", "same"),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ACCUMULATED)
def test_leaves_accumulate(name, create_graph):
    def call(L):
        w = dense(L, 5, 2).requires_grad_()
        for i, kind in enumerate(ACCUMULATED[name]):
            places = L.tensor([1, 3, 1] if kind == "same" else [i, 2, i])
            rows = L.nn.functional.embedding(places, w, sparse=kind != "dense")
            (rows**2).sum().backward(create_graph=create_graph)
        return settled(w.grad.detach())

    same(call)


def test_gradients_meet_inside_of_the_graph():
    def call(L):
        w = dense(L, 5, 2).requires_grad_()
        y = w * 2
        rows = L.nn.functional.embedding(L.tensor([1, 3, 1]), y, sparse=True)
        (rows**2).sum().backward(retain_graph=True)
        first = w.grad
        w.grad = None
        (rows.sum() + (y**2).sum()).backward()
        return [settled(first), settled(w.grad)]

    same(call)


def test_hooks_see_sparse_gradients():
    w = adjoint.ones(4, 2, requires_grad=True)
    seen_layouts = []
    w.register_hook(lambda g: seen_layouts.append(g.layout))
    w.register_hook(lambda g: g * 2)
    adjoint.nn.functional.embedding(adjoint.tensor([1]), w, sparse=True).sum().backward()
    assert seen_layouts == [adjoint.sparse_coo]
    assert w.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]


def test_in_place_changes_are_recorded():
    def call(L):
        x = coo(L, "coalesced").requires_grad_()
        y = x * 1
        y.mul_(3)
        y.add_(x.detach())
        (grad,) = L.autograd.grad(L.sparse.sum(y), x)
        return seen(grad)

    same(call)


def test_saved_tensors_that_were_changed_are_noticed():
    x = coo(adjoint, "coalesced").requires_grad_()
    y = x * 2
    z = y * y
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        adjoint.sparse.sum(z).backward()


def test_no_grad_and_detach():
    x = coo(adjoint).requires_grad_()
    with adjoint.no_grad():
        assert not (x * 2).requires_grad
    assert not x.detach().requires_grad
    assert x.detach().layout is adjoint.sparse_coo
    assert not x._values().requires_grad
    assert torch.equal(torch.tensor(x.detach().to_dense().tolist()), torch.tensor(x.to_dense().tolist()))
