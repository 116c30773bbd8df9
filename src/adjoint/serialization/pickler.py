"""A writer of pickles that torch.load(weights_only=True) reads: tensors, numbers, text and plain containers.

Anything else is refused by its place in the object, such as obj["model"]["hook"]: nothing is written here that has to
be executed when it is read.
"""

import collections
import pickle
import struct

from .. import _C
from ..nn.parameter import Buffer, Parameter
from .refusal import Attribute, Key, path_text, refusal, warn_of_hooks
from .safe_globals import allowed
from .storage import NAMES, TypedStorage, UntypedStorage, storage_bytes

_TUPLES = (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
_PROTOCOL = 2  # the one whose instructions weights_only=True knows


class Contents:
    """An object taken apart: its pickle, and the storages that the pickle speaks of by their keys."""

    def __init__(self):
        self.pickle = b""
        self._keys = {}
        self._kept = []

    def key_of(self, storage, dtype):
        """The key of a storage, as elements of a type; tensors that share memory share the key."""
        key, known = self._keys.setdefault(storage._cdata, (str(len(self._keys)), dtype))
        if known != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{known} and {dtype}; save a clone() of one of them"
            )
        if int(key) == len(self._kept):
            self._kept.append((storage, dtype.itemsize))
        return key

    def storages(self):
        """(key, bytes, element size) of each storage."""
        for key, (storage, itemsize) in enumerate(self._kept):
            yield str(key), storage_bytes(storage), itemsize


