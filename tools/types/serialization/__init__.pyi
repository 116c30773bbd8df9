# Files of tensors.
from os import PathLike
from typing import IO

def save(
    obj: _object,
    f: _str | PathLike[_str] | IO[_bytes],
    pickle_module: _Any = None,
    pickle_protocol: _int = 2,
    _use_new_zipfile_serialization: _bool = True,
    _disable_byteorder_record: _bool = False,
) -> None: ...
def load(
    f: _str | PathLike[_str] | IO[_bytes],
    map_location: _Callable[[_Any, _str], _Any] | _device | _str | _dict[_str, _str] | None = None,
    pickle_module: _Any = None,
    *,
    weights_only: _bool | None = None,
    mmap: _bool | None = None,
    **pickle_load_args: _Any,
) -> _Any: ...
