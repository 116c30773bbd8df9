"""What `__torch_function__` is told, written down so that two libraries can be compared."""

import numpy as np


def kind(value):
    """What an argument is, without its values."""
    if type(value) in (list, tuple):
        return type(value)(kind(item) for item in value)
    if isinstance(value, dict):
        return {name: kind(item) for name, item in sorted(value.items())}
    if isinstance(value, bool | int | float | complex | str | slice | type(None) | type(Ellipsis)):
        return repr(value)
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


def written(L, func, types, args, kwargs):
    """A call as it was told."""
    name = L.overrides.resolve_name(func) or func.__name__
    return name, [t.__name__ for t in types], kind(args), kind(kwargs)


def computing(L, name="Told"):
    """A subclass of Tensor that writes down each call and computes it, without subclasses; and what it wrote."""
    calls = []

    def __torch_function__(cls, func, types, args=(), kwargs=None):
        calls.append(written(L, func, types, args, kwargs))
        with L._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    return type(name, (L.Tensor,), {"__torch_function__": classmethod(__torch_function__)}), calls


def answering(L, answer=-1, base=object, name="Told"):
    """A class, foreign or a subclass, that writes down each call and gives one answer to all; and what it wrote."""
    calls = []

    def __torch_function__(cls, func, types, args=(), kwargs=None):
        calls.append(written(L, func, types, args, kwargs))
        return answer

    return type(name, (base,), {"__torch_function__": classmethod(__torch_function__)}), calls


def telling_mode(L, answer=None):
    """A mode that writes down each call, and computes it or gives one answer to all; and what it wrote."""
    calls = []

    class Told(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(written(L, func, types, args, kwargs))
            return func(*args, **(kwargs or {})) if answer is None else answer

    return Told(), calls
