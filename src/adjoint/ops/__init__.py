"""The op table: one file per family; an op's signature, its expression and its derivative rules stand together.

Importing a family declares its ops, so every file of this folder is imported. Their order does not matter: names
resolve when they are used.
"""

import importlib
import os

from . import language

for _file in sorted(os.listdir(os.path.dirname(__file__))):
    if _file.endswith(".py") and _file != "__init__.py":
        importlib.import_module(f"{__name__}.{_file[:-3]}")


def table():
    """All declared ops: name -> Declaration."""
    return dict(language.TABLE)


def __getattr__(name):
    """torch.ops.aten and other namespaces of ops: see adjoint._ops."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "profiler":
        from ..autograd.profiler import ops_of_profilers

        return ops_of_profilers
    from .. import _ops

    return _ops.namespace(name)
