"""Arguments of calls in the order of their function's signature."""

import inspect
import types
import typing

from ._names import torch_name

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
    "normalize_function", "normalize_module", "type_matches",
]  # fmt: skip


class ArgsKwargsPair(typing.NamedTuple):
    """Positional and keyword arguments of a call."""

    args: tuple
    kwargs: dict


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of a function, in a list; None if they are not known.

    >>> import adjoint as torch
    >>> from adjoint.fx.operator_schemas import get_signature_for_torch_op
    >>> get_signature_for_torch_op(torch.nn.functional.dropout)
    [<Signature (input, p=0.5, training=True, inplace=False)>]
    """
    try:
        found = [inspect.signature(op)] if torch_name(op) is not None else None
    except (TypeError, ValueError):
        found = None
    return (found, None) if return_schemas else found


def check_for_mutable_operation(target, args, kwargs):
    """Raises for a function that changes its argument, where a tracer has `check_mutable_operations`.

    >>> import adjoint as torch
    >>> torch.fx.operator_schemas.check_for_mutable_operation(torch.relu, (), {})
    """
    name = torch_name(target)
    in_place = name is not None and name.endswith("_") and not name.endswith("__")
    if in_place or (name is not None and kwargs.get("out") is not None):
        shown = "aten::" + name.rpartition(".")[2] + ("" if in_place else ".out")
        raise RuntimeError(
            f"Tried to trace mutable operation {shown}. FX only supports functional code, so operations that mutate "
            "operands in-place (e.g. via `out` arguments) are not supported"
        )


def create_type_hint(x):
    """A type that describes nested containers of types, as in list[int] for [int, int].

    >>> from adjoint.fx.operator_schemas import create_type_hint
    >>> create_type_hint([int, int])
    list[int]
    """
    if not isinstance(x, list | tuple):
        return x
    wrap = list.__class_getitem__ if isinstance(x, list) else lambda kind: tuple[kind, ...]
    if not x:
        return wrap(typing.Any)
    parts = [create_type_hint(part) for part in x]
    if all(isinstance(part, type) for part in parts):
        for candidate in parts:
            if all(issubclass(part, candidate) for part in parts):
                return wrap(candidate)
    return wrap(parts[0] if all(part == parts[0] for part in parts) else typing.Any)


def type_matches(signature_type, argument_type):
    """Whether an argument of one type can be given where another is expected.

    >>> from adjoint.fx.operator_schemas import type_matches
    >>> type_matches(int, bool), type_matches(int, str)
    (True, False)
    """
    if signature_type is argument_type or signature_type is typing.Any:
        return True
    origin = typing.get_origin(signature_type)
    if origin in (typing.Union, types.UnionType):
        return any(type_matches(one, argument_type) for one in typing.get_args(signature_type))
    if origin is list and argument_type is int:  # a number in the place of a size
        return type_matches(typing.get_args(signature_type)[0], int)
    if origin is list and typing.get_origin(argument_type) in (list, tuple):
        wanted = typing.get_args(signature_type)[0]
        return all(type_matches(wanted, one) for one in typing.get_args(argument_type) if one is not ...)
    if signature_type is float and argument_type is int:
        return True
    return (
        inspect.isclass(argument_type)
        and inspect.isclass(signature_type)
        and (issubclass(argument_type, signature_type))
    )


def _ordered(signature, args, kwargs, only_kwargs):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    new_args = []
    new_kwargs = {}
    for name, parameter in signature.parameters.items():
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            new_args += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            new_kwargs |= value
        elif only_kwargs or parameter.kind is parameter.KEYWORD_ONLY:
            new_kwargs[name] = value
        else:
            new_args.append(value)
    if not only_kwargs:  # what has a default goes by name, as calls of torch.nn.functional are recorded
        required = [p for p in signature.parameters.values() if p.default is p.empty]
        names = list(signature.parameters)
        new_kwargs = {**dict(zip(names[len(required) :], new_args[len(required) :], strict=False)), **new_kwargs}
        new_args = new_args[: len(required)]
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call with all defaults, by name if asked for; None if the signature is not known.

    >>> import adjoint as torch
    >>> from adjoint.fx.operator_schemas import normalize_function
    >>> normalize_function(torch.nn.functional.relu, (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    signatures = get_signature_for_torch_op(target)
    if not signatures:
        return None
    return _ordered(signatures[0], args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of a submodule, by name if asked for; None if it is none of torch.nn.

    >>> import adjoint as torch
    >>> from adjoint.fx.operator_schemas import normalize_module
    >>> net = torch.nn.Sequential(torch.nn.ReLU())
    >>> normalize_module(net, "0", (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments to a module with target {target}, but no such module exists in the root!"
        ) from error
    from .. import nn

    if getattr(nn, type(module).__name__, None) is not type(module):
        return None
    return _ordered(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)
