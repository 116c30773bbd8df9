"""Functions that make tensors, call by call against torch."""

import array
import collections
import itertools
import warnings

import numpy as np
import pytest
import torch

import adjoint

from .compare import DTYPES, Bound, check, check_text, lines


class Indexable:
    def __index__(self):
        return 2


class Floatable:
    def __float__(self):
        return 2.5


class Items:
    """A sequence that is neither list nor tuple."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i >= 2:
            raise IndexError
        return float(i)


class BrokenItems:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise ValueError("no items")


class FloatChild(float):
    pass


def nested(depth):
    value = 1.0
    for _ in range(depth):
        value = [value]
    return value


def cycle(*first):
    items = list(first)
    items.append(items)
    return items


NAMES = {
    "Indexable": Indexable,
    "Floatable": Floatable,
    "Items": Items,
    "BrokenItems": BrokenItems,
    "FloatChild": FloatChild,
    "nested": nested,
    "cycle": cycle,
    "array": array,
    "collections": collections,
    "nan": float("nan"),
    "inf": float("inf"),
}

DATA = lines("""
    torch.tensor(1)
    torch.tensor(True)
    torch.tensor(1.5)
    torch.tensor(1j)
    torch.tensor([1, 2.5, True])
    torch.tensor([1, 2.5, True, 1j])
    torch.tensor([True, False])
    torch.tensor([True, 2])
    torch.tensor([])
    torch.tensor([[], []])
    torch.tensor([[1, 2], (3, 4)])
    torch.tensor([[[]] * 3] * 2)
    torch.tensor(range(4))
    torch.tensor([range(2), range(2)])
    torch.tensor(Items())
    torch.tensor([Items(), Items()])
    torch.tensor(FloatChild(2))
    torch.tensor([FloatChild(2), 3])
    torch.tensor(bytearray(b"abc"))
    torch.tensor([b"ab"], dtype=torch.uint8)
    torch.tensor(array.array("d", [1, 2]))
    torch.tensor([array.array("i", [1, 2])])
    torch.tensor(collections.deque([1, 2]))
    torch.tensor(torch.Size([1, 2]))
    torch.tensor(nested(64))
    torch.tensor(2**63 - 1)
    torch.tensor(-(2**63))
    torch.tensor([2**63, 1.5])
    torch.tensor(2**63, dtype=torch.float32)
    torch.tensor(2**1000, dtype=torch.float32)
    torch.tensor([1e300], dtype=torch.float32)
    torch.tensor([1e300], dtype=torch.float16)
    torch.tensor([1e40], dtype=torch.complex64)
    torch.tensor([-1, -255], dtype=torch.uint8)
    torch.tensor([2.5, 1], dtype=torch.int64)
    torch.tensor([0.0, 2.5, nan], dtype=torch.bool)
    torch.tensor([1j, 0j], dtype=torch.bool)
    torch.tensor([2**63, 0], dtype=torch.bool)
    torch.tensor([[]], dtype=torch.bool)
    torch.tensor(Floatable(), dtype=torch.float32)
    torch.tensor(Floatable(), dtype=torch.complex64)
    torch.tensor(Indexable(), dtype=torch.int32)
    torch.tensor([Indexable()], dtype=torch.float64)
    torch.tensor([[1, 2], {1: 2, 3: 4}], dtype=torch.float32)
    torch.tensor([[1, 2], iter([1, 2])], dtype=torch.float32)
    torch.tensor([[], 1])
    torch.tensor([[], [1]])
    torch.tensor(np.float32(2))
    torch.tensor(np.float64(2))
    torch.tensor([np.float64(2)])
    torch.tensor([np.float16(2), np.int8(3)])
    torch.tensor([np.bool_(True)])
    torch.tensor([np.bool_(True), 2.0])
    torch.tensor([np.complex64(2)])
    torch.tensor([1, np.float32(2)])
    torch.tensor([np.int32(2), np.int64(2)])
    torch.tensor([np.float64(1.5)], dtype=torch.int32)
    torch.tensor(np.array(2))
    torch.tensor([np.array([2.0, 3]), np.array([3.0, 4])])
    torch.tensor([np.array([2, 3], np.float32), [3.0, 4]])
    torch.tensor([np.array([1, 2])], dtype=torch.float32)
    torch.tensor([np.arange(3)[::-1], np.arange(3)])
    torch.tensor([1.5, np.array(3)])
    torch.tensor(np.array([300.0]), dtype=torch.uint8)
    torch.tensor([torch.tensor(2), torch.tensor(3.0)])
    torch.tensor([torch.tensor([2]), torch.tensor([3])])
    torch.tensor([torch.tensor(2, dtype=torch.int32)])
    torch.tensor([1, torch.tensor(2.5, dtype=torch.float64)])
    torch.tensor([[torch.tensor(1), 2]], dtype=torch.float32)
    torch.tensor([torch.tensor(2j)], dtype=torch.complex64)
    torch.tensor([torch.tensor(2)], dtype=torch.bool)
    torch.tensor([1.0], requires_grad=True)
    torch.tensor([1j], requires_grad=True)
    torch.tensor([1.0], dtype=float)
    torch.tensor([1.0], dtype=int)
    torch.tensor([1.0], device="cpu")
    torch.tensor([1.0], device=None, pin_memory=False)
    torch.tensor([1.0], device="meta")
    torch.tensor(data=[1])
    torch.as_tensor([1, 2])
    torch.as_tensor(1.5)
    torch.as_tensor(data=1.5, dtype=torch.float64)
    torch.as_tensor(torch.ones(2, requires_grad=True), dtype=torch.float64)
    torch.as_tensor(np.ones(2), dtype=torch.float32)
    torch.asarray([1, 2])
    torch.asarray(bytearray(b"abcdefgh"), dtype=torch.float32)
    torch.asarray(array.array("i", [1, 2]), dtype=torch.int32)
    torch.asarray(np.float32(3))
    torch.asarray(torch.ones(2, requires_grad=True), copy=True)
    torch.asarray(torch.ones(2, requires_grad=True), dtype=torch.float64)
    torch.asarray([1.0], requires_grad=True)
    torch.ones(2).new_tensor([1, 2])
    torch.ones(2).new_tensor([1, 2], dtype=torch.int32)
    torch.ones(2).new_tensor(np.array([1, 2]))
    torch.tensor([1]).new_tensor([1.5])
    torch.tensor(1, dtype=torch.complex128)
    torch.Tensor([2, 3])
    torch.Tensor((2, 3))
    torch.Tensor()
    torch.Tensor(np.array([1, 2]))
    torch.Tensor(torch.ones(2, dtype=torch.int32))
    torch.Tensor(2, 3).shape
    torch.Tensor(torch.Size([2])).shape
