"""The accelerator of this machine, whatever its make: there is none."""

import sys

from ._absent import refusals

_REFUSED = (
    *("current_device_idx", "current_device_index", "current_stream", "empty_cache", "empty_host_cache"),
    *("get_device_capability", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated"),
    *("memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"),
    *("set_device_idx", "set_device_index", "set_stream", "synchronize"),
)


def is_available():
    """Whether there is an accelerator: no.

    >>> import adjoint as torch
    >>> device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    >>> device
    'cpu'
    """
    return False


def device_count():
    """The number of accelerators: none.

    >>> import adjoint as torch
    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available=False):
    """The device of the accelerator: None.

    >>> import adjoint as torch
    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return None


def _refuse(*args, **kwargs):
    """Raises: there is no accelerator."""
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Ask torch.accelerator.is_available() first."
    )


__getattr__ = refusals(_REFUSED, ("Graph", "device_index"), _refuse, sys.modules[__name__])
