"""Storages in files: their names, the bytes behind a tensor, and where map_location puts them."""

from .. import _C
from .._typed_storage import NAMES as NAMES
from .._typed_storage import TYPED as TYPED
from .._typed_storage import TypedStorage as TypedStorage
from .._untyped_storage import UntypedStorage as UntypedStorage


class StorageType:
    """What the name of a storage class in a file stands for: elements of a dtype, or plain bytes (None)."""

    def __init__(self, dtype):
        self.dtype = dtype

    @property
    def itemsize(self):
        """Bytes of an element."""
        return self.dtype.itemsize if self.dtype else 1

    def __reduce__(self):
        return StorageType, (self.dtype,)

    def __repr__(self):
        return f"StorageType(dtype={self.dtype})"


def storage_bytes(storage):
    """All the bytes of a storage, without a copy where they are in the program's memory."""
    return memoryview(storage._bytes().cpu())


def swap_bytes(data, dtype):
    """Turns the bytes of each element around, in place: for files of machines with the other byte order."""
    width = dtype.itemsize // (2 if dtype.is_complex else 1)
    if width > 1:
        elements = data.view(-1, width)
        elements.copy_(elements.flip(1).clone())


def _no_cuda():
    return RuntimeError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
        "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to "
        "the CPU."
    )


def _device_at(location):
    """The device that a location names: "cpu", "meta" or a GPU, such as "cuda:0"."""
    kind = location.partition(":")[0]
    if kind == "cuda":
        if _C._cuda_why_unavailable():
            raise _no_cuda()
        return _gpu_at(_C.device(location))
    if kind not in ("cpu", "meta"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location}); "
            "there are 'cpu' and 'meta': use map_location='cpu'"
        )
    return kind


def _gpu_at(device):
    """The GPU that is meant, as "cuda:0"; refuses one that is not there."""
    index = _C._cuda_current_device() if device.index is None else device.index
    if index >= _C._cuda_device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
            f"{_C._cuda_device_count()}. Please use torch.load with map_location to map your storages to an existing "
            "device."
        )
    return f"cuda:{index}"


def _without_memory(nbytes):
    """A storage on the meta device."""
    if nbytes >= 1 << 61:
        raise EOFError(f"the file promises {nbytes} bytes of values, more than there can be; it is damaged")
    return UntypedStorage(nbytes, device="meta")


def default_restore_location(storage, location):
    """The storage on the device of its location: for a map_location function, which chooses the location.

    >>> import adjoint as torch
    >>> from adjoint.serialization import default_restore_location
    >>> storage = torch.zeros(1).untyped_storage()
    >>> default_restore_location(storage, "cpu") is storage
    True
    """
    device = _device_at(location)
    return _without_memory(storage.nbytes()) if device == "meta" else storage.to(device=device)


class Placement:
    """What `map_location` asks for: None, a device or its name, a dict of names, or a function."""

    def __init__(self, map_location):
        self._map = map_location
        if isinstance(map_location, _C.device):
            self._map = str(map_location)
        elif not (map_location is None or isinstance(map_location, str | dict) or callable(map_location)):
            raise TypeError(
                f"{type(map_location).__name__!r} object is not callable: map_location must be None, a device, "
                "its name, a dict from names to names, or a function of storage and location"
            )

    def place(self, location, nbytes, read):
        """The storage that was on `location`, where it is wanted; `read()` gives its bytes, if they are needed."""
        storage = None
        if callable(self._map):
            storage = read().untyped_storage()
            moved = self._map(storage, location)
            if moved is not None:
                moved = getattr(moved, "_untyped_storage", moved)
                if not isinstance(moved, UntypedStorage) or moved.nbytes() != nbytes:
                    raise TypeError(
                        f"map_location: expected the function to return the storage of {nbytes} bytes, or None; "
                        f"got {moved!r}"
                    )
                return moved
        elif isinstance(self._map, str):
            location = self._map
        elif self._map is not None:
            location = str(self._map.get(location, location))
        device = _device_at(location)
        if device == "meta":
            return _without_memory(nbytes)
        storage = read().untyped_storage() if storage is None else storage
        return storage.to(device=device)
