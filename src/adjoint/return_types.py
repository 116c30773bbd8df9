"""The tuples with names that ops return, such as torch.return_types.max."""

from .ops import table
from .ops.declaration import COMPOSITE_FIELDS, return_type

_types = {item.result_type.__name__: item.result_type for item in table().values() if item.outputs}
_types |= {name: return_type(name) for name in COMPOSITE_FIELDS}
globals().update({name: made for name, made in _types.items() if not name.startswith("_")})
__all__ = sorted(name for name in _types if not name.startswith("_"))
