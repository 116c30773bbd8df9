"""Intel's math library, which is not used: products come from OpenBLAS."""


def is_available():
    """Whether MKL is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.mkl.is_available()
    False
    """
    return False
