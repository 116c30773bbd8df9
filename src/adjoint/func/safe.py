"""where() without the NaN of the branch that is not taken."""

from .. import _C
from ..ops.language import where


def where_safe(condition, function, x, otherwise=0.0, *, inside=1.0):
    """function(x) where the condition holds, `otherwise` elsewhere, with gradients that are finite in both places.

    where(c, f(x), y) computes f everywhere, and its backward multiplies a zero by whatever f' is outside: NaN where
    that is infinite. Here f sees `inside`, a point of its domain, in the place of elements that it is not asked for.

    >>> import adjoint as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> torch.func.where_safe(x > 0, torch.sqrt, x).sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    """
    if not isinstance(condition, _C.Tensor) or condition.dtype != _C.bool:
        raise TypeError("where_safe: expected a condition of bools, such as x > 0")
    return where(condition, function(where(condition, x, inside)), otherwise)
