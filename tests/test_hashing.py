"""hash_tensor(): the bits that torch finds, in an integer of the same size, and what it refuses."""

import pytest
import torch

import adjoint
from adjoint._hashing import hashed_bits

VALUES = {
    "float32": [[1.0, -2.0, 0.5], [3.0, -0.0, 7.25]],
    "float64": [[1.0, -2.0, 0.1], [3.0, -0.0, 7.25]],
    "float16": [1.5, 2.0, 1e-3],
    "bfloat16": [1.5, 2.0, 1e-3],
    "int64": [[[1, -2], [4, 2**62]]] * 3,
    "int8": [-1, 5, 7],
    "uint8": [200, 3],
    "bool": [True, False, True, True],
}


def bits(L, numbers, dtype, *given):
    x = L.tensor(numbers, dtype=getattr(L, dtype))
    dim, keepdim = given or ((), False)
    found = L.hash_tensor(x, dim, keepdim=keepdim).view(L.int64) if L is torch else hashed_bits(x, dim, keepdim)
    return found.tolist()


@pytest.mark.parametrize("dtype", VALUES)
def test_all_elements(dtype):
    assert bits(adjoint, VALUES[dtype], dtype) == bits(torch, VALUES[dtype], dtype)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1, (0, 2), [], (2, 0, 1)])
def test_dimensions(dim, keepdim):
    given = (VALUES["int64"], "int64", dim, keepdim)
    assert bits(adjoint, *given) == bits(torch, *given)


def test_edges():
    for numbers, dim in ((2.5, ()), (2.5, 0), ([[], []], 0), ([float("nan"), float("inf")], ())):
        assert bits(adjoint, numbers, "float32", dim, False) == bits(torch, numbers, "float32", dim, False)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L.hash_tensor(L.empty(0)),
        lambda L: L.hash_tensor(L.ones(2, 0), 1),
        lambda L: L.hash_tensor(L.ones(2, 3), 3),
        lambda L: L.hash_tensor(L.ones(2, 3), (0, 0)),
        lambda L: L.hash_tensor(L.ones(2), mode=1),
        lambda L: L.hash_tensor(L.ones(2) * 1j),
        lambda L: L.hash_tensor(L.ones(2), out=L.empty(0)),
    ],
)
def test_errors_are_torchs(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as error:
            wrong(library)
        messages.append((error.type, str(error.value)))
    assert messages[0] == messages[1]
