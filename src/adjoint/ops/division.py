"""Division with a choice of rounding: div() by name, over the ops that `/` and `//` call."""

from .. import _C
from .language import _in_place, _publish, floor_divide, result_type, trunc, trunc_divide
from .language import div as true_divide
from .language import div_ as true_divide_

ROUNDED = {"floor": floor_divide, "trunc": trunc_divide}


def _rounded(input, other, rounding_mode):
    if rounding_mode not in ROUNDED:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    # torch rounds the quotient of two tensors of halves before it cuts it, not that by one number.
    several = isinstance(other, _C.Tensor) and other.ndim > 0
    if several and rounding_mode == "trunc" and result_type(input, other) in (_C.float16, _C.bfloat16):
        return trunc(true_divide(input, other))
    return ROUNDED[rounding_mode](input, other)


_rounded_ = _in_place("div", _rounded)


def div(input, other, *, rounding_mode=None, out=None):
    """The quotient, rounded towards zero ("trunc") or down ("floor") if asked for.

    >>> import adjoint as torch
    >>> torch.div(torch.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        return true_divide(input, other) if out is None else true_divide(input, other, out=out)
    if out is None:
        return _rounded(input, other, rounding_mode)
    return _C._call_out("div", _rounded, (input, other, rounding_mode), {}, out, True, None, (), (input, other))


def div_(input, other, *, rounding_mode=None):
    """In-place version of div().

    >>> import adjoint as torch
    >>> torch.tensor([7.0, -7.0]).div_(2, rounding_mode="trunc")
    tensor([ 3., -3.])
    """
    if rounding_mode is None:
        return true_divide_(input, other)
    return _rounded_(input, other, rounding_mode)


# Published over the plain op, which rules and operators go on calling.
_publish("div", div, "", True, True, ("divide",), (true_divide, 2))
_publish("div_", div_, "", True, True, ("divide_",), (true_divide_, 2))
