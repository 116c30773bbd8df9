"""Settings: the base of modules that have no state, only what they were constructed with."""

from .module import Module


class Settings(Module):
    """A module that keeps what it was constructed with; `__constants__` names what its repr shows."""

    __constants__: list = []

    def __init__(self, **settings):
        super().__init__()
        for name, value in settings.items():
            setattr(self, name, value)

    def extra_repr(self):
        """The settings by name; `inplace` only where it is on."""
        shown = [f"{name}={getattr(self, name)}" for name in self.__constants__ if name != "inplace"]
        if getattr(self, "inplace", False):
            shown.append("inplace=True")
        return ", ".join(shown)
