"""Intel GPUs: there are none here."""

import sys

from ._absent import answer, refusals

is_available = answer(False, "Whether there is an Intel GPU: no.")
is_initialized = answer(False, "Whether an Intel GPU is in use: no.")
device_count = answer(0, "The number of Intel GPUs: none.")
empty_cache = answer(None, "Returns the GPU's unused memory: there is none.")
manual_seed = answer(None, "Seeds the GPU's generator when there is one.")
manual_seed_all = answer(None, "Seeds the generators of all GPUs: there are none.")
seed = answer(None, "Seeds the GPU's generator at random when there is one.")
seed_all = answer(None, "Seeds the generators of all GPUs at random: there are none.")
_REFUSED = (
    *("current_device", "current_stream", "get_device_capability", "get_device_name", "get_device_properties"),
    *("init", "initial_seed", "mem_get_info", "set_device", "set_stream", "synchronize"),
)


def _refuse(*args, **kwargs):
    """Raises: there is no Intel GPU."""
    raise AssertionError("Torch not compiled with XPU enabled. Ask torch.xpu.is_available() first.")


__getattr__ = refusals(_REFUSED, ("Event", "Stream", "device"), _refuse, sys.modules[__name__])
