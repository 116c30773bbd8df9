"""Functions of each element that keep zeros: they are computed of the entries, of coalesced tensors."""

import functools

from .. import _C
from ._calls import CALLS, CHANGES, RULED, assign, handles
from ._parts import entries

_KEEP_ZERO = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor"),
    *(
        "frac",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "log1p",
        "nan_replaced",
        "rad2deg",
        "relu",
        "round_whole",
        "sgn",
        "sign",
    ),
    *("signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "squared", "cubed", "rooted"),
)


def settled(tensor):
    """The tensor with entries of different places."""
    return tensor.coalesce() if tensor.layout is _C.sparse_coo else tensor


def of_entries(tensor, function):
    """A function of the entries, in the places of a tensor."""
    tensor = settled(tensor)
    return _C._sparse_pattern(tensor).pack(function(entries(tensor)))


def _unary(name, input, *rest):
    return of_entries(input, lambda values: _C._call_bound(name, (values, *rest)))


def _unary_in_place(name, shown, input, *rest):
    if input.layout is _C.sparse_coo and not _C._sparse_pattern(input).coalesced:
        raise RuntimeError(f"{shown} requires coalesced input; call coalesce() first")
    assign(input, _C._call_bound(name, (input, *rest)), shown)


for _name in _KEEP_ZERO:
    CALLS[_name] = functools.partial(_unary, _name)
    CHANGES[_name] = functools.partial(_unary_in_place, _name)


@handles("power", "pow")
def _pow(input, exponent):
    if not isinstance(input, _C.Tensor) or input.layout is _C.strided or isinstance(exponent, _C.Tensor):
        return NotImplemented
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    return of_entries(input, lambda values: values**exponent)


@handles("positive")
def _positive(input):
    return input


@handles("conj_physical")
def _conj_physical(input):
    """Sums of conjugates are conjugates of sums: entries stay apart."""
    if not input.is_complex():
        return input
    return _C._sparse_pattern(input).pack(_C._call_bound("conj_physical", (entries(input),)))


def _conj_physical_in_place(shown, input):
    if input.is_complex():
        _unary_in_place("conj_physical", shown, input)


CHANGES["conj_physical"] = _conj_physical_in_place


@handles("conj", table=RULED)
def _conj(input):
    return input if not input.is_complex() else _C._sparse_pattern(input).tensor(_C._sparse_values(input).conj())
