"""Storages from buffers and files, in files of torch.save, in pickles, and through the pipes of processes."""

import io
import os
import pickle

import numpy as np
import pytest
import torch

import adjoint
from adjoint import multiprocessing

from .compare import LIBRARIES
from .test_storage import agree, outcome

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
FORK = multiprocessing.get_context("fork")
BUFFER = bytes(range(1, 9))

BUFFERS = [
    *(
        "U(B, 'native')",
        "U(B)",
        "U(B, dtype=L.uint8)",
        "U(B, 'native', dtype=L.int16)",
        "U(B, 'little', dtype=L.int16)",
    ),
    *("U(B, 'big', dtype=L.int16)", "U(B, 'foo', dtype=L.int16)", "U(B, dtype=L.int16)", "U(b'', dtype=L.uint8)"),
    *("U(B, 'big', count=1, dtype=L.int16)", "U(B, 'big', count=1, offset=3, dtype=L.int16)"),
    *(
        "U(B, 'big', offset=9, dtype=L.int16)",
        "U(B, 'big', offset=8, dtype=L.int16)",
        "U(B, 'big', offset=-1, dtype=L.int16)",
    ),
    *(
        "U(B, 'big', offset=3, dtype=L.int16)",
        "U(B, 'big', count=9, dtype=L.int16)",
        "U(B, 'big', count=0, dtype=L.int16)",
    ),
    *("U(B, 'big', count=-5, dtype=L.int16)", "U(B, 'big', 2, 1, L.int16)", "U(3, 'big', dtype=L.int16)"),
    *("U('abc', dtype=L.uint8)", "U(bytearray(B), 'native', dtype=L.bool)", "U(B, 'big', dtype=L.complex64)"),
    *("U(B, 'big', dtype=L.bfloat16)", "U(B, 'big', dtype='float')", "U(memoryview(B)[::2], dtype=L.uint8)"),
    *("L.FloatStorage.from_buffer(B, 'big')", "L.FloatStorage.from_buffer(B, 'big', dtype=L.float)"),
    *("L.IntStorage.from_buffer(B, 'little', 1, 4)", "L.ByteStorage.from_buffer(B)", "L.IntStorage.from_buffer(B)"),
    *("L.TypedStorage.from_buffer(B, 'native', dtype=L.int, device='cpu')", "L.TypedStorage.from_buffer(B, 'native')"),
    *(
        "L.TypedStorage.from_buffer(B, 'native', dtype=L.int, device='meta')",
        "L.FloatStorage.from_buffer(B, 'native', device='cpu')",
    ),
]


@pytest.mark.parametrize("text", BUFFERS)
def test_from_buffer(text):
    agree(text, B=lambda L: BUFFER, U=lambda L: L.UntypedStorage.from_buffer)


FILES = [
    *(
        "U(p, True, 8)",
        "U(p, True, 8).is_shared()",
        "U(p, True, 8).filename == p",
        "U(p, False, 4)",
        "U(p, True, 16).nbytes()",
    ),
    *("U(p, False, 8).filename", "U(p, False, 8).is_shared()", "U(p, shared=True, nbytes=8)", "U(p)", "U(p, True, 0)"),
    *("U(p, True, 8).resizable()", "U(p, True, 8).resize_(100)", "U(p, True, 8).share_memory_().filename == p", "U(3)"),
    *(
        "L.FloatStorage.from_file(p, True, 2)",
        "L.FloatStorage.from_file(p, shared=True, size=4).size()",
    ),
    *("L.TypedStorage.from_file(p, True, 2)", "L.FloatStorage.from_file(p, True, 2).filename == p"),
    *("L.from_file(p, shared=True, size=2)", "L.from_file(p, size=2).untyped_storage().filename", "L.from_file(p)"),
    *("L.from_file(p, shared=True, size=2).untyped_storage().filename == p", "L.from_file(p, size=200)"),
    *(
        "L.from_file(p, dtype=L.int32, size=2)",
        "U(p, False, 100)",
        "U('/nowhere/x', False, 8)",
        "U('/nowhere/x', True, 8)",
    ),
]


