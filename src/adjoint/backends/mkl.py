"""Intel's math library, which is not used: products come from OpenBLAS."""


def is_available():
    """Whether MKL is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.mkl.is_available()
    False
    """
    return False


VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose:
    """A context in which MKL would say what it computes; it is not used, and says nothing.

    >>> import adjoint as torch
    >>> with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
    ...     pass
    """

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
