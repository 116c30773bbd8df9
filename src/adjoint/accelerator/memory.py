"""The memory of the accelerator: how much is used, how much is kept, and giving it back."""

from .. import _C
from ..cuda import memory as cuda_memory
from ._checks import index_of, need

__all__ = [
    *("empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved"),
    *("memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats"),
    "reset_peak_memory_stats",
]


def empty_cache():
    """Gives the memory that no tensor uses back to the driver, where other programs can take it.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.empty_cache()
    """
    need()
    _C._cuda_empty_cache()


def empty_host_cache():
    """Gives the pinned memory that no tensor uses back to the system.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.empty_host_cache()
    """
    need()
    _C._cuda_empty_pinned_cache()


def get_memory_info(device_index=None, /):
    """The bytes of an accelerator that are free, and all, as the driver counts them.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     free, total = torch.accelerator.get_memory_info()
    ...     assert 0 <= free <= total
    """
    return _C._cuda_memory_info(index_of(device_index))


def memory_allocated(device_index=None, /):
    """The bytes of an accelerator that live tensors have.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.accelerator.memory_allocated() >= 0
    """
    return cuda_memory.memory_allocated(index_of(device_index))


def max_memory_allocated(device_index=None, /):
    """The most bytes of an accelerator that live tensors had, since the start or reset_peak_memory_stats().

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
    """
    return cuda_memory.max_memory_allocated(index_of(device_index))


def memory_reserved(device_index=None, /):
    """The bytes of an accelerator that were taken from the driver, for live tensors and those to come.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.accelerator.memory_reserved() >= torch.accelerator.memory_allocated()
    """
    return cuda_memory.memory_reserved(index_of(device_index))


def max_memory_reserved(device_index=None, /):
    """The most bytes of an accelerator that were taken from the driver.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert torch.accelerator.max_memory_reserved() >= torch.accelerator.memory_reserved()
    """
    return cuda_memory.max_memory_reserved(index_of(device_index))


def memory_stats(device_index=None, /):
    """Figures of an accelerator's memory by name, as torch.cuda.memory_stats() gives them.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     assert "allocated_bytes.all.current" in torch.accelerator.memory_stats()
    """
    return cuda_memory.memory_stats(index_of(device_index))


def reset_accumulated_memory_stats(device_index=None, /):
    """Begins to count what was taken and given back anew.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.reset_accumulated_memory_stats()
    """
    cuda_memory.reset_accumulated_memory_stats(index_of(device_index))


def reset_peak_memory_stats(device_index=None, /):
    """Begins to count the peaks of memory anew.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     torch.accelerator.reset_peak_memory_stats()
    """
    cuda_memory.reset_peak_memory_stats(index_of(device_index))
