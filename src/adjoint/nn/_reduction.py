"""Reductions of losses as numbers, and the two arguments that `reduction` replaced."""

import warnings

from ..ops.loss import REDUCTIONS
from ..ops.loss import legacy_reduction as legacy_get_string

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    """The number of a reduction.

    >>> import adjoint as torch
    >>> torch.nn._reduction.get_enum("mean")
    1
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        reduction = "mean"
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction{REDUCTIONS}")
    return _NUMBERS[reduction]


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The number of the reduction that `size_average` and `reduce` mean.

    >>> import adjoint as torch
    >>> torch.nn._reduction.legacy_get_enum(False, None, emit_warning=False)
    2
    """
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
