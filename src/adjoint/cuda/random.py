"""torch.cuda.random: the generators of the GPUs, each with a seed and an offset of its own.

Without a GPU, seeds are kept for one, and states are refused.
"""

from .. import _C

__all__ = [
    *("get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all", "manual_seed", "manual_seed_all"),
    *("seed", "seed_all", "initial_seed"),
]


def _index(device):
    """The number of a GPU that is given as a device, its name or its number; -1 and None stand for the current one."""
    if device is None or device == -1:
        return _C._cuda_current_device()
    if isinstance(device, int):
        return device
    index = _C.device(device).index
    return _C._cuda_current_device() if index is None else index


def _generator(device):
    if not _C._cuda_device_count():
        _C.empty(0, device="cuda")  # says why there is none
    return _C._device_generator(_index(device))


def get_rng_state(device="cuda"):
    """The state of a GPU's generator: 16 bytes, its seed and its offset.

    >>> import adjoint as torch
    >>> torch.cuda.get_rng_state().numel() if torch.cuda.is_available() else 16
    16
    """
    return _generator(device).get_state()


def get_rng_state_all():
    """The states of the generators of all GPUs.

    >>> import adjoint as torch
    >>> len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
    True
    """
    return [get_rng_state(index) for index in range(_C._cuda_device_count())]


def set_rng_state(new_state, device="cuda"):
    """Gives a GPU's generator the state that get_rng_state returned; nothing without a GPU.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    if _C._cuda_device_count():
        _generator(device).set_state(new_state)


def set_rng_state_all(new_states):
    """Gives the generators of all GPUs states, one for each.

    >>> import adjoint as torch
    >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed):
    """Seeds the generator of the current GPU; without a GPU, nothing.

    >>> import adjoint as torch
    >>> torch.cuda.manual_seed(5)
    """
    seed = int(seed)
    if _C._cuda_device_count():
        _generator(None).manual_seed(seed)


def manual_seed_all(seed):
    """Seeds the generators of all GPUs.

    >>> import adjoint as torch
    >>> torch.cuda.manual_seed_all(5)
    """
    _C._seed_devices(seed)


def seed():
    """Seeds the generator of the current GPU at random; without a GPU, nothing.

    >>> import adjoint as torch
    >>> torch.cuda.seed()
    """
    if _C._cuda_device_count():
        _generator(None).seed()


def seed_all():
    """Seeds the generators of all GPUs at random, with one seed.

    >>> import adjoint as torch
    >>> torch.cuda.seed_all()
    """
    _C._seed_devices(_C.Generator().seed())


def initial_seed():
    """The seed of the current GPU's generator.

    >>> import adjoint as torch
    >>> torch.cuda.manual_seed(5)
    >>> torch.cuda.initial_seed() if torch.cuda.is_available() else 5
    5
    """
    return _generator(None).initial_seed()


def default_generators():
    """The generators of all GPUs, which torch.cuda.default_generators is."""
    return tuple(_C._device_generator(index) for index in range(_C._cuda_device_count()))
