"""oneDNN, which is not used; its flags can be set, and change nothing."""

import contextlib
import sys
from types import ModuleType

from . import _flags, _precision

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


class _Mkldnn(ModuleType):
    """The module, and its flags. To set the precision is to set that of all libraries, as in torch, but by flags()."""

    enabled = _flags.kept(True, _flags.truth("set_enabled_mkldnn"))
    deterministic = _flags.kept(False, _flags.truth("set_deterministic_mkldnn"))
    # None, as in torch, where oneDNN has no device that could round to TF32.
    allow_tf32 = _flags.flag(lambda: None, _flags.truth("_set_onednn_allow_tf32"))
    fp32_precision = _flags.flag(
        lambda: _precision.get("mkldnn"), lambda value: _precision.put("generic", "all", value)
    )


enabled: bool
deterministic: bool
allow_tf32: bool
fp32_precision: str
matmul = _precision.Precision("mkldnn", "matmul")
conv = _precision.Precision("mkldnn", "conv")
rnn = _precision.Precision("mkldnn", "rnn")
_module = sys.modules[__name__]
_module.__class__ = _Mkldnn


def is_available():
    """Whether oneDNN is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.mkldnn.is_available()
    False
    """
    return False


def is_acl_available():
    """Whether oneDNN has Arm's library to compute with: no.

    >>> import adjoint as torch
    >>> torch.backends.mkldnn.is_acl_available()
    False
    """
    return False


class verbose:
    """A context in which oneDNN would say what it computes; it is not used, and says nothing.

    >>> import adjoint as torch
    >>> with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
    ...     pass
    """

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets the flags that are not None; returns what all of them were.

    >>> import adjoint as torch
    >>> torch.backends.mkldnn.set_flags(_deterministic=False)
    (True, False, None, 'none')
    """
    former = _module.fp32_precision
    others = _flags.set_all(_module, enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32)
    _precision.put("mkldnn", "all", _fp32_precision)
    return (*others, former)


@contextlib.contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A context in which the flags have these values.

    >>> import adjoint as torch
    >>> with torch.backends.mkldnn.flags(enabled=False):
    ...     torch.backends.mkldnn.enabled
    False
    """
    with _flags.within(_module, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32):
        _precision.put("mkldnn", "all", fp32_precision)
        yield
