"""`__torch_dispatch__` of classes: tensors that consist of others, whose class computes every op by its aten name.

Note [Wrapped tensors] in csrc/transforms/wrapped.h says how they reach it; this is what is asked, and how.
"""

from . import _C, _aten, _ops


def make_wrapper_subclass(
    cls,
    size=None,
    *,
    strides=None,
    storage_offset=None,
    memory_format=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    dispatch_sizes_strides_policy=None,
    dispatch_device=False,
    dispatch_layout=False,
    _extra_dispatch_keys=None,
    storage_size=None,
):
    """A tensor of a class that defines `__torch_dispatch__`: with a size and a type to show, and without memory.

    >>> import adjoint as torch
    >>> class Doubled(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, half):
    ...         return torch.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)
    ...     def __init__(self, half):
    ...         self.half_of_it = half
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         args = [x.half_of_it * 2 if isinstance(x, Doubled) else x for x in args]
    ...         return func(*args, **(kwargs or {}))
    ...     __torch_function__ = torch._C._disabled_torch_function_impl
    >>> Doubled(torch.tensor([1.0, 2.0])) + 1
    tensor([3., 5.])
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, _C.Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    if not defines_dispatch(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__: a classmethod that computes ops on tensors")
    if size is None:
        raise TypeError('_make_wrapper_subclass() missing 1 required positional arguments: "size"')
    size = _ints("size", size)
    if any(length < 0 for length in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if strides is not None:
        strides = _ints("strides", strides)
    dtype = dtype or _C.get_default_dtype()
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return _C._make_wrapped(cls, size, strides, dtype, _C.device(device or "cpu"), bool(requires_grad))


def _ints(name, value):
    if not isinstance(value, tuple | list):
        came = type(value).__name__
        raise TypeError(f"_make_wrapper_subclass(): argument '{name}' (position 2) must be tuple of ints, not {came}")
    return tuple(int(number) for number in value)


def dispatch(op, args, in_place):
    """What the classes among the arguments of an op answer."""
    return _answer(_aten.Call(op, args, in_place))


def item(tensor):
    """The number that a tensor holds, as its class says."""
    return _answer(_Named(_aten.packet_of("_local_scalar_dense").default, (tensor,)))


def ones_like(tensor):
    """The gradient that a backward begins with."""
    return _C.op_object("ones_like")(tensor)


def reduced(tensor):
    """For pickle: what makes the tensor again."""
    shown = type(tensor), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device, tensor.requires_grad
    return restored, shown, dict(tensor.__dict__)


def restored(cls, size, strides, dtype, device, requires_grad):
    """A tensor that was pickled; its attributes follow."""
    return make_wrapper_subclass(cls, size, strides=strides, dtype=dtype, device=device, requires_grad=requires_grad)


def deepcopied(tensor, memo):
    """Made by the clone() of its class, with attributes of its own."""
    import copy

    result = tensor.clone()
    if type(result) is not type(tensor):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            f"properly implement clone(): that of {type(tensor).__name__} gave {type(result).__name__}"
        )
    memo[id(tensor)] = result
    result = result.detach() if result.grad_fn is not None else result
    result.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return result


class _Named:
    """A call of an overload that no op of the table stands for."""

    def __init__(self, overload, args):
        self.overload, self.args, self.kwargs = overload, args, {}

    def __call__(self, args, kwargs):
        return self.overload._function(*args, **kwargs)


def _answer(call):
    types = classes_of((*call.args, *call.kwargs.values()))
    with _ops.answering(call):
        for cls in types:
            answer = cls.__torch_dispatch__(call.overload, types, call.args, dict(call.kwargs))
            if answer is not NotImplemented:
                return answer
    asked = "".join(f"\n  - tensor subclass {cls!r}" for cls in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{call.overload}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n{asked}\n\nOne of them must compute it."
    )


def classes_of(args):
    """The classes with __torch_dispatch__ among arguments, subclasses before what they derive from."""
    found: list = []
    for arg in args:
        for value in arg if isinstance(arg, (list, tuple)) else (arg,):
            cls = type(value)
            if not isinstance(value, _C.Tensor) or cls in found or not defines_dispatch(cls):
                continue
            place = next((i for i, other in enumerate(found) if issubclass(cls, other)), len(found))
            found.insert(place, cls)
    return tuple(found)


def defines_dispatch(cls):
    """Whether a class of tensors has a __torch_dispatch__ of its own."""
    return cls.__torch_dispatch__ is not _C.Tensor.__torch_dispatch__
