"""Sparse tensors as pickles."""

from .. import _C
from ._patterns import Coo


def reduced(tensor):
    """What pickle asks for: the parts, and what is made of them."""
    state = (tensor.__dict__,) if tensor.__dict__ else ()
    pattern = _C._sparse_pattern(tensor)
    kind = type(tensor) if type(tensor) is not _C.Tensor else None
    args = (*pattern.parts(), _C._sparse_values(tensor), tuple(tensor.shape))
    return (rebuilt, (str(tensor.layout), args, tensor.requires_grad, kind), *state)


def rebuilt(layout, args, requires_grad, kind=None):
    """A sparse tensor of its parts."""
    if layout == "torch.sparse_coo":
        indices, coalesced, values, size = args
        tensor = Coo(indices, size, coalesced).tensor(values)
    else:
        from ._layouts import rebuilt as compressed

        tensor = compressed(layout, *args)
    if kind is not None:
        tensor = kind._make_subclass(kind, tensor)
    return tensor.requires_grad_(requires_grad)
