"""torch._check and its kin: conditions of a function, that raise one kind of error each."""

from . import _C

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check_with(error_type, cond, message):
    """Raises an error of a type unless the condition holds; `message` is a function that returns its text.

    >>> import adjoint as torch
    >>> torch._check_with(KeyError, True, lambda: "no such key")
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None):
    """Raises a RuntimeError unless the condition holds.

    >>> import adjoint as torch
    >>> torch._check(1 + 1 == 2, lambda: "wrong sum")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """Raises an IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """Raises a ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """Raises a TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """Raises a NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """Raises a RuntimeError unless a number can be a size, and is at most `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises an error of a type unless all elements of a tensor of bools are True."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    """Raises a RuntimeError unless all elements of a tensor of bools are True.

    >>> import adjoint as torch
    >>> torch._check_tensor_all(torch.tensor([True, True]))
    """
    _check_tensor_all_with(RuntimeError, cond, message)
