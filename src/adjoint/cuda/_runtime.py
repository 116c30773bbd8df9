"""The functions of CUDA's runtime that torch.cuda.cudart() has; NVIDIA's driver does their work."""

import enum

from .. import _C
from ._devices import index_of, init


class cudaError(enum.IntEnum):
    """What functions of CUDA's runtime return; other numbers are plain ones."""

    success = 0


def _answer(code):
    return cudaError.success if code == 0 else code


class _Runtime:
    """Functions under the names of CUDA's runtime."""

    cudaError = cudaError

    def cudaProfilerStart(self):
        """Tells NVIDIA's profilers to begin."""
        return _answer(_C._cuda_profile(True))

    def cudaProfilerStop(self):
        """Tells NVIDIA's profilers to end."""
        return _answer(_C._cuda_profile(False))

    def cudaHostRegister(self, ptr, size, flags=0):
        """Pins memory that the program has, so that GPUs read it faster."""
        return _answer(_C._cuda_register_host(ptr, size, flags))

    def cudaHostUnregister(self, ptr):
        """Lets memory go that cudaHostRegister() has pinned."""
        return _answer(_C._cuda_unregister_host(ptr))

    def cudaMemGetInfo(self, device=None):
        """The bytes of a GPU that are free, and all."""
        return _C._cuda_memory_info(index_of(device))

    def cudaGetErrorString(self, error):
        """A number of the driver's in words."""
        return "no error" if error == 0 else f"CUDA error {int(error)}"


_runtime = _Runtime()


def cudart():
    """Functions under the names of CUDA's runtime: those for profilers, pinned memory and the size of memory.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStop())
    """
    init()
    return _runtime


def current_blas_handle():
    """cuBLAS's handle of this thread for the current GPU, as a number, for libraries that call cuBLAS.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.current_blas_handle() != 0
    """
    init()
    return _C._cuda_blas_handle(_C._cuda_current_device())


def ipc_collect():
    """Does nothing: GPUs are not shared between processes, so that no memory waits for another one.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.ipc_collect()
    """
    init()
