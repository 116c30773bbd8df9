"""cuDNN, which computes convolutions and recurrent networks on a GPU where it is installed, and the flags it goes by.

`enabled`, `allow_tf32` and the precisions are what both do; `deterministic` is how they always are, and `benchmark` and
`depthwise_kernel` change nothing: cuDNN's own expectation says which algorithm is taken, and convolutions of few
channels have a kernel of their own.
"""

import sys
from types import ModuleType

from .. import _C
from . import _flags, _precision

CUDNN_TENSOR_DTYPES = {_C.float16, _C.float32, _C.float64}
conv = _precision.Precision("cuda", "conv")
rnn = _precision.Precision("cuda", "rnn")


def _may_round():
    if conv.fp32_precision != rnn.fp32_precision and "tf32" in (conv.fp32_precision, rnn.fp32_precision):
        raise RuntimeError(
            "backends.cudnn.allow_tf32: expected one precision of all operations; conv.fp32_precision is "
            f"{conv.fp32_precision!r}, rnn.fp32_precision is {rnn.fp32_precision!r}; ask these instead"
        )
    return conv.fp32_precision == "tf32"


def _let_round(allowed):
    _flags.truth("set_allow_tf32_cudnn")(allowed)
    conv.fp32_precision = rnn.fp32_precision = "tf32" if allowed else "none"


def _limit(value):
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise RuntimeError(f"set_benchmark_limit_cudnn expects an int, but got {type(value).__name__}")
    return value


def _depthwise_kernel(value):
    if not isinstance(value, str):
        raise RuntimeError(f"set_cudnn_depthwise_kernel expects a string, but got {type(value).__name__}")
    if value not in ("auto", "cudnn", "native"):
        raise RuntimeError(f"Unknown cuDNN depthwise kernel mode: {value}. Expected one of: auto, cudnn, native")
    return value


class _Cudnn(ModuleType):
    """The module, and its flags."""

    enabled = _flags.kept(True, _flags.truth("set_enabled_cudnn"), _C._cuda_use_cudnn)
    benchmark = _flags.kept(False, _flags.truth("set_benchmark_cudnn"))
    benchmark_limit = _flags.kept(None, _limit)
    deterministic = _flags.kept(False, _flags.truth("set_deterministic_cudnn"))
    allow_tf32 = _flags.flag(_may_round, _let_round)
    fp32_precision = _flags.precision("cuda")  # of all operations, products of matrices among them
    depthwise_kernel = _flags.kept("auto", _depthwise_kernel)


enabled: bool
benchmark: bool
benchmark_limit: int | None
deterministic: bool
allow_tf32: bool
fp32_precision: str
depthwise_kernel: str
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
    """Whether cuDNN could compute with a tensor; of bfloat16 torch says no, and lets it.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.is_acceptable(torch.zeros(2))
    False
    """
    if not _module.enabled or tensor.device.type != "cuda" or not is_available():
        return False
    return tensor.dtype in CUDNN_TENSOR_DTYPES


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
    (True, False, None, False, True, 'none', 'auto')
    """
    return _flags.set_all(
        _module,
        enabled=_enabled,
        benchmark=_benchmark,
        benchmark_limit=_benchmark_limit,
        deterministic=_deterministic,
        allow_tf32=_allow_tf32,
        fp32_precision=_fp32_precision,
        depthwise_kernel=_depthwise_kernel,
    )


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
    return _flags.within(
        _module,
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
        depthwise_kernel=depthwise_kernel,
    )
