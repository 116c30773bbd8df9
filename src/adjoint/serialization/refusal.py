"""What a safe file cannot hold, and how save() says so: the place of the value, and what to save instead."""

import reprlib
import warnings

from ..nn.modules.module import Module


class Attribute(str):
    """A step of a path that is an attribute, not a key."""


class Key:
    """A step of a path: a key of the dict itself."""

    def __init__(self, key):
        self.key = key


def path_text(path):
    """A path, (path before, key or index) or the name of the object, as one would write it in Python."""
    steps = []
    while isinstance(path, tuple):
        path, step = path
        if isinstance(step, Attribute):
            steps.append(f".{step}")
        elif isinstance(step, Key):
            steps.append(f" (its key {reprlib.repr(step.key)})")
        else:
            steps.append(f"[{reprlib.repr(step)}]")
    return path + "".join(reversed(steps))


def _advice(obj):
    kind = type(obj)
    if isinstance(obj, Module):
        return "save its state_dict() instead"
    if kind.__module__ == "numpy":
        return "save torch.from_numpy() of it instead" if kind.__name__ == "ndarray" else "save its .item() instead"
    for plain in (dict, frozenset, tuple, list, set, str, int, float):
        if isinstance(obj, plain):
            return f"save {'set' if plain is frozenset else plain.__name__}() of it instead"
    return "leave it out"


def refusal(obj, path):
    """The message for a value that is not data."""
    kind = type(obj)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return (
        f"save(): expected tensors, numbers, text and plain containers of them; got {name} at {path_text(path)}. "
        f"To keep the file safe to load, {_advice(obj)}, or allow its class by torch.serialization.add_safe_globals. "
        "Any object can be written as a pickle, which can run code when it is loaded: only load(..., "
        "weights_only=False) reads it, and save(..., pickle_module=pickle) says that this is meant."
    )


def warn_of_hooks(tensor):
    """Hooks are functions: they are not saved, and that may surprise.

    >>> import adjoint as torch
    >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(2))  # says nothing: there are none
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
