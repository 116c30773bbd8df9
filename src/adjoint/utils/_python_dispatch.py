"""TorchDispatchMode: a context that sees every op that is computed, in forward and in backward, by its aten name.

It is a level of the interception point (csrc/transforms/handled.h). Unlike torch's, it sees calls before they are
recorded: what it computes itself in the place of an op is differentiated through.
"""

import contextlib
import threading

from .. import _C, _aten, _ops, _wrapped


class _Stack(threading.local):
    def __init__(self):
        self.modes = []


_stack = _Stack()


class TorchDispatchMode:
    """A context whose `__torch_dispatch__(func, types, args, kwargs)` is called for every op, `func` an OpOverload.

    While it answers it rests: what it calls itself reaches the mode outside of it.

    >>> import adjoint as torch
    >>> from adjoint.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Names():
    ...     y = (x * 2).sum()
    aten.mul.Tensor
    aten.sum.default
    """

    def __init__(self, _dispatch_key=None):
        self._levels = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        levels = self.__dict__.setdefault("_levels", [])  # a subclass need not call __init__
        levels.append(_C._open_handled(self._handle))
        _stack.modes.append(self)
        return self

    def __exit__(self, *_):
        _C._close_level(self._levels.pop())
        _stack.modes.pop()

    def _handle(self, op, args, in_place):
        call = _aten.Call(op, args, in_place)
        with _ops.answering(call):
            types = _wrapped.classes_of((*call.args, *call.kwargs.values()))
            answer = self.__torch_dispatch__(call.overload, types, call.args, call.kwargs)
        if answer is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{call.overload}'; all __torch_dispatch__ handlers returned "
                f"NotImplemented:\n\n  - mode object {self}\n\nReturn func(*args, **kwargs) for other ops."
            )
        return answer

    @classmethod
    def push(cls, *args, **kwargs):
        """The older way to make a mode: `with Mode.push():`."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode belongs to torch's own machinery: no."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode, or None."""
    return _stack.modes[-1] if _stack.modes else None


def _get_current_dispatch_mode_stack():
    return list(_stack.modes)


def _len_torch_dispatch_stack():
    return len(_stack.modes)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether some mode is on.

    >>> from adjoint.utils._python_dispatch import is_in_torch_dispatch_mode
    >>> is_in_torch_dispatch_mode()
    False
    """
    return bool(_stack.modes)


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """Leaves the innermost mode while it lasts."""
    mode = _get_current_dispatch_mode()
    if mode is None:
        raise RuntimeError("there is no dispatch mode to leave")
    mode.__exit__(None, None, None)
    try:
        yield mode
    finally:
        mode.__enter__()


@contextlib.contextmanager
def _disable_current_modes():
    """Leaves all modes while it lasts."""
    modes = _get_current_dispatch_mode_stack()
    for mode in reversed(modes):
        mode.__exit__(None, None, None)
    try:
        yield modes
    finally:
        for mode in modes:
            mode.__enter__()


def is_traceable_wrapper_subclass(t):
    """Whether a tensor is of a class that says how it is made of others.

    >>> import adjoint as torch
    >>> from adjoint.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    return isinstance(t, _C.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same of a class."""
    return issubclass(t, _C.Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor of a wrapper class with callback(name, inner) in the place of each tensor that it is made of."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)
