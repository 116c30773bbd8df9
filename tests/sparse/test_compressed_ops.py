"""Functions of compressed tensors beside torch, or dense tensors where torch has none; gradients of both orders."""

import random

import numpy as np
import pytest
import torch

import adjoint

from .test_compressed import LAYOUTS, NUMBERS, _beta, both, dense, matrix, same, seen

__all__ = ["_beta"]
SMALL = NUMBERS / 8


def close(ours, theirs, bound=1e-6):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=bound, atol=bound)


# ---- Elements

KEEP_ZERO = (
    *("abs", "angle", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac"),
    *("isinf", "isnan", "isneginf", "isposinf", "log1p", "neg", "positive", "rad2deg", "relu", "round", "sgn", "sign"),
    *("signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KEEP_ZERO)
def test_functions_that_keep_zeros(name, layout):
    ours, theirs = (getattr(L, name)(matrix(L, layout, numbers=SMALL)) for L in (adjoint, torch))
    assert (str(ours.layout), str(ours.dtype)) == (str(theirs.layout), str(theirs.dtype))
    close(ours.values().numpy(), theirs.values().numpy())
    if hasattr(torch.Tensor, f"{name}_"):
        x = matrix(adjoint, layout, numbers=SMALL)
        assert getattr(x, f"{name}_")() is x
        close(x.values().numpy(), theirs.values().numpy())


NUMBERS_AND_TENSORS = {
    "times_number": lambda L, x, y, d: x * 2,
    "number_times": lambda L, x, y, d: 2 * x,
    "times_tensor": lambda L, x, y, d: x * L.tensor(3.0, dtype=x.dtype),
    "plus_itself": lambda L, x, y, d: x + x,
    "plus": lambda L, x, y, d: x + y,
    "plus_alpha": lambda L, x, y, d: x.add(y, alpha=2),
    "dense_plus": lambda L, x, y, d: d + x,
    "plus_dense": lambda L, x, y, d: x + d,
    "times": lambda L, x, y, d: x * y,
    "times_dense": lambda L, x, y, d: x * d,
    "dense_times": lambda L, x, y, d: d * x,
    "in_place_times": lambda L, x, y, d: x.clone().mul_(2),
    "in_place_plus": lambda L, x, y, d: x.clone().add_(x),
    "dense_in_place": lambda L, x, y, d: d.clone().add_(x),
    "sum": lambda L, x, y, d: x.sum(),
    "sum_double": lambda L, x, y, d: x.sum(dtype=L.float64),
    "sparse_mask": lambda L, x, y, d: d.sparse_mask(x),
    "coo_sparse_mask": lambda L, x, y, d: d.to_sparse().sparse_mask(x),
    "conj": lambda L, x, y, d: x.conj(),
}
MORE = np.array([[1, 1, 0, 2], [3, 0, 7, 0], [0, 4, 5, 0], [0, 0, 0, 6]], dtype=np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NUMBERS_AND_TENSORS)
def test_arithmetic(name, layout, dtype):
    def call(L):
        x, y = matrix(L, layout, dtype), matrix(L, layout, dtype, MORE)
        return NUMBERS_AND_TENSORS[name](L, x, y, dense(L, dtype, MORE))

    theirs, ours = both(call)
    if isinstance(theirs[0], str) and theirs[0].endswith("Error"):  # torch has it for CSR alone
        x, y = matrix(adjoint, layout, dtype), matrix(adjoint, layout, dtype, MORE)
        result = NUMBERS_AND_TENSORS[name](adjoint, x, y, dense(adjoint, dtype, MORE))
        expected = NUMBERS_AND_TENSORS[name](adjoint, x.to_dense(), y.to_dense(), dense(adjoint, dtype, MORE))
        close(result.to_dense().numpy(), expected.numpy())
    else:
        assert ours == theirs


def test_what_torch_does_not_have_is_right():
    d, x = dense(adjoint), matrix(adjoint, "csr")
    assert (x / 2).to_dense().equal(d / 2)
    assert (x - x.t()).to_dense().equal(d - d.t())
    assert (x + x.t()).to_dense().equal(d + d.t())
    assert (x + x.to_sparse()).to_dense().equal(d + d)
    assert (x**2).to_dense().equal(d**2)
    batch = adjoint.stack([d, d.t()])
    assert adjoint.bmm(batch.to_sparse_csr(), batch).equal(batch @ batch)
    assert (batch.to_sparse_csr() + batch.to_sparse_csr()).to_dense().equal(batch * 2)
    other = adjoint.stack([d.t(), d])
    assert (batch.to_sparse_csr() + other.to_sparse_csr()).to_dense().equal(batch + other)


def test_sums_over_dimensions():
    same(lambda L: matrix(L, "csr").sum(0, keepdim=True))
    same(lambda L: matrix(L, "csr").sum(1, keepdim=True))
    same(lambda L: matrix(L, "csr").sum((0, 1), keepdim=True))
    same(lambda L: matrix(L, "csr").sum(0, keepdim=True, dtype=L.float64))
    same(lambda L: L.sparse_csr_tensor([0, 0, 1], [0], [2.0], (2, 2)).sum(1, keepdim=True))
    same(lambda L: L.sparse_csr_tensor([0, 0, 1], [0], [2.0], (2, 2)).sum(0, keepdim=True))
    same(lambda L: matrix(L, "csr", "int32").sum())


# ---- Products

PRODUCTS = {
    "mm": lambda L, x, d: x @ d,
    "mm_dense_first": lambda L, x, d: d @ x,
    "mv": lambda L, x, d: x @ d[0],
    "vector_first": lambda L, x, d: d[0] @ x,
    "batch_first": lambda L, x, d: L.stack([d, d]) @ x,
    "addmm": lambda L, x, d: L.addmm(d, x, d, beta=2, alpha=3),
    "addmm_dense_first": lambda L, x, d: L.addmm(d[0], d, x),
    "addmv": lambda L, x, d: L.addmv(d[0], x, d[0]),
    "sparse_mm": lambda L, x, d: L.sparse.mm(x, d),
    "sparse_addmm": lambda L, x, d: L.sparse.addmm(d, x, d, beta=0.5),
    "sparse_sparse": lambda L, x, d: x @ x,
    "sparse_transposed": lambda L, x, d: x @ x.t(),
    "linear": lambda L, x, d: L.nn.functional.linear(d, x),
    "linear_bias": lambda L, x, d: L.nn.functional.linear(d, x, d[0]),
    "linear_vector": lambda L, x, d: L.nn.functional.linear(d[0], x),
    "linear_batch": lambda L, x, d: L.nn.functional.linear(L.stack([d, d]), x, d[0]),
    "transposed": lambda L, x, d: x.t() @ d,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, layout, dtype):
    ours = PRODUCTS[name](adjoint, matrix(adjoint, layout, dtype), dense(adjoint, dtype, MORE))
    expected = PRODUCTS[name](adjoint, dense(adjoint, dtype), dense(adjoint, dtype, MORE))
    close(ours.to_dense().numpy(), expected.numpy())
    theirs = both(lambda L: PRODUCTS[name](L, matrix(L, layout, dtype), dense(L, dtype, MORE)))[0]
    if not (isinstance(theirs[0], str) and theirs[0].endswith("Error")):
        assert str(ours.layout) == (theirs[0] if "sparse" in theirs[0] else "torch.strided")


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(reduce):
    numbers = np.array([[0, 1, 0, -2], [0, 0, 0, 0], [1, 4, 5, 0], [0, 0, 0, 6]], dtype=np.float64)

    found = []
    for L in (adjoint, torch):
        x = matrix(L, "csr", numbers=numbers).requires_grad_()
        d = (dense(L, numbers=MORE) - 3).requires_grad_()
        y = L.sparse.mm(x, d, reduce)
        (y * y).sum().backward()
        assert str(x.grad.layout) == "torch.sparse_csr"
        found.append((y.detach(), x.grad.values(), d.grad))
    for ours, theirs in zip(*found, strict=True):
        close(ours.numpy(), theirs.numpy())


def test_equal_products_leave_the_gradient_to_the_first():
    def call(L):
        x = L.sparse_csr_tensor([0, 3, 3], [0, 1, 2], [1.0, 1, 1], (2, 3), requires_grad=True)
        d = L.ones(3, 2, requires_grad=True)
        L.sparse.mm(x, d, "amax").sum().backward()
        return x.grad, d.grad

    same(call)


def test_products_at_the_entries():
    same(lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L), dense(L)))
    same(lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L), dense(L), alpha=2, beta=0.5))
    same(lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L), dense(L), out=matrix(L, "csr")))
    same(lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), L.stack([dense(L)] * 2), L.stack([dense(L)] * 2)))
    same(
        lambda L: L.sparse.sampled_addmm(
            L.stack([dense(L), dense(L).t()]).to_sparse_csr(), L.stack([dense(L)] * 2), L.stack([dense(L)] * 2)
        )
    )