""")

BAD_DATA = lines("""
    torch.tensor([[1], []])
    torch.tensor([[1, 2], [3]])
    torch.tensor([[1, 2], 3])
    torch.tensor([1, [3]])
    torch.tensor([1, []])
    torch.tensor([[1, 2], [3, [4]]])
    torch.tensor(cycle())
    torch.tensor(cycle(1))
    torch.tensor(nested(200))
    torch.tensor("abc")
    torch.tensor("")
    torch.tensor(["a", "b"])
    torch.tensor(["", ""])
    torch.tensor(b"abc")
    torch.tensor([b"abc"])
    torch.tensor([1, "a"])
    torch.tensor([1, "a"], dtype=torch.int32)
    torch.tensor([1, "a"], dtype=torch.complex64)
    torch.tensor(memoryview(np.ones((2, 2))))
    torch.tensor(None)
    torch.tensor([None])
    torch.tensor([1, None])
    torch.tensor([1j, None])
    torch.tensor({1: 2})
    torch.tensor({1, 2})
    torch.tensor(i for i in range(2))
    torch.tensor(Floatable())
    torch.tensor([Indexable()])
    torch.tensor(BrokenItems())
    torch.tensor(2**63)
    torch.tensor([2**70])
    torch.tensor(-(2**63) - 1)
    torch.tensor(2**2000, dtype=torch.float32)
    torch.tensor(256, dtype=torch.uint8)
    torch.tensor(-256, dtype=torch.uint8)
    torch.tensor(-0.5, dtype=torch.uint8)
    torch.tensor(-129, dtype=torch.int8)
    torch.tensor(127.5, dtype=torch.int8)
    torch.tensor(2**31, dtype=torch.int32)
    torch.tensor(1e20, dtype=torch.int64)
    torch.tensor(nan, dtype=torch.int64)
    torch.tensor(1j, dtype=torch.float32)
    torch.tensor(1j, dtype=torch.int32)
    torch.tensor(None, dtype=torch.bool)
    torch.tensor([None], dtype=torch.int16)
    torch.tensor([None], dtype=torch.complex64)
    torch.tensor(Floatable(), dtype=torch.int32)
    torch.tensor([np.float32(1.5)], dtype=torch.bool)
    torch.tensor([np.bool_(True), 2])
    torch.tensor([np.array(2), np.array(3)])
    torch.tensor([np.datetime64(1, "s")])
    torch.tensor(np.str_("a"))
    torch.tensor([torch.ones(2), torch.ones(2)])
    torch.tensor([torch.tensor([1, 2])], dtype=torch.int32)
    torch.tensor([torch.tensor(1.5)], dtype=torch.int32)
    torch.tensor([torch.tensor(1j)], dtype=torch.float32)
    torch.tensor([1], requires_grad=True)
    torch.tensor([1.0], requires_grad=1)
    torch.tensor([1.0], dtype="float32")
    torch.tensor([1.0], dtype=np.float32)
    torch.tensor([1.0], device="nowhere")
    torch.tensor([1.0], device=3)
    torch.tensor([1.0], pin_memory=True)
    torch.tensor([1.0], layout=torch.strided)
    torch.tensor([1.0], spam=3)
    torch.tensor()
    torch.tensor(1, 2)
    torch.tensor(...)
    torch.tensor([torch.float32])
    torch.as_tensor(None)
    torch.as_tensor(1.5, requires_grad=True)
    torch.asarray([1], copy=False)
    torch.asarray(np.ones(2), dtype=torch.float32, copy=False)
    torch.asarray("a")
    torch.asarray([1], requires_grad=True)
    torch.ones(2).new_tensor()
    torch.Tensor(2.5)
    torch.Tensor("a")
    torch.Tensor(None)
    torch.Tensor(True)
    torch.Tensor(-1)
    torch.Tensor([1, 2], [3])
    torch.Tensor([[1, 2], [3]])
