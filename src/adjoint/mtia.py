"""Meta's accelerators: there are none here."""

import sys

from ._absent import answer, refusals

is_available = answer(False, "Whether there is such an accelerator: no.")
is_initialized = answer(False, "Whether such an accelerator is in use: no.")
device_count = answer(0, "The number of such accelerators: none.")
manual_seed = answer(None, "Seeds the accelerator's generator when there is one.")
manual_seed_all = answer(None, "Seeds the generators of all accelerators: there are none.")
_REFUSED = (
    *("current_device", "current_stream", "empty_cache", "get_device_capability", "init", "memory_allocated"),
    *("memory_stats", "set_device", "set_stream", "synchronize"),
)


def _refuse(*args, **kwargs):
    """Raises: there is no such accelerator."""
    raise RuntimeError("Torch not compiled with MTIA enabled. Ask torch.mtia.is_available() first.")


__getattr__ = refusals(_REFUSED, ("Event", "Stream", "device"), _refuse, sys.modules[__name__])
