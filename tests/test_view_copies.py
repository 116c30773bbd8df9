"""Copies of views, rows of every element size reversed and shifted, values that do not fit; torch is the oracle."""

import pytest
import torch

import adjoint

from .compare import EXACT, LIBRARIES, VALUES, opening, same

TYPES = ("bool", "int16", "float16", "float32", "float64", "complex128")

COPIES = {
    "alias": lambda library, x: library.alias_copy(x),
    "as_strided": lambda library, x: library.as_strided_copy(x, (2, 2), (3, 2), 5),
    "diagonal": lambda library, x: library.diagonal_copy(x, 1, 1, 2),
    "expand": lambda library, x: library.expand_copy(x, (2, 2, 3, 4)),
    "permute": lambda library, x: library.permute_copy(x, (2, 0, 1)),
    "unfold": lambda library, x: library.unfold_copy(x, 2, 2, 1),
    "view": lambda library, x: library.view_copy(x, (6, 4)),
    "view type": lambda library, x: library.view_copy(x, dtype=library.int64),
    "unbind": lambda library, x: library.unbind_copy(x, 1)[2],
    "split": lambda library, x: library.split_with_sizes_copy(x, [1, 2], 1)[1],
    "rot90": lambda library, x: library.rot90(x, 1, (0, 2)),
    "rot90 back": lambda library, x: library.rot90(x.transpose(0, 1), -1, (1, 2)),
    "rot90 twice": lambda library, x: library.rot90(x, 2, (0, 2)),
}


def numbers(library, *shape, dtype="float64"):
    count = 1
    for size in shape:
        count *= size
    return library.arange(count, dtype=library.float64).reshape(shape).to(getattr(library, dtype)).clone()


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_packed_like_torchs_and_share_nothing(name):
    results = []
    for library in LIBRARIES:
        x = numbers(library, 2, 3, 4)
        y = COPIES[name](library, x)
        results.append((y.tolist(), y.stride(), str(y.dtype), y._base is None))
        y.zero_()
        assert x.sum().item() == 276.0
    assert results[0] == results[1]


def test_unsafe_parts_share_memory_but_are_no_views():
    for library in LIBRARIES:
        x = numbers(library, 4, 2).requires_grad_()
        y = x * 1
        for parts in (library.unsafe_split(y, 2), library.unsafe_chunk(y, 2)):
            assert [part._base for part in parts] == [None, None]
            parts[0].mul_(3)
            assert y._version == 0
            assert y[0, 1].item() == parts[0][0, 1].item()
        parts[0].sum().backward()
        assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0], [0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [1, 3, 8, 17, 70])
def test_reversed_and_turned(dtype, length):
    def program(library):
        x = numbers(library, 3, length, 5, dtype=dtype)
        flips = [x.flip(d) for d in ((1,), (2,), (0, 1), (1, 2))]
        turns = [x.rot90(k, (1, 2)).contiguous() for k in (1, 2, 3)]
        turned = x[:, :, 0].flip(0).t().contiguous(), x[:, :, 0].flip(1).t().contiguous()
        return [y.tolist() for y in (*flips, *turns, *turned)]

    assert program(adjoint) == program(torch)


@pytest.mark.parametrize("dtype", TYPES)
def test_shifted(dtype):
    def program(library):
        x = numbers(library, 3, 700, 2, dtype=dtype)
        shifts = [x.roll(s, d) for s in (1, -1, 701, 0) for d in (0, 1, 2)]
        return [y.tolist() for y in (*shifts, x.roll(5), x.roll((1, 2), (0, 1)), x.transpose(0, 1).roll(1, 0))]

    assert program(adjoint) == program(torch)


@pytest.mark.parametrize("place", [0, 511, 512, 1300])
def test_an_index_out_of_range_is_found_wherever_it_stands(place):
    for bad in (-1, 7, 2**62):
        index = adjoint.zeros(1301, dtype=adjoint.int64)
        index[place] = bad
        with pytest.raises(RuntimeError, match="is out of bounds for dimension 0 with size 7"):
            adjoint.rand(7).gather(0, index)
        with pytest.raises(RuntimeError, match="is out of bounds for dimension 0 with size 7"):
            adjoint.rand(7, 2).gather(0, index.reshape(-1, 1).expand(-1, 2))
        index[place] = bad if bad > 0 else -8
        with pytest.raises(IndexError, match="out of range: tried to access index"):
            adjoint.rand(7).take(index)


def test_as_strided_scatter_is_the_derivative_of_what_it_does():
    # torch's own gradient of the input is that of the elements that were overwritten: it fails torch's gradcheck.
    x, y = (adjoint.rand(*shape, dtype=adjoint.float64, requires_grad=True) for shape in ((3, 3), (2, 2)))
    assert adjoint.autograd.gradcheck(lambda x, y: adjoint.as_strided_scatter(x, y, (2, 2), (1, 2), 1), (x, y))


def test_index_fill_wraps_and_keeps_the_last_slice():
    def program(library):
        x = numbers(library, 2, 3, 2)
        index = library.tensor([-1, 0, -1])
        return x.index_fill(1, index, 9).tolist(), x.transpose(0, 1).index_fill(0, index, 9).tolist()

    assert program(adjoint) == program(torch)


FILLS = {
    "full": lambda library, x, value: library.full((1,), value, dtype=x.dtype),
    "new_full": lambda library, x, value: x.new_full((1,), value),
    "full_like": lambda library, x, value: library.full_like(x, value),
    "scalar_tensor": lambda library, x, value: library.scalar_tensor(value, dtype=x.dtype),
    "fill_": lambda library, x, value: x.fill_(value),
    "where": lambda library, x, value: library.where(x > 0, x, value.real),
    "tensor": lambda library, x, value: library.tensor(value, dtype=x.dtype),
}


@pytest.mark.parametrize("value", [300, -1, 1e10, 1e39, 1j])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("name", FILLS)
def test_values_that_do_not_fit(name, dtype, value):
    def program(library):
        return FILLS[name](library, library.zeros(1, dtype=getattr(library, dtype)), value)

    same(program, VALUES, EXACT, opening(50))


def test_new_makes_tensors_of_its_own_type():
    for library in LIBRARIES:
        x = library.zeros(2, dtype=library.int32)
        assert x.new(2, 3).shape == (2, 3)
        assert x.new([1.5, 2]).tolist() == [1, 2]
        assert x.new().dtype == x.new(library.Size([2]), device="cpu").dtype == library.int32
        with pytest.raises(TypeError):
            x.new(library.zeros(2))


def test_shapes_that_do_not_broadcast():
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension of length 3 at -1! Mismatching"):
            library.broadcast_shapes((2,), (1, 3))
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
            library.broadcast_tensors(library.zeros(2), library.zeros(3))


@pytest.mark.parametrize("turns", range(-1, 5))
@pytest.mark.parametrize("dims", [(0, 2), (1, 0), (1, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_strides_of_gradients_of_rot90(turns, dims, order):
    def strides(library):
        x = library.arange(24.0).reshape(2, 3, 4).permute(order).requires_grad_()
        y = library.rot90(x, turns, dims)
        (by_sum,) = library.autograd.grad(y.sum(), x, retain_graph=True)
        (gradient,) = library.autograd.grad(y, x, library.arange(24.0).reshape(y.shape))
        return y.stride(), by_sum.stride(), gradient.stride(), gradient.tolist()

    assert strides(adjoint) == strides(torch)
