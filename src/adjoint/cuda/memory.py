"""The memory of GPUs: how much is used, how much is kept, and giving it back."""

import collections
import contextlib
import warnings

from .. import _C
from ._devices import index_of, init, is_available, need
from ._pools import MemPool as MemPool
from ._pools import use_mem_pool as use_mem_pool

__all__ = [
    *("caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_disabled"),
    *("caching_allocator_enable", "empty_cache", "get_allocator_backend", "get_per_process_memory_fraction"),
    *("host_memory_stats", "host_memory_stats_as_nested_dict", "list_gpu_processes", "max_memory_allocated"),
    *("max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached"),
    *("memory_reserved", "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary"),
    *("MemPool", "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats"),
    *("reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats"),
    *("reset_peak_memory_stats", "set_per_process_memory_fraction", "use_mem_pool"),
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
    return _nested(_figures(device)) if is_available() else {}


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
    return _flat(memory_stats_as_nested_dict(device))


def _flat(nested):
    """Dictionaries in dictionaries as one, in the order of the names, which points join."""
    flat = []

    def walk(prefix, value):
        if not isinstance(value, dict):
            flat.append((prefix, value))
            return
        for name, item in value.items():
            walk(f"{prefix}.{name}" if prefix else name, item)

    walk("", nested)
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


def set_per_process_memory_fraction(fraction, device=None):
    """The part of a GPU's memory that this program may take, from 0 to 1; what needs more is out of memory.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_per_process_memory_fraction(0.5)
    ...     torch.cuda.set_per_process_memory_fraction(1.0)
    """
    init()
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`; got {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = index_of(device)
    total = _C._cuda_memory_info(index)[1]
    _C._cuda_limit_memory(index, 0 if fraction == 1 else max(1, int(total * fraction)))
    _fractions[index] = fraction


def get_per_process_memory_fraction(device=None):
    """What set_per_process_memory_fraction() has set; 1 at first.

    >>> import adjoint as torch
    >>> torch.cuda.get_per_process_memory_fraction() if torch.cuda.is_available() else 1.0
    1.0
    """
    init()
    return _fractions.get(index_of(device), 1.0)


_fractions: dict = {}


# ---- memory_summary()


def _words(value):
    size = float(value)
    for unit in ("B  ", "KiB", "MiB"):
        if size < 10240:
            return f"{int(size)} {unit}"
        size /= 1024
    return f"{int(size)} GiB"


def _count(value):
    return f"{value}    "


# A title, the figure, how it is shown, and whether it is told by pools.
_ROWS = (
    ("Allocated memory", "allocated_bytes", _words, True),
    ("Active memory", "active_bytes", _words, True),
    ("Requested memory", "requested_bytes", _words, True),
    ("GPU reserved memory", "reserved_bytes", _words, True),
    ("Non-releasable memory", "inactive_split_bytes", _words, True),
    ("Allocations", "allocation", _count, True),
    ("Active allocs", "active", _count, True),
    ("GPU reserved segments", "segment", _count, True),
    ("Non-releasable allocs", "inactive_split", _count, True),
    ("Oversize allocations", "oversize_allocations", _count, False),
    ("Oversize GPU segments", "oversize_segments", _count, False),
)
_METRICS = ("current", "peak", "allocated", "freed")


def _row(label, values):
    return f"| {label:<21} |" + "|".join(f" {value:>10} " for value in values) + "|"


def _rows(figures, abbreviated):
    """The lines of each figure: all, and by pools."""
    for title, name, shown, pooled in _ROWS:
        found = figures[name]
        pools = ("all",) if abbreviated or not pooled else ("all", "large_pool", "small_pool")
        yield "-"
        for pool in pools:
            values = found[pool] if pooled else found
            label = title if pool == "all" else f"      from {pool.replace('_', ' ')}"
            yield _row(label, [shown(values[metric]) for metric in _METRICS])


def memory_summary(device=None, abbreviated=False):
    """The figures of memory_stats() as a table to read.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert "Allocated memory" in torch.cuda.memory_summary()
    """
    need()
    index = index_of(device)
    figures = memory_stats_as_nested_dict(index)
    failures = f"CUDA OOMs: {figures['num_ooms']:<12d} | {'':6} cudaMalloc retries: {figures['num_alloc_retries']:<8d}"
    head = _row("       Metric", ("Cur Usage ", "Peak Usage", "Tot Alloc ", "Tot Freed "))
    lines = ["=", f"|{f'PyTorch CUDA memory summary, device ID {index}':^75}|", "-", f"| {'':11}{failures:<63}|", "="]
    lines += [head, *_rows(figures, abbreviated), "="]
    return "\n".join(f"|{line * 75}|" if len(line) == 1 else line for line in lines) + "\n"


def memory_snapshot(mempool_id=None, include_traces=True):
    """The segments of memory that were taken from the driver, with the blocks that they are cut into: all, or a pool's.

    The "frames" of a block above 1 MiB have the line of the program that made what it holds.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert isinstance(torch.cuda.memory_snapshot(), list)
    """
    need()
    segments = [_with_frames(each) for each in _C._cuda_snapshot()]
    return [each for each in segments if mempool_id is None or each["segment_pool_id"] == tuple(mempool_id)]


def _with_frames(segment):
    """A segment with what torch's tools read, too: the line for which it was taken, which nobody has noted."""
    return segment | {"frames": [], "is_expandable": False}


def _record_memory_history(
    enabled="all",
    context="all",
    stacks="all",
    max_entries=(1 << 63) - 1,
    device=None,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
    skip_actions=None,
):
    """Warns that no history of allocations is recorded: snapshots have the memory that there is. None does nothing."""
    init()
    if enabled not in (None, False, True, "state", "all"):
        raise RuntimeError(f"expected enabled to be None, 'state' or 'all'; got {enabled!r}; give one of these")
    if enabled:
        warnings.warn(
            "torch.cuda.memory._record_memory_history(): no history is recorded here; snapshots have the segments and "
            "blocks that there are, and adjoint.inspect follows what a program allocates",
            stacklevel=2,
        )


def _snapshot(device=None, augment_with_fx_traces=False):
    """The memory of all GPUs as a dictionary that torch's tools draw: "segments", and empty "device_traces"."""
    return {
        "segments": memory_snapshot(),
        "device_traces": [[] for _ in range(_C._cuda_device_count())],
        "allocator_settings": {"expandable_segments": False, "max_split_size": -1},
        "external_annotations": [],
    }


def _dump_snapshot(filename="dump_snapshot.pickle", augment_with_fx_traces=False):
    """Writes _snapshot() into a file that https://pytorch.org/memory_viz draws."""
    import pickle

    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


# ---- Pinned memory


def host_memory_stats_as_nested_dict():
    """What host_memory_stats() gives, as dictionaries in dictionaries; empty without a GPU.

    >>> import adjoint as torch
    >>> bool(torch.cuda.host_memory_stats_as_nested_dict()) == torch.cuda.is_available()
    True
    """
    if not is_available():
        return {}
    counted = {name: dict(zip(_METRICS, four, strict=True)) for name, four in _C._cuda_pinned_stats().items()}
    blocks = counted["allocations"]
    return {**counted, "num_host_alloc": blocks["allocated"], "num_host_free": blocks["freed"]}


def host_memory_stats():
    """Figures of pinned memory by torch's names, such as "allocated_bytes.current"; empty without a GPU.

    "allocations" and "allocated_bytes" count what was taken from the driver, "active_requests" and "active_bytes" what
    tensors use of it.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.host_memory_stats()["allocated_bytes.current"] >= 0
    """
    return _flat(host_memory_stats_as_nested_dict())


def reset_peak_host_memory_stats():
    """Begins to count the peaks of pinned memory anew.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_peak_host_memory_stats()
    """
    need()
    _C._cuda_reset_pinned_peaks()


def reset_accumulated_host_memory_stats():
    """Begins to count what was taken of pinned memory and given back anew.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.reset_accumulated_host_memory_stats()
    """
    need()
    _C._cuda_reset_pinned_sums()


# ---- The allocator


def caching_allocator_enable(value=True):
    """Accepts that freed memory is kept, as it is; that it is not is for the whole program, and is refused.

    >>> import adjoint as torch
    >>> torch.cuda.caching_allocator_enable()
    """
    if is_available() and not value:
        raise NotImplementedError(
            "torch.cuda.caching_allocator_enable(False): memory is kept or not from the start; set the environment "
            "variable PYTORCH_NO_CUDA_MEMORY_CACHING=1"
        )


@contextlib.contextmanager
def caching_allocator_disabled():
    """A context without the allocator, which is refused where there is a GPU: it is for the whole program.

    >>> import adjoint as torch
    >>> if not torch.cuda.is_available():
    ...     with torch.cuda.caching_allocator_disabled():
    ...         pass
    """
    caching_allocator_enable(False)
    yield


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


def __getattr__(name):
    from .. import cuda
    from .._install import MissingName

    if name in ("CUDAPluggableAllocator", "change_current_allocator"):
        return getattr(cuda, name)
    raise MissingName(__name__, name)