""")

SIZES = lines("""
    torch.zeros(2, 3)
    torch.zeros((2, 3))
    torch.zeros([2, 3])
    torch.zeros(())
    torch.zeros([])
    torch.zeros(0)
    torch.zeros(size=(2,))
    torch.zeros(Indexable())
    torch.zeros((Indexable(),))
    torch.zeros(np.int64(2))
    torch.zeros((np.int64(2), np.int8(1)))
    torch.zeros(torch.tensor(2))
    torch.zeros((torch.tensor(2),))
    torch.zeros(torch.Size([2]))
    torch.zeros(2, dtype=int)
    torch.zeros(2, dtype=float)
    torch.zeros(2, dtype=bool)
    torch.zeros(2, dtype=complex)
    torch.zeros(2, layout=torch.strided)
    torch.zeros(2, device="meta")
    torch.zeros(2, out=torch.ones(3))
    torch.zeros(2, out=torch.ones(2, dtype=torch.int32))
    torch.zeros(2, out=None)
    torch.zeros(3, out=torch.ones(6)[::2])
    torch.ones(2, 3, dtype=torch.complex64, requires_grad=True)
    torch.empty(2, 3, memory_format=torch.contiguous_format).stride()
    torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride()
    torch.empty(1, 2, 3, 4, 5, memory_format=torch.channels_last_3d).stride()
    torch.full((2,), 1)
    torch.full((2,), 1.5)
    torch.full((2,), True)
    torch.full((2,), 1j)
    torch.full([], 3)
    torch.full(size=(2,), fill_value=2)
    torch.full((2,), torch.tensor(3))
    torch.full((2,), torch.tensor(3.5, dtype=torch.float64))
    torch.full((2,), -1, dtype=torch.uint8)
    torch.full((2,), 1.5, dtype=torch.int64)
    torch.full((2,), 2, dtype=torch.bool)
    torch.full((2,), 2**63, dtype=torch.float32)
    torch.full((2,), inf, dtype=torch.float16)
    torch.full((2,), 1 + 0j, dtype=torch.float32)
    torch.full((2,), 1j, dtype=torch.bool)
    torch.full((2,), np.float32(2))
    torch.full((2,), np.bool_(True))
    torch.full((2,), torch.tensor(True))
    torch.full((2,), np.int8(2))
    torch.full((2,), 3, out=torch.ones(2, dtype=torch.int32))
    torch.scalar_tensor(3)
    torch.scalar_tensor(3.5, dtype=torch.int32)
    torch.scalar_tensor(True)
    torch.scalar_tensor(torch.tensor(2))
    torch.eye(3)
    torch.eye(2, 3)
    torch.eye(3, 2)
    torch.eye(n=2, m=3, dtype=torch.bool)
    torch.eye(0)
    torch.eye(2, 0)
    torch.eye(2, out=torch.ones(2, 2))
    torch.eye(3, out=torch.zeros(1))
    torch.zeros_like(torch.ones(2, 3).t()).stride()
    torch.zeros_like(torch.ones(2, 3).t(), memory_format=torch.contiguous_format).stride()
    torch.zeros_like(torch.ones(2, 6)[:, ::2]).stride()
    torch.zeros_like(torch.ones(2, 3, 4, 5), memory_format=torch.channels_last).stride()
    torch.zeros_like(torch.ones(2, requires_grad=True))
    torch.ones_like(torch.ones(2, 3).t(), dtype=torch.int32)
    torch.empty_like(torch.ones(2, 3), dtype=torch.float64, requires_grad=True).shape
    torch.full_like(torch.tensor([1]), 2.5)
    torch.full_like(torch.tensor([1]), 2.5, dtype=torch.float64)
    torch.full_like(torch.tensor([True]), 2)
    torch.empty_strided((2, 3), (1, 2)).stride()
    torch.empty_strided((2, 3), (0, 0)).shape
    torch.ones(2).new_zeros(2, 3)
    torch.ones(2).new_zeros((2, 3), dtype=torch.int32)
    torch.ones(2).new_zeros([2], requires_grad=True)
    torch.ones(2, dtype=torch.float64).new_ones(2)
    torch.tensor([1]).new_full((2,), 3.5)
    torch.ones(2).new_full((2,), 3, dtype=torch.int32)
    torch.ones(2, dtype=torch.int8).new_empty(2, 3).shape
    torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride()
    torch.ones(2, device="meta").new_empty_strided((2, 3), (1, 2)).device.type
    torch.zeros(2, requires_grad=None)
