"""What a function's result depends on beside its arguments: random numbers and autocast, kept to run it again."""

import contextlib

from .. import _C, random
from ..amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ._pytree import tree_leaves


class State:
    """The state when it is made; `restored()` brings it back for a while."""

    def __init__(self, preserve_rng_state):
        self.rng = random._all_states() if preserve_rng_state else None
        self.autocast = [
            {
                "device_type": device,
                "dtype": get_autocast_dtype(device),
                "enabled": is_autocast_enabled(device),
                "cache_enabled": is_autocast_cache_enabled(),
            }
            for device in ("cpu", "cuda")
        ]

    @contextlib.contextmanager
    def restored(self):
        """The state as it was, and afterwards as it is now."""
        on_cpu, on_gpu = self.autocast
        with random.fork_rng(enabled=self.rng is not None), autocast(**on_cpu), autocast(**on_gpu):
            if self.rng is not None:
                random._set_all_states(self.rng)
            yield


class DefaultDeviceType:
    """The kind of device whose random numbers a checkpoint keeps, beside those of the CPU, where no tensor says.

    >>> from adjoint.utils.checkpoint import DefaultDeviceType
    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        """Sets the kind."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        """The kind."""
        return DefaultDeviceType._default_device_type or "cpu"


def _infer_device_type(*args):
    """The kind of device that the tensors are on."""
    kinds = {value.device.type for value in args if isinstance(value, _C.Tensor)} - {"cpu", "meta"}
    return min(kinds, default=DefaultDeviceType.get_device_type())


def get_device_states(*args):
    """(numbers of the GPUs that tensors are on, states of their random numbers); the CPU's are kept apart.

    >>> import adjoint as torch
    >>> torch.utils.checkpoint.get_device_states(torch.ones(1))
    ([], [])
    """
    tensors = [value for value in tree_leaves(args) if isinstance(value, _C.Tensor)]
    devices = sorted({value.device.index for value in tensors if value.is_cuda})
    return devices, [_C._device_generator(number).get_state() for number in devices]


def set_device_states(devices, states, *, device_type=None):
    """Gives GPUs the states of get_device_states(); those of the CPU and of meta tensors have none.

    >>> import adjoint as torch
    >>> torch.utils.checkpoint.set_device_states([], [])
    """
    for number, state in zip(devices, states, strict=True):
        _C._device_generator(number).set_state(state)
