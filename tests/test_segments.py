"""segment_reduce() beside torch: every reduction, lengths and offsets, gradients, and what it refuses."""

import pytest
import torch

import adjoint

from .compare import OPS, SUMS, VALUES, same

REDUCTIONS = ("sum", "mean", "max", "min", "prod")
# Data, how it is cut, and along which dimension.
CASES = {
    "lengths": ([1.0, 3.0, 3.0, 2.0, 5.0], {"lengths": [3, 0, 1, 1]}),
    "offsets": ([2.0, 0.0, 0.0, 2.0, 2.0, 5.0], {"offsets": [1, 1, 4, 6]}),
    "rows": ([[1.0, 3.0], [3.0, 1.0], [0.0, 2.0]], {"lengths": [2, 1]}),
    "columns": ([[1.0, 3.0], [3.0, 1.0], [0.0, 2.0]], {"lengths": [[1, 1], [0, 2], [2, 0]], "axis": 1}),
    "columns from the end": ([[1.0, 3.0, 3.0]], {"offsets": [[0, 1, 3]], "axis": -1}),
    "planes": ([[[1.0, -2.0], [3.0, 4.0]]] * 3, {"lengths": [1, 2]}),
    "nothing": ([], {"lengths": [0, 0]}),
}


def call(L, case, reduce, **options):
    data, cut = CASES[case]
    x = L.tensor(data, dtype=L.float64, requires_grad=True)
    cut = {key: value if key == "axis" else L.tensor(value) for key, value in cut.items()}
    return x, L.segment_reduce(x, reduce, **cut, **options)


@pytest.mark.parametrize("initial", [None, 2.0, -1])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients(case, reduce, initial):
    def program(L):
        x, y = call(L, case, reduce, initial=initial)
        weights = L.arange(1.0, y.numel() + 1, dtype=L.float64).reshape(y.shape)
        return y, L.autograd.grad(y, x, weights)[0]

    same(program, VALUES, OPS)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_types(reduce, dtype):
    def program(L):
        data = L.linspace(0.5, 2, 8).to(getattr(L, dtype))
        return L.segment_reduce(data, reduce, lengths=L.tensor([3, 5], dtype=L.int32))

    same(program, VALUES, SUMS)  # torch rounds halves at every step


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_gradients_of_two_orders(reduce):
    """Which torch does not have."""
    x = adjoint.rand(6, 2, dtype=adjoint.float64, requires_grad=True)
    lengths = adjoint.tensor([2, 0, 4])

    def function(x):
        return adjoint.segment_reduce(x, reduce, lengths=lengths, initial=0.5)

    assert adjoint.autograd.gradcheck(function, x)
    assert adjoint.autograd.gradgradcheck(function, x)


def test_transforms():
    x = adjoint.rand(3, 6, dtype=adjoint.float64)
    lengths = adjoint.tensor([[2, 4], [5, 1], [1, 5]])

    def function(x, lengths):
        return adjoint.segment_reduce(x, "mean", lengths=lengths)

    each = adjoint.stack([function(*pair) for pair in zip(x, lengths, strict=True)])
    assert adjoint.func.vmap(function)(x, lengths).allclose(each)
    found = adjoint.func.jvp(lambda x: function(x, lengths[0]), (x[0],), (adjoint.ones(6).double(),))[1]
    assert found.tolist() == [1.0, 1.0]


def test_without_memory():
    x, lengths = adjoint.empty(6, 2, device="meta"), adjoint.empty(3, dtype=adjoint.int64, device="meta")
    found = adjoint.segment_reduce(x, "max", lengths=lengths)
    assert found.shape == (3, 2)
    assert found.device.type == "meta"


def test_more_than_is_needed():
    """Fewer rows than there are, where that is allowed; offsets before lengths; an empty offset."""
    same(lambda L: L.segment_reduce(L.arange(5.0), "sum", lengths=L.tensor([3, 1]), unsafe=True), VALUES)
    same(lambda L: L.segment_reduce(L.arange(5.0), "sum", lengths=L.tensor([1]), offsets=L.tensor([0, 2, 5])), VALUES)
    same(lambda L: L.segment_reduce(L.arange(5.0), "sum", offsets=L.tensor([0])), VALUES)


WRONG = {
    "nothing to cut by": lambda L: L.segment_reduce(L.ones(5), "sum"),
    "too few rows": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([3, 1])),
    "too many rows": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([3, 3])),
    "a negative length": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([-3, 8])),
    "lengths of floats": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([3.0, 2.0])),
    "lengths of int16": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([3, 2]).short()),
    "too many dimensions": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([[3, 2]])),
    "offsets that decrease": lambda L: L.segment_reduce(L.ones(5), "sum", offsets=L.tensor([0, 4, 3, 5])),
    "indices": lambda L: L.segment_reduce(L.ones(2), "sum", indices=L.tensor([0, 0])),
    "another reduction": lambda L: L.segment_reduce(L.ones(5), "median", lengths=L.tensor([5])),
    "no such dimension": lambda L: L.segment_reduce(L.ones(5), "sum", lengths=L.tensor([5]), axis=1),
    "another dimension": lambda L: L.segment_reduce(L.ones(2, 6), "sum", lengths=L.tensor([2, 4]), axis=1),
    "integers": lambda L: L.segment_reduce(L.arange(5), "sum", lengths=L.tensor([5])),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_errors_begin_with_torchs_words(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as error:
            wrong(library)
        messages.append((error.type, str(error.value)))
    assert messages[1][0] is messages[0][0]
    assert messages[1][1][:40] == messages[0][1][:40]


@pytest.mark.parametrize(
    "cut",
    [
        {"offsets": [0, 3, 9]},
        {"offsets": [-1, 5]},
        {"lengths": [9], "unsafe": True},
        {"lengths": [[2, 4]], "axis": 1},
    ],
)
def test_what_would_read_beside_the_memory_is_refused(cut):
    cut = {key: adjoint.tensor(value) if isinstance(value, list) else value for key, value in cut.items()}
    data = adjoint.ones(2, 6) if "axis" in cut else adjoint.ones(5)
    with pytest.raises(RuntimeError, match=r"segment_reduce\(\): "):
        adjoint.segment_reduce(data, "sum", **cut)
