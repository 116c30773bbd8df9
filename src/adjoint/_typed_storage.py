"""TypedStorage, the storages of elements that torch is about to give up, and the old names FloatStorage and so on."""

import collections.abc
import warnings

from . import _C
from ._untyped_storage import UntypedStorage, conversions, name_of

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

_MESSAGE = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)
_warned = {"once": False, "always": False}


def _warn_typed_storage_removal(stacklevel=2):
    """Warns that TypedStorage goes away: once, or always if so chosen."""
    if _warned["once"] and not _warned["always"]:
        return
    _warned["once"] = True
    warnings.warn(_MESSAGE, UserWarning, stacklevel=stacklevel + 1)


def _reset_warn_typed_storage_removal():
    _warned["once"] = False


def _get_always_warn_typed_storage_removal():
    return _warned["always"]


def _set_always_warn_typed_storage_removal(always_warn):
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn should be bool, got {type(always_warn)}")
    _warned["always"] = always_warn


def _refusal(error, legacy, why):
    """The error of a constructor: `legacy` is the class with the old name, if it was called."""
    if legacy is None:
        head = "TypedStorage.__init__"
        forms = (
            "(*, torch.device device, torch.dtype dtype)",
            "(int size, *, torch.device device, torch.dtype dtype)",
            "(Sequence data, *, torch.device device, torch.dtype dtype)",
            "(*, UntypedStorage wrap_storage, torch.dtype dtype)",
        )
    else:
        head = f"<class 'torch.{legacy.__name__}'>.__new__"
        forms = ("no arguments", "(int size)", "(Sequence data)", "(*, UntypedStorage wrap_storage)")
    lines = "".join(f" * {form}\n" for form in forms)
    return error(f"{head} received an invalid combination of arguments. Expected one of:\n{lines}{why}")


def _untyped_for(args, device, wrap_storage, dtype, legacy=None):
    """The memory that a constructor asks for."""
    if len(args) > (0 if wrap_storage is not None else 1):
        too_many = "No positional arguments should be given when using 'wrap_storage'"
        raise _refusal(RuntimeError, legacy, too_many if wrap_storage is not None else "Too many positional arguments")
    if wrap_storage is not None:
        if not isinstance(wrap_storage, UntypedStorage):
            why = f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
            raise _refusal(TypeError, legacy, why)
        return wrap_storage
    device = _C.device("cpu" if device is None else device)
    if not args or isinstance(args[0], int):
        size = int(args[0]) if args else 0
        return UntypedStorage(size * dtype.itemsize, device=device)
    if isinstance(args[0], collections.abc.Sequence):
        if isinstance(args[0], str | bytes):
            raise TypeError(f"new(): invalid data type '{type(args[0]).__name__}'")
        return _C.tensor(args[0], dtype=dtype, device=device).reshape(-1).untyped_storage()
    raise _refusal(TypeError, legacy, f"Argument type not recognized: {type(args[0])}")


