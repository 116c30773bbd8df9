"""Powers by another name, and in double precision."""

from .. import _C
from .checks import number
from .language import composite, pow


@composite
def square(input, *, out=None):
    """The square of each element.

    >>> import adjoint as torch
    >>> torch.square(torch.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
    return pow(input, 2) if out is None else pow(input, 2, out=out)


@composite(name="square_")
def square_(input):
    """In-place version of square().

    >>> import adjoint as torch
    >>> torch.tensor([3.0]).square_()
    tensor([9.])
    """
    return input.pow_(2)


def _double_power(name, input, exponent):
    """The operands of float_power() in double precision, complex if one of them is."""
    operands = (input, exponent)
    tensors = [value for value in operands if isinstance(value, _C.Tensor)]
    if not tensors:
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(exponent).__name__}), but at least one of them must be a Tensor"
        )
    for value in operands:
        if not isinstance(value, _C.Tensor):
            number(name, exponent=value)
    numbers_complex = any(isinstance(value, complex) for value in operands)
    dtype = _C.complex128 if numbers_complex or any(value.is_complex() for value in tensors) else _C.float64
    return dtype, [value.to(dtype) if isinstance(value, _C.Tensor) else value for value in operands]


def _type_name(dtype):
    return {_C.float64: "Double", _C.complex128: "ComplexDouble"}.get(dtype) or str(dtype).removeprefix("torch.")


@composite
def float_power(input, exponent, *, out=None):
    """input ** exponent in double precision.

    >>> import adjoint as torch
    >>> torch.float_power(torch.tensor([4]), 0.5)
    tensor([2.], dtype=torch.float64)
    """
    dtype, (base, power) = _double_power("float_power", input, exponent)
    if out is None:
        return pow(base, power)
    if out.dtype != dtype:
        raise RuntimeError(
            f"the output given to float_power has dtype {_type_name(out.dtype)} but the operation's result requires "
            f"dtype {_type_name(dtype)}"
        )
    return pow(base, power, out=out)


@composite(name="float_power_", function_=False)
def float_power_(input, exponent):
    """In-place version of float_power().

    >>> import adjoint as torch
    >>> torch.tensor([4.0], dtype=torch.float64).float_power_(0.5)
    tensor([2.], dtype=torch.float64)
    """
    dtype, (_, power) = _double_power("float_power_", input, exponent)
    if input.dtype != dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {_type_name(input.dtype)} but the operation's result requires "
            f"dtype {_type_name(dtype)}"
        )
    return input.pow_(power)
