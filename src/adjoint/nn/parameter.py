"""Parameter: a leaf tensor that a model trains."""

from .. import _C


class Parameter(_C.Tensor):
    """A tensor that requires grad and that modules count among their parameters.

    >>> import adjoint as torch
    >>> torch.nn.Parameter(torch.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.empty(0)
        return _C.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad, self.__dict__)


def _rebuild(cls, data, requires_grad, state):
    parameter = _C.Tensor._make_subclass(cls, data, requires_grad)
    parameter.__dict__.update(state)
    return parameter
