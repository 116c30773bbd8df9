"""oneDNN, which is not used; its flags can be set, and change nothing."""

import contextlib

enabled = True
deterministic = False
allow_tf32 = True


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
    former = {name: globals()[name] for name in names}
    globals().update(zip(names, (enabled, deterministic, allow_tf32), strict=True))
    try:
        yield
    finally:
        globals().update(former)
