# Jacobians and Hessians: a tensor for a function of one tensor, otherwise nested as inputs and outputs are.
from typing import Concatenate, ParamSpec

from .reverse import _Function

_P = ParamSpec("_P")

@_overload
def jacrev(
    func: _Callable[Concatenate[_Tensor, _P], _Tensor],
    argnums: _Literal[0] = 0,
    has_aux: _Literal[False] = False,
    *,
    chunk_size: _int | None = None,
    _preallocate_and_copy: _bool = False,
) -> _Function[Concatenate[_Tensor, _P], _Tensor]: ...
@_overload
def jacrev(
    func: _Callable[_P, _Any],
    argnums: _int | _tuple[_int, ...] = 0,
    has_aux: _bool = False,
    *,
    chunk_size: _int | None = None,
    _preallocate_and_copy: _bool = False,
) -> _Function[_P, _Any]: ...
@_overload
def jacfwd(
    func: _Callable[Concatenate[_Tensor, _P], _Tensor],
    argnums: _Literal[0] = 0,
    has_aux: _Literal[False] = False,
    *,
    randomness: _str = "error",
    chunk_size: _int | None = None,
) -> _Function[Concatenate[_Tensor, _P], _Tensor]: ...
@_overload
def jacfwd(
    func: _Callable[_P, _Any],
    argnums: _int | _tuple[_int, ...] = 0,
    has_aux: _bool = False,
    *,
    randomness: _str = "error",
    chunk_size: _int | None = None,
) -> _Function[_P, _Any]: ...
@_overload
def hessian(
    func: _Callable[Concatenate[_Tensor, _P], _Tensor], argnums: _Literal[0] = 0
) -> _Function[Concatenate[_Tensor, _P], _Tensor]: ...
@_overload
def hessian(func: _Callable[_P, _Any], argnums: _int | _tuple[_int, ...] = 0) -> _Function[_P, _Any]: ...
