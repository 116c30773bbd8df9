"""script: a function or a module under the type that torch's compiler would give it, running as Python."""

import copy
import functools
import pickle
import types
from typing import Any, NamedTuple

from ..nn.modules.module import Module, _addindent

# What a module and one that was made of it do not share: tables of members and of hooks.
OWN = tuple(name for name, value in vars(Module()).items() if isinstance(value, (dict, set)))
NOT_COMPILED = "code is not compiled here, it runs as Python, and there is no graph of it"


class ScriptWarning(Warning):
    """What torch warns of when it compiles code."""


class Attribute(NamedTuple):
    """A value of a module with the type that it has in compiled code.

    >>> import adjoint as torch
    >>> torch.jit.Attribute({"a": 1}, dict[str, int]).value
    {'a': 1}
    """

    value: Any
    type: Any


def _of_compiled_code(owner, name):
    """The AttributeError for a name that compiled code has and what runs as Python has not; None for other names."""
    if name not in ("code", "code_with_constants", "graph", "graph_for", "inlined_graph"):
        return None
    return AttributeError(f"{type(owner).__name__}.{name}: {NOT_COMPILED}; adjoint.inspect shows what a call computes")


class _Compiled:
    """What functions and modules have in common that torch has compiled."""

    def save(self, f, _extra_files=None):
        """Raises: there is no compiled code to save."""
        raise RuntimeError(_unsaved("save"))

    def save_to_buffer(self, _extra_files=None):
        """Raises: there is no compiled code to save."""
        raise RuntimeError(_unsaved("save_to_buffer"))


def _unsaved(name):
    return (
        f"{name}: {NOT_COMPILED} to save; save the weights by torch.save(module.state_dict(), f) and make the module "
        "from its class, or run the program with PyTorch to write a TorchScript file"
    )


class ScriptFunction(_Compiled):
    """A function that was scripted or traced: it calls the function.

    >>> import adjoint as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2)), isinstance(double, torch.jit.ScriptFunction)
    (tensor([2., 2.]), True)
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = self._torchdynamo_inline = function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    @property
    def name(self):
        """The function's name."""
        return getattr(self._function, "__name__", type(self._function).__name__)

    @property
    def qualified_name(self):
        """The name that compiled code would have."""
        return f"__torch__.{self.name}"

    def __getattr__(self, name):
        raise _of_compiled_code(self, name) or AttributeError(f"'ScriptFunction' object has no attribute {name!r}")

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise pickle.PickleError("ScriptFunction cannot be pickled; pickle the function that it was made of")


class ScriptModule(_Compiled, Module):
    """The base of modules that torch has compiled; as a base of a program's own classes it is a Module.

    >>> import adjoint as torch
    >>> class Scale(torch.jit.ScriptModule):
    ...     @torch.jit.script_method
    ...     def forward(self, x):
    ...         return 3 * x
    >>> Scale()(torch.ones(2))
    tensor([3., 3.])
    """

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            raise _of_compiled_code(self, name) or error from None


class RecursiveScriptModule(ScriptModule):
    """What script() makes of a module: it has the module's parameters, buffers, attributes and methods.

    >>> import adjoint as torch
    >>> torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    RecursiveScriptModule(
      original_name=Sequential
      (0): RecursiveScriptModule(original_name=Linear)
    )
    """

    @property
    def original_name(self):
        """The name of the class of the module that this was made of."""
        return type(self)._original.__name__

    def _shown_name(self):
        return "RecursiveScriptModule"

    def __repr__(self):
        name, original = self._shown_name(), f"original_name={self.original_name}"
        if not self._modules:
            return f"{name}({original})"
        inside = [f"({key}): {_addindent(repr(module), 2)}" for key, module in self._modules.items()]
        return f"{name}(\n  " + "\n  ".join([original, *inside]) + "\n)"

    def __reduce_ex__(self, protocol):
        raise RuntimeError(_unsaved("pickle"))

    def __copy__(self):
        return _with_members(type(self), self, vars(self))

    def __deepcopy__(self, memo):
        other = memo[id(self)] = type(self).__new__(type(self))
        vars(other).update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
        return other


_types: dict = {}
# What a module's own class does not decide for a module that was made of it.
_KEPT = ("__repr__", "__reduce_ex__", "__copy__", "__deepcopy__")


def compiled_type(kind, original):
    """The type of modules of class `original` that were made one of `kind`: it is a subclass of both."""
    if (kind, original) not in _types:
        members = {name: getattr(kind, name) for name in _KEPT}
        members |= {"__module__": kind.__module__, "__doc__": original.__doc__, "_original": original}
        bases = (kind,) if issubclass(kind, original) else (original, kind)  # the first of a plain Module
        _types[kind, original] = types.new_class(kind.__name__, bases, {}, lambda body: body.update(members))
    return _types[kind, original]


def _with_members(cls, module, members):
    """A module of a class with these members; the methods of another one among them become its own."""
    result = cls.__new__(cls)
    for name, value in members.items():
        if isinstance(value, types.MethodType) and value.__self__ is module:
            value = types.MethodType(value.__func__, result)
        vars(result)[name] = value
    return result


def compiled_module(module, kind, kind_inside, memo):
    """A module of `kind` with the same tensors and attributes, and its modules made of `kind_inside`.

    It has tables and modes of its own, as in torch; `memo` keeps modules one that are found twice.
    """
    if isinstance(module, ScriptModule):
        return module
    if id(module) in memo:
        return memo[id(module)]
    cls = compiled_type(kind, type(module))
    members = {name: value.copy() if name in OWN else value for name, value in vars(module).items()}
    result = memo[id(module)] = _with_members(cls, module, members)
    for name, child in module._modules.items():
        if child is not None:
            result._modules[name] = compiled_module(child, kind_inside, kind_inside, memo)
    return result


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function or the module, under the type that torch gives what it has compiled; it runs as Python.

    A module keeps its parameters and buffers, the same tensors, and has modes of its own. Classes are returned as they
    are.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 3)
    >>> scripted = torch.jit.script(layer)
    >>> scripted.weight is layer.weight, isinstance(scripted, torch.jit.ScriptModule)
    (True, True)
    """
    if isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, Module):
        return compiled_module(obj, RecursiveScriptModule, RecursiveScriptModule, {})
    if isinstance(obj, type):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
            )
        return obj
    if isinstance(obj, (dict, list)):
        return obj
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class: script() takes functions, modules, classes, lists and dicts")
    return ScriptFunction(obj)


def script_method(fn):
    """The method itself, which torch would compile.

    >>> import adjoint as torch
    >>> torch.jit.script_method(abs) is abs
    True
    """
    return fn


def interface(obj):
    """The class itself, which torch would take for the type of several modules.

    >>> import adjoint as torch
    >>> @torch.jit.interface
    ... class Layer:
    ...     def forward(self, x): ...
    """
    if not isinstance(obj, type):
        raise RuntimeError(f"interface must be applied to a class; got {type(obj).__name__}")
    return obj


def _unwrap_optional(x):
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


class CompilationUnit:
    """Functions given as the text of TorchScript: not here, where Python is what runs."""

    def __init__(self, lang=None, _frames_up=0):
        if lang is not None:
            raise RuntimeError(f"CompilationUnit: {NOT_COMPILED}; write the functions in Python, or exec() their text")
