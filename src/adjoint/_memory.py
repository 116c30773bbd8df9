"""The memory of tensors: how much there is, how much there may be, and what is kept of it for reuse.

Freed memory is kept while a program asks for as much again, and goes back when it does not (csrc/cpu/demand.h).
"""

from . import _C


def memory_stats() -> dict[str, int | None]:
    """Figures of the memory of tensors, of this process.

    - `current`, `peak`: bytes in live tensors, now and at most since `reset_peak_memory_stats`;
    - `cached`: bytes of freed tensors that are kept for reuse;
    - `limit`: how many bytes live tensors may hold, by set_memory_limit or by the container; None: no limit;
    - `fresh`, `reused`: how many blocks of more than 1024 bytes came from the system, and from those kept.

    Memory that is shared with NumPy or others is theirs, and is not counted.

    >>> import adjoint as torch
    >>> before = torch.memory_stats()["current"]
    >>> x = torch.zeros(1000)
    >>> torch.memory_stats()["current"] - before
    4000
    """
    return _C._memory_stats()


def reset_peak_memory_stats() -> None:
    """Lets `peak` of memory_stats begin anew, at what tensors hold now.

    >>> import adjoint as torch
    >>> torch.reset_peak_memory_stats()
    >>> stats = torch.memory_stats()
    >>> stats["peak"] == stats["current"]
    True
    """
    _C._reset_peak_memory()


def empty_cache() -> None:
    """Returns memory that is kept for reuse to the system. Live tensors keep theirs.

    There is no need to call it: what is not asked for again goes back by itself, within seconds.

    >>> import adjoint as torch
    >>> x = torch.zeros(10_000_000)
    >>> del x
    >>> torch.empty_cache()
    """
    _C._empty_cache()


def set_memory_limit(bytes: int | None) -> None:
    """Sets how many bytes live tensors may hold together; None: as many as the system has, or the container grants.

    An allocation beyond it raises a RuntimeError and changes nothing. A limit below what tensors hold already refuses
    whatever is new.

    >>> import adjoint as torch
    >>> torch.set_memory_limit(torch.memory_stats()["current"] + 1_000_000)
    >>> x = torch.zeros(1_000_000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000 bytes; live tensors hold ...
    >>> torch.set_memory_limit(None)
    """
    _C._set_memory_limit(bytes)
