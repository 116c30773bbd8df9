"""The stream that this thread uses of each GPU."""

from .. import _C
from ._devices import index_of, init
from .streams import ExternalStream, Stream


def _stream(index, handle):
    return Stream.__new__(Stream)._take(index, handle)


def current_stream(device=None):
    """The stream that this thread uses of a GPU.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.current_stream() == torch.cuda.default_stream()
    """
    init()
    index = index_of(device)
    return _stream(index, _C._cuda_current_stream(index))


def default_stream(device=None):
    """The stream that a GPU has from the beginning.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.default_stream().cuda_stream == 0
    """
    init()
    return _stream(index_of(device), 0)


def set_stream(stream):
    """Chooses the stream that this thread uses; stream() does it for a while.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_stream(torch.cuda.default_stream())
    """
    init()
    if stream is not None:
        _C._cuda_set_stream(stream.device_index, stream.cuda_stream)


def get_stream_from_external(data_ptr, device=None):
    """A stream that another library has made, by the driver's handle.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.get_stream_from_external(0) == torch.cuda.default_stream()
    """
    return ExternalStream(data_ptr, device)


class StreamContext:
    """A context in which this thread uses a stream, and its GPU; None changes nothing. stream() makes one.

    >>> import adjoint as torch
    >>> with torch.cuda.StreamContext(None):
    ...     pass
    """

    __module__ = "adjoint.cuda"

    def __init__(self, stream):
        self.stream = stream
        self._before = []

    def __enter__(self):
        if self.stream is None:
            return
        index = self.stream.device_index
        self._before.append((_C._cuda_current_device(), _C._cuda_current_stream(index)))
        _C._cuda_set_device(index)
        _C._cuda_set_stream(index, self.stream.cuda_stream)

    def __exit__(self, *error):
        if self.stream is None:
            return
        device, handle = self._before.pop()
        _C._cuda_set_stream(self.stream.device_index, handle)
        _C._cuda_set_device(device)


def stream(stream):
    """A context in which this thread uses a stream; None changes nothing.

    >>> import adjoint as torch
    >>> with torch.cuda.stream(torch.cuda.Stream() if torch.cuda.is_available() else None):
    ...     pass
    """
    return StreamContext(stream)
