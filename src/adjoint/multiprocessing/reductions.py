"""How tensors go through the pipes of multiprocessing: as the open file of their shared memory, with their geometry."""

from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

from .. import _C
from ..nn import parameter as _parameter


def _rebuild(cls, handle, nbytes, dtype, geometry, requires_grad, state):
    """The tensor on the memory of a file that another process has sent."""
    data = _C._map_shared(handle.detach(), nbytes)
    whole = nbytes // dtype.itemsize * dtype.itemsize
    tensor = data[:whole].view(dtype).as_strided(*geometry).data
    if cls is not _C.Tensor:
        tensor = cls._make_subclass(cls, tensor)
    tensor.requires_grad_(requires_grad)
    vars(tensor).update(state)
    return tensor


def reduce_tensor(tensor):
    """What to pickle in the place of a tensor: its memory is moved to where the receiver can map it.

    >>> import adjoint as torch
    >>> x = torch.zeros(2)
    >>> _ = torch.multiprocessing.reductions.reduce_tensor(x)
    >>> x.is_shared()
    True
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    tensor.share_memory_()
    handle = reduction.DupFd(_C._shared_file(tensor))
    geometry = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    nbytes = tensor._storage_nbytes()
    return _rebuild, (type(tensor), handle, nbytes, tensor.dtype, geometry, tensor.requires_grad, vars(tensor))


def init_reductions():
    """Makes the pipes of multiprocessing take tensors and parameters this way.

    >>> import adjoint as torch
    >>> torch.multiprocessing.reductions.init_reductions()
    """
    for cls in (_C.Tensor, _parameter.Parameter):
        ForkingPickler.register(cls, reduce_tensor)
