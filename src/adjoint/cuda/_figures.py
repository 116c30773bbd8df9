"""What NVIDIA's management library (pip install nvidia-ml-py) says of a GPU: use, temperature, power, clock."""

from ._devices import get_device_properties


def _library():
    try:
        import pynvml
    except ImportError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported. Install it with "
            "pip install nvidia-ml-py, or look at nvidia-smi"
        ) from error
    pynvml.nvmlInit()
    return pynvml


def _of(device):
    """The library, and its name for a GPU."""
    library = _library()
    return library, library.nvmlDeviceGetHandleByUUID(f"GPU-{get_device_properties(device).uuid}")


def memory_usage(device=None):
    """The percents of the last time in which a GPU's memory was read or written, as nvidia-smi shows them.

    >>> import adjoint as torch
    >>> callable(torch.cuda.memory_usage)
    True
    """
    library, handle = _of(device)
    return library.nvmlDeviceGetUtilizationRates(handle).memory


def utilization(device=None):
    """The percents of the last time in which a GPU had kernels to run, as nvidia-smi shows them.

    >>> import adjoint as torch
    >>> callable(torch.cuda.utilization)
    True
    """
    library, handle = _of(device)
    return library.nvmlDeviceGetUtilizationRates(handle).gpu


def temperature(device=None):
    """The temperature of a GPU, in degrees Celsius.

    >>> import adjoint as torch
    >>> callable(torch.cuda.temperature)
    True
    """
    library, handle = _of(device)
    return library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU)


def power_draw(device=None):
    """The power that a GPU takes, in milliwatts.

    >>> import adjoint as torch
    >>> callable(torch.cuda.power_draw)
    True
    """
    library, handle = _of(device)
    return library.nvmlDeviceGetPowerUsage(handle)


def clock_rate(device=None):
    """The speed of a GPU's processors, in MHz.

    >>> import adjoint as torch
    >>> callable(torch.cuda.clock_rate)
    True
    """
    library, handle = _of(device)
    return library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM)