@pytest.mark.parametrize("text", FILES)
def test_from_file(text, tmp_path):
    def run(L):
        path = str(tmp_path / L.__name__)
        with open(path, "wb") as file:
            file.write(BUFFER)
        result = outcome(lambda: eval(text, {"L": L, "U": L.UntypedStorage.from_file, "p": path}))
        return str(result).replace(path, "PATH"), os.path.getsize(path)

    assert run(adjoint) == run(torch)


def test_what_files_get(tmp_path):
    for L in LIBRARIES:
        path = str(tmp_path / L.__name__)
        L.UntypedStorage.from_file(path, True, 8).fill_(7)
        x = L.from_file(path, True, 2, dtype=L.float32)
        x[1] = 1.0
        del x
        private = L.UntypedStorage.from_file(path, False, 4)
        private.fill_(9)
        assert private.tolist() == [9] * 4
        with open(path, "rb") as file:
            assert file.read() == bytes([7] * 4) + np.float32(1).tobytes()
    for size in (1.5, True, "a"):
        with pytest.raises(TypeError, match="argument 'size' must be int"):
            adjoint.from_file(path, size=size)
    with pytest.raises(RuntimeError, match="mapped to memory of the cpu"):
        adjoint.from_file(path, size=1, device="meta")
    with pytest.raises(RuntimeError, match="unable to mmap -1 bytes"):
        adjoint.UntypedStorage.from_file(path, True, -1)
    with pytest.raises(RuntimeError, match="unable to mmap 8 bytes from file"):
        adjoint.UntypedStorage.from_file("/", False, 8)


@pytest.mark.parametrize("real", [True, False])
def test_bytes_with_their_number(real, tmp_path):
    for writer, reader in ((torch, adjoint), (adjoint, torch), (adjoint, adjoint)):
        with open(tmp_path / "bytes", "w+b") if real else io.BytesIO() as file:
            writer.UntypedStorage([1, 2, 3, 4])._write_file(file, real, True, 2)
            file.seek(0)
            if real or reader is adjoint:  # torch reads files of the system alone
                assert reader.UntypedStorage._new_with_file(file, 2).tolist() == [1, 2, 3, 4]
            target = reader.UntypedStorage(4)
            file.seek(0)
            assert target._set_from_file(file, 0 if real else None, real, 2) is target
            assert target.tolist() == [1, 2, 3, 4]
    four = io.BytesIO((4).to_bytes(8, "little") + bytes(4))
    with pytest.raises(RuntimeError, match="storage has wrong byte size: expected 4 got 3"):
        adjoint.UntypedStorage(3)._set_from_file(four, None, False, 1)
    for damaged in (b"", (-1).to_bytes(8, "little", signed=True), (9).to_bytes(8, "little") + b"ab"):
        with pytest.raises(RuntimeError, match="corrupt"):
            adjoint.UntypedStorage._new_with_file(io.BytesIO(damaged), 1)


# ---- torch.save


def objects(L):
    """Storages, and tensors that share them, by name."""
    x = L.arange(4.0)
    typed = x._typed_storage()
    bits = L.empty(0, dtype=L.uint8).set_(L.UntypedStorage([1, 2]))
    return {
        "untyped": L.UntypedStorage([1, 2, 3]),
        "typed": L.LongStorage([4, 5]),
        "shared": [typed, x, x[1:], typed],
        "bytes": [bits, bits.untyped_storage()],
        "empty": L.UntypedStorage(0),
    }


@pytest.mark.parametrize("name", ["untyped", "typed", "shared", "bytes", "empty"])
@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(torch, adjoint), (adjoint, torch), (adjoint, adjoint), (torch, torch)])
def test_saved_storages(name, safe, writer, reader):
    file = io.BytesIO()
    writer.save(objects(writer)[name], file)
    file.seek(0)
    loaded = reader.load(file, weights_only=safe)
    parts = loaded if isinstance(loaded, list) else [loaded]
    kinds = [type(part).__name__ for part in parts]
    values = [part.tolist() for part in parts]
    expected = {
        "untyped": (["TypedStorage"], [[1, 2, 3]]),
        "typed": (["TypedStorage"], [[4, 5]]),
        "shared": (
            ["TypedStorage", "Tensor", "Tensor", "TypedStorage"],
            [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]],
        ),
        "bytes": (["Tensor", "TypedStorage"], [[1, 2], [1, 2]]),
        "empty": (["TypedStorage"], [[]]),
    }
    assert (kinds, values) == expected[name]
    if name == "shared":
        assert parts[0].untyped() is parts[1].untyped_storage() is parts[2].untyped_storage() is parts[3].untyped()
    assert vars(parts[0].untyped() if hasattr(parts[0], "untyped") else parts[0].untyped_storage()) == {}