class TypedStorage:
    """A storage as elements of a dtype, which torch has deprecated: tensors do all that it does.

    >>> import adjoint as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.TypedStorage([1.5, 2.0]).tolist()
    [1.5, 2.0]
    """

    __module__ = "adjoint.storage"
    is_sparse = False
    _fake_device = None
    _is_untyped = False  # while a file is read that has the bytes of an untyped storage for it

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        if not _internal:
            _warn_typed_storage_removal(stacklevel=2)
        if wrap_storage is not None:
            if len(args):
                why = "No positional arguments should be given when using 'wrap_storage'"
                raise _refusal(RuntimeError, None, why)
            if dtype is None:
                raise _refusal(RuntimeError, None, "Argument 'dtype' must be specified")
            if device is not None:
                why = "Argument 'device' should not be specified when 'wrap_storage' is given"
                raise _refusal(RuntimeError, None, why)
        dtype = _C.get_default_dtype() if dtype is None else dtype
        if type(dtype) is not _C.dtype:
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        self._dtype = dtype
        self._untyped_storage = _untyped_for(args, device, wrap_storage, dtype)

    # ---- what it is

    @property
    def dtype(self):
        """The type of the elements."""
        return self._dtype

    @property
    def device(self):
        """Where the elements are."""
        return self._untyped_storage.device

    @property
    def filename(self):
        """The file that from_file(shared=True) has mapped; None for other storages."""
        return self._untyped_storage.filename

    @property
    def is_cuda(self):
        """Whether the memory is on an NVIDIA GPU."""
        return self._untyped_storage.is_cuda

    @property
    def is_hpu(self):
        """Whether the memory is on a Gaudi: no."""
        return False

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def untyped(self):
        """The same memory as bytes."""
        _warn_typed_storage_removal()
        return self._untyped_storage

    def _size(self):
        return self._untyped_storage.nbytes() // self._dtype.itemsize

    def _nbytes(self):
        return self._untyped_storage.nbytes()

    def _element_size(self):
        return self._dtype.itemsize

    def _data_ptr(self):
        return self._untyped_storage.data_ptr()

    def _is_shared(self):
        return self._untyped_storage.is_shared()

    def get_device(self):
        """The number of the device; None for the CPU."""
        _warn_typed_storage_removal()
        return self._untyped_storage.get_device()

    def _pickle_storage_type(self):
        if self._dtype not in NAMES:
            raise KeyError(f"dtype {self._dtype} is not recognized")
        return NAMES[self._dtype]

    def pickle_storage_type(self):
        """The name of the storage's type in files."""
        _warn_typed_storage_removal()
        return self._pickle_storage_type()

    def _get_legacy_storage_class(self):
        return LEGACY.get(NAMES.get(self._dtype)) if self.device.type == "cpu" else None

    # ---- values

    def _elements(self):
        """All elements, as a tensor that counts its changes for itself."""
        return self._untyped_storage._elements(self._dtype).data

    def _read_as(self, dtype):
        """What torch.tensor() makes of a storage: its elements, which must be of the type that is wanted."""
        dtype = dtype or _C.get_default_dtype()
        if dtype != self._dtype:
            expected, got = (_C.empty(0, dtype=of).type()[6:-6] for of in (dtype, self._dtype))
            raise RuntimeError(
                f"Expected a Storage of type {expected} or an UntypedStorage, but got {got}; pass dtype={self._dtype}"
            )
        return self._elements()

    def _getitem(self, index):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type: a storage there holds no values")
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if isinstance(index, bool):
            raise TypeError(f"can't index a {_SHOWN} with {type(index)}")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {_SHOWN} with {_shown_type(index)}")
        if not -self._size() <= index < self._size():
            raise IndexError(f"index {index} out of range for storage of size {self._size()}")
        return self._elements()[index].item()

    def __getitem__(self, index):
        _warn_typed_storage_removal()
        return self._getitem(index)

    def _setitem(self, index, value):
        if not isinstance(index, int | slice):
            raise RuntimeError(f"can't index a {_SHOWN} with {_shown_type(index)}")
        _check_number(value, self._dtype)
        self._elements()[index] = value

    def __setitem__(self, index, value):
        _warn_typed_storage_removal()
        self._setitem(index, value)

    def tolist(self):
        """The elements as a list of numbers."""
        _warn_typed_storage_removal()
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type: a storage there holds no values")
        return self._elements().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def fill_(self, value):
        """Sets all elements to one value."""
        _warn_typed_storage_removal()
        _check_number(value, self._dtype)
        self._elements().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies the bytes of another storage of as many."""
        _warn_typed_storage_removal()
        self._untyped_storage.copy_(source, non_blocking)
        return self

    def _resize_(self, size):
        if not isinstance(size, int) or isinstance(size, bool):
            raise RuntimeError(f"resize_ expects an int, but got {name_of(size)}")
        self._untyped_storage.resize_(size * self._dtype.itemsize)

    def resize_(self, size):
        """Changes the number of elements; those that stay are kept. See UntypedStorage.resize_()."""
        _warn_typed_storage_removal()
        self._resize_(size)

    def __sizeof__(self):
        return object.__sizeof__(self) + self._nbytes()

    def __repr__(self):
        _warn_typed_storage_removal()
        meta = self.device.type == "meta"
        lines = "..." if meta else " " + "\n ".join(map(str, self._elements().tolist()))
        info = f"[torch.storage.TypedStorage(dtype={self._dtype}, device={self.device}) of size {self._size()}]"
        return f"{lines}\n{info}"

    # ---- copies and other types

    def _new_wrapped_storage(self, untyped_storage):
        return TypedStorage(wrap_storage=untyped_storage, dtype=self._dtype, _internal=True)

    def clone(self):
        """A storage of the same elements."""
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.clone())

    def __copy__(self):
        return self._new_wrapped_storage(self._untyped_storage.clone())

    def __deepcopy__(self, memo):
        return self._deepcopy(memo)

    def _deepcopy(self, memo):
        import copy

        return self._new_wrapped_storage(copy.deepcopy(self._untyped_storage, memo))

    def __reduce__(self):
        from . import storage

        return storage._load_from_bytes, (storage._saved(self),)

    def _to(self, dtype):
        if type(dtype) is not _C.dtype:
            raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        values = self._elements().to(dtype)
        values = values.clone() if dtype == self._dtype else values
        return TypedStorage(wrap_storage=values.untyped_storage(), dtype=dtype, _internal=True)

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage's type, such as 'torch.FloatStorage'; or the elements as another type."""
        _warn_typed_storage_removal()
        if dtype is None:
            legacy = self._get_legacy_storage_class()
            return f"torch.{legacy.__name__}" if legacy else "torch.storage.TypedStorage"
        wanted = find_type(dtype)
        if wanted in (TypedStorage, LEGACY.get(NAMES.get(self._dtype))):
            return self
        return self._untyped_storage if wanted is UntypedStorage else self._to(wanted.dtype)

    def cpu(self):
        """The storage on the CPU."""
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.cpu())

    def to(self, *, device, non_blocking=False):
        """The storage on a device."""
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.to(device=device))

    def cuda(self, device=None, non_blocking=False):
        """The storage on a GPU: itself, when it is there."""
        return self._new_wrapped_storage(self._untyped_storage.cuda(device, non_blocking))

    def hpu(self, device=None, non_blocking=False):
        """Refuses: there is no such device here."""
        return self._untyped_storage.hpu(device, non_blocking)

    def pin_memory(self, device=None):
        """A copy in pinned memory; itself when it is there."""
        return self._new_wrapped_storage(self._untyped_storage.pin_memory(device))

    # ---- sharing with other processes and with files

    def _share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def share_memory_(self):
        """Moves the memory to where other processes can share it."""
        _warn_typed_storage_removal()
        return self._share_memory_()

    def _new_shared(self, size, *, device=None):
        return self._new_wrapped_storage(UntypedStorage._new_shared(size * self._dtype.itemsize))

    def _share_fd_cpu_(self):
        file, nbytes = self._untyped_storage._share_fd_cpu_()
        return file, nbytes // self._dtype.itemsize

    @classmethod
    def _from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        dtype = _C.get_default_dtype() if dtype is None else dtype
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {_C.device(device).type}")
        untyped = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        """A storage of the elements that an object with a buffer holds; see UntypedStorage.from_buffer()."""
        _warn_typed_storage_removal()
        return cls._from_buffer(*args, dtype=dtype, device=device, **kwargs)

    @classmethod
    def from_file(cls, filename, shared, size):
        """The elements of a file, as memory; only of types such as FloatStorage. See UntypedStorage.from_file()."""
        _warn_typed_storage_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes, such as torch.FloatStorage")
        untyped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype, _internal=True)


