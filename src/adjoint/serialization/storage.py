"""Storages in files: their names, the bytes behind a tensor, and where map_location puts them."""

from .. import _C

# The names that torch's files give to storages of a dtype; other dtypes stand on untyped storages.
TYPED = {
    "DoubleStorage": _C.float64,
    "FloatStorage": _C.float32,
    "HalfStorage": _C.float16,
    "BFloat16Storage": _C.bfloat16,
    "LongStorage": _C.int64,
    "IntStorage": _C.int32,
    "ShortStorage": _C.int16,
    "CharStorage": _C.int8,
    "ByteStorage": _C.uint8,
    "BoolStorage": _C.bool,
    "ComplexDoubleStorage": _C.complex128,
    "ComplexFloatStorage": _C.complex64,
}
NAMES = {dtype: name for name, dtype in TYPED.items()}


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


class UntypedStorage:
    """The bytes behind tensors: what x.untyped_storage() gives, and what a map_location function takes and returns.

    `data` is a tensor of uint8, or None on the meta device.
    """

    def __init__(self, data, size):
        self.data, self._size = data, size
        self.changed = {}  # elements that files have as conjugate or negative: see rebuild.py

    @classmethod
    def of(cls, tensor):
        """The storage of a tensor."""
        if tensor.is_meta:
            return cls(None, tensor.nbytes)
        data = storage_elements(tensor).view(_C.uint8)
        return cls(data, data.numel())

    @property
    def device(self):
        """The device the bytes are on."""
        return _C.device("meta" if self.data is None else "cpu")

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def nbytes(self):
        """The number of bytes."""
        return self._size

    size = __len__ = nbytes

    def data_ptr(self):
        """The address of the first byte."""
        return self.data.data_ptr()

    def __getitem__(self, index):
        return self._elements()[index].item() if isinstance(index, int) else self._elements()[index].tolist()

    def __setitem__(self, index, value):
        self._elements()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as Python numbers."""
        return self._elements().tolist()

    def _bytes(self):
        if self.data is None:
            raise NotImplementedError("Not available for 'Meta' device: a storage there holds no values")
        return self.data

    def _elements(self):
        return self._bytes()

    def _read_as(self, dtype):
        """The bytes as elements of a type, of int64 for None; those left over are dropped."""
        dtype = dtype or _C.int64
        return self.data[: self._size // dtype.itemsize * dtype.itemsize].view(dtype)

    def is_shared(self):
        """Whether other processes can share the memory."""
        return self.data.is_shared()

    def share_memory_(self):
        """Moves the memory to where other processes can share it."""
        self.data.share_memory_()
        return self

    def tensor_like(self, tensor):
        """A tensor on this memory as another one is on its own."""
        whole = self._size // tensor.itemsize * tensor.itemsize
        elements = self.data[:whole].view(tensor.dtype)
        return elements.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).data

    def __deepcopy__(self, memo):
        return copied_once(self.data, memo) if self.data is not None else UntypedStorage(None, self._size)

    def cpu(self):
        """The storage itself: it is on the CPU."""
        return self

    def cuda(self, device=None, non_blocking=False):
        """Raises: there is no such device here."""
        raise _no_cuda()

    def __repr__(self):
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self._size}]"


class TypedStorage(UntypedStorage):
    """A storage whose elements have a dtype: what most files name."""

    def __init__(self, storage, dtype):
        super().__init__(storage.data, storage.nbytes())
        self.dtype = dtype

    def _elements(self):
        return self._bytes().view(self.dtype)

    def _read_as(self, dtype):
        dtype = dtype or _C.get_default_dtype()
        if dtype != self.dtype:
            expected, got = (_C.empty(0, dtype=of).type()[6:-6] for of in (dtype, self.dtype))
            raise RuntimeError(
                f"Expected a Storage of type {expected} or an UntypedStorage, but got {got}; pass dtype={self.dtype}"
            )
        return self._elements()

    def size(self):
        """The number of elements."""
        return self._size // self.dtype.itemsize

    __len__ = size

    def __deepcopy__(self, memo):
        return TypedStorage(super().__deepcopy__(memo), self.dtype)

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage(self.data, self._size)

    def __repr__(self):
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def copied_once(tensor, memo):
    """A copy of a tensor's storage; one, for all that deepcopy finds on the storage: `memo` knows it from then on."""
    copies = memo.setdefault("torch", {})
    key = tensor._storage_id()
    if key not in copies:
        whole = UntypedStorage.of(tensor)
        copies[key] = UntypedStorage(whole.data.clone(), whole.nbytes())
    return copies[key]


def refuse_batched(tensor):
    """Refuses to give the storage of a tensor under vmap."""
    if _C._batch_level(tensor) is not None:
        raise NotImplementedError(
            "Cannot access storage of BatchedTensorImpl: under vmap a tensor stands for all elements of the batch, and "
            "has no memory of its own. clone() copies it; what vmap returns can be copied and saved as any tensor"
        )


def storage_elements(tensor):
    """A tensor of all the elements that a tensor's storage holds."""
    refuse_batched(tensor)
    plain = _C.Tensor._make_subclass(_C.Tensor, tensor)  # subclasses are not asked
    return plain.as_strided((plain._storage_nbytes() // plain.itemsize,), (1,), 0)


def storage_bytes(tensor):
    """All the bytes that a tensor's storage holds, without a copy."""
    return memoryview(storage_elements(tensor).view(_C.uint8))


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
    """The kind of device that a location names: "cpu" or "meta"."""
    kind = location.partition(":")[0]
    if kind == "cuda":
        raise _no_cuda()
    if kind not in ("cpu", "meta"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location}); "
            "there are 'cpu' and 'meta': use map_location='cpu'"
        )
    return kind


def default_restore_location(storage, location):
    """The storage on the device of its location: for a map_location function, which chooses the location.

    >>> import adjoint as torch
    >>> from adjoint.serialization import default_restore_location
    >>> storage = torch.zeros(1).untyped_storage()
    >>> default_restore_location(storage, "cpu") is storage
    True
    """
    return storage if _device_at(location) == "cpu" else UntypedStorage(None, storage.nbytes())


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
            storage = UntypedStorage(read(), nbytes)
            moved = self._map(storage, location)
            if moved is not None:
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
        if _device_at(location) == "meta":
            return UntypedStorage(None, nbytes)
        return storage or UntypedStorage(read(), nbytes)
