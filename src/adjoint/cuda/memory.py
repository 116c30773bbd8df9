"""The memory of GPUs: how much is used, how much is kept, and giving it back."""

import collections

from .. import _C
from ._devices import index_of, init, is_available, need
from ._pools import MemPool as MemPool
from ._pools import use_mem_pool as use_mem_pool

__all__ = [
    *(
        "caching_allocator_alloc",
        "caching_allocator_delete",
        "empty_cache",
        "get_allocator_backend",
        "host_memory_stats",
    ),
    *("list_gpu_processes", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info"),
    *("memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary"),
    *("memory_stats_as_nested_dict", "reset_accumulated_memory_stats", "reset_max_memory_allocated"),
    *("MemPool", "reset_max_memory_cached", "reset_peak_memory_stats", "use_mem_pool"),
]


def _figures(device):
    return _C._cuda_memory_stats(index_of(device))


def memory_allocated(device=None):
    """The bytes of a GPU that live tensors have.

    >>> import adjoint as torch
    >>> torch.cuda.memory_allocated() <= torch.cuda.max_memory_allocated()
    True
    """
    return _figures(device)["allocated"] if is_available() else 0


def max_memory_allocated(device=None):
    """The most bytes of a GPU that live tensors had, since the start or reset_peak_memory_stats().

    >>> import adjoint as torch
    >>> torch.cuda.max_memory_allocated() >= 0
    True
    """
    return _figures(device)["allocated_peak"] if is_available() else 0


def memory_reserved(device=None):
    """The bytes of a GPU that were taken from the driver, for live tensors and those to come.

    >>> import adjoint as torch
    >>> torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    True
    """
    return _figures(device)["reserved"] if is_available() else 0


def max_memory_reserved(device=None):
    """The most bytes of a GPU that were taken from the driver.

    >>> import adjoint as torch
    >>> torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved()
    True
    """
    return _figures(device)["reserved_peak"] if is_available() else 0


def memory_cached(device=None):
    """The old name of memory_reserved().

    >>> import adjoint as torch
    >>> torch.cuda.memory_cached() == torch.cuda.memory_reserved()
    True
    """
    return memory_reserved(device)


def max_memory_cached(device=None):
    """The old name of max_memory_reserved().

    >>> import adjoint as torch
    >>> torch.cuda.max_memory_reserved() >= 0  # the name to use
    True
    """
    need()
    return max_memory_reserved(device)


def memory_stats_as_nested_dict(device=None):
    """What memory_stats() gives, as dictionaries in dictionaries.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert "allocated_bytes" in torch.cuda.memory_stats_as_nested_dict()
    """
    need()
    return _nested(_figures(device))


def _nested(figures):
    return {
        **{
            name: {
                pool: dict(zip(("current", "peak", "allocated", "freed"), figures[f"{name}.{pool}"], strict=True))
                for pool in ("all", "small_pool", "large_pool")
            }
            for name in (
                *("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes"),
                *("active_bytes", "inactive_split_bytes", "requested_bytes"),
            )
        },
        "oversize_allocations": dict.fromkeys(("current", "peak", "allocated", "freed"), 0),
        "oversize_segments": dict.fromkeys(("current", "peak", "allocated", "freed"), 0),
        "num_alloc_retries": figures["retries"],
        "num_ooms": figures["failures"],
        "num_sync_all_streams": figures["retries"],
        "num_device_alloc": figures["segment_allocations"],
        "num_device_free": figures["segment_frees"],
        "max_split_size": -1,
    }


def memory_stats(device=None):
    """Figures of a GPU's memory by torch's names, such as "allocated_bytes.all.current"; empty without a GPU.

    Of each there is what is in use now, the most that was, and the sums of what was taken and given back, for blocks up
    to 1 MiB ("small_pool"), larger ones ("large_pool") and both ("all").

    >>> import adjoint as torch
    >>> torch.cuda.memory_stats().get("allocated_bytes.all.current", 0) == torch.cuda.memory_allocated()
    True
    """
    if not is_available():
        return {}
    flat = []

    def walk(prefix, value):
        if not isinstance(value, dict):
            flat.append((prefix, value))
            return
        for name, item in value.items():
            walk(f"{prefix}.{name}" if prefix else name, item)

    walk("", memory_stats_as_nested_dict(device))
    return collections.OrderedDict(sorted(flat))


def reset_peak_memory_stats(device=None):
    """Begins to count the peaks of memory anew.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_peak_memory_stats()
    """
    need()
    _C._cuda_reset_peaks(index_of(device))


def reset_accumulated_memory_stats(device=None):
    """Begins to count what was taken and given back anew.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_accumulated_memory_stats()
    """
    need()
    _C._cuda_reset_sums(index_of(device))


def reset_max_memory_allocated(device=None):
    """The old name of reset_peak_memory_stats().

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_peak_memory_stats()  # the name to use
    """
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device=None):
    """The old name of reset_peak_memory_stats().

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_peak_memory_stats()  # the name to use
    """
    reset_peak_memory_stats(device)


