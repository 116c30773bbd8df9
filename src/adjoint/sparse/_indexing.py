"""tensor[key] of sparse tensors: numbers, slices, None and Ellipsis, one after the other."""

from .. import _C
from ._calls import refusal


def get_item(tensor, key):
    """The part of a sparse tensor that a key names."""
    keys = key if isinstance(key, tuple) else (key,)
    count = sum(1 for part in keys if part is not None and part is not ...)
    if count > tensor.dim():
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    dim = 0
    for part in keys:
        if part is None:
            tensor, dim = tensor.unsqueeze(dim), dim + 1
        elif part is ...:
            dim += tensor.dim() - dim - sum(1 for later in keys[keys.index(...) + 1 :] if later is not None)
        elif isinstance(part, slice):
            if part != slice(None):
                if part.step is not None and part.step <= 0:
                    raise ValueError("step must be greater than zero")
                tensor = _C._call_bound("slice", (tensor, dim, part.start, part.stop, part.step or 1))
            dim += 1
        elif isinstance(part, bool) or not hasattr(part, "__index__") or _is_index(part):
            raise refusal("index.Tensor", (tensor,))
        else:
            tensor = tensor.select(dim, part.__index__())
    return tensor


def _is_index(part):
    return isinstance(part, _C.Tensor) and (part.dim() > 0 or part.dtype is _C.bool)
