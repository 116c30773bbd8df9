"""cuDNN, which computes convolutions on a GPU where it is installed, and the flags that it goes by.

`enabled` and `allow_tf32` are what convolutions do; `deterministic` is how they always are, and `benchmark` changes
nothing: cuDNN's own expectation says which algorithm is taken.
"""

import contextlib
import sys
from types import ModuleType

from .. import _C
from . import _precision

_FLAGS = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


class _Cudnn(ModuleType):
    """The module, whose flags are kept by those who go by them."""

    fp32_precision = _precision.on_module("cuda")  # of all operations, products of matrices among them

    @property
    def enabled(self):
        return _state["enabled"]

    @enabled.setter
    def enabled(self, value):
        _state["enabled"] = bool(value)
        _C._cuda_use_cudnn(bool(value))

    @property
    def allow_tf32(self):
        if conv.fp32_precision != rnn.fp32_precision and "tf32" in (conv.fp32_precision, rnn.fp32_precision):
            raise RuntimeError(
                "backends.cudnn.allow_tf32: expected one precision of all operations; conv.fp32_precision is "
                f"{conv.fp32_precision!r}, rnn.fp32_precision is {rnn.fp32_precision!r}; ask these instead"
            )
        return conv.fp32_precision == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, value):
        conv.fp32_precision = rnn.fp32_precision = "tf32" if value else "none"


_state = {"enabled": True}
enabled: bool
allow_tf32: bool
benchmark = False
benchmark_limit = None
deterministic = False
fp32_precision: str
conv = _precision.Precision("cuda", "conv")
rnn = _precision.Precision("cuda", "rnn")  # kept: the products of recurrent layers go by backends.cuda.matmul
_module = sys.modules[__name__]
_module.__class__ = _Cudnn


def version():
    """The version of cuDNN, such as 91002; None where it is not installed.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.version() is None or torch.backends.cudnn.is_available()
    True
    """
    return _C._cuda_cudnn_version()


def is_available():
    """Whether there is a GPU, and cuDNN.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.is_available() <= torch.cuda.is_available()
    True
    """
    return version() is not None


def is_acceptable(tensor):
    """Whether cuDNN could compute with a tensor.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.is_acceptable(torch.zeros(2))
    False
    """
    if not _module.enabled or tensor.device.type != "cuda" or not is_available():
        return False
    return tensor.dtype in (_C.float16, _C.bfloat16, _C.float32, _C.float64)


def set_flags(
    _enabled=None,
    _benchmark=None,
    _benchmark_limit=None,
    _deterministic=None,
    _allow_tf32=None,
    _fp32_precision="none",
    _depthwise_kernel=None,
):
    """Sets the flags that are not None; returns what all of them were.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.set_flags()
    (True, False, None, False, True)
    """
    former = tuple(getattr(_module, name) for name in _FLAGS)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    for name, value in zip(_FLAGS, given, strict=True):
        if value is not None:
            setattr(_module, name, value)
    return former


@contextlib.contextmanager
def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
):
    """A context in which the flags have these values.

    >>> import adjoint as torch
    >>> with torch.backends.cudnn.flags(deterministic=True):
    ...     torch.backends.cudnn.deterministic
    True
    """
    chosen = _precision.chosen()
    former = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    if fp32_precision != "none":
        _module.fp32_precision = fp32_precision
    try:
        yield
    finally:
        for name, value in zip(_FLAGS, former, strict=True):
            setattr(_module, name, value)
        _precision.restore(chosen)
