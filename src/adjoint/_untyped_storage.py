"""UntypedStorage: the memory behind tensors, as bytes. What is native of it is in csrc/types/storage.cpp."""

import operator
import sys

from . import _C

_FORMS = (
    "expected one of:\n"
    " * (*, int allocator = None, torch.device device = None)\n"
    " * (int size, *, int allocator = None, torch.device device = None)\n"
    " * (object sequence, *, int allocator = None, torch.device device = None)\n"
)
_WORD = 1 << 63


def name_of(value):
    """The name of a value's type, as torch's messages give it."""
    return "torch.storage.UntypedStorage" if type(value) is UntypedStorage else type(value).__name__


def is_int(value):
    """Whether a value is a whole number, of Python or NumPy; no bool, and no tensor."""
    return (isinstance(value, int) and not isinstance(value, bool)) or _is_index(value)


def _is_index(value):
    return hasattr(type(value), "__index__") and not isinstance(value, bool | _C.Tensor)


def _whole(value):
    value = operator.index(value)
    if not -_WORD <= value < _WORD:
        raise ValueError(f"Overflow when unpacking long long: {value} is beyond 64 bits")
    return value


def _length(words, value):
    """A number of bytes, checked."""
    value = _whole(value)
    if value < 0:
        raise RuntimeError(
            f"{words} expected a number from 0 up; got {value} (alloc_cpu() seems to have been called with negative "
            "number)"
        )
    return value


def _bytes_of(sequence):
    """A tensor of the bytes that a sequence lists."""
    if isinstance(sequence, UntypedStorage):
        return sequence._bytes().clone()
    kind = type(sequence)
    if not hasattr(kind, "__getitem__") or not hasattr(kind, "__len__") or isinstance(sequence, dict | _C.Tensor):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {name_of(sequence)}")
    result = _C.empty(len(sequence), dtype=_C.uint8, device="cpu")
    data = memoryview(result)
    for place in range(len(data)):
        item = sequence[place]
        if not isinstance(item, int) and not _is_index(item):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({name_of(sequence)}), but one "
                f"of the items was of type {name_of(item)} instead of int"
            )
        data[place] = operator.index(item) & 255
    return result


def _bytes_for(args, keywords):
    """The memory that a call of UntypedStorage() asks for, as a tensor of bytes."""
    given = dict(keywords)
    for name in ("size", "sequence"):
        if not args and name in given:
            args = (given.pop(name),)
    device = given.pop("device", None)
    given.pop("allocator", None)  # a pointer to torch's own allocators
    if given or len(args) > 1:
        came = ", ".join([name_of(one) for one in args] + [f"{n}={name_of(v)}" for n, v in keywords.items()])
        raise TypeError(
            f"torch.UntypedStorage() received an invalid combination of arguments - got ({came}), but {_FORMS}"
        )
    device = _C.device("cpu") if device is None else _C.device(device)
    if args and not is_int(args[0]):
        return _bytes_of(args[0]).to(device)
    return _C.empty(_length("UntypedStorage():", args[0]) if args else 0, dtype=_C.uint8, device=device)


class _StorageBase:
    """What storages have in common with those of other devices."""

    is_hpu = is_sparse = is_sparse_csr = False
    _checkpoint_offset = _fake_device = None

    @property
    def is_cuda(self):
        """Whether the memory is on an NVIDIA GPU."""
        return self.device.type == "cuda"

    def get_device(self):
        """The number of the device; None for the CPU."""
        return self.device.index


