"""Classes and functions that the user allows files to name, beside those that are always allowed."""

import contextlib

_allowed: list = []


def add_safe_globals(safe_globals):
    """Lets files that are loaded with weights_only=True name these classes and functions, or (one, its name) pairs.

    >>> import adjoint as torch
    >>> torch.serialization.add_safe_globals([range])
    >>> torch.serialization.get_safe_globals()
    [<class 'range'>]
    >>> torch.serialization.clear_safe_globals()
    """
    added = list(safe_globals)
    for entry in added:
        full_name(entry)
    for entry in added:
        if entry not in _allowed:
            _allowed.append(entry)


def get_safe_globals():
    """The classes and functions that the user allowed.

    >>> import adjoint as torch
    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_allowed)


def clear_safe_globals():
    """Allows only what is always allowed.

    >>> import adjoint as torch
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """Allows classes and functions inside a with block.

    >>> import adjoint as torch
    >>> with torch.serialization.safe_globals([range]):
    ...     torch.serialization.get_safe_globals()
    [<class 'range'>]
    """
    before = list(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before


def full_name(entry):
    """The name by which a file speaks of an entry; the package's own classes go by torch's name."""
    function, name = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)
    if not callable(function) or not isinstance(name, str | None):
        raise TypeError(f"add_safe_globals(): expected classes, functions or (one, its name) pairs; got {entry!r}")
    return torch_name(name or f"{function.__module__}.{function.__qualname__}")


def torch_name(name):
    """A full name with the package spelled as torch."""
    return "torch" + name[len("adjoint") :] if name.partition(".")[0] == "adjoint" else name


def allowed():
    """{full name: class or function}"""
    return {full_name(entry): entry[0] if isinstance(entry, tuple) else entry for entry in _allowed}
