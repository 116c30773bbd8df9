"""The accelerator of this machine, whatever its make: an NVIDIA GPU, or none."""

import sys

from . import _C
from ._absent import refusals

# Names here -> what torch.cuda calls the same.
_SAME = {
    **{name: name for name in ("current_stream", "empty_cache", "get_device_capability", "max_memory_allocated")},
    **{name: name for name in ("max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats")},
    **{name: name for name in ("reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_stream")},
    "current_device_idx": "current_device",
    "current_device_index": "current_device",
    "get_memory_info": "mem_get_info",
    "set_device_idx": "set_device",
    "set_device_index": "set_device",
    "synchronize": "synchronize",
}


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


def _refuse(*args, **kwargs):
    """Raises: there is no accelerator."""
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Ask torch.accelerator.is_available() first."
    )


class device_index:
    """A context in which another accelerator is the current one; None changes nothing.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     with torch.accelerator.device_index(0):
    ...         _ = torch.zeros(1, device="cuda")
    """

    def __init__(self, device, /):
        if not is_available():
            _refuse()
        self.idx, self.prev_idx = device, None

    def __enter__(self):
        self.prev_idx = _C._cuda_current_device()
        if self.idx is not None:
            _C._cuda_set_device(self.idx)

    def __exit__(self, *error):
        _C._cuda_set_device(self.prev_idx)


def empty_host_cache():
    """Gives the pinned memory that no tensor uses back to the system.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.empty_host_cache()
    """
    if not is_available():
        _refuse()
    _C._cuda_empty_pinned_cache()


_get = refusals(tuple(_SAME), ("Graph",), _refuse, sys.modules[__name__])


def __getattr__(name):
    if name in _SAME and is_available():
        from . import cuda

        return getattr(cuda, _SAME[name])
    if name == "Graph" and is_available():
        from .cuda import CUDAGraph

        return CUDAGraph
    return _get(name)
