"""The version of PyTorch whose interface this is, and what the build has: no GPU of any kind."""

from . import __version__ as _own
from .torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
__version__ = TorchVersion(f"2.13.0+adjoint.{_own}")
debug = False
git_version = "unknown"
cuda = hip = rocm = xpu = None
