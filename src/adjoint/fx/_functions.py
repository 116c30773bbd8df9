"""How a call of a library function with proxies is written down: which node, and with which arguments.

Functions of torch.nn.functional that PyTorch writes in Python are recorded with the arguments that must be given first
and all others by name, defaults included; native ones as they were called.
"""

import functools
import inspect

from ._names import torch_name

# Functions that call a method of their argument, and are seen as that.
_AS_METHODS = frozenset(("torch.nn.functional.sigmoid", "torch.nn.functional.tanh"))
_IN_PYTHON = ("torch.nn.functional.", "torch.functional.")
# softmax and its like: signatures of PyTorch's own.
_SIGNATURES = {
    **dict.fromkeys(
        ("softmax", "log_softmax", "softmin"), (("input",), {"dim": None, "_stacklevel": 3, "dtype": None})
    ),
    "embedding": (
        ("input", "weight"),
        {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False},
    ),
    "split": (("tensor", "split_size_or_sections"), {"dim": 0}),
}
_NEVER_REORDERED = frozenset(("einsum", "meshgrid", "block_diag", "broadcast_tensors", "cartesian_prod", "unique"))


def as_recorded(function, args, kwargs):
    """(kind of node, its target, args, kwargs) of a call."""
    if is_method(function):
        return "call_method", method_name(function), args, kwargs
    name = torch_name(function)
    if name in _AS_METHODS:
        return "call_method", name.rpartition(".")[2], args, kwargs
    if name is not None and name.startswith(_IN_PYTHON):
        args, kwargs = _named(function, name.rpartition(".")[2], args, kwargs)
    return "call_function", function, args, kwargs


def is_method(function):
    """Whether a function came from Tensor."""
    from .. import overrides

    return overrides.is_tensor_method_or_property(function)


def method_name(function):
    """The name of a method as a node has it; operators are called by the methods that they are."""
    name = function.__name__
    return _OPERATORS.get(name, name)


_OPERATORS = {
    f"__{name}__": method for name, method in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items()
}


@functools.cache
def _signature(function, name):
    """(names of the arguments that must be given, the others with their defaults); None if they are not known."""
    if name in _NEVER_REORDERED:
        return None
    if name in _SIGNATURES:
        return _SIGNATURES[name]
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    required = tuple(p.name for p in parameters if p.default is p.empty)
    return required, {p.name: p.default for p in parameters if p.default is not p.empty}


def _named(function, name, args, kwargs):
    known = _signature(function, name)
    if known is None:
        return args, kwargs
    required, defaults = known
    names = (*required, *defaults)
    if len(args) > len(names) or not set(kwargs) <= set(names) - set(names[: len(args)]):
        return args, kwargs
    given = dict(zip(names, args, strict=False)) | kwargs
    if not set(required) <= set(given):
        return args, kwargs
    rest = {key: given.get(key, default) for key, default in defaults.items()}
    return tuple(given[key] for key in required), rest
