"""What the running program calls a tensor: for messages."""

import inspect
import os
import sys
import types

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MOST_ITEMS = 10_000


def name_of(tensor):
    """What a variable of the running functions, or a parameter of a module in one, calls a tensor; "" for none.

    >>> import adjoint as torch
    >>> weight = torch.ones(2)
    >>> torch.inspect.names.name_of(weight)
    'weight'
    """
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            name = _name_in(_variables(frame), tensor) or _name_in(frame.f_globals, tensor)
            if name:
                return name
        frame = frame.f_back
    return ""


def _variables(frame):
    """A frame's local variables. The frame itself must not keep them: they may hold a graph."""
    local = frame.f_locals
    if isinstance(local, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        copy = dict(local)
        local.clear()
        return copy
    return local


def _name_in(variables, tensor):
    values = list(variables.items())
    for name, value in values:
        if value is tensor:
            return name
    for name, value in values:
        path = _path_in(value, tensor)
        if path:
            return name + path
    return ""


def _path_in(value, tensor):
    """How a list, tuple, dict or module leads to a tensor: "[0]", ".weight"; "" when it does not."""
    if isinstance(value, (list, tuple)) and len(value) <= _MOST_ITEMS:
        return next((f"[{i}]" for i, item in enumerate(value) if item is tensor), "")
    if isinstance(value, dict) and len(value) <= _MOST_ITEMS:
        return next((f"[{key!r}]" for key, item in value.items() if item is tensor), "")
    if not isinstance(value, type) and hasattr(type(value), "named_parameters"):
        return next((f".{name}" for name, item in value.named_parameters() if item is tensor), "")
    attributes = {} if isinstance(value, (type, types.ModuleType)) else getattr(value, "__dict__", {})
    return next((f".{name}" for name, item in attributes.items() if item is tensor), "")
