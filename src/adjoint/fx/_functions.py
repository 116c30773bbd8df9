"""How a call of a library function with proxies is written down: which node, and with which arguments."""

from ..overrides import is_tensor_method_or_property
from ._names import torch_name

# Functions that call a method of their argument, and are seen as that.
_AS_METHODS = frozenset(("torch.nn.functional.sigmoid", "torch.nn.functional.tanh"))
# Keyword arguments in an order of PyTorch's own.
_ORDERS = dict.fromkeys(("softmax", "log_softmax", "softmin"), ("dim", "_stacklevel", "dtype"))


def as_recorded(function, args, kwargs):
    """(kind of node, its target, args, kwargs) of a call."""
    if is_tensor_method_or_property(function):
        return "call_method", function.__name__, args, kwargs
    name = torch_name(function)
    if name in _AS_METHODS:
        return "call_method", name.rpartition(".")[2], args, kwargs
    if name is not None and name.startswith("torch.nn.functional."):
        order = _ORDERS.get(name.rpartition(".")[2], ())
        kwargs = {key: kwargs[key] for key in order if key in kwargs} | kwargs
    return "call_function", function, args, kwargs
