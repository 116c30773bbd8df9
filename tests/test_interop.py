"""Tensors exchanged with Python, NumPy, DLPack libraries, buffers and pickles."""

import array
import copy
import gc
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest
import torch

import adjoint

from .compare import DTYPES, check, check_text, lines

NUMPY_TYPES = [name for name in DTYPES if name != "bfloat16"]


LAYOUTS = [
    lambda t: t.ones(2, 3),
    lambda t: t.ones(3, 2).t(),
    lambda t: t.ones(4, 6)[::2, ::2],
    lambda t: t.ones(()),
    lambda t: t.ones(0, 3),
]


def numbers(dtype, shape=(3, 4)):
    values = np.empty(shape, dtype)
    values[...] = np.arange(values.size).reshape(shape) % 2
    return values


@pytest.mark.parametrize(
    "call",
    lines("""
    torch.ones(2).item()
    torch.ones(0).item()
    torch.ones(1, 1).item()
    torch.tensor(True).item()
    torch.tensor(2).item()
    torch.tensor(2j).item()
    torch.tensor(2.5, dtype=torch.bfloat16).item()
    torch.ones(2, 2).tolist()
    torch.ones(0, 2).tolist()
    torch.ones(2, 0).tolist()
    torch.tensor(3).tolist()
    torch.tensor([1j, 2]).tolist()
    torch.tensor([[True], [False]]).t().tolist()
    torch.ones(2, device="meta").tolist()
    torch.ones((), device="meta").item()
    torch.ones(3, requires_grad=True).tolist()
    torch.ones(3, requires_grad=True).numpy()
    torch.ones(3).numpy(True)
    torch.ones(3).numpy(force=1)
    torch.ones(3, dtype=torch.bfloat16).numpy()
    torch.ones(3, device="meta").numpy()
    torch.ones(2, 3).t().numpy().strides
    torch.ones(3).expand(2, 3).numpy().strides
    torch.ones(0, 3).numpy().shape
    torch.tensor(3.0).numpy().shape
    torch.tensor(3.0).numpy().flags.writeable
    np.asarray(torch.ones(3, requires_grad=True))
    np.asarray(torch.ones(3, dtype=torch.bfloat16))
    torch.from_numpy([1])
    torch.from_numpy(np.float32(1))
    torch.from_numpy()
    torch.from_numpy(1, 2)
    torch.from_numpy(np.zeros(4, ">f8"))
    torch.from_numpy(np.zeros(4, ">i1"))
    torch.from_numpy(np.zeros(4, "U1"))
    torch.from_numpy(np.zeros(4, "M8[s]"))
    torch.from_numpy(np.zeros(4, object))
    torch.from_numpy(np.zeros(4, np.longdouble))
    torch.from_numpy(np.zeros((4, 4))[::2, ::-1])
    torch.from_numpy(np.zeros((4, 4))[::2, ::3]).stride()
    torch.from_numpy(np.broadcast_to(np.zeros(1), (3,))).stride()
    torch.from_numpy(np.zeros(3, dtype=[("a", "i4"), ("b", "i1")])["a"])
    torch.from_numpy(np.zeros(3, dtype=[("a", "i4"), ("b", "f4")])["a"]).stride()
    torch.from_numpy(np.ma.masked_array([1, 2]))
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.float32)
    torch.frombuffer(b"abcdefgh", dtype=torch.int32)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.float64, offset=4)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, offset=4)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, offset=3)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, offset=3, count=2)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=3)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=0)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=-2)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=9)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=2**62)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, offset=8)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, offset=-1)
    torch.frombuffer(bytearray(b""), dtype=torch.int16)
    torch.frombuffer(bytearray(b"abcdefgh"))
    torch.frombuffer([1], dtype=torch.int16)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, requires_grad=True)
    torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.float32, requires_grad=True)
    torch.frombuffer(np.zeros((2, 2)), dtype=torch.float64)
    torch.frombuffer(np.zeros((2, 4))[:, ::2], dtype=torch.float64)
    torch.ones(3, requires_grad=True).__dlpack__()
    torch.ones(2).__dlpack__(stream=1)
    torch.ones(2).__dlpack__(None)
    torch.ones(2).__dlpack__(max_version=3)
    torch.ones(2).__dlpack__(copy=3)
    torch.ones(2, device="meta").__dlpack__()
    torch.ones(2, device="meta").__dlpack_device__()
    torch.from_dlpack(3)
    torch.from_dlpack(None)
    torch.from_dlpack(torch.ones(2, requires_grad=True))
    torch.from_dlpack(np.zeros(3, ">f4"))
    torch.from_dlpack(np.array(["a"]))
    torch.from_dlpack(np.zeros((4, 4))[::2, 1::3]).stride()
"""),
)
def test_same_outcome(call):
    check_text(call)


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)])
def test_numpy_round_trip(dtype, shape):
    values = numbers(dtype, shape)
    tensor = adjoint.from_numpy(values)
    assert str(tensor.dtype) == f"torch.{dtype}"
    assert tuple(tensor.shape) == shape
    back = tensor.numpy()
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)
    if values.size:
        assert tensor.data_ptr() == values.ctypes.data
        assert np.shares_memory(back, values)
    np.testing.assert_array_equal(np.asarray(tensor), values)
    np.testing.assert_array_equal(np.array(tensor), values)


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_numpy_strides(dtype):
    values = numbers(dtype, (6, 8))
    for part in (values.T, values[::2], values[:, 1::3], values[1:3, ::2].T, values[:, 3], values[:0]):
        tensor = adjoint.from_numpy(part)
        assert tensor.tolist() == part.tolist()
        np.testing.assert_array_equal(tensor.numpy(), part)
        np.testing.assert_array_equal(adjoint.tensor(part).numpy(), part)
        if part.size:
            assert tensor.numpy().strides == part.strides


