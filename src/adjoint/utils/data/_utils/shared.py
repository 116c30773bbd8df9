"""Batches between processes: small ones through the pipe, large ones through shared memory, tensors never copied twice.

A message has one body: a pickle, and behind it the elements of its tensors, each at a multiple of 64 bytes. The body
of a large message is a file in memory that the receiver maps and removes: its tensors lie there.
"""

import contextlib
import glob
import io
import mmap
import os
import pickle
import tempfile

from .... import _C

INLINE = 16 << 10  # bytes that go through the pipe
ALIGNMENT = 64


def _folder():
    return "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()


def _aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


class _Pickler(pickle.Pickler):
    """Puts the place of a tensor's elements where the tensor is."""

    def __init__(self, file):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors = []  # (tensor, offset)
        self.size = 0

    def persistent_id(self, value):
        """(type, shape, offset, requires grad) of a tensor; None for all else, which is pickled as usual."""
        if type(value) is not _C.Tensor or value.grad_fn is not None or value.device.type != "cpu":
            return None
        offset = self.size
        self.tensors.append((value, offset))
        self.size += _aligned(value.numel() * value.element_size())
        return str(value.dtype).partition(".")[2], tuple(value.shape), offset, value.requires_grad


class _Unpickler(pickle.Unpickler):
    """Makes tensors on the elements in a buffer."""

    def __init__(self, file, buffer, start):
        super().__init__(file)
        self.buffer, self.start = buffer, start

    def persistent_load(self, key):
        """The tensor described by what persistent_id gave."""
        dtype, shape, offset, requires_grad = key
        return _at(self.buffer, self.start + offset, getattr(_C, dtype), shape).requires_grad_(requires_grad)


def _at(buffer, offset, dtype, shape):
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return _C.empty(shape, dtype=dtype)
    return _C.frombuffer(buffer, dtype=dtype, count=count, offset=offset).view(shape)


class Sender:
    """Makes messages; `prefix` begins the names of its files."""

    def __init__(self, prefix):
        self.prefix, self.count = prefix, 0

    def pack(self, value):
        """What to send through a pipe in the place of a value."""
        text = io.BytesIO()
        pickler = _Pickler(text)
        pickler.dump(value)
        text = text.getbuffer()
        start = _aligned(len(text))
        size = start + pickler.size
        body, name = self._buffer(size)
        body[: len(text)] = text
        for tensor, offset in pickler.tensors:
            if tensor.numel():
                _at(body, start + offset, tensor.dtype, tuple(tensor.shape)).copy_(tensor.detach())
        return (name, size, start) if name else (bytes(body), size, start)

    def _buffer(self, size):
        if size <= INLINE:
            return bytearray(size), ""
        self.count += 1
        name = os.path.join(_folder(), f"{self.prefix}{os.getpid()}-{self.count}")
        file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.posix_fallocate(file, 0, size)  # an error now, not a signal when the memory is written
            return mmap.mmap(file, size), name
        except OSError as error:
            os.unlink(name)
            raise RuntimeError(
                f"DataLoader: no room for a batch of {size} bytes in {_folder()} ({error.strerror}); make it larger, "
                "or use fewer workers, smaller batches or a smaller prefetch_factor"
            ) from error
        finally:
            os.close(file)


def unpack(message):
    """The value of a message; its file, if there is one, is removed."""
    body, size, start = message
    if isinstance(body, str):
        file = os.open(body, os.O_RDWR)
        try:
            os.unlink(body)
            buffer = mmap.mmap(file, size)
        finally:
            os.close(file)
    else:
        buffer = bytearray(body)
    return _Unpickler(io.BytesIO(memoryview(buffer)[:start]), buffer, start).load()


def discard(message):
    """Removes the file of a message that nobody will read."""
    if isinstance(message[0], str):
        os.unlink(message[0])


def remove_files(prefix):
    """Removes the files that killed processes have left behind."""
    for name in glob.glob(os.path.join(_folder(), f"{glob.escape(prefix)}*")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
