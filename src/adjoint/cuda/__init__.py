"""NVIDIA GPUs: there are none here, and the functions that programs call without asking first say so quietly.

What would need a GPU raises, as PyTorch without CUDA does.
"""

import sys

from .. import _C
from .._absent import answer, refusals
from .._legacy_types import CUDA_TYPES
from . import _libraries, _modules
from . import amp as amp
from .random import default_generators as _default_generators
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all

_libraries.find()

has_magma = has_half = False
_REFUSED = (
    *("caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_enable", "change_current_allocator"),
    *("check_error", "cudart", "device_memory_used", "get_allocator_backend", "get_per_process_memory_fraction"),
    *("get_sync_debug_mode", "graph_pool_handle", "list_gpu_processes", "make_graphed_callables"),
    *("host_memory_stats", "memory_stats_as_nested_dict"),
    "can_device_access_peer",
    "clock_rate",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "ipc_collect",
    "max_memory_cached",
    "mem_get_info",
    "memory_snapshot",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_device",
    "set_per_process_memory_fraction",
    "set_stream",
    "set_sync_debug_mode",
    "synchronize",
    "temperature",
    "utilization",
)
_REFUSED_TYPES = (
    *("CUDAGraph", "CUDAPluggableAllocator", "Event", "ExternalStream", "MemPool", "Stream", "StreamContext", "device"),
    *("device_of", "graph", "stream", "use_mem_pool"),
)


class OutOfMemoryError(RuntimeError):
    """What a GPU without enough memory raises.

    >>> import adjoint as torch
    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """

    __module__ = "adjoint"

    def __init__(self, *args):
        super().__init__(*args)


def is_available():
    """Whether there is a GPU that can be used.

    >>> import adjoint as torch
    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return not _C._cuda_why_unavailable()


def device_count():
    """The number of GPUs.

    >>> import adjoint as torch
    >>> torch.cuda.device_count() >= 0
    True
    """
    return _C._cuda_device_count()


is_initialized = answer(False, "Whether a GPU is in use: no.")
is_bf16_supported = answer(False, "Whether the GPU computes in bfloat16: there is none.")
is_tf32_supported = answer(False, "Whether the GPU computes in TF32: there is none.")
is_current_stream_capturing = answer(False, "Whether a graph is being captured: no.")
memory_allocated = answer(0, "Bytes in use on the GPU: none.")
max_memory_allocated = answer(0, "The most bytes that were in use on the GPU: none.")
memory_reserved = answer(0, "Bytes kept on the GPU: none.")
max_memory_reserved = answer(0, "The most bytes that were kept on the GPU: none.")
memory_cached = answer(0, "Bytes kept on the GPU: none.")
memory_stats = answer(dict, "Figures of the GPU's memory: none.")
get_arch_list = answer(list, "The kinds of GPU that this build has code for: none.")
empty_cache = answer(None, "Returns the GPU's unused memory: there is none.")


def _refuse(*args, **kwargs):
    """Raises: there is no GPU."""
    _C.empty(0, device="cuda")


_get = refusals(_REFUSED, _REFUSED_TYPES, _refuse, sys.modules[__name__])


def __getattr__(name):
    if name == "default_generators":  # to count GPUs takes a while
        return _default_generators()
    if name.endswith("Storage"):
        from .._typed_storage import CUDA_LEGACY

        if name in CUDA_LEGACY:
            return CUDA_LEGACY[name]
    return CUDA_TYPES[name] if name in CUDA_TYPES else _get(name)


_modules.make()
