"""KleidiAI, Arm's kernels: not used."""


def is_available():
    """Whether KleidiAI is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.kleidiai.is_available()
    False
    """
    return False
