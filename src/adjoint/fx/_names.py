"""What functions, types and values are called in printed graphs and generated code: the names that torch prints.

Generated code says `torch.relu(x)`, and `torch` is this package there. Functions that PyTorch keeps in modules of its
extension are printed by those names, such as `torch._C._nn.linear`; adjoint._native makes them resolve.
"""

import builtins
import functools
import inspect
import re
import sys
import types

from .. import _C
from .._native._nn import NATIVE

PACKAGE = __name__.split(".")[0]

# Functions that PyTorch defines in torch/functional.py.
_IN_FUNCTIONAL = frozenset(
    (
        *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cdist"),
        *("cartesian_prod", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique"),
        *("unique_consecutive", "unravel_index"),
    )
)
_FAMILIES = {"linalg": "_linalg.linalg_", "special": "_special.special_", "fft": "_fft.fft_"}


def _public_functions(module):
    for name in dir(module):
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, type | types.ModuleType) or not callable(value):
            continue
        if isinstance(value, _C.Op) or getattr(value, "__module__", None) is not None:
            yield name, value


@functools.cache
def _function_names():
    """Names of functions by identity, with the functions, so that they stay."""
    from .. import fft, linalg, special
    from ..nn import functional

    names = {}

    def add(value, name):
        names.setdefault(id(value), (value, name))

    for name, value in _public_functions(functional):
        if name in NATIVE:
            add(value, f"torch._C._nn.{NATIVE[name]}")
    package = sys.modules[PACKAGE]
    for name, value in _public_functions(package):
        add(value, f"torch.functional.{name}" if name in _IN_FUNCTIONAL else f"torch.{name}")
    for name, value in _public_functions(functional):
        add(value, f"torch.nn.functional.{name}")
    for module in (linalg, special, fft):
        prefix = _FAMILIES[module.__name__.rpartition(".")[2]]
        for name, value in _public_functions(module):
            add(value, f"torch._C.{prefix}{name}")
    return names


def torch_name(function):
    """The name by which torch prints a function of this package; None for any other."""
    found = _function_names().get(id(function))
    return found[1] if found is not None else None


def is_ours(thing):
    """Whether an object comes from this package, under its own name or as torch."""
    module = getattr(thing, "__module__", None)
    named = module is not None and str(module).partition(".")[0] in (PACKAGE, "torch")
    return named or torch_name(thing) is not None


def _module_of(function):
    """The name of the module in which a function is found by its name; some do not say."""
    name = function.__name__
    module = getattr(function, "__module__", None)
    if module is not None:
        return module
    for candidate in (sys.modules[PACKAGE], *sys.modules.values()):
        if getattr(candidate, name, None) is function:
            return candidate.__name__
    raise RuntimeError(f"cannot find module for {function}")


def _lambda_name(function):
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise RuntimeError("Unable to represent lambda") from error
    return source.split("=")[0].strip()


def qualified_name(function):
    """The dotted name of a function as generated code spells it; that of builtins is bare.

    >>> import adjoint as torch
    >>> from adjoint.fx.node import _get_qualified_name
    >>> _get_qualified_name(torch.relu), _get_qualified_name(len)
    ('torch.relu', 'len')
    """
    if getattr(builtins, getattr(function, "__name__", ""), None) is function:
        return function.__name__
    if (name := torch_name(function)) is not None:
        return name
    if isinstance(function, _C.Op | types.MethodDescriptorType | types.WrapperDescriptorType) and (
        getattr(_C.Tensor, function.__name__, None) is function
    ):
        return f"torch.Tensor.{function.__name__}"
    name = function.__name__
    if name == "<lambda>":
        name = _lambda_name(function)
    module = re.sub(rf"^{PACKAGE}(?=$|\.)", "torch", _module_of(function))
    return f"{module}.{name}"


def short_name(function):
    """The last part of a function's name, from which nodes are named."""
    name = torch_name(function)
    return name.rpartition(".")[2] if name is not None else function.__name__


def type_name(kind):
    """A type as annotations in printed graphs spell it."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        module = re.sub(rf"^{PACKAGE}(?=$|\.)", "torch", kind.__module__).replace("torch._C", "torch")
        return f"{module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    return re.sub(rf"\b{PACKAGE}\.(_C\.)?", "torch.", repr(kind))
