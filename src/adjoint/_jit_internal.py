"""The marks by which code for torch's compiler of Python says what is to be compiled: here they are kept, and no more.

docs/jit.md says what becomes of code that carries them.
"""

import types
import typing
import warnings
from typing import Any as Any
from typing import Final as Final

MODIFIER = "_torchscript_modifier"


def __getattr__(name):
    if name in ("Dict", "List", "Optional", "Tuple", "Union"):  # names for annotations that programs take from here
        return getattr(typing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class FunctionModifiers:
    """What a function is marked with."""

    UNUSED, IGNORE, EXPORT, DEFAULT, COPY_TO_SCRIPT_WRAPPER, _DROP = (
        *("unused", "ignore", "export", "default", "copy_to_script_wrapper", "drop"),
    )


def _mark(fn, modifier):
    setattr(getattr(fn, "fget", fn), MODIFIER, modifier)
    return fn


def is_scripting():
    """Whether the code that asks was compiled: no, it is Python.

    >>> import adjoint as torch
    >>> torch.jit.is_scripting()
    False
    """
    return False


def export(fn):
    """The method itself, marked as one that a scripted module keeps beside `forward`.

    >>> import adjoint as torch
    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x
    ...     @torch.jit.export
    ...     def twice(self, x):
    ...         return 2 * x
    >>> torch.jit.script(Net()).twice(torch.ones(2))
    tensor([2., 2.])
    """
    return _mark(fn, FunctionModifiers.EXPORT)


def unused(fn):
    """The method itself, marked as one that compiled code does not call; here it is called.

    >>> import adjoint as torch
    >>> torch.jit.unused(lambda x: x + 1)(1)
    2
    """
    return _mark(fn, FunctionModifiers.UNUSED)


def ignore(drop=False, **kwargs):
    """The function itself, or a decorator that returns it: a compiler would leave a call of Python in its place.

    >>> import adjoint as torch
    >>> @torch.jit.ignore
    ... def log(x):
    ...     print(x)
    >>> log("seen")
    seen
    """
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    if "drop_on_export" in kwargs:
        drop = kwargs["drop_on_export"]
        _no_longer(f"ignore(drop_on_export={drop})")
    elif drop:
        _no_longer("ignore(True)")
    return lambda fn: _mark(fn, FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def _no_longer(spelled):
    warnings.warn(
        f"{spelled} has been deprecated. TorchScript will now drop the function call on compilation. Use "
        "torch.jit.unused now.",
        category=FutureWarning,
        stacklevel=3,
    )


def _drop(fn):
    return _mark(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn):
    return _mark(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def _overload(func):
    """A declaration of one of several signatures: the function that follows under the same name is what runs."""
    return func


def _overload_method(func):
    """As _overload, of a method."""
    return func


def is_ignored_fn(fn):
    """Whether a function is marked as one that is not compiled."""
    kept_out = (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)
    return getattr(fn, MODIFIER, FunctionModifiers.DEFAULT) in kept_out


class _BroadcastingList:
    """A list in the place of which one item may be given, in annotations: BroadcastingList2[int]."""

    def __getitem__(self, item):
        return list[item]  # type: ignore[valid-type]  # the item is known when an annotation is evaluated


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two, by the value of one of its arguments."""

    def choose(*args, **kwargs):
        given = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if given else if_false)(*args, **kwargs)

    choose.__doc__ = if_true.__doc__ or if_false.__doc__
    choose.__module__, choose.__name__ = module_name or choose.__module__, func_name or choose.__name__
    return choose


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1

_EMPTY = (
    "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] "
    "would become list and therefore falsely return True for List[float] or List[str]."
)


def _isinstance(obj, target_type):
    """Whether a value is of a type, containers with what is in them.

    >>> import adjoint as torch
    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, 2], list[str])
    (True, False)
    """
    if isinstance(target_type, tuple):
        return any(_isinstance(obj, one) for one in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    bare = target_type if origin is None else origin
    if bare in (list, dict, tuple) and not inner:
        raise RuntimeError(_without_contained(target_type))
    if origin is None:
        return isinstance(obj, target_type)
    if origin in (list, dict, tuple):
        return isinstance(obj, origin) and _all_inside(obj, origin, inner)
    if origin in (typing.Union, types.UnionType):
        return any(_isinstance(obj, one) for one in inner)
    return False


def _without_contained(target_type):
    name = getattr(target_type, "_name", None) or target_type.__name__
    if name.lower() == "dict":
        return f"Attempted to use {name} without contained types. Please add contained type, e.g. {name}[int, int]"
    return f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"


def _all_inside(obj, origin, inner):
    if not obj:
        warnings.warn(_EMPTY, stacklevel=4)
    if origin is list:
        return all(_isinstance(item, inner[0]) for item in obj)
    if origin is dict:
        key, value = inner
        return all(_isinstance(k, key) and _isinstance(v, value) for k, v in obj.items())
    return len(obj) == len(inner) and all(_isinstance(item, one) for item, one in zip(obj, inner, strict=True))