def test_writes_are_seen_on_both_sides():
    values = np.zeros(4, np.float32)
    tensor = adjoint.from_numpy(values)
    values[1] = 3
    assert tensor.tolist() == [0, 3, 0, 0]
    tensor[2] = 5
    assert values[2] == 5
    tensor.numpy()[0] = 7
    assert values[0] == 7


def test_lifetimes():
    class Owner(np.ndarray):
        pass

    values = np.arange(4.0).view(Owner)
    reference = weakref.ref(values)
    tensor = adjoint.from_numpy(values)
    view = tensor[1:]
    del values, tensor
    gc.collect()
    assert reference() is not None
    assert view.tolist() == [1, 2, 3]
    del view
    gc.collect()
    assert reference() is None

    kept = adjoint.arange(1000.0).numpy()
    gc.collect()
    adjoint.zeros(1000)
    np.testing.assert_array_equal(kept, np.arange(1000))


def test_an_exported_array_outlives_a_change_of_memory():
    tensor = adjoint.ones(3)
    values = tensor.numpy()
    with pytest.warns(UserWarning, match="was resized"):
        adjoint.zeros(5, out=tensor)
    assert values.tolist() == [1, 1, 1]
    assert tensor.tolist() == [0] * 5


def test_read_only_arrays_warn():
    values = np.arange(3.0)
    values.setflags(write=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert adjoint.from_numpy(values).tolist() == [0, 1, 2]
        adjoint.from_numpy(values)
    assert len(caught) <= 1
    assert adjoint.tensor(values).tolist() == [0, 1, 2]  # a copy needs no warning


def test_unaligned_memory_is_copied():
    raw = np.frombuffer(bytearray(b"a" * 17), np.float32, offset=1)
    with pytest.warns(UserWarning, match="not aligned"):
        tensor = adjoint.from_numpy(raw)
    assert tensor.tolist() == raw.tolist()
    assert tensor.data_ptr() % 4 == 0
    grid = np.frombuffer(bytearray(range(97)), np.float64, offset=1).reshape(3, 4)[:, ::2].T
    assert adjoint.tensor(grid).tolist() == grid.tolist()


def test_array_protocol():
    tensor = adjoint.arange(3.0)
    assert tensor.__array__().dtype == np.float32
    assert tensor.__array__(np.int32).dtype == np.int32
    assert not np.shares_memory(tensor.__array__(copy=True), tensor.numpy())
    assert np.shares_memory(tensor.__array__(), tensor.numpy())
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        tensor.__array__(np.float64, copy=False)
    assert np.array(tensor, copy=False).tolist() == [0, 1, 2]
    assert np.stack([tensor, tensor]).shape == (2, 3)
    assert (np.ones(3) + tensor.numpy()).tolist() == [1, 2, 3]


def test_numpy_of_a_tensor_that_requires_grad():
    tensor = adjoint.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        tensor.numpy()
    assert tensor.numpy(force=True).tolist() == [1, 1, 1]
    assert tensor.detach().numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_buffer_protocol(dtype):
    tensor = adjoint.ones(2, 3, dtype=getattr(adjoint, dtype))
    view = memoryview(tensor)
    assert view.shape == (2, 3)
    assert view.nbytes == 6 * view.itemsize
    assert not view.readonly
    assert view.tobytes() == tensor.numpy().tobytes()
    assert bytes(tensor) == view.tobytes()
    column = memoryview(tensor.t())
    assert column.strides == (view.itemsize, 3 * view.itemsize)
    assert not column.c_contiguous
    np.testing.assert_array_equal(np.frombuffer(tensor, tensor.numpy().dtype), np.ones(6))


def test_buffers_that_are_refused():
    for tensor in (
        adjoint.ones(2, requires_grad=True),
        adjoint.ones(2, dtype=adjoint.bfloat16),
        adjoint.ones(2, device="meta"),
    ):
        with pytest.raises(BufferError):
            memoryview(tensor)
    with pytest.raises(BufferError):
        bytes(adjoint.ones(2, 3).t()) and np.frombuffer(adjoint.ones(2, 3).t())


def test_frombuffer_shares():
    memory = array.array("d", [1, 2, 3])
    tensor = adjoint.frombuffer(memory, dtype=adjoint.float64)
    memory[1] = 7
    assert tensor.tolist() == [1, 7, 3]
    tensor[0] = 5
    assert memory[0] == 5
    with pytest.raises(BufferError):
        memory.append(4)  # exported
    del tensor
    memory.append(4)


# ---- DLPack


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_torch(dtype):
    for make in LAYOUTS:
        ours = make(adjoint).to(getattr(adjoint, dtype))
        theirs = torch.from_dlpack(ours)
        assert str(theirs.dtype) == f"torch.{dtype}"
        assert theirs.shape == tuple(ours.shape)
        assert theirs.stride() == ours.stride()
        assert ours.numel() == 0 or theirs.data_ptr() == ours.data_ptr()
        back = adjoint.from_dlpack(theirs)
        assert back.dtype == ours.dtype
        assert back.stride() == ours.stride()
        assert back.tolist() == ours.tolist()
        assert ours.numel() == 0 or back.data_ptr() == ours.data_ptr()


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_dlpack_with_numpy(dtype):
    values = numbers(dtype)
    for part in (values, values.T, values[::2, 1:], values[:0], values[1, 1:2].reshape(())):
        tensor = adjoint.from_dlpack(part)
        assert tensor.tolist() == part.tolist()
        if part.size:
            assert tensor.data_ptr() == part.ctypes.data
        back = np.from_dlpack(tensor)
        assert back.dtype == part.dtype
        np.testing.assert_array_equal(back, part)
        if part.size:
            assert np.shares_memory(back, part)


def test_dlpack_keywords():
    tensor = adjoint.ones(2)
    assert tensor.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(tensor.__dlpack__(max_version=(0, 8)))
    assert "versioned" not in repr(tensor.__dlpack__(stream=None, dl_device=(1, 0)))
    copied = torch.from_dlpack(tensor.__dlpack__(copy=True))
    assert copied.data_ptr() != tensor.data_ptr()
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    shared = adjoint.from_dlpack(tensor, copy=False, device="cpu")
    assert shared.data_ptr() == tensor.data_ptr()
    assert adjoint.from_dlpack(tensor, copy=True).data_ptr() != tensor.data_ptr()


def test_dlpack_capsules_are_consumed_once():
    tensor = adjoint.arange(3.0)
    for capsule in (tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0)), torch.arange(3.0).__dlpack__()):
        assert adjoint.from_dlpack(capsule).tolist() == [0, 1, 2]
        with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
            adjoint.from_dlpack(capsule)


