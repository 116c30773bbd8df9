"""What load() assumes when neither the file nor the caller says."""

import enum


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say it.

    >>> import adjoint as torch
    >>> torch.serialization.LoadEndianness.BIG
    <LoadEndianness.BIG: 3>
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: LoadEndianness | None = None


def get_default_load_endianness():
    """The byte order assumed of files that do not say it; None is that of this machine.

    >>> import adjoint as torch
    >>> torch.serialization.get_default_load_endianness()
    """
    return _endianness


def set_default_load_endianness(endianness):
    """Sets the byte order assumed of files that do not say it: a LoadEndianness, or None.

    >>> import adjoint as torch
    >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.LITTLE)
    >>> torch.serialization.get_default_load_endianness()
    <LoadEndianness.LITTLE: 2>
    >>> torch.serialization.set_default_load_endianness(None)
    """
    global _endianness
    if not isinstance(endianness, LoadEndianness | None):
        raise TypeError(
            "Invalid argument type in function set_default_load_endianness: expected a LoadEndianness or None; "
            f"got {type(endianness)}"
        )
    _endianness = endianness
