"""functionalize and debug_unwrap: functions without changes in place, and what lies behind a tensor of a transform."""

import functools

from .. import _C
from ..ops.batching import levels_of


def functionalize(func, *, remove="mutations"):
    """A function with the results of `func`, and its changes of arguments.

    PyTorch takes changes in place, and views, out of programs for backends that cannot hold them. Here no program is
    handed on, and nothing is left to take out: the function is called as it is.

    >>> import adjoint as torch
    >>> def f(x):
    ...     y = x + 1
    ...     y.view(-1).mul_(2)
    ...     return y
    >>> torch.func.functionalize(f)(torch.tensor([1.0, 2.0]))
    tensor([4., 6.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            "'mutations' and 'mutations_and_views'"
        )

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapper


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
