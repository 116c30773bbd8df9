"""Batches in pinned memory, from which copies to a GPU need not be waited for."""

from collections.abc import Mapping, Sequence

from .... import _C


def pin_memory(data, device=None):
    """The same data with its tensors in pinned memory; objects with a method pin_memory() give what that returns.

    >>> import adjoint as torch
    >>> from adjoint.utils.data._utils.pin_memory import pin_memory
    >>> pin_memory({"label": "a", "number": 3})
    {'label': 'a', 'number': 3}
    """
    if isinstance(data, _C.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value) for value in data]  # as torch does, for the sake of old programs
    if isinstance(data, Sequence):
        return _like(data, [pin_memory(value) for value in data])
    return data


def _like(data, values):
    try:
        return type(data)(values)
    except TypeError:
        return values  # its type takes something else
