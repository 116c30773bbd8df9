"""The functions that a file may name: they make tensors and plain containers, and check all they are given.

Their names and parameters are those that torch's files use. See Note [Nothing executable] in unpickler.py.
"""

import collections

from .. import _C
from ..nn.parameter import Buffer, Parameter
from .limits import check_key, check_spread, shown
from .storage import NAMES, TYPED, StorageType, UntypedStorage

_MAX_DIMENSIONS = 64


def _integers(values, what):
    if not isinstance(values, tuple | list) or any(type(value) is not int or value < 0 for value in values):
        raise RuntimeError(f"expected {what} as whole numbers from 0 up; got {shown(values)}")
    return tuple(values)


def _geometry(storage_offset, size, stride):
    """(offset, sizes, strides, elements from the first to behind the last), checked to be possible."""
    size, stride = _integers(size, "sizes"), _integers(stride, "strides")
    (offset,) = _integers((storage_offset,), "the storage offset")
    if len(size) != len(stride) or len(size) > _MAX_DIMENSIONS:
        raise RuntimeError(
            f"mismatch in length of strides and shape, or more than {_MAX_DIMENSIONS} dimensions: sizes {shown(size)}, "
            f"strides {shown(stride)}"
        )
    count = extent = 1
    for length, step in zip(size, stride, strict=True):
        count *= length
        extent += (length - 1) * step
    if max(count, extent, offset) >= 1 << 62:
        raise RuntimeError(f"the sizes {size} and strides {stride} reach beyond what can be addressed")
    return offset, size, stride, extent if count else 0


def _tensor(storage, dtype, storage_offset, size, stride, requires_grad, metadata=None):
    if not isinstance(storage, UntypedStorage) or type(dtype) is not _C.dtype or type(requires_grad) is not bool:
        raise RuntimeError(
            f"expected a storage, a dtype and whether grad is required; got {shown(storage)}, "
            f"{shown(dtype)} and {shown(requires_grad)}"
        )
    offset, size, stride, extent = _geometry(storage_offset, size, stride)
    needed = (offset + extent) * dtype.itemsize
    if needed > storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
            f"{storage.nbytes()}: the file is damaged or was made to do harm"
        )
    if storage.data is None:
        tensor = _C.empty_strided(size, stride, dtype=dtype, device="meta")
    else:
        tensor = _elements(storage, dtype, metadata).as_strided(size, stride, offset).detach()
    return _C._requiring_grad(tensor, requires_grad)


