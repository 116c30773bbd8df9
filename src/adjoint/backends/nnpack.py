"""NNPACK, which computes on telephones: not used; its flag can be set, and changes nothing."""

import contextlib

enabled = False


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
    global enabled
    former, enabled = (enabled,), _enabled
    return former


@contextlib.contextmanager
def flags(enabled=False):
    """A context in which the flag has this value.

    >>> import adjoint as torch
    >>> with torch.backends.nnpack.flags(True):
    ...     torch.backends.nnpack.enabled
    True
    """
    (former,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(former)
