"""Every op of sparse tensors beside torch, and beside the same op of dense ones; in place, too."""

import pytest
import torch

import adjoint

from ..compare import same
from . import KINDS, coo, dense, seen, settled

# name -> (the call, whether torch gives entries in an order of its own). `x` is of the kind, `y` another of its sizes.
OPS = {
    "neg": lambda L, x: -x,
    "mul_number": lambda L, x: x * 2.5,
    "number_mul": lambda L, x: 2 * x,
    "mul_scalar": lambda L, x: x * L.tensor(3.0, dtype=L.float64),
    "div": lambda L, x: x / 4,
    "floor_divide": lambda L, x: x // 2,
    "mul_self": lambda L, x: x * x,
    "mul_sparse": lambda L, x: x.coalesce() * (x * 2).coalesce(),
    "mul_dense": lambda L, x: x * dense(L, *x.shape),
    "dense_mul": lambda L, x: dense(L, *x.shape) * x,
    "mul_broadcast": lambda L, x: x.coalesce() * dense(L, 2, *x.shape),
    "mul_row": lambda L, x: x * dense(L, x.shape[-1]),
    "add": lambda L, x: x + x,
    "add_alpha": lambda L, x: L.add(x.coalesce(), x.coalesce(), alpha=3),
    "sub": lambda L, x: x - x * 3,
    "dense_add": lambda L, x: dense(L, *x.shape) + x,
    "dense_sub": lambda L, x: dense(L, *x.shape) - x,
    "pow": lambda L, x: x**2,
    "pow_root": lambda L, x: x**0.5,
    "pow_other": lambda L, x: x**1.5,
    "conj_physical": lambda L, x: x.conj_physical(),
    "sum": lambda L, x: x.sum(),
    "sum_dtype": lambda L, x: x.sum(dtype=L.float32),
    "sum_first": lambda L, x: x.sum(0),
    "sum_last": lambda L, x: x.sum(-1),
    "sparse_sum": lambda L, x: L.sparse.sum(x),
    "sparse_sum_0": lambda L, x: L.sparse.sum(x, 0),
    "norm": lambda L, x: x.norm(),
    "norm_1": lambda L, x: x.norm(1),
    "any": lambda L, x: x.any(),
    "transpose": lambda L, x: x.transpose(0, min(1, x.sparse_dim() - 1)),
    "clone": lambda L, x: x.clone(),
    "detach": lambda L, x: x.detach(),
    "float": lambda L, x: x.float(),
    "to_dense": lambda L, x: x.to_dense(),
    "coalesce": lambda L, x: x.coalesce(),
    "unsqueeze": lambda L, x: [x.unsqueeze(0), x.unsqueeze(-1)],
    "cat": lambda L, x: L.cat([x, x * 2]),
    "cat_last": lambda L, x: L.cat([x, x * 2], -1),
    "stack": lambda L, x: L.stack([x, x], 0),
    "select": lambda L, x: x[1] if x.shape[0] else x[:, 1],
    "select_last": lambda L, x: x.select(-1, 1),
    "index_select": lambda L, x: x.index_select(-1, L.tensor([1, 0, 1])),
    "narrow_copy": lambda L, x: x.narrow_copy(x.dim() - 1, 1, 1),
    "iterate": lambda L, x: list(x),
    "mask_dense": lambda L, x: dense(L, *x.shape).sparse_mask(x),
    "mask_sparse": lambda L, x: (x * 2).coalesce().sparse_mask(x.coalesce()),
    "is_same_size": lambda L, x: x.is_same_size(x),
    "resize_as": lambda L, x: x.clone().resize_as_(x),
}
UNARY = (
    *("abs", "asinh", "atan", "ceil", "deg2rad", "erf", "expm1", "floor", "frac", "isinf", "isnan", "isneginf"),
    *("isposinf", "log1p", "nan_to_num", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPS)
def test_ops(name, kind):
    def call(L):
        result = OPS[name](L, coo(L, kind))
        return settled(result) if name in ("sub", "index_select", "unsqueeze") else seen(result)

    if name == "cat_last" and kind == "hybrid":
        same(lambda L: OPS[name](L, coo(L, kind)).to_dense())
        return
    same(call)


DENSE = {name: call for name, call in OPS.items() if "sparse" not in name and "mask" not in name}
NOT_DENSE = {"coalesce", "is_same_size", "narrow_copy", "resize_as", "transpose"}
DENSE = {name: call for name, call in DENSE.items() if name not in NOT_DENSE}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DENSE)
def test_ops_are_those_of_dense_tensors(name, kind):
    def full(result):
        return (
            [full(item) for item in result] if isinstance(result, list | tuple) else getattr(result, "to_dense", int)()
        )

    x = coo(adjoint, kind)
    if name in ("mul_self", "mul_sparse", "add_alpha", "floor_divide", "mul_broadcast"):
        x = x.coalesce()  # what is not linear, of each entry
    ours, plain = full(OPS[name](adjoint, x)), x.to_dense()
    expected = full(
        OPS[name](adjoint, Coalesced(plain) if name in ("mul_sparse", "add_alpha", "mul_broadcast") else plain)
    )
    for mine, theirs in zip(*(v if isinstance(v, list) else [v] for v in (ours, expected)), strict=True):
        torch.testing.assert_close(torch.tensor(mine.tolist()), torch.tensor(theirs.tolist()), equal_nan=True)


