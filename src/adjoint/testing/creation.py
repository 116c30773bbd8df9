"""make_tensor: random numbers of any type, within bounds that fit it."""

import math
import warnings

from .. import _C, view_as_real
from .._type_info import finfo, iinfo


def _bounds(dtype, low, high):
    """The bounds that hold for a type: the given ones or its own, within what it can represent."""
    if dtype == _C.bool:
        default, least, greatest = (0, 2), 0, 2
    elif dtype.is_floating_point or dtype.is_complex:
        info = finfo(dtype)
        default, least, greatest = (-9, 9), info.min, info.max
    else:
        info = iinfo(dtype)
        default, least, greatest = (0, 10) if info.min == 0 else (-9, 10), info.min, min(info.max + 1, 2**63 - 1)
    low, high = (given if given is not None else own for given, own in zip((low, high), default, strict=True))
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if low > high or (whole and low == high):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low == high:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated; use "
            "`torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    low, high = max(low, least), min(high, greatest)
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random numbers from [low, high), by default from [-9, 9) for signed and [0, 10) for unsigned types.

    `exclude_zero` puts the smallest positive number, or 1, in the place of zeros; `noncontiguous` takes every second
    element of twice as many.

    >>> import adjoint as torch
    >>> torch.testing.make_tensor((2, 3), dtype=torch.int64, device="cpu", low=4, high=5)
    tensor([[4, 4, 4],
            [4, 4, 4]])
    """
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    numeric = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not numeric:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    low, high = _bounds(dtype, low, high)
    apart = noncontiguous and math.prod(shape) > 1
    sizes = (*shape[:-1], 2 * shape[-1]) if apart else shape
    if numeric:
        result = _C.empty(sizes, dtype=dtype, device=device)
        (view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    else:
        result = _C.randint(low, high, sizes, dtype=_C.int64, device=device).to(dtype)
    if apart:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if numeric else 1
    return _C._requiring_grad(result, True) if requires_grad else result
