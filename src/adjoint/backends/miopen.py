"""MIOpen, which computes convolutions on AMD's GPUs: not here; its flag can be set, and changes nothing."""

import sys
from types import ModuleType

from . import _flags


class _Miopen(ModuleType):
    """The module, and its flag."""

    immediate = _flags.kept(False, _flags.truth("set_immediate_miopen"))


immediate: bool
_module = sys.modules[__name__]
_module.__class__ = _Miopen


def set_flags(_immediate=None):
    """Sets the flag if it is not None; returns what it was, in a tuple.

    >>> import adjoint as torch
    >>> torch.backends.miopen.set_flags()
    (False,)
    """
    return _flags.set_all(_module, immediate=_immediate)


def flags(immediate=False):
    """A context in which the flag has this value.

    >>> import adjoint as torch
    >>> with torch.backends.miopen.flags(immediate=True):
    ...     torch.backends.miopen.immediate
    True
    """
    return _flags.within(_module, immediate=immediate)
