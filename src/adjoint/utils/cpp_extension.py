"""Extensions in C++ for torch: names, so that setups import them; building refuses, for there is no libtorch."""

import os
import sys

from .._absent import refusing, refusing_type

_ADVICE = (
    "extensions in C++ are written against libtorch, which is not here; use what the package has in Python, or write "
    "the function as an autograd.Function"
)

CUDA_HOME = ROCM_HOME = CUDNN_HOME = SYCL_HOME = None
IS_WINDOWS, IS_LINUX, IS_MACOS = sys.platform == "win32", sys.platform.startswith("linux"), sys.platform == "darwin"
IS_HIP_EXTENSION = False

load = refusing("utils.cpp_extension", "load", _ADVICE)
load_inline = refusing("utils.cpp_extension", "load_inline", _ADVICE)
CppExtension = refusing("utils.cpp_extension", "CppExtension", _ADVICE)
CUDAExtension = refusing("utils.cpp_extension", "CUDAExtension", _ADVICE)
SyclExtension = refusing("utils.cpp_extension", "SyclExtension", _ADVICE)
include_paths = refusing("utils.cpp_extension", "include_paths", _ADVICE)
library_paths = refusing("utils.cpp_extension", "library_paths", _ADVICE)
BuildExtension = refusing_type("utils.cpp_extension", "BuildExtension", _ADVICE)


def is_ninja_available():
    """Whether ninja is there to build with.

    >>> from adjoint.utils.cpp_extension import is_ninja_available
    >>> is_ninja_available() in (True, False)
    True
    """
    import shutil

    return shutil.which("ninja") is not None


def verify_ninja_availability():
    """Raises unless ninja is there to build with."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root():
    """The folder in which torch would build extensions.

    >>> import os
    >>> from adjoint.utils.cpp_extension import get_default_build_root
    >>> os.path.basename(get_default_build_root())
    'torch_extensions'
    """
    return os.path.join(os.path.expanduser("~"), ".cache", "torch_extensions")