class WeightsPickler:
    """Writes one object; `legacy` says that storages are described for the format before torch 1.6."""

    def __init__(self, contents, legacy=False):
        self._contents, self._legacy = contents, legacy
        self._out = bytearray(pickle.PROTO + bytes([_PROTOCOL]))
        self._memo = {}  # id of an object, or a text or name -> number of its place in the reader's memo
        self._open_tuples = set()
        self._user = {id(value): name for name, value in allowed().items()}
        self._kept = []  # what was made on the way stays alive: the memo goes by id

    def dump(self, obj):
        """Sets the pickle of the contents."""
        try:
            self._write(obj, "obj")
        except RecursionError:
            raise RecursionError("save(): the object is nested too deeply, or contains itself without end") from None
        self._contents.pickle = bytes(self._out + pickle.STOP)

    # ---- the frame: what is written once and then referred to

    def _write(self, obj, path):
        kind = type(obj)
        simple = _SIMPLE.get(kind)
        if simple:
            simple(self, obj)
        elif id(obj) in self._memo:
            self._get(id(obj))
        elif kind in _COMPOUND:
            _COMPOUND[kind](self, obj, path)
        elif id(kind) in self._user:
            self._user_object(obj, path)
        else:
            raise pickle.PicklingError(refusal(obj, path))

    def _get(self, key):
        self._numbered(pickle.BINGET, pickle.LONG_BINGET, self._memo[key])

    def _put(self, key):
        number = self._memo[key] = len(self._memo)
        self._numbered(pickle.BINPUT, pickle.LONG_BINPUT, number)

    def _numbered(self, short, long, number):
        self._out += short + bytes([number]) if number < 256 else long + struct.pack("<I", number)

    def _global(self, module, name):
        key = ("global", module, name)
        if key in self._memo:
            self._get(key)
        else:
            self._out += pickle.GLOBAL + f"{module}\n{name}\n".encode()
            self._put(key)

    def _tuple(self, items, path):
        """A tuple of these items, which nothing refers to later."""
        self._out += b"" if len(items) < len(_TUPLES) else pickle.MARK
        for place, item in enumerate(items):
            self._write(item, (path, place))
        self._out += _TUPLES[len(items)] if len(items) < len(_TUPLES) else pickle.TUPLE

    def _call(self, module, name, *arguments):
        """A call of a function with simple arguments."""
        self._global(module, name)
        self._tuple(arguments, None)
        self._out += pickle.REDUCE

    # ---- numbers and text

    def _none(self, obj):
        self._out += pickle.NONE

    def _bool(self, obj):
        self._out += pickle.NEWTRUE if obj else pickle.NEWFALSE

    def _int(self, obj):
        if 0 <= obj < 256:
            self._out += pickle.BININT1 + bytes([obj])
        elif 0 <= obj < 65536:
            self._out += pickle.BININT2 + struct.pack("<H", obj)
        elif -(2**31) <= obj < 2**31:
            self._out += pickle.BININT + struct.pack("<i", obj)
        else:
            data = pickle.encode_long(obj)
            if len(data) > 255:
                raise OverflowError("save(): expected whole numbers of at most 2040 bits; got a longer one")
            self._out += pickle.LONG1 + bytes([len(data)]) + data

    def _float(self, obj):
        self._out += pickle.BINFLOAT + struct.pack(">d", obj)

    def _complex(self, obj):
        self._call("__builtin__", "complex", obj.real, obj.imag)

    def _str(self, obj):
        key = ("text", obj)
        if key in self._memo:
            self._get(key)
        else:
            data = obj.encode("utf-8", "surrogatepass")
            self._out += pickle.BINUNICODE + struct.pack("<I", len(data)) + data
            self._put(key)

    def _bytes(self, obj):
        key = ("bytes", obj)
        if key in self._memo:
            self._get(key)
        else:
            self._call("_codecs", "encode", obj.decode("latin1"), "latin1")
            self._put(key)

    def _dtype(self, obj):
        self._global("torch", str(obj).removeprefix("torch."))

    def _device(self, obj):
        self._call("torch", "device", obj.type, *(() if obj.index is None else (obj.index,)))

    def _layout(self, obj):
        self._call("torch.serialization", "_get_layout", str(obj))

    # ---- containers

    def _plain_tuple(self, obj, path):
        if id(obj) in self._open_tuples:
            raise ValueError(f"save(): {path_text(path)} is a tuple that contains itself; use a list")
        self._open_tuples.add(id(obj))
        self._tuple(obj, path)
        self._open_tuples.discard(id(obj))
        self._put(id(obj))

    def _size(self, obj, path):
        self._global("torch", "Size")
        self._tuple(obj, path)
        self._out += pickle.TUPLE1 + pickle.REDUCE
        self._put(id(obj))

    def _list(self, obj, path):
        self._out += pickle.EMPTY_LIST
        self._put(id(obj))
        self._items(list(obj), path)

    def _items(self, items, path):
        self._out += pickle.MARK
        for place, item in enumerate(items):
            self._write(item, (path, place))
        self._out += pickle.APPENDS

    def _dict(self, obj, path):
        self._out += pickle.EMPTY_DICT
        self._put(id(obj))
        self._entries(obj, path)

    def _entries(self, obj, path):
        self._out += pickle.MARK
        for key, value in list(obj.items()):
            self._write(key, (path, Key(key)))
            self._write(value, (path, key))
        self._out += pickle.SETITEMS

    def _ordered_dict(self, obj, path):
        self._call("collections", "OrderedDict")
        self._put(id(obj))
        self._entries(obj, path)
        if vars(obj):  # such as the versions that state_dict() keeps in _metadata
            self._attributes(vars(obj), path)
            self._out += pickle.BUILD

    def _attributes(self, attributes, path):
        self._out += pickle.EMPTY_DICT + pickle.MARK
        for name, value in attributes.items():
            self._write(name, path)
            self._write(value, (path, Attribute(name)))
        self._out += pickle.SETITEMS

    def _counter(self, obj, path):
        self._global("collections", "Counter")
        self._out += pickle.EMPTY_DICT
        self._entries(obj, path)
        self._out += pickle.TUPLE1 + pickle.REDUCE
        self._put(id(obj))

    def _set(self, obj, path):
        self._global("__builtin__", "set")
        self._out += pickle.EMPTY_LIST
        self._items(list(obj), path)
        self._out += pickle.TUPLE1 + pickle.REDUCE
        self._put(id(obj))

    def _bytearray(self, obj, path):
        self._global("__builtin__", "bytearray")
        self._bytes(bytes(obj))
        self._out += pickle.TUPLE1 + pickle.REDUCE
        self._put(id(obj))

    # ---- tensors

    def _storage(self, storage, dtype, as_bytes=False):
        typed = None if as_bytes else NAMES.get(dtype)
        count = storage.nbytes() // (dtype.itemsize if typed else 1)
        self._out += pickle.MARK
        self._str("storage")
        self._global(*(("torch", typed) if typed else ("torch.storage", "UntypedStorage")))
        self._str(self._contents.key_of(storage, dtype))
        self._str(str(storage.device) if storage.is_cuda else "cpu")
        self._int(count)
        if self._legacy:
            self._none(None)  # no view of another storage
        self._out += pickle.TUPLE + pickle.BINPERSID

    def _rebuild_function(self, tensor):
        """The name of the function that makes a tensor."""
        if tensor.device.type == "meta":
            return "torch._utils", "_rebuild_meta_tensor_no_storage"
        return "torch._utils", "_rebuild_tensor_v2" if tensor.dtype in NAMES else "_rebuild_tensor_v3"

    def _rebuild_arguments(self, tensor):
        """The arguments of that function."""
        self._out += pickle.MARK
        if tensor.device.type == "meta":
            self._dtype(tensor.dtype)
        else:
            self._storage(tensor.untyped_storage(), tensor.dtype)
            self._int(tensor.storage_offset())
        self._tuple(tensor.size(), None)
        self._tuple(tensor.stride(), None)
        self._bool(tensor.requires_grad)
        if tensor.device.type != "meta":
            self._call("collections", "OrderedDict")
            if tensor.dtype not in NAMES:
                self._dtype(tensor.dtype)
        self._out += pickle.TUPLE

    def _sparse_tensor(self, tensor):
        from ..sparse._saving import parts

        self._global("torch._utils", "_rebuild_sparse_tensor")
        self._layout(tensor.layout)
        data = parts(tensor)
        self._kept.append(data)
        self._tuple(data, None)
        self._out += pickle.TUPLE2 + pickle.REDUCE

    def _plain_tensor(self, tensor):
        if tensor.layout is not _C.strided:
            return self._sparse_tensor(tensor)
        self._global(*self._rebuild_function(tensor))
        self._rebuild_arguments(tensor)
        self._out += pickle.REDUCE

    def _tensor(self, tensor, path):
        warn_of_hooks(tensor)
        attributes = tensor.__dict__
        if type(tensor) is Buffer:
            attributes = {**attributes, "_is_buffer": True}
        if not attributes:
            self._plain_tensor(tensor)
        elif tensor.layout is not _C.strided:
            raise pickle.PicklingError(f"save(): {path_text(path)} is a sparse tensor with attributes; save it without")
        elif tensor.device.type == "meta":
            raise pickle.PicklingError(f"save(): {path_text(path)} is a meta tensor with attributes; save it without")
        else:
            self._global("torch._tensor", "_rebuild_from_type_v2")
            self._out += pickle.MARK
            self._global(*self._rebuild_function(tensor))
            self._global("torch", "Tensor")
            self._rebuild_arguments(tensor)
            self._attributes(attributes, path)
            self._out += pickle.TUPLE + pickle.REDUCE
        self._put(id(tensor))

    def _parameter(self, parameter, path):
        warn_of_hooks(parameter)
        attributes = parameter.__dict__
        self._global("torch._utils", "_rebuild_parameter_with_state" if attributes else "_rebuild_parameter")
        self._out += pickle.MARK
        self._plain_tensor(parameter.detach())
        self._bool(parameter.requires_grad)
        self._call("collections", "OrderedDict")
        if attributes:
            self._attributes(attributes, path)
        self._out += pickle.TUPLE + pickle.REDUCE
        self._put(id(parameter))

    # ---- storages

    def _untyped_storage(self, storage, path):
        _refuse_meta(storage)
        self._storage(storage, _C.uint8, as_bytes=True)

    def _typed_storage(self, storage, path):
        _refuse_meta(storage)
        self._storage(storage._untyped_storage, storage._dtype)

    # ---- objects of classes that the user allowed

    def _user_object(self, obj, path):
        function, arguments, state, items, entries = (*obj.__reduce_ex__(_PROTOCOL), None, None, None)[:5]
        new = getattr(function, "__name__", "") == "__newobj__"
        target = arguments[0] if new else function
        if id(target) not in self._user or items is not None or entries is not None:
            raise pickle.PicklingError(refusal(obj, path))
        self._kept.append((arguments, state))
        self._global(*self._user[id(target)].rsplit(".", 1))
        self._tuple(arguments[1:] if new else arguments, path)
        self._out += pickle.NEWOBJ if new else pickle.REDUCE
        self._put(id(obj))
        if state is not None:
            self._write(state, path)
            self._out += pickle.BUILD


def _refuse_meta(storage):
    if storage.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data! A storage there holds no values")


_SIMPLE = {
    type(None): WeightsPickler._none,
    bool: WeightsPickler._bool,
    int: WeightsPickler._int,
    float: WeightsPickler._float,
    complex: WeightsPickler._complex,
    str: WeightsPickler._str,
    bytes: WeightsPickler._bytes,
    _C.dtype: WeightsPickler._dtype,
    _C.device: WeightsPickler._device,
    _C.layout: WeightsPickler._layout,
}
_COMPOUND = {
    tuple: WeightsPickler._plain_tuple,
    _C.Size: WeightsPickler._size,
    list: WeightsPickler._list,
    dict: WeightsPickler._dict,
    collections.OrderedDict: WeightsPickler._ordered_dict,
    collections.Counter: WeightsPickler._counter,
    set: WeightsPickler._set,
    bytearray: WeightsPickler._bytearray,
    _C.Tensor: WeightsPickler._tensor,
    Buffer: WeightsPickler._tensor,
    Parameter: WeightsPickler._parameter,
    UntypedStorage: WeightsPickler._untyped_storage,
    TypedStorage: WeightsPickler._typed_storage,
}
