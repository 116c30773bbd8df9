"""What modules of flags share: flags that take certain values only, sets of them for a while, and freezing them."""

import contextlib

from . import _precision

_state = {"frozen": False}


def truth(words):
    """A check that a flag is a bool; `words` is the function that torch's errors name."""

    def check(value):
        if not isinstance(value, bool):
            raise RuntimeError(f"{words} expects a bool, but got {type(value).__name__}; give True or False")
        return value

    return check


def flag(read, put):
    """A flag as a property of a module's class; programs set it until they freeze all flags."""

    def guarded(module, value):
        if _state["frozen"]:
            raise RuntimeError(
                f"not allowed to set {module.__name__.replace('adjoint', 'torch', 1)} flags after "
                "disable_global_flags; please use flags() context manager instead"
            )
        put(value)

    return property(lambda module: read(), guarded)


def kept(value, check, tell=None):
    """A flag that is kept here; `tell` is called with each new value."""
    values = [value]

    def put(new):
        values[0] = check(new)
        if tell is not None:
            tell(new)

    return flag(lambda: values[0], put)


def precision(library):
    """The precision of a library as a flag of its module."""
    return flag(lambda: _precision.get(library), lambda value: _precision.put(library, "all", value))


def freeze():
    """Flags are set in contexts alone from now on."""
    _state["frozen"] = True


def frozen():
    """Whether they are."""
    return _state["frozen"]


@contextlib.contextmanager
def _thawed():
    before, _state["frozen"] = _state["frozen"], False
    try:
        yield
    finally:
        _state["frozen"] = before


def _put(module, values):
    """Sets all flags that are not None, or none of them."""
    chosen = _precision.chosen()
    former = {name: getattr(module, name) for name in values if name not in _OF_PRECISION}
    try:
        with _thawed():
            for name, value in values.items():
                if value is not None:
                    setattr(module, name, value)
    except Exception:
        _restore(module, former, chosen)
        raise
    return former, chosen


def _restore(module, former, chosen):
    with _thawed():
        for name, value in former.items():
            setattr(module, name, value)
    _precision.restore(chosen)


_OF_PRECISION = ("allow_tf32", "fp32_precision")  # which come back together, and not one by one


def set_all(module, **values):
    """Sets the flags that are not None, frozen or not; returns what all of them were."""
    former = tuple(getattr(module, name) for name in values)
    _put(module, values)
    return former


@contextlib.contextmanager
def within(module, **values):
    """A context in which the flags have these values."""
    former, chosen = _put(module, values)
    try:
        yield
    finally:
        _restore(module, former, chosen)
