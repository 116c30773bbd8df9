"""What a trace changes for its time: calls and attributes of modules, and functions that are to be leaves of graphs."""

import builtins
import functools

from .. import _C, _ops
from .proxy import Proxy

# Functions that `wrap` named: (id of a module's globals, name) -> these globals.
wrapped_functions: dict = {}
wrapped_methods: list = []


class Patcher:
    """Sets entries of dicts and attributes of classes, and puts all back at the end."""

    def __init__(self):
        self._undo = []
        self._visited = set()

    def patch(self, names, name, value):
        """Sets an entry of a dict of globals."""
        had, before = name in names, names.get(name)
        names[name] = value
        self._undo.append(lambda: names.__setitem__(name, before) if had else names.pop(name, None))

    def patch_method(self, cls, name, value):
        """Sets an attribute of a class."""
        had, before = name in vars(cls), vars(cls).get(name)
        setattr(cls, name, value)
        self._undo.append(lambda: setattr(cls, name, before) if had else delattr(cls, name))

    def visit_once(self, thing):
        """Whether this is the first call with a thing."""
        first = id(thing) not in self._visited
        self._visited.add(id(thing))
        return first

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def find_proxy(*values):
    """The first proxy in nested arguments; None when there is none."""
    from .node import map_aggregate

    found = []

    def see(value):
        if isinstance(value, Proxy):
            found.append(value)
        return value

    map_aggregate(values, see)
    return found[0] if found else None


def wrapped_function(function):
    """A function that becomes a node where it is called with proxies."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def wrapped_method(cls, name):
    """A method that becomes a node where it is called with proxies."""
    method = getattr(cls, name)

    @functools.wraps(method)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def patch_ops(patcher):
    """Has overloads of torch.ops that are called with proxies become nodes."""
    for cls in (_ops.OpOverload, _ops.OpOverloadPacket):
        ordinary = cls.__call__

        def call(op, /, *args, _ordinary=ordinary, **kwargs):
            proxy = find_proxy(args, kwargs)
            if proxy is None:
                return _ordinary(op, *args, **kwargs)
            return proxy.tracer.create_proxy("call_function", op, args, kwargs)

        patcher.patch_method(cls, "__call__", call)


def patch_wrapped(patcher):
    """Makes leaves of all that `wrap` named."""
    for (_, name), names in list(wrapped_functions.items()):
        if name in names:
            original = names[name]
        elif hasattr(builtins, name):
            original = getattr(builtins, name)
        else:
            continue
        patcher.patch(names, name, wrapped_function(original))
    for cls, name in wrapped_methods:
        patcher.patch_method(cls, name, wrapped_method(cls, name))


def autowrap(patcher, names, function_ids):
    """Makes leaves of the functions with these ids that a module's globals name."""
    if not patcher.visit_once(names):
        return
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(names, name, wrapped_function(value))


class watched_modules:
    """Has calls of all modules, and the members that are taken from them, go through two functions.

    `on_call(module, call, args, kwargs)` has the ordinary call, `on_member(name, value)` a parameter, buffer, module.
    """

    def __init__(self, on_call, on_member):
        self.on_call, self.on_member = on_call, on_member

    def __enter__(self):
        from ..nn import Module

        ordinary_call, ordinary_get = _C._ModuleBase.__call__, _C._ModuleBase.__getattribute__
        on_call, on_member = self.on_call, self.on_member

        def call(module, *args, **kwargs):
            return on_call(module, lambda *a, **k: ordinary_call(module, *a, **k), args, kwargs)

        def get(module, name):
            value = ordinary_get(module, name)
            if isinstance(value, _C.Tensor | Module):
                own = ordinary_get(module, "__dict__")
                for table in ("_parameters", "_buffers", "_modules"):
                    if own.get(table, {}).get(name) is value:
                        return on_member(name, value)
            return value

        self.patcher = Patcher()
        self.patcher.patch_method(Module, "__call__", call)
        self.patcher.patch_method(Module, "__getattribute__", get)
        return self.patcher

    def __exit__(self, *exception):
        from ..nn import Module

        self.patcher.__exit__(*exception)
        # The search for attributes that such classes had was replaced with the method.
        waiting, seen = [Module], set()
        while waiting:
            cls = waiting.pop()
            if cls not in seen:
                seen.add(cls)
                _C._adopt_module_type(cls)
                waiting += cls.__subclasses__()
