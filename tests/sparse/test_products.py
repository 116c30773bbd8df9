"""Products of sparse matrices beside torch and dense ones; and the same bits for any number of threads."""

import pytest

import adjoint

from ..compare import CLOSE, same
from . import coo, dense, seen, settled

PRODUCTS = {
    "mm": lambda L, x, d: x.mm(d),
    "matmul": lambda L, x, d: x @ d,
    "torch_matmul": lambda L, x, d: L.matmul(x, d),
    "sparse_mm": lambda L, x, d: L.sparse.mm(x, d),
    "spmm": lambda L, x, d: L.spmm(x, d),
    "dense_sparse": lambda L, x, d: d.t() @ x.t(),
    "sparse_sparse": lambda L, x, d: L.sparse.mm(x, x.t()),
    "mv": lambda L, x, d: x.mv(d[:, 0]),
    "matmul_vector": lambda L, x, d: x @ d[:, 0],
    "addmm": lambda L, x, d: L.addmm(L.ones(d.shape[1], dtype=d.dtype), x, d, beta=2, alpha=0.5),
    "addmm_in_place": lambda L, x, d: L.ones(x.shape[0], d.shape[1], dtype=d.dtype).addmm_(x, d),
    "sparse_addmm": lambda L, x, d: L.sparse.addmm(L.ones(x.shape[0], d.shape[1], dtype=d.dtype), x, d, beta=0.5),
    "hspmm": lambda L, x, d: L.hspmm(x, d),
    "smm": lambda L, x, d: L.smm(x, d),
    "sspaddmm": lambda L, x, d: L.sspaddmm(L.smm(x, d), x, d, beta=2, alpha=3),
    "bmm": lambda L, x, d: L.bmm(L.stack([x, x]), L.stack([d, d * 2])),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("kind", ["coalesced", "uncoalesced", "empty", "no_rows"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, kind, dtype):
    if name == "bmm" and (dtype.startswith("complex") or kind == "no_rows"):
        return  # torch has none

    def call(L):
        x = coo(L, kind, dtype)
        d = dense(L, x.shape[1], 3, dtype=dtype)
        return settled(PRODUCTS[name](L, x, d))

    bound = dict.fromkeys(("float64", "float32", "complex128"), CLOSE["float32"] * 10)
    same(call, bound=bound, warned=None)  # torch says that CSR, by way of which it multiplies, is in beta


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "int32", "bool", "complex64"])
def test_other_types_multiply_as_dense_ones_do(dtype):
    x, kind = coo(adjoint, "coalesced", dtype), getattr(adjoint, dtype)
    d = (dense(adjoint, 5, 3) * 4).to(kind)
    if dtype == "bool":
        assert ((x @ d) == (x.to_dense().int() @ d.int() > 0)).all()
        return
    expected = x.to_dense() @ d
    assert adjoint.allclose((x @ d).to(expected.dtype), expected, rtol=1e-2)


REFUSED = {
    "sizes": lambda L, x: x @ L.ones(7, 2, dtype=x.dtype),
    "sampled_dense": lambda L, x: L.sparse.sampled_addmm(x.to_dense(), L.ones(4, 2), L.ones(2, 5)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(RuntimeError):
        REFUSED[name](adjoint, coo(adjoint, "coalesced"))


def test_sampled_addmm_is_the_product_at_the_entries():
    x = coo(adjoint, "uncoalesced")
    a, b = dense(adjoint, 3, 6), dense(adjoint, 6, 4, seed=2)
    found = adjoint.sparse.sampled_addmm(x, a, b, beta=0.5, alpha=2)
    expected = (a @ b)[tuple(x._indices())] * 2 + x._values() * 0.5
    assert adjoint.allclose(found._values(), expected)


SOFTMAX = [(name, kind, dim) for name in ("softmax", "log_softmax") for kind in ("coalesced", "uncoalesced", "hybrid",
           "empty", "cube") for dim in (0, 1, -1)]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "dim"), SOFTMAX)
def test_softmax(name, kind, dim):
    def call(L):
        x = coo(L, kind)
        return seen(getattr(L.sparse, name)(x, dim % x.dim()))

    same(call, bound={"float64": CLOSE["float64"] * 1e3})


