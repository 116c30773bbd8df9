"""Variable(tensor, requires_grad), as programs wrote it before tensors could require grad by themselves."""

import warnings

from .. import _C
from ._engine import ImperativeEngine


class VariableMeta(type):
    """Makes tensors instances of Variable."""

    def __instancecheck__(cls, value):
        return isinstance(value, _C.Tensor)


class Variable(metaclass=VariableMeta):
    """A tensor on the same memory without history, which may require grad. Use requires_grad_() in new programs.

    >>> import adjoint as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if volatile is not None:
            message = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
            warnings.warn(message, stacklevel=2)
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}; use torch.tensor()")
        return data.detach().requires_grad_(requires_grad)