_SHOWN = "<class 'torch.storage.TypedStorage'>"


def _shown_type(value):
    return "<class 'torch.Tensor'>" if isinstance(value, _C.Tensor) else type(value)


def _check_number(value, dtype):
    if not isinstance(value, int | float | complex | _C.Tensor) and not hasattr(type(value), "__float__"):
        kind = _C.empty(0, dtype=dtype).type()
        raise TypeError(f"can't assign a {name_of(value)} to a {kind}")


def _counted(name, does):
    """A public method that warns, and gives what the one behind it gives."""
    behind = {"__len__": "_size"}.get(name, f"_{name}")

    def method(self):
        _warn_typed_storage_removal()
        return getattr(self, behind)()

    method.__name__, method.__qualname__, method.__doc__ = name, f"TypedStorage.{name}", does
    return method


def _of_untyped(name, does, warns):
    """A method that the memory has."""

    def method(self, *args, **kwargs):
        if warns:
            _warn_typed_storage_removal()
        return getattr(self._untyped_storage, name)(*args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"TypedStorage.{name}", does
    return method


def _conversion(name, dtype):
    def convert(self):
        _warn_typed_storage_removal()
        return self._to(dtype)

    convert.__name__, convert.__qualname__ = name, f"TypedStorage.{name}"
    convert.__doc__ = f"The elements as a storage of {dtype}."
    return convert


for _name, _does in {
    "__len__": "The number of elements.",
    "size": "The number of elements.",
    "nbytes": "The number of bytes.",
    "element_size": "Bytes of an element.",
    "data_ptr": "The address of the first element.",
    "is_shared": "Whether other processes can share the memory.",
}.items():
    setattr(TypedStorage, _name, _counted(_name, _does))
for _name, _does in {
    "is_pinned": "Whether the memory is pinned: whether a GPU reads and writes it by itself.",
    "resizable": "Whether resize_() can change the size.",
}.items():
    setattr(TypedStorage, _name, _of_untyped(_name, _does, True))
for _name in ("_weak_ref", "_shared_incref", "_shared_decref", "_write_file", "_set_from_file", "_share_filename_cpu_"):
    setattr(TypedStorage, _name, _of_untyped(_name, "What the memory does.", False))
for _name in ("_expired", "_free_weak_ref"):
    setattr(TypedStorage, _name, staticmethod(getattr(UntypedStorage, _name)))
for _name, _dtype in conversions().items():
    setattr(TypedStorage, _name, _conversion(_name, _dtype))


# ---- the old names


class _LegacyStorageMeta(type):
    """The type of FloatStorage and so on: a TypedStorage of their dtype is taken for one of theirs."""

    def __instancecheck__(cls, instance):
        if type(instance) is not TypedStorage or instance.dtype != getattr(cls, "dtype", None):
            return False
        return cls.is_cuda == instance._untyped_storage.is_cuda


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """What FloatStorage and so on derive from. They make a TypedStorage."""

    __module__ = "adjoint.storage"
    is_cuda = False

    def __new__(cls, *args, wrap_storage=None, **kwargs):
        _warn_typed_storage_removal()
        for name in ("dtype", "device"):
            if name in kwargs:
                raise _refusal(RuntimeError, cls, f"Keyword argument '{name}' cannot be specified")
        if kwargs:
            raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if cls.is_cuda and _C._cuda_why_unavailable():
            raise AssertionError("Torch not compiled with CUDA enabled; use the storages of the CPU")
        untyped = _untyped_for(args, None, wrap_storage, cls.dtype, legacy=cls)
        if cls.is_cuda:
            untyped = untyped.cuda()
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype, _internal=True)

    @classmethod
    def _new_shared(cls, size):
        untyped = UntypedStorage._new_shared(size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args, **kwargs):
        """A storage of the elements that an object with a buffer holds; see UntypedStorage.from_buffer()."""
        _warn_typed_storage_removal()
        for name in ("dtype", "device"):
            if name in kwargs:
                raise RuntimeError(
                    f"from_buffer: '{name}' can only be specified in UntypedStorage.from_buffer and "
                    "TypedStorage.from_buffer"
                )
        return TypedStorage._from_buffer(*args, dtype=cls.dtype, **kwargs)


