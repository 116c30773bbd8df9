"""Tells the native core where the OpenBLAS library lies; it is loaded at the first large matrix product."""

import os
import sys

from . import _C


def _library_path():
    """The OpenBLAS shared library of the scipy-openblas64 wheel, or "" where it is missing."""
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    for folder in sys.path:
        library_folder = os.path.join(folder, "scipy_openblas64", "lib")
        if os.path.isdir(library_folder):
            names = sorted(os.listdir(library_folder))
            return next(
                (os.path.join(library_folder, n) for n in names if n.startswith("lib") and n.endswith(suffix)), ""
            )
    return ""


def configure():
    """Passes the library's path to the core."""
    _C._set_blas_path(_library_path())