# ---- Gradients

GRADIENTS = {
    **{name: PRODUCTS[name] for name in ("mm", "mm_dense_first", "mv", "addmm", "sparse_sparse", "linear")},
    "to_dense": lambda L, x, d: x.to_dense(),
    "to_dense_unmasked": lambda L, x, d: x.to_dense(masked_grad=False),
    "to_coo": lambda L, x, d: x.to_sparse(),
    "to_csr": lambda L, x, d: x.to_sparse_csr(),
    "to_csc": lambda L, x, d: x.to_sparse_csc(),
    "transpose": lambda L, x, d: x.t(),
    "times": lambda L, x, d: x * 2,
    "squares": lambda L, x, d: x * x,
    "plus": lambda L, x, d: x + x,
    "plus_dense": lambda L, x, d: x + d,
    "dense_plus": lambda L, x, d: d + x,
    "neg": lambda L, x, d: -x,
    "abs": lambda L, x, d: x.abs(),
    "relu": lambda L, x, d: x.relu(),
    "sum": lambda L, x, d: x.sum(),
    "values": lambda L, x, d: x.values(),
    "sampled": lambda L, x, d: L.sparse.sampled_addmm(x, d, d),
    "clone": lambda L, x, d: x.clone(),
    "double": lambda L, x, d: x.double(),
    "sparse_mm": PRODUCTS["sparse_mm"],
    "sparse_addmm": PRODUCTS["sparse_addmm"],
}


