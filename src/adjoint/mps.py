"""Apple's GPUs: there are none here."""

import sys

from ._absent import answer, refusals

is_available = answer(False, "Whether there is an Apple GPU: no.")
device_count = answer(0, "The number of Apple GPUs: none.")
_REFUSED = (
    *("current_allocated_memory", "driver_allocated_memory", "empty_cache", "get_rng_state", "manual_seed"),
    *("recommended_max_memory", "seed", "set_per_process_memory_fraction", "set_rng_state", "synchronize"),
)


def _refuse(*args, **kwargs):
    """Raises: there is no Apple GPU."""
    raise RuntimeError("Cannot use the device without MPS backend. Ask torch.mps.is_available() first.")


__getattr__ = refusals(_REFUSED, ("Event",), _refuse, sys.modules[__name__])
