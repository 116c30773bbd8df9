"""torch._C._fft: the functions of torch.fft by the names that traces print, as fft_fft."""

from .. import fft


def __getattr__(name):
    public = name.removeprefix("fft_")
    if public == name or not hasattr(fft, public):
        raise AttributeError(f"module 'torch._C._fft' has no attribute {name!r}")
    return getattr(fft, public)
