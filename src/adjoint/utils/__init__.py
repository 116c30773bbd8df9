"""Data loading, checkpoints, hooks, nested containers."""

from .._swapping import swap_tensors as swap_tensors
from . import _contextlib as _contextlib
from . import _foreach_utils as _foreach_utils
from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
from . import weak as weak


def set_module(obj, mod):
    """Says in which module an object is to be found, which its printed name shows.

    >>> import adjoint as torch
    >>> def f():
    ...     pass
    >>> torch.utils.set_module(f, "somewhere")
    >>> f.__module__
    'somewhere'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name):
    import importlib

    if name in ("backend_registration", "benchmark", "collect_env", "cpp_extension"):  # imported when first used
        return importlib.import_module(f".{name}", __name__)
    if name in ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"):
        return getattr(importlib.import_module(".backend_registration", __name__), name)
    from .._install import MissingName

    raise MissingName(__name__, name)
