"""Types of the array API standard: which promote to which, and what each can hold.

`uint16`, `uint32` and `uint64` are full members of the standard and half members of torch: promotion of them is written
here, and what no op computes of them NumPy does (`in_numpy`). They have no gradients, so that nothing is lost.
"""

import importlib
from typing import NamedTuple

import numpy as np

from .. import _C, _type_info
from .._C import Tensor as Tensor

torch = importlib.import_module("..", __package__)  # the package, under whatever name it was imported
Numbers = (bool, int, float, complex)

SIGNED = (_C.int8, _C.int16, _C.int32, _C.int64)
UNSIGNED = (_C.uint8, _C.uint16, _C.uint32, _C.uint64)
FLOATS = (_C.float32, _C.float64)
COMPLEX = (_C.complex64, _C.complex128)
KINDS = {
    "bool": (_C.bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + FLOATS + COMPLEX,
}
# What most ops do not know.
WIDE_UNSIGNED = frozenset(UNSIGNED[1:])


class FloatInfo(NamedTuple):
    """What `finfo` says of a type of floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _C.dtype


class IntInfo(NamedTuple):
    """What `iinfo` says of a type of integers."""

    bits: int
    max: int
    min: int
    dtype: _C.dtype


def default_complex():
    return _C.complex128 if _C.get_default_dtype() == _C.float64 else _C.complex64


def promoted(a, b):
    """The type that holds what two types hold; torch's own where the standard leaves it open."""
    if a == b:
        return a
    a_unsigned, b_unsigned = a in UNSIGNED, b in UNSIGNED
    if a_unsigned and b_unsigned:
        return UNSIGNED[max(UNSIGNED.index(a), UNSIGNED.index(b))]
    if b_unsigned:
        a, b, a_unsigned = b, a, True
    if a_unsigned:
        if b in SIGNED:
            rank = max(UNSIGNED.index(a) + 1, SIGNED.index(b))
            if rank == len(SIGNED):
                raise TypeError(
                    f"result_type: no integer type holds both {a} and {b}; convert one of them with astype() first"
                )
            return SIGNED[rank]
        if b == _C.bool:
            return a
    return _C.promote_types(a, b)


def with_number(dtype, number):
    """The type of an array of this type joined with a number of Python: the array's, where its kind can hold that."""
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return _C.int64 if dtype == _C.bool else dtype
    if isinstance(number, float):
        return dtype if dtype.is_floating_point or dtype.is_complex else _C.get_default_dtype()
    if dtype.is_complex:
        return dtype
    return dtype.to_complex() if dtype.is_floating_point else default_complex()


def is_number(value):
    return isinstance(value, (*Numbers, np.generic))


def array(name, x):
    """x, which must be an array."""
    if not isinstance(x, Tensor):
        kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"{name}: expected an array of this namespace (a Tensor); got {kind}; convert it with asarray()"
        )
    return x