def test_dlpack_lifetimes():
    def memory():
        return adjoint.memory_stats()["current"]

    gc.collect()
    before = memory()
    for _ in range(20):
        tensor = adjoint.zeros(1000)
        unused = tensor.__dlpack__(max_version=(1, 0))
        theirs = torch.from_dlpack(tensor)
        array_ = np.from_dlpack(tensor)
        del tensor
        assert theirs.sum() == 0
        assert array_.sum() == 0
        del unused, theirs, array_
    gc.collect()
    assert memory() == before

    values = np.zeros(1000)
    count = sys.getrefcount(values)
    tensor = adjoint.from_dlpack(values)
    assert sys.getrefcount(values) == count + 1
    del tensor
    assert sys.getrefcount(values) == count


def test_dlpack_refuses_what_it_cannot_hold():
    with pytest.raises(ValueError, match="negative strides"):
        adjoint.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(BufferError, match="unsupported data type"):
        adjoint.from_dlpack(torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))

    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        adjoint.from_dlpack(Broken())


def test_dlpack_of_an_older_library():
    class Older:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, stream=None):
            return self.tensor.__dlpack__()

    assert adjoint.from_dlpack(Older(adjoint.arange(3.0))).tolist() == [0, 1, 2]


def test_read_only_dlpack_warns():
    values = np.arange(3.0)
    values.setflags(write=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert adjoint.from_dlpack(values).tolist() == [0, 1, 2]
    assert len(caught) <= 1


# ---- Pickles and copies


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle(dtype, protocol):
    for make in LAYOUTS:
        tensor = make(adjoint).to(getattr(adjoint, dtype))
        back = pickle.loads(pickle.dumps(tensor, protocol))
        assert back.dtype == tensor.dtype
        assert back.shape == tensor.shape
        assert back.tolist() == tensor.tolist()
        assert tensor.numel() == 0 or back.data_ptr() != tensor.data_ptr()


def test_pickle_keeps_strides_and_requires_grad():
    tensor = adjoint.ones(2, 3).t().requires_grad_()
    back = pickle.loads(pickle.dumps(tensor))
    assert back.stride() == (1, 3)
    assert back.requires_grad
    assert back.is_leaf
    assert len(pickle.dumps(adjoint.ones(10000)[:2])) < 500


def test_pickle_out_of_band():
    tensor = adjoint.arange(1000.0)
    buffers = []
    data = pickle.dumps(tensor, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 500
    assert pickle.loads(data, buffers=buffers).tolist() == tensor.tolist()


def test_bad_pickles_are_refused():
    rebuild = adjoint._C._rebuild
    with pytest.raises(RuntimeError, match="expected 8 bytes"):
        rebuild("float32", (2,), None, b"abc", False)
    with pytest.raises(RuntimeError, match="name of a dtype"):
        rebuild("float31", (2,), None, b"abcdefgh", False)
    with pytest.raises(RuntimeError, match="strides without gaps"):
        rebuild("float32", (2,), (2,), b"abcdefgh", False)
    with pytest.raises(RuntimeError, match="negative"):
        rebuild("float32", (-2,), None, b"abcdefgh", False)
    assert rebuild("bool", (2,), None, b"\x07\x00", False).tolist() == [True, False]


def test_deepcopy():
    tensor = adjoint.ones(2, 3).t().requires_grad_()
    copied = copy.deepcopy(tensor)
    assert copied.requires_grad
    assert copied.stride() == (1, 3)
    assert copied.data_ptr() != tensor.data_ptr()
    check(lambda t: copy.deepcopy(t.ones(3, requires_grad=True) * 2))


ARRAYS = {
    "float64": np.array([2.0, 3.0]),
    "float32": np.array([2.0, 3.0], np.float32),
    "int64": np.array([2, 3]),
    "bool": np.array([True, False]),
    "0-d": np.array(2.0),
    "matrix": np.ones((2, 2)),
    "scalar": np.float64(2.0),
    "integer": np.int64(3),
}
SIDES = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b, "==": lambda a, b: a == b,
    "np.add": np.add, "np.divide": np.divide, "np.less": np.less,
}  # fmt: skip


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", SIDES)
def test_operators_with_arrays(name, kind):
    """NumPy computes, by its rules of types. (torch refuses an array on the left of most of them.)"""
    array, operate = ARRAYS[kind], SIDES[name]
    for values in ([1.0, 4.0], [1, 2]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of torch's __array_wrap__
            expected, got = (operate(library.tensor(values), array) for library in (torch, adjoint))
            mirrored = operate(array, adjoint.tensor(values))
        assert repr((str(got.dtype), got.tolist())) == repr((str(expected.dtype), expected.tolist()))
        assert type(got) is type(mirrored) is adjoint.Tensor
        assert mirrored.shape == got.shape


def test_arrays_divided_by_tensors():
    for library in (torch, adjoint):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of torch's __array_wrap__
            quotient = np.array([2.0]) / library.ones(1)
            assert (quotient.tolist(), str(quotient.dtype)) == ([2.0], "torch.float64")
            assert (np.float64(2) * library.ones(1, requires_grad=True)).requires_grad


def test_arrays_beside_tensors_that_require_grad():
    """torch refuses; here the op is recorded (tests/test_numpy_functions.py)."""
    for operate in (lambda t: np.array([2.0]) / t, lambda t: t * np.array([2.0])):
        with pytest.raises(RuntimeError, match="Can't call numpy"):
            operate(torch.ones(1, requires_grad=True))
        assert operate(adjoint.ones(1, requires_grad=True)).requires_grad


def test_matrices_times_arrays():
    for library in (torch, adjoint):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of torch's __array_wrap__
            assert (library.ones(2) @ np.array([2.0, 3.0])).item() == 5.0
    assert (np.ones((2, 2)) @ adjoint.ones(2)).tolist() == [2.0, 2.0]
