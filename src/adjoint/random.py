"""torch.random: the state of the default generator."""

import contextlib

from . import _C
from ._C import default_generator as default_generator
from ._C import get_rng_state as get_rng_state
from ._C import initial_seed as initial_seed
from ._C import manual_seed as manual_seed
from ._C import seed as seed
from ._C import set_rng_state as set_rng_state
from ._install import say_what_is_absent as _say_what_is_absent

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """While it holds, random numbers are drawn without effect on those drawn after it.

    `devices` are the GPUs for whose numbers that holds, too; by default all of them.

    - enabled: False changes nothing.

    >>> import adjoint as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(3)
    >>> bool((torch.rand(3) == x).all())
    True
    """
    if not enabled:
        yield
        return
    states = _all_states(devices)
    try:
        yield
    finally:
        _set_all_states(states)


def _all_states(devices=None):
    """The states of the CPU's generator and of the GPUs', by the generators; `devices`: of these GPUs alone."""
    numbers = range(_C._cuda_device_count())
    if devices is not None:
        given = (device if isinstance(device, int) else _C.device(device).index for device in devices)
        numbers = [_C._cuda_current_device() if number is None else number for number in given]
        if numbers and _C._cuda_why_unavailable():
            _C.empty(0, device="cuda")  # says why there is none
    generators = (default_generator, *map(_C._device_generator, numbers))
    return [(generator, generator.get_state()) for generator in generators]


def _set_all_states(states):
    """Gives generators the states that _all_states() returned."""
    for generator, state in states:
        generator.set_state(state)


_say_what_is_absent(__name__)
