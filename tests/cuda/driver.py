"""The stand-in driver as tests ask it: what it has counted, and what it is to fail. A real driver knows none of it."""

import contextlib
import ctypes
import functools
import os
from pathlib import Path

import pytest

STANDIN = "ADJOINT_STANDIN_FOLDER" in os.environ
standin_only = pytest.mark.skipif(not STANDIN, reason="the stand-in driver counts calls, and fails when it is told to")


@functools.cache
def driver():
    return ctypes.CDLL(str(Path(os.environ["ADJOINT_CUDA_LIBRARIES"]) / "libcuda.so.1"))


def count(name):
    """How often a function of the stand-in's libraries was called so far."""
    return driver().standin_count(name.encode())


def fail(name, error):
    """Lets the next call of a function fail."""
    driver().standin_fail(name.encode(), error, 0)


class Calls:
    """How often functions are called from now on."""

    def __init__(self, *names):
        if not STANDIN:
            pytest.skip("calls are counted by the stand-in driver alone")
        self._before = {name: count(name) for name in names}

    def __getitem__(self, name):
        return count(name) - self._before[name]


@contextlib.contextmanager
def counted():
    """Gives a list that holds the number of launches of the block when it is left."""
    if not STANDIN:
        pytest.skip("calls are counted by the stand-in driver alone")
    launches = ctypes.c_long.in_dll(driver(), "standin_launches")
    before, found = launches.value, []
    yield found
    found.append(launches.value - before)
