"""NNPACK, which computes on telephones: not used; its flag can be set, and changes nothing."""

import sys
from types import ModuleType

from . import _flags


class _Nnpack(ModuleType):
    """The module, and its flag."""

    enabled = _flags.kept(False, _flags.truth("set_enabled_NNPACK"))


enabled: bool
_module = sys.modules[__name__]
_module.__class__ = _Nnpack


def is_available():
    """Whether NNPACK is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.nnpack.is_available()
    False
    """
    return False


def set_flags(_enabled):
    """Sets the flag; returns what it was, in a tuple.

    >>> import adjoint as torch
    >>> torch.backends.nnpack.set_flags(False)
    (False,)
    """
    return _flags.set_all(_module, enabled=_enabled)


def flags(enabled=False):
    """A context in which the flag has this value.

    >>> import adjoint as torch
    >>> with torch.backends.nnpack.flags(True):
    ...     torch.backends.nnpack.enabled
    True
    """
    return _flags.within(_module, enabled=enabled)