def test_bits_do_not_depend_on_threads():
    size, count = 3000, 60000
    adjoint.manual_seed(0)
    places = adjoint.randint(0, size, (2, count))
    values = adjoint.randn(count)
    d = adjoint.randn(size, 37)

    def results():
        x = adjoint.sparse_coo_tensor(places, values, (size, size))
        c = x.coalesce().requires_grad_()
        y = d.clone().requires_grad_()
        product = adjoint.sparse.mm(c, y)
        product.backward(product.detach())
        return [x.coalesce()._values(), product.detach(), x @ d, y.grad, c.grad._values(), x.to_dense()]

    before = adjoint.get_num_threads()
    try:
        adjoint.set_num_threads(1)
        one = results()
        adjoint.set_num_threads(2)
        assert all(adjoint.equal(a, b) for a, b in zip(one, results(), strict=True))
    finally:
        adjoint.set_num_threads(before)


def test_large_coalesce_is_exact():
    adjoint.manual_seed(1)
    places = adjoint.randint(0, 50, (3, 200_000))
    values = adjoint.randint(-5, 5, (200_000, 2))
    x = adjoint.sparse_coo_tensor(places, values, (50, 50, 50, 2)).coalesce()
    expected = adjoint.zeros(50, 50, 50, 2, dtype=adjoint.int64).index_put(tuple(places), values, accumulate=True)
    assert adjoint.equal(x.to_dense(), expected)
    keys = (x.indices()[0] * 50 + x.indices()[1]) * 50 + x.indices()[2]
    assert bool((keys.diff() > 0).all())


def test_products_under_transforms_of_functions():
    a, d = coo(adjoint, "coalesced"), dense(adjoint, 5, 2)
    plain = a.to_dense()
    func = adjoint.func

    def of(matrix):
        return lambda d: (matrix @ d).sin()

    assert adjoint.allclose(func.grad(lambda d: of(a)(d).sum())(d), func.grad(lambda d: of(plain)(d).sum())(d))
    ours, expected = (func.jvp(of(matrix), (d,), (d,)) for matrix in (a, plain))
    assert adjoint.allclose(ours[1], expected[1])
    ours, expected = (func.hessian(lambda d, matrix=matrix: of(matrix)(d).sum())(d) for matrix in (a, plain))
    assert adjoint.allclose(ours, expected)
    batched = func.vmap(lambda d: adjoint.sparse.mm(a, d))(adjoint.stack([d, d * 2]))
    assert adjoint.allclose(batched[1], plain @ d * 2)

    def of_values(values):
        return adjoint.sparse.mm(adjoint.sparse_coo_tensor(a.indices(), values, a.shape), d).sin().sum()

    gradients = func.grad(of_values)(a.values())
    expected = func.grad(lambda matrix: (matrix @ d).sin().sum())(plain)
    assert adjoint.allclose(gradients, expected[tuple(a.indices())])
    with pytest.raises(NotImplementedError, match="vmap: a sparse tensor cannot have values that differ"):
        func.vmap(of_values)(adjoint.stack([a.values()] * 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, x: x.to_sparse(),
        lambda a, x: x.to_sparse_csr(),
        lambda a, x: x.to_sparse() @ x,
        lambda a, x: (a * x).to_dense(),
        lambda a, x: x.sparse_mask(a),
    ],
)
def test_tangents_are_not_lost(call):
    """A sparse tensor carries no tangent: what would give it one refuses."""
    x = dense(adjoint, 4, 4)
    a = adjoint.eye(4, dtype=x.dtype).to_sparse()
    with pytest.raises(NotImplementedError, match=r"forward AD .* sparse tensors carry no tangents"):
        adjoint.func.jvp(lambda x: call(a, x), (x,), (x,))


def test_modes():
    a, d = coo(adjoint, "coalesced", "float32"), dense(adjoint, 5, 2, dtype="float32")
    with adjoint.autocast("cpu", dtype=adjoint.bfloat16):
        assert (a @ d).dtype is adjoint.bfloat16
        with adjoint.inspect.trace():
            assert (a @ d).dtype is adjoint.bfloat16
    with adjoint.inference_mode():
        assert (a * 2).is_inference()
    assert (a.to("cpu") is a, a.device.type, a.is_cpu) == (True, "cpu", True)
