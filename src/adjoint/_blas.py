"""Tells the native core where the OpenBLAS library lies; it is loaded at the first large matrix product."""

import importlib.util
import os
import sys

from . import _C


def _library_path():
    """The OpenBLAS shared library of the scipy-openblas64 wheel, or "" where it is missing."""
    spec = importlib.util.find_spec("scipy_openblas64")
    if spec is None or not spec.submodule_search_locations:
        return ""
    folder = os.path.join(spec.submodule_search_locations[0], "lib")
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return next((os.path.join(folder, name) for name in names if name.startswith("lib") and suffix in name), "")


def configure():
    """Passes the library's path to the core."""
    _C._set_blas_path(_library_path())
