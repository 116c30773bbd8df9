"""What keeps functions from torch's compiler, where some packages import it from."""

import functools


def _disable_dynamo(fn=None, recursive=True):
    """The function itself; without one, a decorator.

    >>> import adjoint as torch
    >>> torch._compile._disable_dynamo(len)([1, 2])
    2
    """
    return functools.partial(_disable_dynamo, recursive=recursive) if fn is None else fn
