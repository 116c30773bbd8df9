"""The words in which the op table is written, at run time.

`elementwise`, `op` and `view` register a declaration with the native core; `composite` registers a Python function of
other ops. Every other name imported from here is an op, composite or creation function by its public name; it may be
declared later. (When the package is built, tools/generate.py puts a symbolic twin in this module's place.)
"""

from .. import _C
from . import declaration as _declaration

TABLE = {}  # name -> Declaration
COMPOSITES = {}  # name -> function
PUBLIC = []  # (namespace, name, callable): functions
METHODS = []  # (name, callable): methods of Tensor


def _publish(name, target, namespace, method, function, alias):
    for spelled in (name, *alias):
        if function:
            PUBLIC.append((namespace, spelled, target))
        if method:
            METHODS.append((spelled, target))


def _register(item):
    if item.name in TABLE:
        item.fail("declared twice")
    if item.derived:
        from .derived import RULES  # generated; it imports this module in turn

        item.set_rules(RULES[item.name])
    TABLE[item.name] = item
    target = _C.declare_op(item)
    method = item.method and not item.namespace
    if item.inplace != "only":
        _publish(item.name, target, item.namespace, method, item.function, item.alias)
    if item.inplace:
        names = [f"{alias}_" for alias in item.alias]
        in_place = _C.op_object(f"{item.name}_")
        _publish(f"{item.name}_", in_place, item.namespace, method, item.function, names)
    return target


def elementwise(signature, expression, **options):
    """Declares an op computed element by element; see Declaration."""
    return _register(_declaration.elementwise(signature, expression, **options))


def op(signature, **options):
    """Declares an op with a kernel of its own, or one written in Python; see Declaration."""
    return _register(_declaration.op(signature, **options))


def view(signature, **options):
    """Declares an op whose result shares the memory of its first argument; see Declaration."""
    return _register(_declaration.view(signature, **options))


def composite(function=None, *, method=True, function_=True, namespace="", alias=(), name=None):
    """Publishes a Python function of other ops under its own name, as a function and a method."""
    if function is None:
        return lambda function: composite(
            function, method=method, function_=function_, namespace=namespace, alias=alias, name=name
        )
    public = name or function.__name__.rstrip("_")
    COMPOSITES[public] = function
    _C.set_composite(public, function)
    _publish(public, function, namespace, method and not namespace, function_, alias)
    return function


def conj(value):
    """The complex conjugate of a tensor or a number; a real tensor itself."""
    if isinstance(value, _C.Tensor):
        return _C.op_object("conj_physical")(value) if value.is_complex() else value
    return value.conjugate()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_C, name, None) or _C.op_object(name)
