"""functionalize and debug_unwrap: programs without changes in place, and what lies behind a tensor of a transform."""

import functools

from .. import _C
from ..ops.batching import call, levels_of
from ..ops.language import TABLE

_REMOVED = ("mutations", "mutations_and_views")


def functionalize(func, *, remove="mutations"):
    """The function with each op that changes a tensor called in its functional form, and the result copied.

    `copy_` and ops that overwrite a tensor without reading it, such as `zero_`, are all that still writes. What the
    function gives, and what it changes, stays the same. Views are views on the same memory with either `remove`.

    >>> import adjoint as torch
    >>> def f(x):
    ...     x.mul_(2)
    ...     return x + 1
    >>> x = torch.ones(2)
    >>> with torch.inspect.trace() as trace:
    ...     y = torch.func.functionalize(f)(x)
    >>> x, y
    (tensor([2., 2.]), tensor([3., 3.]))
    >>> [event.op for event in trace.events]
    ['mul', 'copy_', 'add']
    """
    if remove not in _REMOVED:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': ops that change tensors are called in their functional form.\n"
            "     remove='mutations_and_views': the same; views stay views here."
        )

    @functools.wraps(func)
    def functional(*args, **kwargs):
        level = _C._open_handled(_handle)
        try:
            return func(*args, **kwargs)
        finally:
            _C._close_level(level)

    return functional


def _handle(op, arguments, in_place):
    if not in_place:
        return call(op, *arguments)
    declaration = TABLE[op.__name__]
    if declaration.inplace == "only" or declaration.kind == "view":  # t_() changes no values
        return _C._call_slots(op, arguments, True)
    return written(op, arguments, _handle)


def written(op, arguments, handle):
    """Changes the first argument as the op would: by its functional form, and a copy of what that gives."""
    target = arguments[0]
    if _C.is_grad_enabled() and any(isinstance(value, _C.Tensor) and value.requires_grad for value in arguments):
        before = target.clone()  # for the graph: the tensor itself is written into
        arguments = tuple(before if value is target else value for value in arguments)
    result = handle(op, arguments, False)
    if result.shape == target.shape:
        return target.copy_(result)
    return _C._call_slots(op, (target, *arguments[1:]), True)  # which is refused


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor inside of a vmap is an element of, out of all levels, or of one; for looking at while debugging.

    >>> import adjoint as torch
    >>> def f(x):
    ...     print(torch.func.debug_unwrap(x))
    ...     return x.sum()
    >>> torch.vmap(f)(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    tensor([3., 7.])
    """
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"debug_unwrap(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    behind = list(levels_of(tensor))
    return behind[-1] if recurse else behind[:2][-1]
