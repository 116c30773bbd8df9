"""cuSPARSELt, which multiplies half-empty matrices: not used."""


def is_available():
    """Whether cuSPARSELt is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.cusparselt.is_available()
    False
    """
    return False


def version():
    """The version of cuSPARSELt: None.

    >>> import adjoint as torch
    >>> torch.backends.cusparselt.version() is None
    True
    """


def get_max_alg_id():
    """The number of its algorithms: None.

    >>> import adjoint as torch
    >>> torch.backends.cusparselt.get_max_alg_id() is None
    True
    """
