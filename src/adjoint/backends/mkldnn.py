"""oneDNN, which is not used; its flags can be set, and change nothing."""

import contextlib
import sys
from types import ModuleType

from . import _precision


class _Mkldnn(ModuleType):
    """The module, whose precision is that of all libraries, as torch has it."""

    fp32_precision = _precision.on_module("generic")


enabled = True
deterministic = False
allow_tf32 = True
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


@contextlib.contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A context in which the flags have these values.

    >>> import adjoint as torch
    >>> with torch.backends.mkldnn.flags(enabled=False):
    ...     torch.backends.mkldnn.enabled
    False
    """
    names = ("enabled", "deterministic", "allow_tf32")
    former, chosen = {name: globals()[name] for name in names}, _precision.chosen()
    globals().update(zip(names, (enabled, deterministic, allow_tf32), strict=True))
    if fp32_precision != "none":
        _module.fp32_precision = fp32_precision
    try:
        yield
    finally:
        globals().update(former)
        _precision.restore(chosen)
