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


def is_macos_or_newer(major, minor):
    """Whether this is macOS, of a version or a later one.

    >>> import adjoint as torch, sys
    >>> torch.backends.mps.is_macos_or_newer(1000, 0)
    False
    """
    import platform

    found = platform.mac_ver()[0]
    return bool(found) and tuple(map(int, found.split(".")[:2])) >= (major, minor)


def is_macos13_or_newer(minor=0):
    """Whether this is macOS 13 or later.

    >>> import adjoint as torch
    >>> torch.backends.mps.is_macos13_or_newer() in (True, False)
    True
    """
    return is_macos_or_newer(13, minor)
