"""Which kernels attention may use: the choice is accepted, and the one kernel that there is runs."""

import contextlib
import enum


class SDPBackend(enum.IntEnum):
    """The kernels of scaled_dot_product_attention.

    >>> import adjoint as torch
    >>> torch.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context in which attention may use these kernels only.

    >>> import adjoint as torch
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     x = torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3)
    >>> x.shape
    torch.Size([1, 1, 2, 4])
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield {}
