"""torch.random: the state of the default generator."""

import contextlib

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

    `devices` and `device_type` name devices with generators of their own; there are none here.

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
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


_say_what_is_absent(__name__)
