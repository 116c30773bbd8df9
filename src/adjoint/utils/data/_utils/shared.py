"""Batches between processes: small ones through the pipe, large ones through shared memory, tensors never copied twice.

A message has one body: a pickle, and behind it the elements of its tensors, each at a multiple of 64 bytes. The body
of a large message is a file in memory without a name, which goes through the pipe and which the receiver maps: its
tensors lie there. The system frees it when the last process that has it ends, however that comes about.
"""

import io
import mmap
import os
import pickle
import tempfile
from multiprocessing import reduction

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


def pack(value):
    """What to give to send() in the place of a value."""
    text = io.BytesIO()
    pickler = _Pickler(text)
    pickler.dump(value)
    text = text.getbuffer()
    start = _aligned(len(text))
    size = start + pickler.size
    file, body = (None, bytearray(size)) if size <= INLINE else _file(size)
    body[: len(text)] = text
    for tensor, offset in pickler.tensors:
        if tensor.numel():
            _at(body, start + offset, tensor.dtype, tuple(tensor.shape)).copy_(tensor.detach())
    return file, body, start


def _file(size):
    """A file in shared memory, and its memory."""
    file = tempfile.TemporaryFile(dir=_folder())  # noqa: SIM115 - closed when it has been sent
    try:
        os.posix_fallocate(file.fileno(), 0, size)  # an error now, not a signal when the memory is written
        return file, mmap.mmap(file.fileno(), size)
    except OSError as error:
        file.close()
        raise RuntimeError(
            f"DataLoader: no room for a batch of {size} bytes in {_folder()} ({error.strerror}); make it larger, "
            "or use fewer workers, smaller batches or a smaller prefetch_factor"
        ) from error


def send(conn, kind, task, packed):
    """Sends a reply: its kind, the number of the task, and what pack() gave, or None."""
    if packed is None:
        conn.send((kind, task, None))
        return
    file, body, start = packed
    conn.send((kind, task, (len(body), start, None if file else bytes(body))))
    if file:
        with file:
            reduction.send_handle(conn, file.fileno(), os.getppid())


def receive(conn):
    """(kind, task, message) as they were sent; the message is for unpack()."""
    kind, task, message = conn.recv()
    if message is None:
        return kind, task, None
    size, start, body = message
    if body is not None:
        return kind, task, (bytearray(body), start)
    file = reduction.recv_handle(conn)
    try:
        return kind, task, (mmap.mmap(file, size), start)
    finally:
        os.close(file)


def unpack(message):
    """The value of a message."""
    buffer, start = message
    return _Unpickler(io.BytesIO(memoryview(buffer)[:start]), buffer, start).load()