def test_one_storage_as_two_types():
    for L in LIBRARIES:
        x = L.arange(4.0)
        for both in ([x, x.untyped_storage()], [x.untyped_storage(), x.view(L.int32)]):
            with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data"):
                L.save(both, io.BytesIO())


def test_legacy_files():
    for writer, reader in ((torch, adjoint), (adjoint, torch)):
        file = io.BytesIO()
        writer.save(writer.FloatStorage([1, 2]), file, _use_new_zipfile_serialization=False)
        file.seek(0)
        assert reader.load(file).tolist() == [1.0, 2.0]


def test_pickles():
    typed = adjoint.FloatStorage([1, 2])
    again = pickle.loads(pickle.dumps(typed))
    assert (type(again), again.tolist(), again.dtype) == (adjoint.TypedStorage, [1.0, 2.0], adjoint.float32)
    # torch cannot pickle these; a TypedStorage of bytes is what its files make of them.
    assert pickle.loads(pickle.dumps(adjoint.UntypedStorage([1, 2]))).tolist() == [1, 2]
    assert adjoint.storage._load_from_bytes(typed.__reduce__()[1][0]).tolist() == [1.0, 2.0]
    with pytest.raises(NotImplementedError, match="no data"):
        pickle.dumps(adjoint.UntypedStorage(2, device="meta"))


@pytest.mark.parametrize("location", ["cpu", lambda storage, location: storage, {"cpu": "cpu"}])
def test_where_storages_are_put(location):
    file = io.BytesIO()
    adjoint.save([adjoint.UntypedStorage([1, 2]), adjoint.ones(2)], file)
    file.seek(0)
    storage, tensor = adjoint.load(file, map_location=location)
    assert (storage.tolist(), tensor.tolist()) == ([1, 2], [1.0, 1.0])
    file.seek(0)
    storage, tensor = adjoint.load(file, map_location="meta")
    assert (storage.device.type, storage.nbytes(), tensor.device.type) == ("meta", 2, "meta")


# ---- processes


def test_descriptors():
    for L in LIBRARIES:
        storage = L.UntypedStorage([1, 2, 3])
        file, size = storage._share_fd_cpu_()
        other = L.UntypedStorage._new_shared_fd_cpu(file, size)
        other[0] = 9
        assert (storage.tolist(), other.is_shared(), size) == ([9, 2, 3], True, 3)
        for bad in ((), (10**6, 4), (-1, 4)):
            with pytest.raises(RuntimeError):
                L.UntypedStorage._new_shared_fd_cpu(*bad)
    with pytest.raises(RuntimeError, match="the file has"):
        adjoint.UntypedStorage._new_shared_fd_cpu(file, 10**6)


def _double(queue, answers):
    untyped, typed = queue.get(timeout=60)
    untyped.fill_(untyped[0] * 2)
    typed[1] = 8.0
    answers.put((type(untyped).__name__, typed.dtype == adjoint.float32))


def test_through_queues():
    untyped, x = adjoint.UntypedStorage([3, 4]), adjoint.arange(3.0)
    queue, answers = FORK.Queue(), FORK.Queue()
    process = FORK.Process(target=_double, args=(queue, answers))
    process.start()
    queue.put((untyped, x._typed_storage()))
    assert answers.get(timeout=60) == ("UntypedStorage", True)
    process.join(60)
    assert (untyped.tolist(), x.tolist()) == ([6, 6], [0.0, 8.0, 2.0])
    with pytest.raises(RuntimeError, match="Cannot pickle meta storage"):
        multiprocessing.reductions.reduce_storage(adjoint.UntypedStorage(2, device="meta"))