class UntypedStorage(_C.StorageBase, _StorageBase):
    """Memory as bytes: UntypedStorage(size) is not initialised, UntypedStorage(sequence) holds the numbers in it.

    `tensor.untyped_storage()` gives the one that a tensor lies in, and the same object for all tensors on it.

    >>> import adjoint as torch
    >>> storage = torch.UntypedStorage([1, 2, 3])
    >>> storage.nbytes(), storage[1:].tolist()
    (3, [2, 3])
    """

    __module__ = "adjoint.storage"

    def __new__(cls, *args, **kwargs):
        return _C._storage_of(_bytes_for(args, kwargs), cls)

    def _readable(self):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type: a storage there holds no values")
        return self._bytes()

    # ---- size and place

    def __len__(self):
        return self.nbytes()

    def size(self):
        """The number of bytes."""
        return self.nbytes()

    def element_size(self):
        """Bytes of an element: 1."""
        return 1

    def resize_(self, size):
        """Changes the number of bytes; those that stay are kept, those that are added are not initialised.

        Tensors on the storage go on showing it. Beyond its end they show zeros: memory that a tensor may still read
        is emptied, never taken away.

        >>> import adjoint as torch
        >>> torch.UntypedStorage([1, 2, 3]).resize_(2).tolist()
        [1, 2]
        """
        if not is_int(size):
            raise RuntimeError(f"resize_ expects an int, but got {name_of(size)}")
        return self._resize(_length("resize_:", size))

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    # ---- values

    def __getitem__(self, index):
        if isinstance(index, slice):
            begin, end, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            self._readable()
            return self._part(begin, max(end - begin, 0))
        if not is_int(index):
            raise TypeError(f"can't index a torch.UntypedStorage with {name_of(index)}")
        place = _whole(index)
        place += self.nbytes() if place < 0 else 0
        values = self._readable()
        if not 0 <= place < self.nbytes():
            raise IndexError(f"index {place} out of range for storage of size {self.nbytes()}")
        return values[place].item()

    def __setitem__(self, index, value):
        if not isinstance(value, int) and not is_int(value):
            raise RuntimeError(f"can only set storage content with a int types, but got {name_of(value)} instead")
        if isinstance(index, slice):
            begin, end, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            self._bytes()[begin : max(begin, end)] = operator.index(value) & 255
            return
        if not is_int(index):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {name_of(index)}")
        place = _whole(index)
        if not 0 <= place < self.nbytes():
            raise RuntimeError(f"out of bounds: index {place} of a storage of {self.nbytes()} bytes")
        self._bytes()[place] = operator.index(value) & 255

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The bytes as a list of numbers."""
        return self._readable().tolist()

    def fill_(self, value):
        """Sets all bytes to one value."""
        if not isinstance(value, int) and not is_int(value):
            raise RuntimeError(f"fill_ expects int, but got {name_of(value)}")
        self._bytes().fill_(operator.index(value) & 255)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies the bytes of another storage of the same size."""
        source = getattr(source, "_untyped_storage", source)
        if not isinstance(source, UntypedStorage):
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {name_of(source)}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._bytes().copy_(source._bytes(), bool(non_blocking))
        return self

    def clone(self):
        """A storage of the same bytes."""
        return type(self)(self.nbytes(), device=self.device).copy_(self)

    def new(self):
        """An empty storage."""
        return type(self)()

    def byteswap(self, dtype):
        """Turns the bytes of each element around, in place; the real and the imaginary part of complex numbers.

        >>> import adjoint as torch
        >>> storage = torch.UntypedStorage([1, 2, 3, 4])
        >>> storage.byteswap(torch.int16)
        >>> storage.tolist()
        [2, 1, 4, 3]
        """
        if type(dtype) is not _C.dtype:
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        self._byteswap(dtype.itemsize // (2 if dtype.is_complex else 1))

    def _byteswap(self, elem_size):
        if not isinstance(elem_size, int):
            raise RuntimeError("_byteswap(): arg must be an 'int'")
        if elem_size not in (1, 2, 4, 8):
            raise RuntimeError(f"elem_size must be 1, 2, 4, or 8; got {elem_size}")
        values = self._readable()
        if self.nbytes() % elem_size:
            raise RuntimeError(f"the length of data is not a multiple of {elem_size}: it is {self.nbytes()}")
        if elem_size > 1 and self.nbytes():
            elements = values.view(-1, elem_size)
            elements.copy_(elements.flip(1))

    def _read_as(self, dtype):
        """What torch.tensor() makes of a storage: its bytes as elements of a type, of int64 for None."""
        return self._elements(dtype or _C.int64)

    def __repr__(self):
        lines = "...\n" if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist())) + "\n"
        return f"{lines}[{_full_name(type(self))}(device={self.device}) of size {self.nbytes()}]"

    # ---- copies

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        copies = memo.setdefault("torch", {})
        if self._cdata not in copies:
            copies[self._cdata] = self.clone()
        return copies[self._cdata]

    def __reduce__(self):
        from . import storage

        return storage._load_from_bytes, (storage._saved(self),)

    # ---- types and devices

    def untyped(self):
        """The storage itself."""
        return self

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage's type; or the storage as one of another type."""
        if dtype is None:
            return _full_name(type(self))
        from ._typed_storage import find_type

        wanted = find_type(dtype)
        return self if wanted is type(self) else self._to(wanted.dtype)

    def _to(self, dtype):
        from ._typed_storage import TypedStorage

        if type(dtype) is not _C.dtype:
            raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        values = self._bytes().to(dtype)
        values = values.clone() if dtype == _C.uint8 else values
        return TypedStorage(wrap_storage=values.untyped_storage(), dtype=dtype, _internal=True)

    def cpu(self):
        """The storage on the CPU: itself, when it is there."""
        return self if self.device.type == "cpu" else UntypedStorage(self.nbytes()).copy_(self)

    def to(self, *, device, non_blocking=False):
        """The storage on a device: itself, when it is there."""
        device = _C.device(device)
        if device.type == "cuda" and device.index is None and not _C._cuda_why_unavailable():
            device = _C.device("cuda", _C._cuda_current_device())
        if device == self.device:
            return self
        if device.type not in ("cpu", "cuda", "meta"):
            return self._nowhere(device.type)
        return UntypedStorage(self.nbytes(), device=device).copy_(self, non_blocking)

    def _nowhere(self, kind):
        return _C.empty(0, device=kind)  # which refuses

    def cuda(self, device=None, non_blocking=False):
        """The storage on a GPU: itself, when it is there."""
        device = "cuda" if device is None else f"cuda:{device}" if is_int(device) else device
        return self.to(device=device, non_blocking=non_blocking)

    def hpu(self, device=None, non_blocking=False):
        """Refuses: there is no such device here."""
        return self._nowhere("hpu")

    def mps(self):
        """Refuses: there is no such device here."""
        return self._nowhere("mps")

    def is_pinned(self, device=None):
        """Whether the memory is pinned: whether a GPU reads and writes it by itself."""
        return _C._cuda_is_pinned(self._bytes())

    def pin_memory(self, device=None):
        """A copy in pinned memory; itself when it is there."""
        if self.device.type != "cpu":
            raise TypeError(f"cannot pin '{self.type()}' only CPU memory can be pinned")
        return self if self.is_pinned() else _C._storage_of(self._bytes().pin_memory())

    # ---- sharing with other processes and with files

    @property
    def filename(self):
        """The file that from_file(shared=True) has mapped; None for other storages."""
        return vars(self).get("_filename")

    def _get_filename(self):
        return self.filename

    def is_shared(self):
        """Whether other processes can share the memory, or files do; of a GPU's memory always True, as in torch."""
        return self.is_cuda or self._shared_file() >= 0 or "_mapped" in vars(self)

    def share_memory_(self):
        """Moves the memory, with the tensors on it, to where other processes can share it.

        >>> import adjoint as torch
        >>> torch.UntypedStorage(3).share_memory_().is_shared()
        True
        """
        if self.is_cuda:
            return self  # left where it is, as in torch
        if self.device.type != "cpu":
            raise RuntimeError("_share_fd_: only available on CPU")
        if not self.is_shared() and not self._share():
            raise RuntimeError(
                "share_memory_(): the memory is also used by an array, a buffer or another storage, and cannot move; "
                "call share_memory_() before that, or clone() it"
            )
        return self

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        if _C.device(device).type != "cpu":
            raise RuntimeError("_new_shared: only available on CPU")
        return cls(size).share_memory_()

    @classmethod
    def _new_using_fd_cpu(cls, size):
        return cls._new_shared(size)

    _new_using_filename_cpu = _new_using_fd_cpu

    def _share_fd_cpu_(self):
        """(file descriptor, bytes) of the shared memory."""
        self.share_memory_()
        if self._shared_file() < 0:
            raise RuntimeError("couldn't retrieve a shared file descriptor: the memory belongs to a file of its own")
        return self._shared_file(), self.nbytes()

    def _get_shared_fd(self):
        if self._shared_file() < 0:
            raise RuntimeError("couldn't retrieve a shared file descriptor; call share_memory_() first")
        return self._shared_file()

    @classmethod
    def _new_shared_fd_cpu(cls, *handle):
        """The storage of what _share_fd_cpu_() gave."""
        import os

        if len(handle) != 2:
            raise RuntimeError("tuple of 2 items expected: a file descriptor, and a number of bytes")
        file, nbytes = handle
        if not is_int(file) or not is_int(nbytes):
            raise TypeError("a file descriptor and a number of bytes expected")
        try:
            copy = os.dup(file)
        except (OSError, OverflowError):
            raise RuntimeError("could not duplicate a shared memory file descriptor") from None
        return _C._storage_of(_C._map_shared(copy, nbytes), cls)

    def _share_filename_cpu_(self, *_):
        raise NotImplementedError(
            "_share_filename_cpu_(): shared memory here lies in files without names; use _share_fd_cpu_(), or "
            "torch.multiprocessing, which chooses it"
        )

    def _shared_incref(self, *_):
        """Nothing: the file lives as long as a process uses it."""

    def _shared_decref(self, *_):
        return self

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, dtype=None):
        """A storage of the elements that an object with a buffer holds; the bytes of each in the order of the machine.

        >>> import adjoint as torch
        >>> torch.UntypedStorage.from_buffer(bytes([1, 2, 3, 4]), "big", dtype=torch.int16).tolist()
        [2, 1, 4, 3]
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None; pass the type of the elements")
        if type(dtype) is not _C.dtype:
            raise RuntimeError("argument 'dtype' must be of type torch.dtype")
        try:
            view = memoryview(buffer)
        except TypeError:
            raise TypeError(f"a bytes-like object is required, not '{name_of(buffer)}'") from None
        if not view.c_contiguous:
            raise BufferError("memoryview: underlying buffer is not C-contiguous")
        view, item = view.cast("B"), dtype.itemsize
        orders = {"native": sys.byteorder, "little": "little", "big": "big"}
        if byte_order is None and dtype not in (_C.uint8, _C.int8):
            raise RuntimeError("function missing required argument 'byte_order' (pos 2): 'native', 'little' or 'big'")
        if byte_order is not None and byte_order not in orders:
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        count, offset = operator.index(count), operator.index(offset)
        if not 0 <= offset <= len(view):
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(view)}"
            )
        if count < 0:
            if (len(view) - offset) % item:
                raise ValueError(f"buffer size ({len(view)}) must be a multiple of element size ({item})")
            count = (len(view) - offset) // item
        elif offset + count * item > len(view):
            raise ValueError(
                f"buffer has only {len(view) - offset} elements after offset {offset}, but specified a size of {count}"
            )
        result = cls(bytes(view[offset : offset + count * item]))
        if byte_order is not None and orders[byte_order] != sys.byteorder:
            result.byteswap(dtype)
        if dtype == _C.bool:
            result._bytes().ne_(0)  # other bytes than 0 and 1 are not values of bool
        return result

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The bytes of a file, as memory: with `shared`, what is written there goes to the file, which grows to fit.

        Without it the file stays as it is, and must have as many bytes.

        >>> import adjoint as torch, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "values")
        >>> _ = torch.UntypedStorage.from_file(path, shared=True, nbytes=2).fill_(7)
        >>> torch.UntypedStorage.from_file(path, nbytes=2).tolist()
        [7, 7]
        """
        from . import _mapped_files

        return _mapped_files.storage_of_file(cls, filename, shared, nbytes)

    def _write_file(self, f, is_real_file, save_size, element_size):
        """Writes the bytes, before them the number of elements with `save_size`."""
        data = memoryview(self.cpu()._bytes())
        if save_size:
            f.write((len(data) // element_size).to_bytes(8, "little"))
        f.write(bytes(data))
        if is_real_file:
            f.flush()

    @classmethod
    def _new_with_file(cls, f, element_size):
        """A storage of what _write_file() has written with its size."""
        count = int.from_bytes(_read(f, 8), "little", signed=True)
        if count < 0:
            raise RuntimeError(f"the file says that it has {count} elements; corrupt file?")
        return cls(_read(f, count * element_size))

    def _set_from_file(self, f, offset, is_real_file, element_size):
        """Takes the bytes that _write_file() has written with their size."""
        if offset is not None:
            f.seek(offset)
        values = self._new_with_file(f, element_size)
        if values.nbytes() != self.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {values.nbytes()} got {self.nbytes()}")
        return self.copy_(values)


def _read(f, count):
    data = f.read(count)
    if len(data) != count:
        raise RuntimeError(f"unexpected EOF, expected {count - len(data)} more bytes. The file might be corrupted.")
    return data


def _full_name(kind):
    name = f"{kind.__module__}.{kind.__qualname__}"
    return "torch" + name.removeprefix("adjoint") if name.startswith("adjoint.") else name


def _conversion(name, dtype):
    def convert(self):
        return self._to(dtype)

    convert.__name__, convert.__qualname__ = name, f"UntypedStorage.{name}"
    convert.__doc__ = f"The bytes as numbers, as a TypedStorage of {dtype}."
    return convert


def conversions():
    """The methods that convert a storage to a type, by name."""
    names = {
        "float": _C.float32,
        "double": _C.float64,
        "half": _C.float16,
        "bfloat16": _C.bfloat16,
        "bool": _C.bool,
        "byte": _C.uint8,
        "char": _C.int8,
        "short": _C.int16,
        "int": _C.int32,
        "long": _C.int64,
        "complex_float": _C.complex64,
        "complex_double": _C.complex128,
    }
    for name in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"):
        names[name] = getattr(_C, name)
    return names


for _name, _dtype in conversions().items():
    setattr(UntypedStorage, _name, _conversion(_name, _dtype))