""")

BAD_SIZES = lines("""
    torch.zeros()
    torch.zeros(2.0)
    torch.zeros((2.0,))
    torch.zeros(True)
    torch.zeros((True, 2))
    torch.zeros(-1)
    torch.zeros((2, -1))
    torch.zeros("a")
    torch.zeros(None)
    torch.zeros(2**62, 4)
    torch.zeros(2**63)
    torch.zeros(2**61)
    torch.empty(2**58)
    torch.zeros(2, (3,))
    torch.zeros((2,), 3)
    torch.zeros(np.array([2, 3]))
    torch.zeros(torch.tensor([2, 3]))
    torch.zeros(torch.tensor(2.0))
    torch.zeros(range(2))
    torch.zeros({2})
    torch.zeros(2, dtype=torch.int32, requires_grad=True)
    torch.zeros(2, dtype=str)
    torch.zeros(2, dtype="float32")
    torch.zeros(2, layout="a")
    torch.zeros(2, pin_memory=True)
    torch.zeros(2, pin_memory=0)
    torch.zeros(2, requires_grad=1)
    torch.zeros(2, out=torch.ones(2), dtype=torch.float64)
    torch.zeros(2, out=3)
    torch.zeros(2, out=torch.ones(2, requires_grad=True))
    torch.zeros(2, spam=1)
    torch.zeros(2, size=3)
    torch.zeros(size=3)
    torch.zeros(2, dim=3)
    torch.zeros(2, memory_format=torch.contiguous_format)
    torch.empty(2, memory_format=torch.preserve_format)
    torch.empty(1, 2, memory_format=torch.channels_last)
    torch.empty(2, memory_format=3)
    torch.full(2, 3)
    torch.full((2,), None)
    torch.full((2,), "a")
    torch.full((2,), torch.tensor([3]))
    torch.full((2,), torch.tensor(3.0, requires_grad=True))
    torch.full((2,), 300, dtype=torch.uint8)
    torch.full((2,), 1e20, dtype=torch.int64)
    torch.full((2,), nan, dtype=torch.int64)
    torch.full((2,), 1j, dtype=torch.float32)
    torch.full((2,), 1e300, dtype=torch.float32)
    torch.full((2,), 1e300, dtype=torch.complex64)
    torch.full((2,), 2**63)
    torch.full((2,), 2**64)
    torch.full((2,), -(2**63) - 1, dtype=torch.float32)
    torch.full((2,))
    torch.full()
    torch.scalar_tensor(1j)
    torch.scalar_tensor([1])
    torch.eye(-1)
    torch.eye(2, -1)
    torch.eye(2.0)
    torch.eye(2**63)
    torch.zeros_like(3)
    torch.zeros_like()
    torch.zeros_like(torch.ones(2), dtype=torch.int32, requires_grad=True)
    torch.empty_strided((2, 3), (1,))
    torch.empty_strided((2, 3), (-1, 2))
    torch.empty_strided((2, -3), (1, 2))
    torch.empty_strided((2**40, 3), (2**40, 1))
    torch.empty_strided(2, 1)
    torch.ones(2).new_zeros()
    torch.ones(2).new_zeros(2, spam=1)
    torch.ones(2).new_empty((2, -1))
