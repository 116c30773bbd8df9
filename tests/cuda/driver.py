"""How many kernels the stand-in driver has launched, for tests that count them."""

import contextlib
import ctypes
import os
from pathlib import Path

import pytest


@contextlib.contextmanager
def counted():
    """Gives a list that holds the number of launches of the block when it is left; on a real GPU nothing is counted."""
    library = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", "")) / "libcuda.so.1"
    if "ADJOINT_STANDIN_FOLDER" not in os.environ:
        pytest.skip("launches are counted by the stand-in driver alone")
    count = ctypes.c_long.in_dll(ctypes.CDLL(str(library)), "standin_launches")
    before, found = count.value, []
    yield found
    found.append(count.value - before)
