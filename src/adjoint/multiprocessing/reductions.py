"""How tensors and storages go through the pipes of multiprocessing: as the open file of their shared memory."""

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


def _rebuild_storage(handle, nbytes, dtype):
    """The storage on the memory of a file that another process has sent; of a dtype, or of bytes."""
    from ..storage import TypedStorage

    storage = _C._storage_of(_C._map_shared(handle.detach(), nbytes))
    return storage if dtype is None else TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def reduce_storage(storage):
    """What to pickle in the place of a storage: its memory is moved to where the receiver can map it.

    >>> import adjoint as torch
    >>> storage = torch.UntypedStorage(2)
    >>> _ = torch.multiprocessing.reductions.reduce_storage(storage)
    >>> storage.is_shared()
    True
    """
    untyped = getattr(storage, "_untyped_storage", storage)
    if untyped.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    file, nbytes = untyped._share_fd_cpu_()
    return _rebuild_storage, (reduction.DupFd(file), nbytes, getattr(storage, "_dtype", None))


class StorageWeakRef:
    """A reference to a storage that does not keep it alive; equal to others of the same one.

    >>> import adjoint as torch
    >>> x = torch.zeros(2)
    >>> ref = torch.multiprocessing.reductions.StorageWeakRef(x.untyped_storage())
    >>> ref.expired(), ref == torch.multiprocessing.reductions.StorageWeakRef(x[1:].untyped_storage())
    (False, True)
    """

    __slots__ = ("_free_weak_ref", "cdata")

    def __init__(self, storage):
        self.cdata = storage._weak_ref()
        self._free_weak_ref = _C.StorageBase._free_weak_ref  # it is needed when modules may be gone

    @classmethod
    def from_weakref(cls, cdata):
        """The reference of a number that _weak_ref() gave, which it owns from now on."""
        self = cls.__new__(cls)
        self.cdata, self._free_weak_ref = cdata, _C.StorageBase._free_weak_ref
        return self

    def expired(self):
        """Whether the storage is gone."""
        return _C.StorageBase._expired(self.cdata)

    def __del__(self):
        if hasattr(self, "cdata"):
            self._free_weak_ref(self.cdata)

    def __hash__(self):
        return self.cdata

    def __eq__(self, other):
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata


def init_reductions():
    """Makes the pipes of multiprocessing take tensors, parameters and storages this way.

    >>> import adjoint as torch
    >>> torch.multiprocessing.reductions.init_reductions()
    """
    for cls in (_C.Tensor, _parameter.Parameter):
        ForkingPickler.register(cls, reduce_tensor)
    from .._typed_storage import TypedStorage
    from .._untyped_storage import UntypedStorage

    for cls in (TypedStorage, UntypedStorage):
        ForkingPickler.register(cls, reduce_storage)