class Coalesced:
    """A dense tensor that is coalesced by nature."""

    def __init__(self, tensor):
        self.tensor = tensor

    def coalesce(self):
        return self.tensor

    @property
    def shape(self):
        return self.tensor.shape

    def __mul__(self, other):
        return Coalesced(self.tensor * other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_keep_zero(name, kind):
    same(lambda L: seen(getattr(coo(L, kind), name)()))


@pytest.mark.parametrize("name", [name for name in UNARY if not name.startswith("is") and name != "signbit"])
def test_functions_in_place(name):
    def call(L):
        x = coo(L, "coalesced")
        return seen([getattr(x, f"{name}_")() is x, x])

    same(call)


IN_PLACE = {
    "mul": lambda L, x: x.mul_(2),
    "div": lambda L, x: x.div_(2),
    "neg": lambda L, x: x.neg_(),
    "add": lambda L, x: x.add_(x, alpha=2),
    "iadd": lambda L, x: x.__iadd__(x),
    "sub": lambda L, x: x.sub_(x),
    "mul_sparse": lambda L, x: x.mul_(x.clone()),
    "zero": lambda L, x: x.zero_(),
    "copy": lambda L, x: x.copy_(x * 3),
    "dense_add": lambda L, x: dense(L, *x.shape).add_(x),
    "dense_sub": lambda L, x: dense(L, *x.shape).sub_(x, alpha=2),
    "dense_mul": lambda L, x: dense(L, *x.shape).mul_(x),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name, kind):
    look = settled if name == "mul" else seen  # torch forgets that the entries are in order
    same(lambda L: look([IN_PLACE[name](L, x := coo(L, kind)), x]))


REFUSED = {
    "exp": lambda L, x: x.exp(),
    "cos": lambda L, x: L.cos(x),
    "add_number": lambda L, x: x + 1,
    "add_dense": lambda L, x: x + dense(L, *x.shape),
    "div_dense": lambda L, x: x / dense(L, *x.shape),
    "pow_0": lambda L, x: x**0,
    "max": lambda L, x: x.max(),
    "nonzero": lambda L, x: x.nonzero(),
    "view": lambda L, x: x.view(-1),
    "reshape": lambda L, x: x.reshape(-1),
    "sizes": lambda L, x: x + coo(L, "coalesced"),
    "mul_sizes": lambda L, x: x * coo(L, "coalesced"),
    "dense_add_sizes": lambda L, x: L.ones(3) + x,
    "index": lambda L, x: x[L.tensor([0, 1])],
    "out_of_range": lambda L, x: x[5],
    "dimension": lambda L, x: x.sum(5),
    "norm_dim": lambda L, x: x.norm(dim=0),
    "sin_": lambda L, x: x.sin_(),
    "fill_": lambda L, x: x.fill_(1),
    "resize_": lambda L, x: x.resize_(3, 3),
    "copy_dense": lambda L, x: x.copy_(dense(L, *x.shape)),
    "dense_copy": lambda L, x: dense(L, *x.shape).copy_(x),
    "cat_dense": lambda L, x: L.cat([x, dense(L, *x.shape)]),
    "ones_like": lambda L, x: L.ones_like(x),
    "bool": lambda L, x: bool(x),
    "contiguous": lambda L, x: x.contiguous(),
    "permute": lambda L, x: x.permute(0, 0),
    "leaf": lambda L, x: x.requires_grad_().mul_(2),
    "integers": lambda L, x: x.long().requires_grad_(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    kinds, texts = [], []
    for L in (torch, adjoint):
        with pytest.raises((RuntimeError, TypeError, IndexError)) as error:
            REFUSED[name](L, coo(L))
        kinds.append(error.type.__name__)
        texts.append(str(error.value))
    assert kinds[0] == kinds[1], texts
    theirs = texts[0].split("\n")[0]
    if theirs.startswith("Could not run"):
        assert texts[1].startswith("Could not run 'aten::"), texts
        assert "with arguments from the 'SparseCPU' backend. This could be because the operator doesn't" in texts[1]
    else:
        assert texts[1].startswith(theirs[: min(len(theirs), 30)]), texts


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "int32"])
def test_types_of_arithmetic(dtype):
    def call(L):
        x = coo(L, "uncoalesced", dtype)
        results = [x + x, x * 2, x.coalesce() * x.coalesce(), L.sparse.sum(x, 0), x.sum(), x.to_dense(), x / 2]
        return seen([*results, x.int() + x.float()] if "complex" not in dtype else results)

    same(call)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "bool"])