_ABOUT = """Storages of {dtype}, as a program of old names them; an old form, which warns: use UntypedStorage.

>>> import adjoint as torch
>>> torch.{name}.dtype
{dtype}
"""


def _make(name, dtype, module, is_cuda):
    about = {"dtype": dtype, "_dtype": dtype, "is_cuda": is_cuda, "__module__": module}
    return _LegacyStorageMeta(name, (_LegacyStorage,), {"__doc__": _ABOUT.format(name=name, dtype=dtype), **about})


LEGACY = {name: _make(name, dtype, "adjoint", False) for name, dtype in TYPED.items()}
CUDA_LEGACY = {name: _make(name, dtype, "adjoint.cuda", True) for name, dtype in TYPED.items()}


def find_type(wanted):
    """The type of storages that type() is asked for: a class, or the name of one."""
    kinds = {"torch.storage.UntypedStorage": UntypedStorage, "torch.storage.TypedStorage": TypedStorage}
    kinds |= {"torch.UntypedStorage": UntypedStorage, "torch.TypedStorage": TypedStorage}
    kinds |= {f"torch.{name}": kind for name, kind in LEGACY.items()}
    found = kinds.get(wanted) if isinstance(wanted, str) else wanted
    if found not in kinds.values():
        raise AttributeError(
            f"type(): expected a type of storages or the name of one, such as 'torch.FloatStorage'; got {wanted!r}"
        )
    return found


def __getattr__(name):
    if name in LEGACY:
        return LEGACY[name]
    if name == "Storage":
        return LEGACY["FloatStorage"]
    if name.startswith("Q") and name.endswith("Storage"):
        from ._absent import refusing_type

        return refusing_type("", name, "there are no quantized types here; use torch.UntypedStorage(size)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