def empty_cache():
    """Gives the memory that no tensor uses back to the driver, where other programs can take it.

    >>> import adjoint as torch
    >>> torch.cuda.empty_cache()
    """
    if is_available():
        _C._cuda_empty_cache()


def mem_get_info(device=None):
    """The bytes of a GPU that are free, and all, as the driver counts them.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     free, total = torch.cuda.mem_get_info()
    ...     assert 0 <= free <= total
    """
    init()
    return _C._cuda_memory_info(index_of(device))


def device_memory_used(device=None):
    """The bytes of a GPU that are in use, by all programs.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.device_memory_used() >= 0
    """
    free, total = mem_get_info(device)
    return total - free


def _words(value):
    size = float(value)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.0f} GiB"


def memory_summary(device=None, abbreviated=False):
    """The figures of memory_stats() as a table to read.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert "Allocated memory" in torch.cuda.memory_summary()
    """
    need()
    index = index_of(device)
    figures = memory_stats_as_nested_dict(index)
    rows = [("Allocated memory", "allocated_bytes"), ("Requested memory", "requested_bytes")]
    rows += [("GPU reserved memory", "reserved_bytes"), ("Non-releasable memory", "inactive_split_bytes")]
    rows += [("Allocations", "allocation"), ("GPU reserved segments", "segment")]
    lines = [f"Memory of GPU {index}; out of memory: {figures['num_ooms']}, retries: {figures['num_alloc_retries']}"]
    lines.append(f"{'':24}{'now':>12}{'peak':>12}{'taken':>12}{'freed':>12}")
    for title, name in rows:
        for pool in ("all",) if abbreviated else ("all", "large_pool", "small_pool"):
            shown = _words if name.endswith("bytes") else str
            label = title if pool == "all" else f"    from {pool.replace('_', ' ')}"
            lines.append(f"{label:24}" + "".join(f"{shown(value):>12}" for value in figures[name][pool].values()))
    return "\n".join(lines) + "\n"


def memory_snapshot(mempool_id=None, include_traces=True):
    """The segments of memory that were taken from the driver, with the blocks that they are cut into: all, or a pool's.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert isinstance(torch.cuda.memory_snapshot(), list)
    """
    need()
    segments = _C._cuda_snapshot()
    return [each for each in segments if mempool_id is None or each["segment_pool_id"] == tuple(mempool_id)]


def host_memory_stats():
    """Figures of pinned memory: "allocated_bytes.current" and "segment.current".

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.host_memory_stats()["segment.current"] >= 0
    """
    need()
    used, kept, blocks = _C._cuda_pinned_stats()
    return collections.OrderedDict({"allocated_bytes.current": used + kept, "active_bytes.current": used,
                                    "segment.current": blocks})  # fmt: skip


def get_allocator_backend():
    """The name of the allocator: "native".

    >>> import adjoint as torch
    >>> torch.cuda.get_allocator_backend() if torch.cuda.is_available() else "native"
    'native'
    """
    need()
    return "native"


_loans = {}


def caching_allocator_alloc(size, device=None, stream=None):
    """The address of so many bytes of a GPU, until caching_allocator_delete() is given it.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.caching_allocator_delete(torch.cuda.caching_allocator_alloc(64))
    """
    need()
    index = index_of(device)
    before = _C._cuda_current_stream(index)
    if stream is not None:
        _C._cuda_set_stream(index, getattr(stream, "cuda_stream", stream))
    try:
        memory = _C.empty(size, dtype=_C.uint8, device=f"cuda:{index}")
    finally:
        _C._cuda_set_stream(index, before)
    _loans[memory.data_ptr()] = memory
    return memory.data_ptr()


def caching_allocator_delete(mem_ptr):
    """Gives back what caching_allocator_alloc() gave.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.caching_allocator_delete(torch.cuda.caching_allocator_alloc(64))
    """
    need()
    if _loans.pop(mem_ptr, None) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}; pass what caching_allocator_alloc() returned")


def list_gpu_processes(device=None):
    """The memory that this program has of a GPU, in words; of other programs nvidia-smi tells.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.list_gpu_processes().startswith("GPU:")
    """
    import os

    need()
    index = index_of(device)
    return f"GPU:{index}\nprocess {os.getpid():>10d} uses {memory_reserved(index) / 2**20:>12.3f} MB GPU memory"
