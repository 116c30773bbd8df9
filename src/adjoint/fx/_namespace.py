"""Names of nodes and of what generated code uses: legal in Python, and each used once."""

import builtins
import keyword
import re
from collections import defaultdict

illegal_characters = re.compile(r"[^0-9a-zA-Z_]+")
_numbered = re.compile(r"(.*)_(\d+)$")

# What generated code finds under these names, and how a file of it imports them.
custom_builtins: dict = {}


def register_builtin(name, import_str, obj):
    """Reserves a name for an object in all generated code."""
    custom_builtins[name] = (import_str, obj)


def is_magic(name):
    """Whether a name is one like __add__."""
    return name.startswith("__") and name.endswith("__")


def snake_case(text):
    """A name in lower case, words parted by underscores.

    >>> from adjoint.fx._namespace import snake_case
    >>> snake_case("BatchNorm2d")
    'batch_norm2d'
    """
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", text).lower()


class Namespace:
    """Gives objects names that nothing else has."""

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = defaultdict(int)

    def create_name(self, candidate, obj):
        """A free name like the candidate; an object that has a name keeps it."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = illegal_characters.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _numbered.match(candidate)
        base, number = (match.group(1), int(match.group(2))) if match else (candidate, None)
        count = self._base_count.get(base, 0)
        if number is None or number < count:
            number = count
        while candidate in self._used_names or self._is_reserved(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Makes a name that is taken that of an object."""
        self._obj_to_name.setdefault(obj, name)

    @staticmethod
    def _is_reserved(name, obj):
        if name in keyword.kwlist:
            return True
        if name in builtins.__dict__:
            return obj is not builtins.__dict__[name]
        if name in custom_builtins:
            return obj is not custom_builtins[name][1]
        return False

    def _rename_object(self, obj, name):
        self._obj_to_name[obj] = name
        self._used_names.add(name)
