"""scatter and gather: the arguments of a call to several GPUs, and its results back."""

import warnings

from ... import _C
from . import comm


def is_namedtuple(obj):
    """Whether an object is a tuple whose items have names, as its class says.

    >>> from collections import namedtuple
    >>> from adjoint.nn.parallel.scatter_gather import is_namedtuple
    >>> is_namedtuple(namedtuple("P", "a")(1)), is_namedtuple((1,))
    (True, False)
    """
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def _made_like(obj, items):
    return type(obj)(*items) if is_namedtuple(obj) else type(obj)(items)


def scatter(inputs, target_gpus, dim=0):
    """Tensors, in lists, tuples and dictionaries too, cut into parts for each GPU; other objects go to all of them.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     ((x, name),) = torch.nn.parallel.scatter((torch.ones(2), "a"), [0])
    """

    def spread(obj):
        if isinstance(obj, _C.Tensor):
            return comm.scatter(obj, target_gpus, None, dim)
        if isinstance(obj, list | tuple) and obj:
            return [_made_like(obj, items) for items in zip(*map(spread, obj), strict=False)]
        if isinstance(obj, dict) and obj:
            rows = zip(*map(spread, obj.values()), strict=False)
            return [type(obj)(zip(obj, row, strict=True)) for row in rows]
        return [obj for _ in target_gpus]

    return spread(inputs)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """The arguments of a call, and those by name, for each GPU: two tuples of one length.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     inputs, kwargs = torch.nn.parallel.scatter_kwargs((torch.ones(2),), {"flag": True}, [0])
    """
    inputs = scatter(inputs, target_gpus, dim) if inputs else []
    kwargs = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(inputs), len(kwargs))
    inputs = [*inputs, *(() for _ in range(count - len(inputs)))]
    return tuple(inputs), (*kwargs, *({} for _ in range(count - len(kwargs))))


def _gathered(tensors, device, dim):
    if not all(each.device.type != "cpu" for each in tensors):
        raise AssertionError("Gather function not implemented for CPU tensors; call the module itself, or move them")
    if dim == 0 and all(each.dim() == 0 for each in tensors):
        warnings.warn(
            "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
            "return a vector.",
            stacklevel=4,
        )
        tensors = [each.reshape(1) for each in tensors]
    return comm.gather(tensors, dim, device)


def gather(outputs, target_device, dim=0):
    """The results of calls on several GPUs side by side on one device; "cpu" is one, too.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     x = torch.nn.parallel.gather([torch.ones(2, device="cuda")], 0)
    """
    first = outputs[0]
    if isinstance(first, _C.Tensor):
        return _gathered(outputs, target_device, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(each) != len(first) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((name, gather([each[name] for each in outputs], target_device, dim)) for name in first)
    items = (gather(list(row), target_device, dim) for row in zip(*outputs, strict=True))
    return _made_like(first, list(items))
