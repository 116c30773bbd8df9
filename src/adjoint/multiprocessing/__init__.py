"""Python's multiprocessing, whose queues and pipes hand over tensors as shared memory instead of copies."""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403 - what torch.multiprocessing offers

from . import reductions as reductions
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = [
    *_multiprocessing.__all__,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]
_STRATEGIES = ("file_descriptor",)

reductions.init_reductions()


def get_all_sharing_strategies():
    """The ways to hand over shared memory: as open files.

    >>> import adjoint as torch
    >>> torch.multiprocessing.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return set(_STRATEGIES)


def get_sharing_strategy():
    """The way in use.

    >>> import adjoint as torch
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _STRATEGIES[0]


def set_sharing_strategy(new_strategy):
    """Chooses the way: there is one, and 'file_system' is taken for it, as programs choose it to save open files.

    >>> import adjoint as torch
    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in (*_STRATEGIES, "file_system"):
        raise AssertionError(f"set_sharing_strategy: expected one of {_STRATEGIES}; got {new_strategy!r}")
