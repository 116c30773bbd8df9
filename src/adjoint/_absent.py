"""What modules of torch that are not here have in common: answers, and refusals."""

import importlib.machinery
import sys
import types

from ._install import MissingName


def answer(value, does):
    """A function that takes anything and returns one value."""

    def answers(*args, **kwargs):
        return value() if callable(value) else value

    answers.__doc__ = does
    return answers


def refusals(names, classes, refuse, module):
    """The module's __getattr__ for functions and types that call `refuse` when they are used."""

    def get(name):
        if name in names:
            return refuse
        if name in classes:
            # A type, so that it can stand in isinstance() and annotations.
            path = module.__name__.replace(__package__, "torch", 1)
            doc = (
                "Stands for isinstance() and annotations; making one is refused.\n\n"
                f">>> import adjoint as torch\n>>> isinstance(torch.ones(1), {path}.{name})\nFalse\n"
            )
            return vars(module).setdefault(name, type(name, (), {"__init__": refuse, "__doc__": doc}))
        raise MissingName(module.__name__, name)

    return get


def refusing(where, name, advice, error=NotImplementedError, words=""):
    """A function that stands so that programs can import it, and raises, by its name, when it is called.

    `words` are torch's own, for the same error.
    """

    path = f"torch.{where}.{name}" if where else f"torch.{name}"

    def refuse(*args, **kwargs):
        raise error(f"{words}{path}(): {advice}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = f"{__package__}.{where}"
    refuse.__doc__ = f"Not here: {advice}.{_example(path, error, f'{words}{path}(): {advice}')}"
    return refuse


def _example(path, error, message):
    """A call and its error, as docstrings show them."""
    if "._" in path or "\n" in message:
        return ""
    call = f">>> import adjoint as torch\n>>> {path}()"
    return f"\n\n{call}\nTraceback (most recent call last):\n{error.__name__}: {message}\n"


def refusing_type(where, name, advice):
    """A type that can stand in isinstance(), annotations and as a base; making one raises."""
    path = f"torch.{where}.{name}" if where else f"torch.{name}"
    members = {
        "__init__": refusing(where, name, advice),
        "__class_getitem__": classmethod(types.GenericAlias),
        "__module__": f"{__package__}.{where}" if where else __package__,
        "__doc__": f"Not here: {advice}.{_example(path, NotImplementedError, f'{path}(): {advice}')}",
    }
    return type(name, (), members)


def absent_module(where, advice, functions="", classes="", **values):
    """A module of torch's that is not here: its names, in one text each, refuse by themselves. It can be imported."""
    name = f"{__package__}.{where}"
    module = types.ModuleType(name, f"Stands so that programs can import it. {advice}")
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    vars(module).update({each: refusing(where, each, advice) for each in functions.split()})
    vars(module).update({each: refusing_type(where, each, advice) for each in classes.split()})
    vars(module).update(values)
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[parent], last, module)
    sys.modules[name] = module
    return module