def _elements(storage, dtype, metadata):
    """All elements of a storage; conjugate and negative, which are not bits of a tensor here, but values.

    These are kept, so that tensors that shared memory still do, and a file cannot ask for ever more of them.
    """
    if metadata is not None and type(metadata) is not dict:
        raise RuntimeError(f"expected the metadata of a tensor as a dict; got {shown(metadata)}")
    whole = storage.data[: storage.nbytes() // dtype.itemsize * dtype.itemsize].view(dtype)
    conj, neg = ((metadata or {}).get(name) is True for name in ("conj", "neg"))
    if not (conj or neg):
        return whole
    if (dtype, conj, neg) not in storage.changed:
        values = whole.conj() if conj else whole
        storage.changed[dtype, conj, neg] = -values if neg else values
    return storage.changed[dtype, conj, neg]


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _tensor(storage, getattr(storage, "dtype", None), storage_offset, size, stride, False)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    dtype = getattr(storage, "dtype", None)
    return _tensor(storage, dtype, storage_offset, size, stride, requires_grad, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    # The bytes were prepared for the dtype of the storage; torch leaves it open only where it has no name for it.
    named = getattr(storage, "dtype", None)
    if named is not dtype and (named is not None or type(dtype) is not _C.dtype or dtype in NAMES):
        raise RuntimeError(f"expected a storage of {shown(dtype)}; got {shown(storage)}")
    return _tensor(storage, dtype, storage_offset, size, stride, requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    _, size, stride, _ = _geometry(0, size, stride)
    return _C._requiring_grad(_C.empty_strided(size, stride, dtype=dtype, device="meta"), requires_grad)


def set_attributes(target, state):
    """Sets the attributes that an object was saved with; the object."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise RuntimeError(f"expected the attributes of an object as a dict; got {shown(state)}")
    target.__dict__.update(state)
    return target


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return set_attributes(Parameter(data, requires_grad), state)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor with attributes. Files of torch mark buffers by an attribute; here they are a type."""
    if func not in (_rebuild_tensor_v2, _rebuild_tensor_v3) or not issubclass(new_type, _C.Tensor):
        raise RuntimeError(
            f"expected a function that makes a tensor, and a type of tensors; got {shown(func)} and {shown(new_type)}"
        )
    tensor = func(*_only(args, tuple))
    if new_type is _C.Tensor and type(state) is dict and state.get("_is_buffer") is True:
        new_type = Buffer
        state = {name: value for name, value in state.items() if name != "_is_buffer"}
    if new_type is not _C.Tensor:
        tensor = _C.Tensor._make_subclass(new_type, tensor, tensor.requires_grad)
    return set_attributes(tensor, state)


def _get_layout(name):
    layout = getattr(_C, _only(name, str).removeprefix("torch."), None)
    if not isinstance(layout, _C.layout):
        raise RuntimeError(f"there is no layout {shown(name)} here")
    return layout


# ---- plain containers and values


def _ordered_dict(items=()):
    if not isinstance(items, list | tuple) or not all(isinstance(pair, list | tuple) for pair in items):
        raise RuntimeError(f"expected the items of an OrderedDict as pairs; got {shown(items)}")
    _check_keys([key for key, _ in items])
    return collections.OrderedDict(items)


def _check_keys(keys):
    for key in keys:
        check_key(key)
    check_spread(keys)


def _counter(counts):
    if type(counts) is not dict:
        raise RuntimeError(f"expected the counts of a Counter as a dict; got {type(counts)}")
    return collections.Counter(counts)


def _set(items):
    _check_keys(_only(items, list))
    return set(items)


def _no_bytes():
    """How torch spells bytes that are empty."""
    return b""


def _bytearray(data=b""):
    return bytearray(_only(data, bytes))


def _complex(real, imag):
    return complex(_only(real, float), _only(imag, float))


def _encode(text, encoding):
    """How protocol 2 spells bytes."""
    if encoding != "latin1":
        raise RuntimeError(f"expected bytes to be encoded as latin1; got {shown(encoding)}")
    return _only(text, str).encode("latin1")


def _size(sizes=()):
    return _C.Size(_integers(sizes, "sizes"))


def _device(kind, index=None):
    kind = _only(kind, str)
    return _C.device(kind) if index is None else _C.device(kind, _only(index, int))


def _storage_type(dtype):
    return StorageType(_only(dtype, _C.dtype))


def _only(value, kind):
    if type(value) is not kind:
        raise RuntimeError(f"expected {kind.__name__}; got {type(value)}")
    return value


def _rebuild_sparse_tensor(layout, data):
    from ..sparse._saving import rebuilt

    return rebuilt(layout, data)


CALLABLE = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization._get_layout": _get_layout,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": _ordered_dict,
    "collections.Counter": _counter,
    "builtins.set": _set,
    "builtins.bytes": _no_bytes,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "_codecs.encode": _encode,
    # As full pickles (full.py) spell them.
    "torch.serialization.rebuild._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch.serialization.rebuild._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization.storage.StorageType": _storage_type,
}
VALUES = {
    "torch.Tensor": _C.Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": StorageType(None),
    **{f"torch.{name}": StorageType(dtype) for name, dtype in TYPED.items()},
    **{str(value): value for value in vars(_C).values() if type(value) is _C.dtype},
}