def pair(name, x1, x2):
    """Two operands as arrays of one type; one of them may be a number."""
    first, second = is_number(x1), is_number(x2)
    if first and second:
        raise TypeError(f"{name}: expected an array among the operands; got two numbers; convert one with asarray()")
    if first:
        array(name, x2)
        return tuple(reversed(_with_number(x2, x1)))
    array(name, x1)
    if second:
        return _with_number(x1, x2)
    array(name, x2)
    if x1.dtype == x2.dtype:
        return x1, x2
    dtype = promoted(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def _with_number(x, number):
    number = number.item() if isinstance(number, np.generic) else number
    dtype = with_number(x.dtype, number)
    return x.to(dtype), _C.tensor(number, dtype=dtype, device=x.device)


def of_one_type(name, arrays):
    """Arrays, all in the type that they promote to."""
    arrays = [array(name, x) for x in arrays]
    if not arrays:
        raise ValueError(f"{name}: expected at least one array; got none")
    dtype = result_type(*arrays)
    return [x.to(dtype) for x in arrays]


def in_numpy(name, *tensors, **options):
    """What NumPy's function of this name gives, for types of which no op computes it; a tensor, or a tuple of them."""
    if any(x.device.type == "meta" for x in tensors):
        raise TypeError(f"{name}: expected {tensors[0].dtype} on the cpu; got the meta device; convert it to int64")
    with np.errstate(all="ignore"):
        result = getattr(np, name)(*(x.numpy() for x in tensors), **options)
    return _C.from_numpy(np.array(result))


def result_type(*arrays_and_dtypes):
    """The type of what elementwise functions give for these arrays, types and numbers.

    >>> from adjoint import array_api as xp
    >>> xp.result_type(xp.uint16, xp.int8)
    torch.int32
    >>> xp.result_type(xp.ones(2), 1j)
    torch.complex64
    """
    result, numbers = None, []
    for item in arrays_and_dtypes:
        if is_number(item):
            numbers.append(item.item() if isinstance(item, np.generic) else item)
            continue
        if not isinstance(item, Tensor | _C.dtype):
            raise TypeError(f"result_type: expected arrays, types and numbers; got {type(item).__name__}")
        dtype = item if isinstance(item, _C.dtype) else item.dtype
        result = dtype if result is None else promoted(result, dtype)
    if result is None:
        raise ValueError("result_type: expected at least one array or type; got none")
    for number in numbers:
        result = with_number(result, number)
    return result


def can_cast(from_, to, /):
    """Whether a type can be converted to another by the rules of promotion, without losing anything.

    >>> from adjoint import array_api as xp
    >>> xp.can_cast(xp.int32, xp.int64), xp.can_cast(xp.int64, xp.int32)
    (True, False)
    """
    try:
        return result_type(from_, to) == to
    except TypeError:
        if isinstance(from_, Tensor | _C.dtype) and isinstance(to, _C.dtype):
            return False  # uint64 and a signed type: nothing holds both
        raise


def isdtype(dtype, kind):
    """Whether a type is of a kind: another type, one of the standard's names of kinds, or a tuple of these.

    >>> from adjoint import array_api as xp
    >>> xp.isdtype(xp.float32, "real floating"), xp.isdtype(xp.int8, ("bool", xp.int16))
    (True, False)
    """
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"isdtype: expected a type such as float32; got {type(dtype).__name__}")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: expected one of {', '.join(map(repr, KINDS))}; got {kind!r}")
        # The halves and eighths of torch are floats, too, although the standard does not name them.
        if kind in ("real floating", "numeric") and dtype.is_floating_point:
            return True
        return dtype in KINDS[kind]
    if isinstance(kind, _C.dtype):
        return dtype == kind
    raise TypeError(f"isdtype: expected a kind as a type, a string or a tuple of these; got {type(kind).__name__}")


def finfo(type, /):
    """The limits of a type of floats, or of an array's; of complex numbers those of their parts.

    >>> from adjoint import array_api as xp
    >>> xp.finfo(xp.float32).bits, xp.finfo(xp.complex128).dtype
    (32, torch.float64)
    """
    dtype = type.dtype if isinstance(type, Tensor) else type
    real = dtype.to_real() if isinstance(dtype, _C.dtype) and dtype.is_complex else dtype
    info = _type_info.finfo(real)
    return FloatInfo(info.bits, info.eps, info.max, info.min, info.smallest_normal, real)


def iinfo(type, /):
    """The limits of a type of integers, or of an array's.

    >>> from adjoint import array_api as xp
    >>> xp.iinfo(xp.uint16).max
    65535
    """
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = _type_info.iinfo(dtype)
    return IntInfo(info.bits, info.max, info.min, dtype)


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another type; without copy=True x itself where that has the type.

    >>> from adjoint import array_api as xp
    >>> xp.astype(xp.asarray([1, 2]), xp.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    array("astype", x)
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=bool(copy))
