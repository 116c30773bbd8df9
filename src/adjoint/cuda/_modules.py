"""Modules of torch.cuda that are not here, so that programs can import from them: what they would do refuses."""

from .._absent import absent_module

_ADVICE = "this part of torch.cuda is not here"


def make():
    """Makes the modules, with torch.cuda for their parent."""
    absent_module("cuda.profiler", _ADVICE, "cudart init profile start stop")
    absent_module("cuda.nccl", _ADVICE, "all_gather all_reduce broadcast reduce unique_id version", is_available=_no)
    absent_module("cuda.sparse", _ADVICE)
    absent_module("cuda.tunable", _ADVICE, "enable", is_enabled=_no)
    absent_module("cuda.gds", _ADVICE, "gds_register_buffer gds_deregister_buffer", "GdsFile")


def _no(*args):
    """Whether this part of torch.cuda is in use: no."""
    return False
