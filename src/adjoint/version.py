"""The version of PyTorch whose interface this is, and of CUDA, where there is a GPU to use."""

from . import _C
from . import __version__ as _own
from .torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
__version__ = TorchVersion(f"2.13.0+adjoint.{_own}")
debug = False
git_version = "unknown"
cuda: str | None
hip = rocm = xpu = None


def __getattr__(name):
    """`cuda`, the version of CUDA that the driver is for: asked of it when a program wants to know."""
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if _C._cuda_why_unavailable():
        return None
    number = _C._cuda_driver_version()
    return f"{number // 1000}.{number % 1000 // 10}"
