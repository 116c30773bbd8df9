# Tangents of functions.
from typing import TypeVar

_R = TypeVar("_R")
_A = TypeVar("_A")

@_overload
def jvp(
    func: _Callable[..., _R],
    primals: _tuple[_Any, ...],
    tangents: _tuple[_Any, ...],
    *,
    strict: _bool = False,
    has_aux: _Literal[False] = False,
) -> _tuple[_R, _R]: ...
@_overload
def jvp(
    func: _Callable[..., _tuple[_R, _A]],
    primals: _tuple[_Any, ...],
    tangents: _tuple[_Any, ...],
    *,
    strict: _bool = False,
    has_aux: _Literal[True],
) -> _tuple[_R, _R, _A]: ...
def linearize(func: _Callable[..., _R], *primals: _Any) -> _tuple[_R, _Callable[..., _R]]: ...