def test_types_that_torch_does_not_add(dtype):
    x = coo(adjoint, "uncoalesced", dtype)
    assert adjoint.equal((x + x).to_dense(), x.to_dense() + x.to_dense())
    assert (x + x).dtype == x.dtype
    assert adjoint.equal(x.to_dense(adjoint.float64), x.to_dense().double())


def test_slices_are_those_of_dense_tensors():
    x = coo(adjoint, "cube")
    for key in ((slice(1, None),), (0, slice(None, None, 2)), (..., slice(1, 3)), (None, 1), (slice(None), None, 2)):
        assert adjoint.equal(x[key].to_dense(), x.to_dense()[key]), key
    h = coo(adjoint, "hybrid")
    assert adjoint.equal(h[:, :, 1].to_dense(), h.to_dense()[:, :, 1])
    assert adjoint.equal(h[1:, 2:].to_dense(), h.to_dense()[1:, 2:])
    assert adjoint.equal(h.squeeze().to_dense(), h.to_dense())


def test_types_of_old():
    def call(L):
        x = L.sparse.FloatTensor(L.tensor([[0, 1]]), L.tensor([1.0, 2.0]), L.Size([3]))
        kinds = [
            isinstance(x, L.sparse.FloatTensor),
            isinstance(x, L.sparse.DoubleTensor),
            isinstance(x, L.FloatTensor),
        ]
        return [seen(x), seen(L.sparse.DoubleTensor(2, 3)), *kinds, x.type()]

    same(call)


def test_what_patterns_know_follows_changes_of_their_indices():
    x = adjoint.eye(3).to_sparse()
    assert (x @ adjoint.ones(3)).tolist() == [1, 1, 1]
    x.indices()[0, 2] = 1
    assert (x @ adjoint.ones(3)).tolist() == [1, 2, 0]


def test_flatten():
    same(lambda L: seen(coo(L, "vector").flatten()))
    same(lambda L: coo(L, "uncoalesced").flatten())
