"""torch._C._fft: the functions of torch.fft by the names that they have there, such as fft_fft."""

from .. import fft


def __getattr__(name):
    short = name.removeprefix("fft_")
    if name.startswith("__") or short == name or not hasattr(fft, short):
        raise AttributeError(f"module 'torch._C._fft' has no attribute {name!r}")
    return getattr(fft, short)
