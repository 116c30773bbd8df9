"""What the namespace says of itself: `__array_namespace_info__`."""

from ._types import KINDS, default_complex, torch


class Info:
    """Capabilities, devices and types of the namespace.

    >>> from adjoint import array_api as xp
    >>> xp.__array_namespace_info__().capabilities()["max dimensions"]
    64
    """

    def capabilities(self):
        """Whether masks index arrays, whether shapes may depend on values, and how many dimensions there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """Where arrays are made unless a device is named."""
        return torch.get_default_device()

    def devices(self):
        """All devices: the program's memory, and the one without memory."""
        return [torch.device("cpu"), torch.device("meta")]

    def default_dtypes(self, *, device=None):
        """The types of arrays that are made without one; `set_default_dtype` changes those of floats."""
        _known(device)
        return {
            "real floating": torch.get_default_dtype(),
            "complex floating": default_complex(),
            "integral": torch.int64,
            "indexing": torch.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """The types of the standard by name, all or those of a kind, such as "integral", or of a tuple of kinds."""
        _known(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        found = {}
        for one in kinds:
            if one not in KINDS:
                raise ValueError(f"dtypes: expected kind as one of {', '.join(map(repr, KINDS))}; got {one!r}")
            found |= {str(dtype).removeprefix("torch."): dtype for dtype in KINDS[one]}
        return found


def _known(device):
    if device is not None and torch.device(device).type not in ("cpu", "meta"):
        raise ValueError(f"expected one of the devices cpu and meta; got {device}")


def __array_namespace_info__():
    """An object that tells the namespace's capabilities, devices and types.

    >>> from adjoint import array_api as xp
    >>> sorted(xp.__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Info()
