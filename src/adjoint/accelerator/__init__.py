"""The accelerator of this machine, whatever its make: an NVIDIA GPU, or none."""

from .. import _C
from ._checks import index_of as _index_of
from ._checks import need as _need

__all__ = [
    *("Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count"),
    *("device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available"),
    *("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats"),
    *("reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream"),
    "synchronize",
]
# Names that another file of this folder defines, loaded when one of them is asked for.
_HOME = {name: "memory" for name in __all__ if "memory" in name or name.startswith("empty")} | {"Graph": "graphs"}


def is_available():
    """Whether there is an accelerator.

    >>> import adjoint as torch
    >>> device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    >>> torch.zeros(1, device=device).sum().item()
    0.0
    """
    return not _C._cuda_why_unavailable()


def device_count():
    """The number of accelerators.

    >>> import adjoint as torch
    >>> torch.accelerator.device_count() == torch.cuda.device_count()
    True
    """
    return _C._cuda_device_count()


def current_accelerator(check_available=False):
    """The device of the accelerator, without a number; None where there is none.

    >>> import adjoint as torch
    >>> (torch.accelerator.current_accelerator() is None) == (not torch.cuda.is_available())
    True
    """
    return _C.device("cuda") if is_available() else None


def get_device_capability(device=None, /):
    """What an accelerator can do: "supported_dtypes", the types of tensors that can be made on it.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.float32 in torch.accelerator.get_device_capability()["supported_dtypes"]
    """
    _index_of(device)
    return {"supported_dtypes": {value for value in vars(_C).values() if isinstance(value, _C.dtype)}}


def current_device_index():
    """The number of the accelerator that this thread uses where none is named.

    >>> import adjoint as torch
    >>> torch.accelerator.current_device_index() if torch.accelerator.is_available() else 0
    0
    """
    return _index_of(None)


def current_device_idx():
    """The old name of current_device_index().

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     _ = torch.accelerator.current_device_index()  # the name to use
    """
    return current_device_index()


def set_device_index(device, /):
    """Chooses the accelerator that this thread uses where none is named.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.set_device_index(0)
    """
    _C._cuda_set_device(_index_of(device))


def set_device_idx(device, /):
    """The old name of set_device_index().

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.set_device_index(0)  # the name to use
    """
    set_device_index(device)


def current_stream(device=None, /):
    """The stream that this thread uses of an accelerator.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.accelerator.current_stream() == torch.cuda.current_stream()
    """
    from .. import cuda

    return cuda.current_stream(_index_of(device))


def set_stream(stream):
    """Chooses the stream that this thread uses, and its accelerator.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.set_stream(torch.accelerator.current_stream())
    """
    from .. import cuda
    from .._streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError(f"torch.accelerator.set_stream(): expected a torch.Stream, got {type(stream).__name__}")
    _need()
    set_device_index(stream.device_index)
    cuda.set_stream(stream)


def synchronize(device=None, /):
    """Waits until all work of an accelerator is done; errors of kernels show here.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.synchronize()
    """
    _C._cuda_synchronize(_index_of(device))


class device_index:
    """A context in which another accelerator is the current one; None changes nothing.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     with torch.accelerator.device_index(0):
    ...         _ = torch.zeros(1, device="cuda")
    """

    def __init__(self, device, /):
        self.idx, self.prev_idx = device, None

    def __enter__(self):
        if self.idx is not None:
            self.prev_idx = _index_of(None)
            set_device_index(self.idx)

    def __exit__(self, *error):
        if self.idx is not None:
            _C._cuda_set_device(self.prev_idx)


def __getattr__(name):
    import importlib

    if name in ("memory", "graphs"):
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    from .._install import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *_HOME, "graphs", "memory"})