def made_of(L, layout, values):
    """A tensor of the pattern of matrix(), of these values."""
    x = matrix(L, layout)
    parts = ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices")
    return getattr(L, f"sparse_{layout}_tensor")(*(getattr(x, part)() for part in parts), values, (4, 4))


@pytest.mark.parametrize("leaf", ["tensor", "values"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, layout, leaf):
    def call(L):
        d = dense(L, numbers=MORE).requires_grad_()
        if leaf == "tensor":
            x = matrix(L, layout).requires_grad_()
        else:
            values = matrix(L, layout).values().clone().requires_grad_()
            x = made_of(L, layout, values)
        y = GRADIENTS[name](L, x, d)
        y = y if str(y.layout) == "torch.strided" else y.to_dense()
        (y * y).sum().backward()
        found = x.grad if leaf == "tensor" else values.grad
        # torch leaves the columns of this one in any order.
        return found.to_dense() if name == "sparse_sparse" else found, d.grad

    theirs, ours = both(call)
    if isinstance(theirs[0], str) and theirs[0].endswith("Error"):  # torch has most of it for CSR alone
        x, d = dense(adjoint).requires_grad_(), dense(adjoint, numbers=MORE).requires_grad_()
        if name == "sampled":
            y = (x + d @ d) * (dense(adjoint) != 0 if layout[0] == "c" else 1)
        elif name == "values":
            y = x
        else:
            y = GRADIENTS[name](adjoint, x, d) if name not in ("sparse_mm", "sparse_addmm") else PRODUCTS[
                {"sparse_mm": "mm", "sparse_addmm": "addmm_half"}.get(name, name)](adjoint, x, d)  # fmt: skip
        (y.to_dense() ** 2).sum().backward()
        if isinstance(ours[0], str) and ours[0].endswith("Error"):
            assert (layout[0], name) in {("b", "to_csr"), ("b", "to_csc"), ("b", "sampled")}, ours
            return
        expected = matrix(adjoint, layout)
        pattern = adjoint._C._sparse_pattern(expected)
        if leaf == "values":
            close(ours[0][-1], pattern.at(x.grad).numpy(), 1e-5)
    else:
        assert [_rounded(part) for part in ours] == [_rounded(part) for part in theirs]


PRODUCTS["addmm_half"] = lambda L, x, d: L.addmm(d, x, d, beta=0.5)


def _rounded(told):
    """What is seen, without the signs of zeros."""
    if isinstance(told, list | tuple):
        return [_rounded(item) for item in told]
    return told + 0.0 if isinstance(told, float) else told


SECOND = {
    "mm": lambda x, d: x @ d,
    "dense_first": lambda x, d: d @ x,
    "sparse_mm": lambda x, d: adjoint.sparse.mm(x, d),
    "sparse_sparse": lambda x, d: (x @ x).to_dense(),
    "sampled": lambda x, d: adjoint.sparse.sampled_addmm(x, d, d).to_dense(),
    "times_dense": lambda x, d: (x * d).to_dense(),
    "plus": lambda x, d: (x + x * x).to_dense(),
    "converted": lambda x, d: x.to_sparse_csc().to_sparse_csr().to_dense(),
    "coordinates": lambda x, d: x.to_sparse().to_dense(),
    "transposed": lambda x, d: x.t().to_dense() * d,
    "functions": lambda x, d: x.sin().tanh().to_dense(),
    "sum": lambda x, d: x.sin().sum(),
    "mean": lambda x, d: adjoint.sparse.mm(x, d, "mean"),
    "amax": lambda x, d: adjoint.sparse.mm(x, d, "amax"),
    "row": lambda x, d: x[1].to_dense(),
    "linear": lambda x, d: adjoint.nn.functional.linear(d, x),
    "sums": lambda x, d: x.sum(0, keepdim=True).to_dense(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_both_orders_by_differences(name, layout):
    if layout != "csr" and name in ("mean", "amax", "sums"):
        return  # these are for CSR alone
    if layout[0] == "b" and name in ("converted", "sampled"):
        return
    values = (matrix(adjoint, layout, "float64", SMALL).values() + 0.1).requires_grad_()
    d = adjoint.tensor((MORE + np.arange(16).reshape(4, 4) / 7).tolist(), dtype=adjoint.float64).requires_grad_()

    def function(values, d):
        return SECOND[name](made_of(adjoint, layout, values), d) + 0 * d.sum()

    assert adjoint.autograd.gradcheck(function, (values, d))
    assert adjoint.autograd.gradgradcheck(function, (values, d))


def test_gradients_of_batches_and_dense_dimensions_by_differences():
    batch = adjoint.stack([dense(adjoint, "float64"), dense(adjoint, "float64").t()])
    for x in (batch.to_sparse_csr(), batch.to_sparse_bsc((2, 2)), adjoint.stack([batch] * 2, -1).to_sparse_csr(1)):
        pattern = adjoint._C._sparse_pattern(x)
        values = x.values().clone().requires_grad_()
        for function in (lambda y: y.to_dense(), lambda y: (y * y).to_dense(), lambda y: y.to_sparse().to_dense()):
            assert adjoint.autograd.gradgradcheck(lambda v, f=function, p=pattern: f(p.pack(v)) ** 2, (values,))
    values = batch.to_sparse_csr().values().clone().requires_grad_()
    pattern, wide = adjoint._C._sparse_pattern(batch.to_sparse_csr()), batch.clone().requires_grad_()
    assert adjoint.autograd.gradgradcheck(lambda v, w: adjoint.bmm(pattern.pack(v), w), (values, wide))
    assert adjoint.autograd.gradgradcheck(
        lambda v, w: adjoint.sparse.sampled_addmm(pattern.pack(v), w, w).to_dense(), (values, wide)
    )


def test_gradcheck_of_sparse_inputs():
    x = dense(adjoint, "float64").to_sparse_csr().requires_grad_()
    check = adjoint.sparse.as_sparse_gradcheck(adjoint.autograd.gradcheck)
    assert check(lambda x: x.to_dense() ** 2, x, masked=True)
    assert check(lambda x: x @ dense(adjoint, "float64"), x)


# ---- Layers, and random programs


def test_a_layer_with_a_sparse_weight_is_trained_as_in_torch():
    def losses(L, layout):
        weight = matrix(L, layout).requires_grad_()
        inputs, found = dense(L, numbers=MORE), []
        for _ in range(4):
            weight.grad = None
            loss = ((L.sparse.mm(weight, inputs) - inputs) ** 2).mean()
            loss.backward()
            with L.no_grad():
                values = weight.values() - 0.05 * weight.grad.values()
                parts = (weight.crow_indices(), weight.col_indices())
                weight = L.sparse_csr_tensor(*parts, values, (4, 4)).requires_grad_()
            found.append(loss.item())
        return found

    close(losses(adjoint, "csr"), losses(torch, "csr"))


STEPS = (
    lambda L, x, d: x * 0.5,
    lambda L, x, d: x + x,
    lambda L, x, d: -x,
    lambda L, x, d: x.sin(),
    lambda L, x, d: x.t().to_sparse_csr(),
    lambda L, x, d: x.to_sparse().to_sparse_csr(),
    lambda L, x, d: x.to_sparse_csc().to_sparse_csr(),
    lambda L, x, d: x.relu(),
    lambda L, x, d: x + x.t().to_sparse_csr(),
    lambda L, x, d: x * x,
    lambda L, x, d: L.sparse.sampled_addmm(x, d, d),
    lambda L, x, d: (x @ x) * 0.1,
    lambda L, x, d: x.to_dense().to_sparse_csr(),
    lambda L, x, d: x.clone(),
)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed).standard_normal((5, 5)) * (np.random.default_rng(seed).random((5, 5)) < 0.4)
    steps = [chance.choice(STEPS) for _ in range(5)]

    def run(L):
        d = L.tensor((np.arange(25).reshape(5, 5) / 25 - 0.4).tolist(), dtype=L.float64)
        x = L.tensor(numbers.tolist(), dtype=L.float64).to_sparse_csr()
        for step in steps:
            x = step(L, x, d)
        return x.to_dense(), x @ d, x.sum()

    for ours, theirs in zip(run(adjoint), run(torch), strict=True):
        close(ours.numpy(), theirs.numpy(), 1e-9)


def test_results_do_not_depend_on_threads():
    x, d = matrix(adjoint, "csr"), dense(adjoint, numbers=MORE)
    before, found = adjoint.get_num_threads(), []
    for threads in (1, 2, 3):
        adjoint.set_num_threads(threads)
        found.append(seen(x @ d))
    adjoint.set_num_threads(before)
    assert found[0] == found[1] == found[2]


# ---- Triangular systems


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("layout", ["csr", "bsr"])
def test_triangular_systems(layout, dtype):
    numbers = np.array([[2, 1, 0, 2], [3, 1, 0, 0], [0, 4, 5, 1], [0, 0, 1, 6]], dtype=np.float64)
    for upper in (True, False):
        for transpose in (True, False):
            for unit in (True, False):
                found = []
                for L, kind in ((adjoint, layout), (torch, "csr")):
                    x, b = matrix(L, kind, dtype, numbers), dense(L, dtype, MORE)
                    found.append(L.triangular_solve(b, x, upper, transpose, unit).solution)
                close(found[0].numpy(), found[1].numpy(), 1e-5)


def test_gradients_of_triangular_systems_by_differences():
    numbers = np.array([[2, 1, 0, 2], [3, 1, 0, 0], [0, 4, 5, 1], [0, 0, 1, 6]], dtype=np.float64)
    pattern = adjoint._C._sparse_pattern(matrix(adjoint, "csr", "float64", numbers))
    values = matrix(adjoint, "csr", "float64", numbers).values().clone().requires_grad_()
    b = dense(adjoint, "float64", MORE).requires_grad_()
    for options in ({}, {"upper": False}, {"transpose": True}, {"unitriangular": True}):

        def function(values, b, options=options):
            return adjoint.triangular_solve(b, pattern.pack(values), **options).solution

        assert adjoint.autograd.gradcheck(function, (values, b))
        assert adjoint.autograd.gradgradcheck(function, (values, b))


def test_triangular_systems_that_are_refused():
    x, b = matrix(adjoint, "csr"), dense(adjoint)
    with pytest.raises(ValueError, match="triangular_solve: unsupported sparse layout"):
        adjoint.triangular_solve(b, x.to_sparse_csc())
    with pytest.raises(RuntimeError, match="expected a square sparse matrix"):
        adjoint.triangular_solve(b[:3], x)
    with pytest.raises(RuntimeError, match="one floating point type"):
        adjoint.triangular_solve(b.int(), x.int())
    with pytest.raises((RuntimeError, IndexError)):
        adjoint.triangular_solve(b, adjoint.sparse_csr_tensor([0, 1, 1, 1, 1], [7], [1.0], (4, 4)))


def test_files(tmp_path):
    """Files that either library writes, the other reads."""
    for layout in LAYOUTS:
        for writer, reader in ((adjoint, torch), (torch, adjoint), (adjoint, adjoint)):
            path = tmp_path / "x.pt"
            writer.save({"x": matrix(writer, layout)}, path)
            assert seen(reader.load(path)["x"]) == seen(matrix(torch, layout))
