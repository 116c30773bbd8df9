"""torch.cuda.profiler: which part of a program NVIDIA's profilers look at (nsys profile -c cudaProfilerApi)."""

import contextlib

from ._devices import check_error as check_error
from ._runtime import cudart as cudart

__all__ = ["profile", "start", "stop"]


def start():
    """Tells NVIDIA's profilers to begin.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.profiler.start()
    ...     torch.cuda.profiler.stop()
    """
    check_error(cudart().cudaProfilerStart())


def stop():
    """Tells NVIDIA's profilers to end.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.profiler.stop()
    """
    check_error(cudart().cudaProfilerStop())


@contextlib.contextmanager
def profile():
    """A context at which NVIDIA's profilers look.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     with torch.cuda.profiler.profile():
    ...         x = torch.ones(3, device="cuda")
    """
    start()
    try:
        yield
    finally:
        stop()
