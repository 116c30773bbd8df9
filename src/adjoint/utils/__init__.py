"""Data loading, checkpoints, hooks, nested containers."""

from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks


def __getattr__(name):
    import importlib

    if name in ("benchmark", "collect_env", "cpp_extension"):  # imported when first used
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
