"""torch.cuda.nvtx: ranges and marks that NVIDIA's profilers show.

They do nothing unless a profiler listens, and NVTX is installed (`pip install nvidia-nvtx`). Without a GPU they refuse,
as torch's do without CUDA.
"""

from contextlib import contextmanager

from .. import _C
from ._devices import is_available

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _check():
    if not is_available():
        raise RuntimeError(
            "NVTX functions not installed. Are you sure you have a CUDA build? There is no GPU for a profiler to show; "
            "leave the marks out, or ask torch.cuda.is_available() first"
        )


def range_push(msg):
    """Begins a range inside of those that this thread has begun; returns how many those are, from 0.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     _ = torch.cuda.nvtx.range_push("part")
    ...     _ = torch.cuda.nvtx.range_pop()
    """
    _check()
    return _C._nvtx_push(msg)


def range_pop():
    """Ends the range of this thread that was begun last; returns how many are around it.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     _ = torch.cuda.nvtx.range_push("part")
    ...     _ = torch.cuda.nvtx.range_pop()
    """
    _check()
    return _C._nvtx_pop()


def range_start(msg) -> int:
    """Begins a range that any thread may end, by the number that is returned.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("part"))
    """
    _check()
    return _C._nvtx_start(msg)


def range_end(range_id) -> None:
    """Ends a range that range_start has begun.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("part"))
    """
    _check()
    _C._nvtx_end(range_id)


def mark(msg):
    """Marks this moment.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.mark("here")
    """
    _check()
    return _C._nvtx_mark(msg)


@contextmanager
def range(msg, *args, **kwargs):
    """A context that is a range; the message is formatted with the other arguments.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     with torch.cuda.nvtx.range("step {}", 3):
    ...         pass
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
