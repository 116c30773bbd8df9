"""Files of the safetensors format, through its library: `pip install safetensors`.

The functions are those of `safetensors.torch`, with tensors of this package.
"""

import mmap as _mmap

from . import _C
from .serialization.atomic import replacement_path as _replacement_path

try:
    import safetensors as _library
except ImportError as _error:
    raise ImportError(
        "adjoint.safetensors needs the safetensors library, version 0.8 or later: pip install 'safetensors>=0.8'"
    ) from _error

_DTYPES = {
    "F64": _C.float64,
    "F32": _C.float32,
    "F16": _C.float16,
    "BF16": _C.bfloat16,
    "I64": _C.int64,
    "I32": _C.int32,
    "I16": _C.int16,
    "I8": _C.int8,
    "U8": _C.uint8,
    "BOOL": _C.bool,
    "C64": _C.complex64,
    "U64": _C.uint64,
    "U32": _C.uint32,
    "U16": _C.uint16,
    "F8_E4M3": _C.float8_e4m3fn,
    "F8_E4M3FNUZ": _C.float8_e4m3fnuz,
    "F8_E5M2": _C.float8_e5m2,
    "F8_E5M2FNUZ": _C.float8_e5m2fnuz,
}
_WRITABLE = frozenset(_DTYPES.values())


def save_file(tensors, filename, metadata=None):
    """Writes a dict of tensors to a file, which is replaced when the new one is whole.

    >>> import adjoint as torch, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> torch.safetensors.save_file({"weight": torch.ones(2)}, path, metadata={"format": "pt"})
    >>> torch.safetensors.load_file(path)
    {'weight': tensor([1., 1.])}
    """
    specs = _specs(tensors)
    with _replacement_path(filename) as new:
        _library.serialize_file(specs, new, metadata=metadata)


def save(tensors, metadata=None):
    """A dict of tensors as the bytes of a file.

    >>> import adjoint as torch
    >>> torch.safetensors.load(torch.safetensors.save({"bias": torch.zeros(1)}))
    {'bias': tensor([0.])}
    """
    return _library.serialize(_specs(tensors), metadata=metadata)


def load_file(filename, device="cpu", *, backend="mmap"):
    """The tensors of a file by their names; their values stay in the file until they are used.

    >>> import adjoint as torch, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> torch.safetensors.save_file({"weight": torch.ones(2)}, path)
    >>> torch.safetensors.load_file(path, device="cpu")
    {'weight': tensor([1., 1.])}
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.offset_keys()}


def load(data):
    """The tensors in the bytes of a file, by their names.

    >>> import adjoint as torch
    >>> torch.safetensors.load(torch.safetensors.save({"bias": torch.zeros(1)}))
    {'bias': tensor([0.])}
    """
    entries = sorted(_library.deserialize(data), key=lambda entry: entry[0])
    return {name: _tensor(name, entry["data"], 0, entry["dtype"], entry["shape"]) for name, entry in entries}


class safe_open:
    """A file whose tensors are read when they are asked for.

    >>> import adjoint as torch, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> torch.safetensors.save_file({"weight": torch.arange(6).view(2, 3)}, path)
    >>> with torch.safetensors.safe_open(path, framework="pt") as file:
    ...     print(file.keys(), file.get_slice("weight")[:, 1:])
    ['weight'] tensor([[1, 2],
            [4, 5]])
    """

    def __init__(self, filename, framework="pt", device="cpu", *, backend="mmap"):
        self._device = _C.device(device)
        # The library verifies the header, and that the tensors fill the file one behind the other.
        self._file = _library.safe_open(filename, framework="np", device="cpu")
        self._entries = {}
        with open(filename, "rb") as file:
            place = 8 + int.from_bytes(file.read(8), "little")
            self._memory = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)
        for name in self._file.offset_keys():
            entry = self._file.get_slice(name)
            self._entries[name] = (place, entry.get_dtype(), entry.get_shape())
            place += _nbytes(name, entry.get_dtype(), entry.get_shape())
        if place != len(self._memory):
            raise _library.SafetensorError(f"expected {place} bytes; the file has {len(self._memory)}: it has changed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Closes the file; tensors that were read keep their values."""
        self._file, self._entries, self._memory = None, {}, None

    def keys(self):
        """The names, sorted."""
        return sorted(self._entries)

    def offset_keys(self):
        """The names in the order of the file."""
        return list(self._entries)

    def metadata(self):
        """The text that was saved with the tensors: a dict, or None."""
        return self._file.metadata()

    def get_tensor(self, name):
        """A tensor on the memory of the file; a change of it is not written."""
        if name not in self._entries:
            raise _library.SafetensorError(f"File does not contain tensor {name}; it has {self.keys()}")
        return _tensor(name, self._memory, *self._entries[name]).to(self._device)

    def get_slice(self, name):
        """A tensor that is read where it is indexed."""
        return _Slice(self, name, *self._entries[name][1:]) if name in self._entries else self.get_tensor(name)


class _Slice:
    """A tensor of a file, to be indexed."""

    def __init__(self, file, name, dtype, shape):
        self._file, self._name, self._dtype, self._shape = file, name, dtype, shape

    def get_shape(self):
        """The sizes, as a list."""
        return list(self._shape)

    def get_dtype(self):
        """The name that the format gives to the dtype."""
        return self._dtype

    def __getitem__(self, index):
        return self._file.get_tensor(self._name)[index]


def _dtype(name, code):
    if code not in _DTYPES:
        raise _library.SafetensorError(f"the tensor {name!r} has the dtype {code}, which does not exist here")
    return _DTYPES[code]


def _nbytes(name, code, shape):
    count = _dtype(name, code).itemsize
    for size in shape:
        count *= size
    return count


def _tensor(name, memory, place, code, shape):
    dtype = _dtype(name, code)
    nbytes = _nbytes(name, code, shape)
    if not nbytes:
        return _C.empty(shape, dtype=dtype, device="cpu")
    data = _C.frombuffer(memory, dtype=_C.uint8, count=nbytes, offset=place)
    if place % dtype.itemsize:
        data = data.clone()  # the format aligns its values only when they are sorted by size
    if dtype == _C.bool and bool((data > 1).any()):
        data.ne_(0)
    return data.view(dtype).view(shape).detach()


def _specs(tensors):
    """The tensors as the library takes them: described by address, so `tensors` must outlive the call."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, _C.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if tensor.dtype not in _WRITABLE or tensor.device.type != "cpu":
            raise ValueError(
                f"the tensor `{name}` ({tensor.dtype}, {tensor.device}) has no place in the format: convert it first"
            )
    shared = _sharing(tensors)
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}. Save clones, or save one of them and share again after loading."
        )
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                "are trying to save tensors which are reference of each other in which case it's recommended to save "
                "only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                "pack it before saving."
            )
    return {
        name: _library.TensorSpec(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=list(tensor.shape),
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in tensors.items()
    }


def _sharing(tensors):
    """The sets of names whose tensors lie over each other in memory."""
    groups, end = [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_ptr()):
        if tensor.numel() == 0:
            continue
        begin = tensor.data_ptr()
        if begin < end:
            groups[-1].add(name)
        else:
            groups.append({name})
        end = max(end, begin + tensor.nbytes)
    return [names for names in groups if len(names) > 1]
