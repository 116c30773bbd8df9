"""How this library was built, in words."""

import sys

from . import _C, version


def show():
    """A text on what this library is built with.

    >>> import adjoint as torch
    >>> torch.__config__.show().splitlines()[0]
    'Adjoint built with:'
    """
    lines = [
        f"  - Version: {version.__version__}",
        f"  - Python: {sys.version.split()[0]}",
        "  - BLAS and LAPACK: OpenBLAS",
        "  - CUDA: none",
    ]
    return "\n".join(["Adjoint built with:", *lines, ""])


def parallel_info():
    """A text on how many threads compute.

    >>> import adjoint as torch
    >>> torch.__config__.parallel_info().splitlines()[0]
    'Threads:'
    """
    return f"Threads:\n    get_num_threads() : {_C.get_num_threads()}\n"


def _cxx_flags():
    """The options of the compiler.

    >>> import adjoint as torch
    >>> torch.__config__._cxx_flags()
    '-std=c++20'
    """
    return "-std=c++20"
