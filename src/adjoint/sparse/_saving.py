"""Sparse tensors as pickles and in files: the layout, and the parts in torch's order."""

from .. import _C
from ._creation import _validate_sparse_coo_tensor_args
from ._patterns import Coo


def parts(tensor):
    """What a file keeps of a sparse tensor, beside its layout."""
    return _C._sparse_pattern(tensor).saved(_C._sparse_values(tensor))


def reduced(tensor):
    """What pickle asks for: the parts, and what is made of them."""
    state = (tensor.__dict__,) if tensor.__dict__ else ()
    kind = type(tensor) if type(tensor) is not _C.Tensor else None
    return (restored, (tensor.layout, parts(tensor), tensor.requires_grad, kind), *state)


def restored(layout, data, requires_grad, kind=None):
    """A sparse tensor that was pickled."""
    tensor = rebuilt(layout, data)
    if kind is not None:
        tensor = kind._make_subclass(kind, tensor)
    return tensor.requires_grad_(requires_grad)


def rebuilt(layout, data):
    """A sparse tensor of the parts that a file has; they are checked."""
    if not isinstance(layout, _C.layout) or not isinstance(data, tuple | list):
        raise RuntimeError("expected the layout and the parts of a sparse tensor; the file is damaged")
    if layout is not _C.sparse_coo:
        from ._layouts import rebuilt as compressed

        return compressed(layout, data)
    indices, values, size, coalesced = (*data, False)[:4] if len(data) >= 3 else (None,) * 4
    if not isinstance(indices, _C.Tensor) or not isinstance(values, _C.Tensor) or not isinstance(size, tuple | list):
        raise RuntimeError("expected indices, values and the size of a sparse tensor; the file is damaged")
    _validate_sparse_coo_tensor_args(indices, values, size, bool(coalesced))
    return Coo(indices.to(_C.int64), size, bool(coalesced) or indices.shape[1] < 2).tensor(values)
