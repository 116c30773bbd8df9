"""Matrix products against torch: shapes, types, messages, node names, and einsum by chance."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import adjoint

from . import compare
from .compare import Bound
from .test_reductions import assert_same, assert_same_outcome, both, numbers, tensors

TYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
SHAPES = [
    (),
    (3,),
    (4,),
    (2, 3),
    (3, 4),
    (0, 3),
    (3, 0),
    (5, 3, 4),
    (5, 2, 3),
    (1, 3, 4),
    (2, 1, 2, 3),
    (2, 5, 3, 4),
    (0, 2, 3),
]


@pytest.mark.parametrize("a", SHAPES)
def test_matmul_of_every_pair_of_shapes(a):
    for b in SHAPES:
        (x, torch_x), (y, torch_y) = tensors(a, "float64"), tensors(b, "float64", seed=1)
        pair = ((x, y), (torch_x, torch_y))
        assert_same_outcome(lambda lib, pair=pair: lib.matmul(*pair[lib is torch]), words=5 if len(b) < 3 else 0)


@pytest.mark.parametrize("a", [shape for shape in SHAPES if len(shape) >= 1])
def test_gradients_of_matmul(a):
    for b in SHAPES:
        try:
            torch.ones(a) @ torch.ones(b)
        except RuntimeError:
            continue

        def call(lib, b=b):
            x, y = (
                lib.tensor(numbers(shape, "float64", seed).ravel().tolist(), dtype=lib.float64)
                .reshape(shape)
                .requires_grad_()
                for seed, shape in enumerate((a, b))
            )
            z = (x @ y).pow(2).sum()
            first = lib.autograd.grad(z, (x, y), create_graph=True)
            second = lib.autograd.grad(sum(g.pow(2).sum() for g in first), (x, y))
            return *first, *second

        assert_same_outcome(call, rtol=1e-9)


PAIRS = [(t, t) for t in TYPES] + [("float32", t) for t in TYPES[1:]] + [(t, "float32") for t in TYPES[1:]]


@pytest.mark.parametrize(("dtype", "other"), PAIRS)
def test_types(dtype, other):
    (a, torch_a), (b, torch_b) = tensors((3, 3), dtype), tensors((3, 3), other, seed=1)
    pair = ((a, b), (torch_a, torch_b))
    calls = {
        "mm": lambda lib, a, b: lib.mm(a, b),
        "bmm": lambda lib, a, b: lib.bmm(a[None], b[None]),
        "mv": lambda lib, a, b: lib.mv(a, b[0]),
        "dot": lambda lib, a, b: lib.dot(a[0], b[0]),
        "vdot": lambda lib, a, b: lib.vdot(a[0], b[0]),
        "addmm": lambda lib, a, b: lib.addmm(a, a, b),
        "addmv": lambda lib, a, b: lib.addmv(a[0], a, b[0]),
        "baddbmm": lambda lib, a, b: lib.baddbmm(a, a[None], b[None]),
    }
    for call in calls.values():
        assert_same_outcome(
            lambda lib, call=call: call(lib, *pair[lib is torch]),
            rtol=2e-2 if "16" in dtype else None,
            words=9,
            warned=None,  # torch warns of a discarded imaginary part once in a process
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, t: t(2, 3) @ t(2, 3),
        lambda lib, t: t(2, 3) @ t(4),
        lambda lib, t: t(3) @ t(4),
        lambda lib, t: t(3) @ t(2, 3),
        lambda lib, t: t() @ t(3),
        lambda lib, t: lib.mm(t(2, 3), t(3)),
        lambda lib, t: lib.mm(t(3), t(2, 3)),
        lambda lib, t: lib.bmm(t(5, 2, 3), t(3, 4)),
        lambda lib, t: lib.bmm(t(5, 2, 3), t(5, 2, 3)),
        lambda lib, t: lib.mv(t(2, 3), t(2)),
        lambda lib, t: lib.mv(t(2, 3), t(2, 3)),
        lambda lib, t: lib.dot(t(3), t(2, 3)),
        lambda lib, t: lib.outer(t(2, 3), t(3)),
        lambda lib, t: lib.inner(t(2, 3), t(3, 4)),
        lambda lib, t: lib.addmm(t(3, 4), t(2, 3), t(3, 4)),
        lambda lib, t: lib.addmm(t(4), t(2, 3), t(2, 3)),
        lambda lib, t: lib.addmv(t(3), t(2, 3), t(3)),
        lambda lib, t: lib.baddbmm(t(3), t(5, 2, 3), t(5, 3, 4)),
        lambda lib, t: lib.nn.functional.linear(t(2, 3), t(4, 2)),
        lambda lib, t: lib.nn.functional.linear(t(2, 3), t(4, 3), t(5)),
        lambda lib, t: lib.nn.functional.linear(t(5, 2, 3), t(4, 2), t(4)),
        lambda lib, t: lib.nn.functional.linear(t(2, 3), t()),
        lambda lib, t: lib.nn.functional.bilinear(t(2, 3), t(3, 4), t(4, 3, 4)),
        lambda lib, t: lib.nn.functional.bilinear(t(2, 3), t(2, 4), t(4, 3, 3)),
        lambda lib, t: lib.tensordot(t(2, 3), t(3, 4), 3),
        lambda lib, t: lib.tensordot(t(2, 3), t(3, 4)),
        lambda lib, t: lib.tensordot(t(2, 3), t(3, 4), ([0, 1], [0])),
        lambda lib, t: lib.tensordot(t(2, 3), t(3, 4), ([5], [0])),
        lambda lib, t: lib.matmul(t(2, 3), 3),
        lambda lib, t: t(2, 3) @ 3,
    ],
)
def test_messages(call):
    assert_same_outcome(lambda lib: call(lib, lambda *shape: lib.ones(shape)), words=5)


@pytest.mark.parametrize(
    ("shapes", "call"),
    [
        ([(2, 3), (3, 4)], "matmul"), ([(3,), (3,)], "matmul"), ([(2, 3), (3,)], "matmul"), ([(3,), (3, 4)], "matmul"),
        ([(5, 2, 3), (5, 3, 4)], "matmul"), ([(5, 2, 3), (3, 4)], "matmul"), ([(5, 2, 3), (3,)], "matmul"),
        ([(3,), (5, 3, 4)], "matmul"), ([(7, 1, 2, 3), (5, 3, 4)], "matmul"),
        ([(2, 3), (4, 3)], "nn.functional.linear"),
        ([(2, 3), (4, 3), (4,)], "nn.functional.linear"), ([(3,), (4, 3)], "nn.functional.linear"),
        ([(3,), (4, 3), (4,)], "nn.functional.linear"), ([(5, 2, 3), (4, 3)], "nn.functional.linear"),
        ([(5, 2, 3), (4, 3), (4,)], "nn.functional.linear"), ([(2, 3), (3,)], "nn.functional.linear"),
        ([(3,), (3,)], "outer"), ([(2, 3), (4, 3)], "inner"), ([(2, 4), (2, 3), (3, 4)], "addmm"),
        ([(2, 3), (3, 4)], "kron"), ([(5, 2, 3), (5, 3, 4)], "bmm"), ([(3,), (3,)], "vdot"),
    ],
)  # fmt: skip
def test_node_names(shapes, call):
    def name(lib):
        function = lib
        for part in call.split("."):
            function = getattr(function, part)
        return function(*(lib.ones(shape, requires_grad=True) for shape in shapes)).grad_fn.name()

    mine, theirs = both(name)
    assert mine == theirs


def test_transposed_and_strided_operands():
    """Every layout of the operands, and of the gradient that arrives."""
    layouts = [
        lambda x: x,
        lambda x: x.t().contiguous().t(),
        lambda x: x.repeat(2, 2)[::2, ::2] * 1,
        lambda x: x[:1].expand(x.shape),
    ]
    for lay_a in layouts:
        for lay_b in layouts:

            def call(lib, lay_a=lay_a, lay_b=lay_b):
                a, b = (
                    lib.tensor(numbers(shape, "float32", seed).tolist()).requires_grad_()
                    for seed, shape in enumerate([(9, 9), (9, 9)])
                )
                z = (lay_a(a) @ lay_b(b)).t()
                return z, *lib.autograd.grad(z[:, ::2].sum(), (a, b))

            assert_same_outcome(call, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("n", [1, 7, 64, 129])
def test_sizes_across_the_kernels(n, dtype):
    (a, torch_a), (b, torch_b) = tensors((n, n + 3), dtype), tensors((n + 3, n), dtype, seed=1)
    x, y = a @ b, torch_a @ torch_b
    compare.assert_same(x, y, bound=Bound(1e-4, 1e-3))


def test_factors():
    assert_same_outcome(lambda lib: lib.addmm(lib.ones(2, 2), lib.ones(2, 3), lib.ones(3, 2), alpha=1j), words=4)
    assert_same_outcome(lambda lib: lib.addmm(lib.full((2, 2), float("nan")), lib.ones(2, 3), lib.ones(3, 2), beta=0))
    assert_same_outcome(
        lambda lib: lib.addmm(lib.ones(2, 2).long(), lib.ones(2, 3).long(), lib.ones(3, 2).long(), alpha=2.5)
    )


def test_in_place_and_out():
    def call(lib):
        a, b, c = lib.ones(2, 3), lib.full((3, 2), 2.0), lib.ones(2, 2)
        c.addmm_(a, b, beta=0.5)
        out = lib.empty(0)
        lib.matmul(a[None], b, out=out)
        return c, out, lib.mm(a, b, out=lib.empty(2, 2))

    assert_same_outcome(call)


# ---- einsum


@st.composite
def equations(draw):
    """(equation, shapes): two or three operands with shared, repeated and broadcast labels, perhaps an ellipsis."""
    sizes = {label: draw(st.integers(1, 3)) for label in "abcd"}
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(st.sampled_from("abcd"), max_size=4))
        assume(len(labels) - len(set(labels)) <= 1)
        dots = draw(st.booleans())
        place = draw(st.integers(0, len(labels))) if dots else 0
        # A label may be broadcast, but then all of its places in this operand are.
        own = {label: 1 if draw(st.integers(0, 5)) == 0 else sizes[label] for label in labels}
        lead = hidden[draw(st.integers(0, len(hidden))) :] if dots else []
        shape = [own[label] for label in labels]
        terms.append("".join(labels[:place]) + ("..." if dots else "") + "".join(labels[place:]))
        shapes.append(tuple(shape[:place] + lead + shape[place:]))
    equation = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set("".join(terms)) - {"."})
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        dots = "..." if draw(st.booleans()) else ""
        equation += "->" + dots + "".join(output)
    return equation, shapes


@settings(max_examples=150)
@given(equations())
def test_einsum_by_chance(example):
    equation, shapes = example
    mine, theirs = zip(*(tensors(shape, "float64", seed) for seed, shape in enumerate(shapes)), strict=True)
    operands = (mine, theirs)

    def call(lib):
        inputs = [operand.clone().requires_grad_() for operand in operands[lib is torch]]
        result = lib.einsum(equation, *inputs)
        return result, *lib.autograd.grad(result.pow(2).sum(), inputs)

    assert_same_outcome(call, rtol=1e-9)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3)]), ("ij", [(2, 3), (2, 3)]), ("i1", [(2, 3)]), ("ij->k", [(2, 3)]), ("ij->ii", [(2, 3)]),
        ("ijk", [(2, 3)]), ("i", [(2, 3)]), ("ij,jk", [(2, 3), (2, 3)]), ("ii", [(2, 3)]), ("i.j", [(2, 3)]),
        ("...i...", [(2, 3)]), ("..ij", [(2, 3)]), ("ij->i.j", [(2, 3)]), ("ij->ij->", [(2, 3)]), ("ij>", [(2, 3)]),
        ("ij->...ij", [(2, 3)]), (" i j , j k -> k i ", [(2, 3), (3, 4)]), ("jI", [(2, 3)]), ("->", [()]), ("", [()]),
        ("...->", [(2, 3)]), ("ij,j", [(2, 3), (4,)]),
    ],
)  # fmt: skip
def test_einsum_equations(equation, shapes):
    assert_same_outcome(lambda lib: lib.einsum(equation, *(lib.ones(shape) for shape in shapes)), words=30)


def test_einsum_of_lists():
    assert_same_outcome(lambda lib: lib.einsum(lib.ones(2, 3), [0, 1], lib.ones(3, 4), [1, 2], [2, 0]))
    assert_same_outcome(lambda lib: lib.einsum(lib.ones(2, 3), [..., 7], lib.ones(3), [7]))
    assert_same_outcome(lambda lib: lib.einsum("ij,jk", [lib.ones(2, 3), lib.ones(3, 4)]))
    assert_same_outcome(lambda lib: lib.einsum(lib.ones(2, 3), [0, 60]), words=8)
    assert_same_outcome(lambda lib: lib.einsum("ij"), words=8)


def test_einsum_of_identity_is_a_view():
    x = adjoint.ones(2, 3)
    y = adjoint.einsum("ij->ij", x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert_same(y, torch.ones(2, 3))


LAYOUTS = {
    "by rows": lambda x: x,
    "by columns": lambda x: x.t().contiguous().t(),
    "in a wider one": lambda x: adjoint.cat([x, x], 1)[:, : x.shape[1]],
}


@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64], ids=str)
@pytest.mark.parametrize("b_layout", LAYOUTS)
@pytest.mark.parametrize("a_layout", LAYOUTS)
def test_products_of_many_rows(a_layout, b_layout, dtype):
    # The kernels' borders: blocks of rows, of columns, vectors, and the longest sum of one pass.
    random = np.random.default_rng(0)
    sizes = [
        (64, 3, 17),
        (65, 256, 16),
        (100, 257, 33),
        (127, 100, 129),
        (300, 700, 40),
        (2100, 17, 63),
        (130, 20, 1100),
    ]
    for m, k, n in sizes:
        a, b, c = (adjoint.tensor(random.standard_normal(shape), dtype=dtype) for shape in ((m, k), (k, n), (m, n)))
        exact = a.double().numpy() @ b.double().numpy()
        largest = np.abs(a.double().numpy()) @ np.abs(b.double().numpy()) * k * adjoint.finfo(dtype).eps
        a, b = LAYOUTS[a_layout](a), LAYOUTS[b_layout](b)
        before = adjoint.get_num_threads()
        results = []
        try:
            for threads in (1, 2, 5):
                adjoint.set_num_threads(threads)
                results.append((a @ b, adjoint.addmm(c, a, b, beta=0.7, alpha=1.3)))
        finally:
            adjoint.set_num_threads(before)
        for product, added in results:
            assert (np.abs(product.numpy() - exact) <= largest).all()
            assert (
                np.abs(added.numpy() - (0.7 * c.numpy() + 1.3 * exact)) <= 2 * largest + 1e-6 * c.abs().numpy()
            ).all()
            assert adjoint.equal(product, results[0][0])
            assert adjoint.equal(added, results[0][1])
