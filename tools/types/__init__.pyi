# Functions whose results depend on how they are called; the methods of tensors follow from them.

@_overload
def max(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def max(
    input: _Tensor, dim: _int, keepdim: _bool = False, *, out: _tuple[_Tensor, _Tensor] | None = None
) -> _return_types.max: ...
@_overload
def max(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def min(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def min(
    input: _Tensor, dim: _int, keepdim: _bool = False, *, out: _tuple[_Tensor, _Tensor] | None = None
) -> _return_types.min: ...
@_overload
def min(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def median(input: _Tensor) -> _Tensor: ...
@_overload
def median(
    input: _Tensor, dim: _int, keepdim: _bool = False, *, out: _tuple[_Tensor, _Tensor] | None = None
) -> _return_types.median: ...
@_overload
def nanmedian(input: _Tensor) -> _Tensor: ...
@_overload
def nanmedian(
    input: _Tensor, dim: _int, keepdim: _bool = False, *, out: _tuple[_Tensor, _Tensor] | None = None
) -> _return_types.nanmedian: ...
@_overload
def where(condition: _Tensor) -> _tuple[_Tensor, ...]: ...
@_overload
def where(
    condition: _Tensor, input: _Tensor | _Number, other: _Tensor | _Number, *, out: _Tensor | None = None
) -> _Tensor: ...
@_overload
def nonzero(input: _Tensor, *, as_tuple: _Literal[False] = False, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def nonzero(input: _Tensor, *, as_tuple: _Literal[True]) -> _tuple[_Tensor, ...]: ...
@_overload
def unique(
    input: _Tensor,
    sorted: _bool = True,
    return_inverse: _Literal[False] = False,
    return_counts: _Literal[False] = False,
    dim: _int | None = None,
) -> _Tensor: ...
@_overload
def unique(
    input: _Tensor,
    sorted: _bool = True,
    *,
    return_inverse: _Literal[True],
    return_counts: _Literal[True],
    dim: _int | None = None,
) -> _tuple[_Tensor, _Tensor, _Tensor]: ...
@_overload
def unique(
    input: _Tensor,
    sorted: _bool = True,
    *,
    return_inverse: _Literal[True],
    return_counts: _Literal[False] = False,
    dim: _int | None = None,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def unique(
    input: _Tensor,
    sorted: _bool = True,
    *,
    return_inverse: _Literal[False] = False,
    return_counts: _Literal[True],
    dim: _int | None = None,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def unique(
    input: _Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> _Any: ...
@_overload
def unique_consecutive(
    input: _Tensor,
    return_inverse: _Literal[False] = False,
    return_counts: _Literal[False] = False,
    dim: _int | None = None,
) -> _Tensor: ...
@_overload
def unique_consecutive(
    input: _Tensor, *, return_inverse: _Literal[True], return_counts: _Literal[True], dim: _int | None = None
) -> _tuple[_Tensor, _Tensor, _Tensor]: ...
@_overload
def unique_consecutive(
    input: _Tensor,
    *,
    return_inverse: _Literal[True],
    return_counts: _Literal[False] = False,
    dim: _int | None = None,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def unique_consecutive(
    input: _Tensor,
    *,
    return_inverse: _Literal[False] = False,
    return_counts: _Literal[True],
    dim: _int | None = None,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def unique_consecutive(
    input: _Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
) -> _Any: ...
@_overload
def atleast_1d(tensors: _Tensor, /) -> _Tensor: ...
@_overload
def atleast_1d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_1d(first: _Tensor, second: _Tensor, /, *tensors: _Tensor) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_2d(tensors: _Tensor, /) -> _Tensor: ...
@_overload
def atleast_2d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_2d(first: _Tensor, second: _Tensor, /, *tensors: _Tensor) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_3d(tensors: _Tensor, /) -> _Tensor: ...
@_overload
def atleast_3d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_3d(first: _Tensor, second: _Tensor, /, *tensors: _Tensor) -> _tuple[_Tensor, ...]: ...
@_overload
def randint(
    high: _int,
    size: _Sequence[_int],
    *,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _DeviceLike = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def randint(
    low: _int,
    high: _int,
    size: _Sequence[_int],
    *,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _DeviceLike = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def normal(
    mean: _Tensor,
    std: _Tensor | _float = 1.0,
    *,
    generator: _Generator | None = None,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def normal(
    mean: _float,
    std: _Tensor,
    *,
    generator: _Generator | None = None,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def normal(
    mean: _float,
    std: _float,
    size: _Sequence[_int],
    *,
    generator: _Generator | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _DeviceLike = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def arange(
    end: _Number,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _DeviceLike = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def arange(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _DeviceLike = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    out: _Tensor | None = None,
) -> _Tensor: ...
@_overload
def einsum(equation: _str, *operands: _Tensor) -> _Tensor: ...
@_overload
def einsum(equation: _str, operands: _Sequence[_Tensor], /) -> _Tensor: ...
@_overload
def einsum(*args: _Tensor | _Sequence[_Any]) -> _Tensor: ...
@_overload
def std_mean(
    input: _Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = 1,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def std_mean(input: _Tensor, unbiased: _bool) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def var_mean(
    input: _Tensor,
    dim: _Ints | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = 1,
) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def var_mean(input: _Tensor, unbiased: _bool) -> _tuple[_Tensor, _Tensor]: ...
def is_tensor(obj: _object) -> _TypeGuard[_Tensor]: ...
def is_storage(obj: _object) -> _bool: ...
