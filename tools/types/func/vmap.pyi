# vmap: the same function, of batches.
from typing import TypeVar

_F = TypeVar("_F", bound=_Callable[..., _Any])

def vmap(
    func: _F,
    in_dims: _int | _tuple[_Any, ...] | _dict[_Any, _Any] | _list[_Any] | None = 0,
    out_dims: _int | _tuple[_Any, ...] | _dict[_Any, _Any] | _list[_Any] | None = 0,
    randomness: _str = "error",
    *,
    chunk_size: _int | None = None,
) -> _F: ...
