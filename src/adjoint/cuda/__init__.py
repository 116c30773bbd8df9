"""NVIDIA GPUs. Without one, the functions that programs call without asking first say so quietly.

What needs a GPU raises then, as PyTorch without CUDA does.
"""

import sys

from .. import _C
from .._absent import refusals
from .._legacy_types import CUDA_TYPES
from . import _libraries, _modules
from . import amp as amp
from ._devices import CudaError as CudaError
from ._devices import DeferredCudaCallError as DeferredCudaCallError
from ._devices import can_device_access_peer as can_device_access_peer
from ._devices import check_error as check_error
from ._devices import current_device as current_device
from ._devices import device as device
from ._devices import device_count as device_count
from ._devices import device_of as device_of
from ._devices import get_arch_list as get_arch_list
from ._devices import get_device_capability as get_device_capability
from ._devices import get_device_name as get_device_name
from ._devices import get_device_properties as get_device_properties
from ._devices import get_gencode_flags as get_gencode_flags
from ._devices import get_sync_debug_mode as get_sync_debug_mode
from ._devices import init as init
from ._devices import is_available as is_available
from ._devices import is_bf16_supported as is_bf16_supported
from ._devices import is_initialized as is_initialized
from ._devices import is_tf32_supported as is_tf32_supported
from ._devices import refuse as _refuse
from ._devices import set_device as set_device
from ._devices import set_sync_debug_mode as set_sync_debug_mode
from ._devices import synchronize as synchronize

_libraries.find()

has_magma, has_half = False, True
# Names that another file of this folder defines, loaded when one of them is asked for.
_LAZY = {
    "_pools": ("MemPool", "use_mem_pool"),
    "_figures": ("clock_rate", "memory_usage", "power_draw", "temperature", "utilization"),
    "_runtime": ("cudart", "current_blas_handle", "ipc_collect"),
    "_utils": ("_get_device_index",),
    "comm": (),
    "nvtx": (),
    "profiler": (),
    "streams": ("Event", "ExternalStream", "Stream"),
    "_current": (
        "StreamContext",
        "current_stream",
        "default_stream",
        "get_stream_from_external",
        "set_stream",
        "stream",
    ),
    "graphs": ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"),
    "memory": (
        *("caching_allocator_alloc", "caching_allocator_delete", "device_memory_used", "empty_cache"),
        *("get_allocator_backend", "host_memory_stats", "list_gpu_processes", "max_memory_allocated"),
        *("max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached"),
        *("memory_reserved", "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary"),
        *("reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"),
        *("caching_allocator_disabled", "caching_allocator_enable", "get_per_process_memory_fraction"),
        *("host_memory_stats_as_nested_dict", "reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats"),
        *("reset_peak_memory_stats", "set_per_process_memory_fraction"),
    ),
    "random": (
        *("get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all"),
        *("set_rng_state", "set_rng_state_all"),
    ),
}
_HOME = {name: home for home, names in _LAZY.items() for name in names}
_STORAGES = tuple(
    f"{kind}Storage"
    for kind in (
        *("BFloat16", "Bool", "Byte", "Char", "ComplexDouble", "ComplexFloat", "Double", "Float", "Half", "Int"),
        *("Long", "Short"),
    )
)
_REFUSED = ("change_current_allocator", "current_solver_handle")
_REFUSED_TYPES = ("CUDAPluggableAllocator", "GreenContext")


class OutOfMemoryError(RuntimeError):
    """What a GPU without enough memory raises.

    >>> import adjoint as torch
    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """

    __module__ = "adjoint"

    def __init__(self, *args):
        super().__init__(*args)


class AcceleratorError(RuntimeError):
    """What a call of NVIDIA's driver raises that fails; of a kernel that failed, whoever waits for the GPU next.

    >>> import adjoint as torch
    >>> issubclass(torch.AcceleratorError, RuntimeError)
    True
    """

    __module__ = "adjoint"

    def __init__(self, *args):
        super().__init__(*args)


class cudaStatus:
    """Numbers of the driver's: that all went well, and that it is too old.

    >>> import adjoint as torch
    >>> torch.cuda.cudaStatus.SUCCESS
    0
    """

    __module__ = "adjoint.cuda"
    SUCCESS, ERROR_NOT_READY = 0, 34


def _lazy_init():
    """init(), under the name that programs call where torch makes GPUs ready by itself."""
    init()


def _lazy_call(callable, **kwargs):
    """Calls a function; torch waits with it until GPUs are in use, here they are ready when they are asked for."""
    callable()


def _is_in_bad_fork():
    """Whether this process was forked from one that used a GPU, and can use none."""
    return _C._cuda_forked()


def _is_compiled():
    """Whether this build is for CUDA, as far as programs should care: whether a GPU can be used."""
    return is_available()


def _not_here(*args, **kwargs):
    """Raises: without a GPU because of that, and with one because this is not here.

    >>> import adjoint as torch
    >>> callable(torch.cuda.current_solver_handle)
    True
    """
    if not is_available():
        _refuse()
    raise NotImplementedError(
        "this part of torch.cuda is not here: memory is kept by the one allocator of this package, and of its handles "
        "of libraries programs can have cuBLAS's, torch.cuda.current_blas_handle()"
    )


_get = refusals(_REFUSED, _REFUSED_TYPES, _not_here, sys.modules[__name__])


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name == "default_generators":
        from .random import default_generators

        return default_generators()
    if name in _STORAGES:
        from .._typed_storage import CUDA_LEGACY

        return CUDA_LEGACY[name]
    return CUDA_TYPES[name] if name in CUDA_TYPES else _get(name)


def __dir__():
    return sorted({*globals(), *_HOME, *_LAZY, *_REFUSED, "default_generators"} - {"sys"})


_modules.make()
__all__ = sorted(
    name
    for name in {*__dir__(), *CUDA_TYPES, *_STORAGES, *_REFUSED_TYPES} - {"CUDA_TYPES", "refusals"}
    if not name.startswith("_")
)
