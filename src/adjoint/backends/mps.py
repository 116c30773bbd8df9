"""Apple's GPUs, which are not used."""


def is_built():
    """Whether this build has code for Apple's GPUs: no.

    >>> import adjoint as torch
    >>> torch.backends.mps.is_built()
    False
    """
    return False


def is_available():
    """Whether there is one of Apple's GPUs to use: no.

    >>> import adjoint as torch
    >>> torch.backends.mps.is_available()
    False
    """
    return False
