"""Names of element types that no tensor here has, which tables of programs mention: quantized and packed numbers."""

from . import _C

_TYPES = _C._named_types()


def __getattr__(name: str) -> _C.dtype:
    if name in _TYPES:
        return _TYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
