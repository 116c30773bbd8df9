"""What the modules of devices that are not here have in common: answers, and refusals."""


def answer(value, does):
    """A function that takes anything and returns one value."""

    def answers(*args, **kwargs):
        return value() if callable(value) else value

    answers.__doc__ = does
    return answers


def refusals(names, types, refuse, module):
    """The module's __getattr__ for functions and types that call `refuse` when they are used."""

    def get(name):
        if name in names:
            return refuse
        if name in types:
            # A type, so that it can stand in isinstance() and annotations.
            return vars(module).setdefault(name, type(name, (), {"__init__": refuse, "__doc__": "Needs the device."}))
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return get
