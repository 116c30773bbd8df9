"""The modules of torch.cuda, so that programs can import from them: what they would do on a GPU refuses."""

import sys

from .._absent import absent_module, refusing

_ADVICE = "there is no GPU; ask torch.cuda.is_available() first"
_MARKS = "NVTX functions not installed. Are you sure you have a CUDA build? "
# Which names of torch.cuda stand in which of its modules, too.
_ALSO = {
    "graphs": "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
    "memory": "empty_cache max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved "
    "memory_snapshot memory_stats memory_summary reset_accumulated_memory_stats reset_peak_memory_stats "
    "set_per_process_memory_fraction",
    "streams": "Event ExternalStream Stream",
}


def make():
    """Makes the modules, with torch.cuda for their parent."""
    cuda = sys.modules[__package__]
    for module, names in _ALSO.items():
        absent_module(f"cuda.{module}", _ADVICE, **{name: getattr(cuda, name) for name in names.split()})
    marks = ("mark", "range", "range_end", "range_pop", "range_push", "range_start")
    refused = {name: refusing("cuda.nvtx", name, _ADVICE, RuntimeError, _MARKS) for name in marks}
    absent_module("cuda.nvtx", _ADVICE, **refused)
    absent_module("cuda.profiler", _ADVICE, "cudart init profile start stop")
    absent_module("cuda.nccl", _ADVICE, "all_gather all_reduce broadcast reduce unique_id version", is_available=_no)
    absent_module("cuda.sparse", _ADVICE)
    absent_module("cuda.tunable", _ADVICE, "enable", is_enabled=_no)
    absent_module("cuda.gds", _ADVICE, "gds_register_buffer gds_deregister_buffer", "GdsFile")


def _no(*args):
    """Whether this part of torch.cuda is in use: no."""
    return False
