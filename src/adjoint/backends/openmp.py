"""OpenMP, which is not used: kernels have a thread pool of their own."""


def is_available():
    """Whether OpenMP is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.openmp.is_available()
    False
    """
    return False
