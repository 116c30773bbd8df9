"""Forward mode by hand: dual tensors, which carry a tangent along with their values."""

import collections

from .. import _C
from ..func.forward import dual
from .grad_mode import Mode

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

UnpackedDualTensor = collections.namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = """What unpack_dual() returns: the values of a dual tensor, and its tangent or None.

>>> import adjoint as torch
>>> import adjoint.autograd.forward_ad as fw
>>> with fw.dual_level():
...     fw.unpack_dual(fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))).tangent
tensor(1.)
"""

_level = None  # the number of the open level, which torch calls 0


def enter_dual_level():
    """Begins forward mode; see dual_level.

    >>> import adjoint as torch
    >>> import adjoint.autograd.forward_ad as fw
    >>> level = fw.enter_dual_level()
    >>> fw.make_dual(torch.tensor(1.0), torch.tensor(2.0)) * 3
    tensor(3., tangent=6.0)
    >>> fw.exit_dual_level()
    """
    global _level
    if _level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment; torch.func.jvp can be nested")
    _level = _C._open_forward()
    return 0


def exit_dual_level(*, level=None):
    """Ends forward mode: tangents are forgotten.

    >>> import adjoint.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     pass
    """
    global _level
    if level is not None and level != (0 if _level is not None else -1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _level is None:
        raise RuntimeError("Dual level must be a positive number. No level is open; enter_dual_level() first")
    closing, _level = _level, None
    _C._close_level(closing)


class dual_level(Mode):
    """A context, or a decorator of functions, in which tensors may carry tangents.

    >>> import adjoint as torch
    >>> import adjoint.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     fw.unpack_dual(x ** 2).tangent
    tensor(6.)
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *error):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """A view of the tensor that carries the tangent.

    >>> import adjoint as torch
    >>> import adjoint.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    tensor(3., tangent=1.0)
    """
    if _level is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for value, name in ((tensor, "tensor"), (tangent, "tangent")):
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor, not {type(value).__name__}")
    if level:
        raise RuntimeError(f"Invalid level given to _make_dual: {level}; there is one level, of number 0")
    if _C._tangent(tensor, _level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if _C._tangent(tangent, _level) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported; "
            "unpack_dual() takes it apart, and torch.func.jvp can be nested."
        )
    return dual(tensor, tangent, _level)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor; the tangent is None where there is none.

    >>> import adjoint as torch
    >>> import adjoint.autograd.forward_ad as fw
    >>> fw.unpack_dual(torch.tensor(3.0))
    UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """
    if _level is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level and _C._tangent(tensor, _level) is not None:
        raise RuntimeError(f"Invalid level given to unpack_dual: {level}; there is one level, of number 0")
    primal, tangent = _C._taken_apart(tensor, _level)
    return UnpackedDualTensor(primal, tangent if _C._forward_enabled() else None)


class _set_fwd_grad_enabled:
    """Whether results carry tangents, as a context.

    >>> import adjoint as torch
    >>> import adjoint.autograd.forward_ad as fw
    >>> with fw.dual_level(), fw._set_fwd_grad_enabled(False):
    ...     fw.make_dual(torch.tensor(3.0), torch.tensor(1.0)) * 2
    tensor(6.)
    """

    def __init__(self, mode):
        self.before = _C._set_forward_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _C._set_forward_enabled(self.before)


def _is_fwd_grad_enabled():
    return _C._forward_enabled()
