"""The processor as a device: there is one, and it is always ready."""

from . import amp as amp


def is_available():
    """Whether there is a processor.

    >>> import adjoint as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized():
    """Whether the processor is ready.

    >>> import adjoint as torch
    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count():
    """The number of processors as devices: one.

    >>> import adjoint as torch
    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device():
    """The name of the device in use.

    >>> import adjoint as torch
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """Does nothing: there is one processor.

    >>> import adjoint as torch
    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Does nothing: ops on the processor are done when they return.

    >>> import adjoint as torch
    >>> torch.cpu.synchronize()
    """