""")

RANGES = lines("""
    torch.arange(5)
    torch.arange(5.0)
    torch.arange(1, 5)
    torch.arange(1, 5.0)
    torch.arange(1, 5, 2)
    torch.arange(1, 5, 0.5)
    torch.arange(5, 1, -1)
    torch.arange(5, 0, -2)
    torch.arange(0, 1, 0.1)
    torch.arange(1, 2.3, 0.1)
    torch.arange(1, 2.3, 0.1, dtype=torch.float64)
    torch.arange(-1e-5, 1, 0.3)
    torch.arange(0, 3, 0.5, dtype=torch.int32)
    torch.arange(0.5, 3.7, 1, dtype=torch.int32)
    torch.arange(1.5, 4.7, dtype=torch.int64)
    torch.arange(True)
    torch.arange(300, dtype=torch.uint8)
    torch.arange(1.5, 300, dtype=torch.int8)
    torch.arange(5, dtype=torch.float16)
    torch.arange(300, dtype=torch.bfloat16)
    torch.arange(0, 10, inf)
    torch.arange(2**62, 2**62 + 3)
    torch.arange(-(2**63), -(2**63) + 3)
    torch.arange(2**63 - 3, 2**63 - 1)
    torch.arange(torch.tensor(3))
    torch.arange(torch.tensor(0), torch.tensor(3.0))
    torch.arange(np.int32(3))
    torch.arange(np.float32(3))
    torch.arange(start=1, end=4)
    torch.arange(end=4)
    torch.arange(1, end=4, step=2)
    torch.arange(3.0, requires_grad=True)
    torch.arange(3, out=torch.ones(3))
    torch.arange(0)
    torch.arange(1, 1)
    torch.arange(5, device="meta")
    torch.linspace(0, 1, 5)
    torch.linspace(0, 1, 1)
    torch.linspace(0, 1, 0)
    torch.linspace(5, 1, 3, requires_grad=True)
    torch.linspace(-3, 7, 100)
    torch.linspace(-3, 7, 100, dtype=torch.float64)
    torch.linspace(0, 10, 5, dtype=torch.int32)
    torch.linspace(-13, 77, 16, dtype=torch.int64)
    torch.linspace(0, 3.5, 3, dtype=torch.int8)
    torch.linspace(0, 1, 5, dtype=torch.complex64)
    torch.linspace(0, 1j, 5)
    torch.linspace(0, 1, 5, dtype=torch.float16)
    torch.linspace(torch.tensor(0), torch.tensor(1), 3)
    torch.linspace(0, 1, steps=3)
    torch.linspace(0, 1, torch.tensor(3))
    torch.linspace(True, False, 3)
    torch.linspace(torch.tensor(0.0, requires_grad=True), 1, 3)
    torch.linspace(0, inf, 3)
    torch.linspace(0, inf, 5, dtype=torch.complex64)
    torch.linspace(inf, 1, 5, dtype=torch.complex128)
    torch.linspace(-inf, inf, 5, dtype=torch.bfloat16)
    torch.linspace(1, -inf, 4, dtype=torch.float16)
    torch.linspace(0, complex(1, inf), 5)
    torch.linspace(complex(inf, 2), 1, 5)
    torch.linspace(1 + 2j, -3.7 + 0.3j, 101)
    torch.linspace(1 + 2j, -3.7 + 0.3j, 14, dtype=torch.complex128)
    torch.linspace(-3.4e38, 3.4e38, 5, dtype=torch.complex64)
    torch.linspace(0, 1, 5, out=torch.ones(5))
    torch.logspace(0, 2, 3)
    torch.logspace(0, 2, 3, 2)
    torch.logspace(0, 2, 3, base=2)
    torch.logspace(-1, 2, 50, dtype=torch.float64)
    torch.logspace(0, 2, 1)
    torch.logspace(0, 2, 3, dtype=torch.int32)
    torch.logspace(0, 2, 3, base=-2)
    torch.logspace(0, 2j, 3)
    torch.logspace(0, 1, 3, 0)
