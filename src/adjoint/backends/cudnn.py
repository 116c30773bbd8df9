"""cuDNN, which is not there: its flags can be set, and change nothing."""

import contextlib

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True
_FLAGS = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def version():
    """The version of cuDNN: None.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.version()
    """


def is_available():
    """Whether cuDNN is there: no.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def is_acceptable(tensor):
    """Whether cuDNN could compute with a tensor: no.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.is_acceptable(torch.zeros(2))
    False
    """
    return False


def set_flags(
    _enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"
):
    """Sets the flags that are not None; returns what all of them were.

    >>> import adjoint as torch
    >>> torch.backends.cudnn.set_flags()
    (True, False, None, False, True)
    """
    former = tuple(globals()[name] for name in _FLAGS)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    globals().update({name: value for name, value in zip(_FLAGS, given, strict=True) if value is not None})
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
    former = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        globals().update(zip(_FLAGS, former, strict=True))
