"""How this library was built and what it runs on, in words."""

import importlib.metadata
import platform
import sys

from . import _C, _blas, version


def _installed(distribution):
    """The version of an installed package, or "none"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def show():
    """A text on what this library is built with and runs on.

    >>> import adjoint as torch
    >>> torch.__config__.show().splitlines()[0]
    'Adjoint built with:'
    """
    openblas = _blas._library_path()
    lines = [
        f"  - Version: {version.__version__}",
        f"  - Compiler: {_C._compiler()}",
        f"  - Python: {sys.version.split()[0]}",
        f"  - NumPy: {_installed('numpy')}",
        f"  - System: {platform.system()} {platform.machine()}",
        f"  - Instruction set of the loops: {_C._instruction_set()}",
        f"  - BLAS and LAPACK: OpenBLAS {_installed('scipy-openblas64')}" if openblas else "  - BLAS and LAPACK: none",
        f"  - Threads: {_C.get_num_threads()}",
        "  - CUDA: none",
    ]
    return "\n".join(["Adjoint built with:", *lines, ""])


def show_config():
    """Prints what this library is built with and runs on: what a report of a problem should have.

    Versions, the compiler, the instruction set that was chosen for this machine, BLAS and the number of threads.

    >>> import adjoint as torch
    >>> torch.show_config()  # doctest: +ELLIPSIS
    Adjoint built with:
      - Version: ...
    """
    print(show(), end="")


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
