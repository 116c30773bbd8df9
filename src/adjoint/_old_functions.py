"""Functions of the package that newer ones have replaced, under their old names and arguments."""

import warnings

from . import _C, linalg
from .nn import functional as _functional
from .ops.checks import boolean
from .ops.dropout import feature_dropout as _feature_dropout

_warned = set()


def range(start, end, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers from start to end, with the end: arange() goes up to it.

    >>> import adjoint as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    if "range" not in _warned:
        _warned.add("range")
        warnings.warn(
            "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
            "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
            UserWarning,
            stacklevel=2,
        )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    count = (end - start) / step
    if not abs(count) < 2**62:
        raise RuntimeError(f"invalid size, possible overflow? range({start}, {end}, {step}) has {count} steps")
    if count < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = dtype or (out.dtype if out is not None else _C.get_default_dtype())
    values = (_C.arange(int(count) + 1, dtype=_C.float64, device="cpu") * step + start).to(dtype)
    if out is not None:
        fitting = out if out.numel() == values.numel() else out.resize_(values.shape)
        fitting.copy_(values.view(fitting.shape))
        return _C._requiring_grad(out, requires_grad or out.requires_grad)
    return _C._requiring_grad(values.to(device or "cpu"), requires_grad)


def vander(x, N=None, increasing=False):
    """The powers of each element in a row, the highest first.

    >>> import adjoint as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    boolean("vander", increasing=increasing)
    if x.dim() != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor; got {x.dim()} dimensions")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative; got {count}")
    if count > 1:
        powers = linalg.vander(x, N=count)
    else:
        powers = x.new_ones((x.shape[0], count), dtype=None if x.is_floating_point() or x.is_complex() else _C.int64)
    return powers if increasing else powers.flip(1)


def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values of matrices.

    >>> import adjoint as torch
    >>> torch.nuclear_norm(torch.eye(2))
    tensor(2.)
    """
    return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of the squares over some dimensions.

    >>> import adjoint as torch
    >>> torch.frobenius_norm(torch.ones(2, 2), (0, 1))
    tensor(2.)
    """
    return linalg.vector_norm(input, 2, dim, keepdim)


def detach_(input):
    """Drops the history of a tensor, in place.

    >>> import adjoint as torch
    >>> torch.detach_(torch.ones(2, requires_grad=True) * 2)
    tensor([2., 2.])
    """
    return input.detach_()


_ABOUT = """{does}

As nn.functional has it, with three arguments and no defaults; in place where the name ends with an underscore.

>>> import adjoint as torch
>>> torch.{name}(torch.ones(1, 2, 3), 0.5, False)
tensor([[[1., 1., 1.],
         [1., 1., 1.]]])
"""


def _dropouts(name, function):
    """torch.name(input, p, train) and torch.name_: the functions of nn.functional, without defaults."""

    def checked(input, p, train, inplace):
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
        return function(input, p, train, inplace)

    def apart(input, p, train):
        return checked(input, p, train, False)

    def in_place(input, p, train):
        return checked(input, p, train, True)

    for call, ending in ((apart, ""), (in_place, "_")):
        call.__name__ = call.__qualname__ = name + ending
        call.__doc__ = _ABOUT.format(name=call.__name__, does=function.__doc__.splitlines()[0])
    return apart, in_place


dropout, dropout_ = _dropouts("dropout", _functional.dropout)
alpha_dropout, alpha_dropout_ = _dropouts("alpha_dropout", _functional.alpha_dropout)
feature_dropout, feature_dropout_ = _dropouts("feature_dropout", _feature_dropout)
feature_alpha_dropout, feature_alpha_dropout_ = _dropouts("feature_alpha_dropout", _functional.feature_alpha_dropout)