""")

BAD_RANGES = lines("""
    torch.arange(5, 1)
    torch.arange(1, 5, -1)
    torch.arange(1, 5, 0)
    torch.arange(1, 2.3, 0.3, dtype=torch.int64)
    torch.arange(5, dtype=torch.bool)
    torch.arange(5, dtype=torch.complex64)
    torch.arange(5j)
    torch.arange(nan)
    torch.arange(inf)
    torch.arange(0, 10, nan)
    torch.arange(0, 1e30)
    torch.arange(0, 2**63 - 1)
    torch.arange(2**63)
    torch.arange(0, 5, 2**63)
    torch.arange(0, 1e20, dtype=torch.int64)
    torch.arange(0, inf, dtype=torch.int64)
    torch.arange("a")
    torch.arange(None)
    torch.arange()
    torch.arange(1, 2, 3, 4)
    torch.arange(torch.tensor([3]))
    torch.arange(start=1)
    torch.arange(1, step=2)
    torch.arange(3, requires_grad=True)
    torch.arange(3, out=torch.ones(3, dtype=torch.int32), dtype=torch.float32)
    torch.arange(-1)
    torch.linspace(0, 1, -1)
    torch.linspace(0, 1)
    torch.linspace(0, 1, 5, dtype=torch.bool)
    torch.linspace(0, 1j, 5, dtype=torch.float32)
    torch.linspace(torch.tensor([0]), torch.tensor(1), 3)
    torch.linspace(0, 1, 3.0)
    torch.linspace(0, 1, True)
    torch.linspace("a", 1, 3)
    torch.linspace(0, 2**70, 3)
    torch.linspace(0, 1e39, 3)
    torch.linspace(0, 300, 3, dtype=torch.uint8)
    torch.linspace(0, 3, 3, dtype=torch.int64, requires_grad=True)
    torch.logspace(0, 2, -1)
    torch.logspace(0, 1, 3, dtype=torch.bool)
