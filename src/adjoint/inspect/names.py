"""What the running program calls its tensors and modules: for messages, tables and drawings."""

import inspect
import os
import sys
import types

from .. import _C

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MOST_ITEMS = 10_000


def name_of(tensor):
    """What a variable of the running functions, or a parameter of a module in one, calls a tensor; "" for none.

    >>> import adjoint as torch
    >>> weight = torch.ones(2)
    >>> torch.inspect.names.name_of(weight)
    'weight'
    """
    return _search([tensor]).tensors.get(id(tensor), "")


class Names:
    """Names by the id of what they name, for tensors and for modules."""

    def __init__(self):
        self.tensors = {}
        self.modules = {}


def names_for(tensors):
    """What the variables of the running functions call these tensors, and all modules that they lead to."""
    return _search(tensors, modules=True)


def _search(tensors, modules=False):
    """The names that the innermost functions know; a variable's own before what it holds."""
    found, wanted = Names(), {id(tensor) for tensor in tensors}
    frame, seen = sys._getframe(2), set()
    while frame is not None and (modules or len(found.tensors) < len(wanted)):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            _add(_variables(frame), wanted, found)
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                _add(frame.f_globals, wanted, found)
        frame = frame.f_back
    return found


def _variables(frame):
    """A frame's local variables. The frame itself must not keep them: they may hold a graph."""
    local = frame.f_locals
    if isinstance(local, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        copy = dict(local)
        local.clear()
        return copy
    return local


def _add(variables, wanted, found):
    values = [(name, value) for name, value in list(variables.items()) if isinstance(name, str) and name.isidentifier()]
    for name, value in values:
        if is_module(value):  # first: the variable of a loop says less than model.head.weight
            _add_module(name, value, wanted, found)
    for name, value in values:
        if id(value) in wanted:
            found.tensors.setdefault(id(value), name)
    for name, value in values:
        if not is_module(value):
            _add_contents(name, value, wanted, found)


def is_module(value):
    """Whether something is an nn.Module; asks no proxy."""
    return issubclass(type(value), _C._ModuleBase)


def modules_in(root):
    """[(path, module)] of a module and those in it, each once. Not by named_modules(), which a program may override."""
    found, wanted = {}, [("", root)]
    while wanted:
        path, module = wanted.pop(0)
        if is_module(module) and id(module) not in found:
            found[id(module)] = path, module
            inner = module.__dict__.get("_modules") or {}  # there is none while it is being made
            wanted += [(f"{path}.{name}" if path else name, item) for name, item in list(inner.items())]
    return list(found.values())


def module_paths(root):
    """{id: path} of the modules in a module."""
    return {id(module): path for path, module in modules_in(root)}


def _add_module(name, root, wanted, found):
    for path, module in modules_in(root):
        path = f"{name}.{path}" if path else name
        found.modules.setdefault(id(module), path)
        for key, parameter in list((module.__dict__.get("_parameters") or {}).items()):
            if id(parameter) in wanted:
                found.tensors.setdefault(id(parameter), f"{path}.{key}")


def _add_contents(name, value, wanted, found):
    """The tensors and modules in a list, tuple or dict, or among the attributes of an object."""
    if isinstance(value, (list, tuple)) and len(value) <= _MOST_ITEMS:
        items, path = enumerate(value), "{}[{}]"
    elif isinstance(value, dict) and len(value) <= _MOST_ITEMS:
        items, path = list(value.items()), "{}[{!r}]"
    elif isinstance(value, (type, types.ModuleType)) or not isinstance(getattr(value, "__dict__", None), dict):
        return
    else:
        items, path = list(value.__dict__.items()), "{}.{}"
    for key, item in items:
        if id(item) in wanted:
            found.tensors.setdefault(id(item), path.format(name, key))
        elif is_module(item):
            _add_module(path.format(name, key), item, wanted, found)
