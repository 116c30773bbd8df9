# Functions of functions: the result takes what the function takes. Lambdas must pass, too, alone and nested, in both
# checkers: hence classes instead of Callable, the bound that is no bound, and the first overload.
from typing import Concatenate, Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_X = TypeVar("_X")
_A = TypeVar("_A", bound=_Any)
_G = TypeVar("_G", bound=_Gradient[_Any, ...])

class _Gradient(Generic[_X, _P]):
    def __call__(self, primal: _X, /, *args: _P.args, **kwargs: _P.kwargs) -> _X: ...

class _GradientAndValue(Generic[_X, _P]):
    def __call__(self, primal: _X, /, *args: _P.args, **kwargs: _P.kwargs) -> _tuple[_X, _Tensor]: ...

class _Function(Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

@_overload
def grad(func: _G, argnums: _Literal[0] = 0, has_aux: _Literal[False] = False) -> _G: ...
@_overload
def grad(
    func: _Callable[Concatenate[_A, _P], _Tensor], argnums: _Literal[0] = 0, has_aux: _Literal[False] = False
) -> _Gradient[_A, _P]: ...
@_overload
def grad(
    func: _Callable[Concatenate[_A, _P], _tuple[_Tensor, _R]],
    argnums: _Literal[0] = 0,
    *,
    has_aux: _Literal[True],
) -> _Function[Concatenate[_A, _P], _tuple[_A, _R]]: ...
@_overload
def grad(
    func: _Callable[_P, _Any], argnums: _int | _tuple[_int, ...] = 0, has_aux: _bool = False
) -> _Function[_P, _Any]: ...
@_overload
def grad_and_value(
    func: _Callable[Concatenate[_A, _P], _Tensor], argnums: _Literal[0] = 0, has_aux: _Literal[False] = False
) -> _GradientAndValue[_A, _P]: ...
@_overload
def grad_and_value(
    func: _Callable[_P, _Any], argnums: _int | _tuple[_int, ...] = 0, has_aux: _bool = False
) -> _Function[_P, _tuple[_Any, _Any]]: ...
@_overload
def vjp(
    func: _Callable[..., _R], *primals: _Any, has_aux: _Literal[False] = False
) -> _tuple[_R, _Callable[..., _tuple[_Any, ...]]]: ...
@_overload
def vjp(
    func: _Callable[..., _tuple[_R, _X]], *primals: _Any, has_aux: _Literal[True]
) -> _tuple[_R, _Callable[..., _tuple[_Any, ...]], _X]: ...