""")


@pytest.mark.parametrize("call", DATA + SIZES)
def test_same_result(call):
    check_text(call, **NAMES)


@pytest.mark.parametrize("call", RANGES)
def test_same_range(call):
    check_text(call, Bound(2e-6, 2e-6), **NAMES)


@pytest.mark.parametrize("call", BAD_DATA + BAD_SIZES + BAD_RANGES)
def test_same_error(call):
    # Any exception: that it is of the same type as torch's is checked next.
    with pytest.raises(Exception):  # noqa: B017, PT011 - see above
        eval(call, {"torch": adjoint, "np": np, **NAMES})
    check_text(call, **NAMES)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_types(name, dtype):
    for size in [(), (0,), (3,), (2, 0, 3), (2, 3), (40, 50)]:
        check(lambda library, size=size: getattr(library, name)(size, dtype=getattr(library, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_data_in_every_type(dtype):
    for data in [1, True, 0, [0, 1, 2], [[1, 0], [3, 4]], [True, False], 2.0, [1.0, 2.0], range(5), (3,)]:
        check(lambda library, data=data: library.tensor(data, dtype=getattr(library, dtype)))
        check(lambda library, data=data: library.tensor(data).new_tensor(data, dtype=getattr(library, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_full_in_every_type(dtype):
    for value in [0, 1, -1, 100, True, 1.5, 0.0, float("nan"), float("inf"), 1 + 2j, 2**62]:
        if dtype in ("float16", "bfloat16") and value == 2**62:
            continue  # torch refuses it or not, by the number of elements
        check(lambda library, value=value: library.full((3,), value, dtype=getattr(library, dtype)))


def test_default_dtype():
    calls = [
        "tensor(1.5)",
        "tensor(1j)",
        "tensor([])",
        "zeros(2)",
        "full((1,), 2.5)",
        "arange(2.0)",
        "linspace(0, 1, 3)",
        "Tensor([1])",
    ]
    for library in (torch, adjoint):
        library.set_default_dtype(library.float64)
    try:
        for call in calls:
            check_text(f"torch.{call}")
    finally:
        for library in (torch, adjoint):
            library.set_default_dtype(library.float32)


def test_every_small_arange():
    bounds = [-3, -2, -1, 0, 1, 2, 3, 10]
    for start, end, step in itertools.product(bounds, bounds, [-3, -1, 1, 2]):
        check(lambda library, a=start, b=end, c=step: library.arange(a, b, c))
        check(lambda library, a=start, b=end, c=step: library.arange(a / 2, b / 2, c / 4))


def test_out_keeps_identity_and_version():
    out = adjoint.ones(3)
    version = out._version
    assert adjoint.zeros(3, out=out) is out
    assert out.tolist() == [0.0] * 3
    assert out._version == version + 1


def test_as_tensor_shares():
    x = adjoint.ones(2)
    assert adjoint.as_tensor(x) is x
    values = np.ones(2, np.float32)
    adjoint.as_tensor(values)[0] = 5
    assert values[0] == 5
    adjoint.asarray(values)[1] = 7
    assert values[1] == 7
    copied = adjoint.asarray(values, copy=True)
    copied[0] = 9
    assert values[0] == 5


def test_tensor_copies():
    values = np.ones(2, np.float32)
    adjoint.tensor(values)[0] = 5
    assert values[0] == 1
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        x = adjoint.tensor(adjoint.ones(2, requires_grad=True))
    assert not x.requires_grad
    assert x.grad_fn is None


def test_as_tensor_records_a_change_of_type():
    x = adjoint.ones(2, requires_grad=True)
    adjoint.as_tensor(x, dtype=adjoint.float64).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_lists_that_change_while_they_are_read():
    class Shrinks:
        def __float__(self):
            items.clear()
            return 1.0

    items = [1.0, Shrinks(), 3.0]
    with pytest.raises(ValueError, match="expected sequence of length 3"):
        adjoint.tensor(items, dtype=adjoint.float32)


def test_infinite_nesting_ends():
    wide = [1]
    wide.extend([wide, wide])
    with pytest.raises((TypeError, ValueError)):
        adjoint.tensor(wide)
    deep = [[1]]
    deep.append([deep, deep])
    with pytest.raises((TypeError, ValueError)):
        adjoint.tensor(deep)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tensor([[1, 2], [3]])", "expected sequence of length 2 at dim 1 (got 1)"),
        ("tensor([[1], 2])", "not a sequence"),
        ("tensor(None)", "Could not infer dtype of NoneType"),
        ("tensor('a')", "new(): invalid data type 'str'"),
        ("tensor(2 ** 64)", "Overflow when unpacking long long"),
        ("tensor(256, dtype=torch.uint8)", "value cannot be converted to type uint8 without overflow"),
        ("tensor([1], requires_grad=True)", "Only Tensors of floating point and complex dtype can require gradients"),
        ("zeros(2.0)", "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
        (
            "zeros((2, 'a'))",
            "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type str at pos 1",
        ),
        ("zeros(2, spam=1)", "zeros() got an unexpected keyword argument 'spam'"),
        ("zeros()", 'zeros() missing 1 required positional arguments: "size"'),
        ("full(2, 3)", "full(): argument 'size' (position 1) must be tuple of ints, not int"),
        ("zeros(-1)", "Trying to create tensor with negative dimension -1"),
        ("arange(1, 5, 0)", "step must be nonzero"),
        ("arange(5, 1)", "upper bound and lower bound inconsistent with step sign"),
        ("empty_strided((2, 3), (1,))", "dimensionality of sizes (2) must match dimensionality of strides (1)"),
        ("zeros(2, pin_memory=True)", "pin_memory=True requires a CUDA or other accelerator backend"),
    ],
)
def test_messages(call, message):
    # Any exception: its text is what is tested.
    with pytest.raises(Exception) as caught:  # noqa: PT011 - see above
        eval(f"torch.{call}", {"torch": adjoint})
    assert str(caught.value).startswith(message)


def test_list_of_arrays_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            adjoint.tensor([np.ones(2), np.ones(2)])
    assert len(caught) <= 1


# The older storages are among the arguments.
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("text", [
    "L.tensor(untyped)", "L.tensor(untyped, dtype=L.int16)", "L.tensor(untyped, dtype=L.float64)",
    "L.FloatTensor(untyped)", "L.as_tensor(untyped, dtype=L.float32)", "L.asarray(untyped)", "L.tensor(typed)",
    "L.tensor(typed, dtype=L.int16)", "L.as_tensor(typed, dtype=L.float64)", "L.tensor(short)",
    "L.tensor(short, dtype=L.int16)", "L.tensor([1]).new_tensor(untyped)",
])  # fmt: skip
def test_storages_are_read_as_memory(text):
    outcomes = []
    for library in (torch, adjoint):
        x = library.tensor([1.0, 2.0, 3.0])
        scope = {"L": library, "untyped": x.untyped_storage(), "typed": x.storage()}
        scope["short"] = library.tensor([1, 2], dtype=library.int16).storage()
        try:
            result = eval(text, scope)
            outcomes.append((str(result.dtype), result.tolist()))
        except RuntimeError as error:
            outcomes.append(str(error)[:60])
    assert outcomes[0] == outcomes[1]
