"""The words in which the op table is written, at run time.

`elementwise`, `op` and `view` register a declaration with the native core; `composite` registers a Python function of
other ops. Every other name imported from here is an op, composite or creation function by its public name; it may be
declared later. (Where code is generated from the table, adjoint.codegen puts a symbolic twin in this module's place.)
"""

import functools as _functools

from .. import _C
from . import declaration as _declaration

TABLE = {}  # name -> Declaration
COMPOSITES = {}  # name -> function
PUBLIC = []  # (namespace, name, callable): functions
METHODS = []  # (name, callable): methods of Tensor
STAND_INS = {}  # function -> (op, n): the op that stands for it where its first n arguments at most are given


def _publish(name, target, namespace, method, function, alias, stand_in=None):
    # linalg_norm is torch.linalg.norm: the prefix tells it from torch.norm.
    prefix = f"{namespace.rpartition('.')[2]}_" if namespace else ""
    for spelled in (name.removeprefix(prefix), *alias):
        if function:
            PUBLIC.append((namespace, spelled, target))
        if method:
            METHODS.append((spelled, target))
    if stand_in:
        STAND_INS[target] = stand_in


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
    if item.creates and item.function:
        setattr(_C, item.name, target)  # where the package's modules find it, as they do tensor()
    if item.inplace:
        names = [f"{alias}_" for alias in item.alias]
        in_place = _C.op_object(f"{item.name}_")
        function = item.function and item.kind != "view"
        name = item.shown if item.inplace == "only" else item.name
        _publish(f"{name}_", in_place, item.namespace, method, function, names)
    return target


def elementwise(signature, expression, **options):
    """Declares an op computed element by element; see Declaration."""
    return _register(_declaration.elementwise(signature, expression, **options))


def op(signature, **options):
    """Declares an op with a C++ function, or one written in Python; see Declaration."""
    return _register(_declaration.op(signature, **options))


def view(signature, **options):
    """Declares an op whose result shares the memory of its first argument; see Declaration."""
    return _register(_declaration.view(signature, **options))


def composite(function=None, *, out=False, out_words=None, apart=(), whole=(), inplace=False, name=None, **where):
    """Publishes a Python function of other ops under its own name, as a function and a method.

    `out` adds the keyword out= ("exact" or "kind": of certain types only), `out_words` are those for other types,
    `apart` and `whole` name the arguments that it must not lie in, all as in a Declaration; `inplace` adds the form
    with a trailing underscore;
    `where` is as for _publish_composite: `autocast` casts the arguments of the whole, as in a Declaration, and none
    of those of its parts, `numpy_names` lets axis= and keepdims= stand for dim= and keepdim= (as a rule where torch
    has the function from C++), `forms` are two ops that stand for it, the one where its first argument is all that is
    given, the other where dim= is given, too (or None): they are called without a detour through Python.
    """
    if function is None:
        return lambda function: composite(
            function, out=out, out_words=out_words, apart=apart, whole=whole, inplace=inplace, name=name, **where
        )
    public = name or function.__name__.rstrip("_")
    where.setdefault("numpy_names", where.get("namespace", "") in _NUMPY_NAMES and "dim" in _parameters(function))
    if inplace:
        names = [f"{alias}_" for alias in where.get("alias", ())]
        _publish_composite(f"{public}_", _in_place(public, function), **{**where, "alias": names, "autocast": None})
    if out:
        function = _with_out(public, function, out, out_words, apart, whole)
    return _publish_composite(public, function, **where)


# Namespaces in which torch takes NumPy's names of arguments.
_NUMPY_NAMES = ("", "fft", "linalg", "special")


def _parameters(function):
    """The names of a Python function's arguments; none of an op object, which goes to one more namespace."""
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()


def _publish_composite(
    name,
    function,
    *,
    method=True,
    function_=True,
    namespace="",
    alias=(),
    autocast=None,
    numpy_names=False,
    forms=(None, None),
):
    target = _C.op_object(name)
    if function is not target:  # else it goes to one more namespace
        if COMPOSITES.setdefault(name, function) is not function:
            raise _declaration.DeclarationError(f"{name}: declared twice; put the namespace before the name of one")
        _C.set_composite(name, function, autocast, numpy_names, *forms)
    _publish(name, target, namespace, method and not namespace, function_, alias)
    return target


def _with_out(name, function, demands, words, apart, whole):
    """The function with the keyword out=."""
    places = {argument: i for i, argument in enumerate(_parameters(function))}

    def named(names, args, kwargs):
        """The arguments of these names."""
        return tuple(args[places[name]] if places[name] < len(args) else kwargs.get(name) for name in names)

    @_functools.wraps(function)
    def call(*args, out=None, **kwargs):
        if out is None:
            return function(*args, **kwargs)
        read = named(apart, args, kwargs), named(whole, args, kwargs)
        return _C._call_out(name, function, args, kwargs, out, demands, words, *read)

    call.has_out = True
    return call


def _in_place(name, function):
    """The form of a function that writes its result into its first argument."""

    def call(input, *args, **kwargs):
        result = function(input, *args, **kwargs)
        if result.shape != input.shape:
            raise RuntimeError(
                f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        if not _C.can_cast(result.dtype, input.dtype):
            raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {input.dtype}")
        return input.copy_(result)

    call.__name__ = call.__qualname__ = f"{name}_"
    call.__module__ = function.__module__
    call.__doc__ = f"In-place version of {name}()."
    call.__wrapped__ = function
    return call


conj = _C._conj  # of a tensor or a number; what is real stays as it is


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_C, name, None) or _C.op_object(name)
