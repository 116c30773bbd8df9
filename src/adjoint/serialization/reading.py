"""Reading files: the zip container, and the stream of the time before torch 1.6."""

import io
import pickle
import struct
import sys

from .. import _C
from . import full, settings
from .archive import MAGIC, ArchiveReader
from .limits import shown
from .storage import Placement, StorageType, TypedStorage, swap_bytes
from .unpickler import WeightsUnpickler, unsupported

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001


class Reading:
    """How a file is to be read, and the storages that were met."""

    def __init__(self, map_location, pickle_module, arguments):
        self._placement = Placement(map_location)
        self._pickle_module, self._arguments = pickle_module, arguments
        self._storages = {}

    def unpickle(self, file, persistent_load, size_left):
        """One object from a file: safely, unless a pickle module is to be used."""
        if self._pickle_module is None:
            return WeightsUnpickler(file, persistent_load, size_left).load()
        return full.load(file, persistent_load, self._pickle_module, self._arguments)

    def storage(self, identifier, read):
        """The storage that a pickle speaks of; `read(key, bytes, dtype)` gives its bytes the first time."""
        kinds = (str, StorageType, str, str, int)
        parts = identifier[:5] if isinstance(identifier, tuple) else ()
        if tuple(map(type, parts)) != kinds or parts[0] != "storage" or parts[4] < 0 or len(identifier) > 6:
            raise unsupported("expected a storage's type, key, location and size; got something else")
        _, kind, key, location, count = parts
        if len(identifier) == 6 and identifier[5] is not None:
            raise unsupported("views of storages, which torch wrote before 0.4, are not read: save the file again")
        nbytes = count * kind.itemsize
        # Bytes are met as a storage of bytes and as an untyped one; other types are not mixed.
        family = _C.uint8 if kind.dtype is None else kind.dtype
        if key not in self._storages:
            untyped = self._placement.place(location, nbytes, lambda: read(key, nbytes, kind.dtype))
            self._storages[key] = untyped, family, {}
        untyped, known, typed = self._storages[key]
        if untyped.nbytes() != nbytes:
            raise unsupported(f"the storage {key!r:.80} has {untyped.nbytes()} bytes at one place, {nbytes} at another")
        if known != family:
            raise unsupported(f"the storage {key!r:.80} is of {known} at one place, of {family} at another")
        if kind.dtype not in typed:
            typed[kind.dtype] = TypedStorage(wrap_storage=untyped, dtype=family, _internal=True)
            if kind.dtype is None:
                typed[kind.dtype]._is_untyped = True
        return typed[kind.dtype]

    def close(self):
        """Forgets what was kept for the time of reading."""
        for untyped, _, typed in self._storages.values():
            vars(untyped).pop("_changed", None)
            for one in typed.values():
                vars(one).pop("_is_untyped", None)


def finish(data, dtype, swapped):
    """Makes bytes from a file what they mean here."""
    if swapped and dtype is not None:
        swap_bytes(data, dtype)
    if dtype == _C.bool and bool((data > 1).any()):
        data.ne_(0)  # other bytes than 0 and 1 are not values of bool


def is_zip(file):
    """Whether a zip container begins here."""
    start = file.read(len(MAGIC))
    file.seek(-len(start), io.SEEK_CUR)
    return start == MAGIC


def _remaining(file):
    here = file.tell()
    end = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end - here


# ---- zip


def read_zip(file, reading, mapped=None):
    """The object in a zip container; `mapped` is the file as memory, if its values are to stay there."""
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise RuntimeError("the file holds a TorchScript program; torch.load reads what torch.save wrote")
    order = byte_order(archive)

    def read(key, nbytes, dtype):
        name = f"data/{key}"
        begin, size = archive.find(name)
        if size != nbytes:
            raise RuntimeError(f"the storage {name!r:.80} should have {nbytes} bytes, but its record has {size}")
        if mapped is not None and size and begin % 16 == 0:
            data = _C.frombuffer(mapped, dtype=_C.uint8, count=size, offset=begin)
        else:
            data = _C.empty(size, dtype=_C.uint8, device="cpu")
            archive.read_into(name, memoryview(data))
        finish(data, dtype, order != sys.byteorder)
        return data

    text = archive.read("data.pkl")
    return reading.unpickle(io.BytesIO(text), lambda identifier: reading.storage(identifier, read), len(text))


def byte_order(archive):
    """'little' or 'big': what the file says, or what is assumed of files that do not."""
    if "byteorder" in archive:
        order = archive.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order!r:.80}; expected 'little' or 'big'")
        return order
    assumed = settings.get_default_load_endianness()
    return sys.byteorder if assumed is None or assumed.name == "NATIVE" else assumed.name.lower()


# ---- legacy


def read_legacy(file, reading):
    """The object in a stream of pickles that is followed by the storages."""
    start = file.tell()
    total = _remaining(file)
    waiting, promised = {}, 0

    def promise(key, nbytes, dtype):
        # The values come later in the file: there must be room for all of them.
        nonlocal promised
        promised += nbytes
        if promised > total:
            raise EOFError(f"the file promises {promised} bytes of values, but has {total}; it is not whole")
        return _C.empty(nbytes, dtype=_C.uint8, device="cpu")

    def storage(identifier):
        result = reading.storage(identifier, promise)
        if result._nbytes() > total:
            raise EOFError(f"the file promises {result._nbytes()} bytes of values, but has {total}; it is not whole")
        waiting[identifier[2]] = (result, identifier[1])
        return result

    def header():
        return WeightsUnpickler(file, refuse, total - (file.tell() - start)).load()

    magic = header()
    if magic != LEGACY_MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file? Only files that torch.save wrote can be loaded.")
    version, system = header(), header()
    if version != LEGACY_PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {shown(version)}; expected {LEGACY_PROTOCOL}")
    order = "big" if isinstance(system, dict) and system.get("little_endian") is False else "little"
    result = reading.unpickle(file, storage, total - (file.tell() - start))
    keys = header()
    if type(keys) is not list or any(type(key) is not str for key in keys) or sorted(keys) != sorted(waiting):
        raise RuntimeError("the storages that the file lists are not those that its objects use; corrupt file?")
    for key in keys:
        _fill(file, *waiting[key], order)
    return result


def refuse(identifier):
    raise unsupported("a storage where none is expected")


def _fill(file, storage, kind: StorageType, order):
    """Reads the values of one storage: their number, then the bytes."""
    prefix = file.read(8)
    if len(prefix) != 8:
        raise EOFError("Ran out of input: the file ends before its values; it is not whole")
    count = struct.unpack("<q" if order == "little" else ">q", prefix)[0]
    storage = storage._untyped_storage
    if count * kind.itemsize != storage.nbytes():
        raise RuntimeError(f"a storage of {storage.nbytes()} bytes is followed by {count} elements; corrupt file?")
    if storage.device.type == "meta":
        file.seek(storage.nbytes(), io.SEEK_CUR)
        return
    here = storage._bytes().cpu()  # itself, unless map_location has put it on a GPU
    target = memoryview(here)
    for begin in range(0, len(target), 1 << 20):
        part = file.read(min(1 << 20, len(target) - begin))
        if len(part) != min(1 << 20, len(target) - begin):
            raise EOFError("Ran out of input: the file ends within its values; it is not whole")
        target[begin : begin + len(part)] = part
    finish(here, kind.dtype, order != sys.byteorder)
    if storage.is_cuda:
        storage._bytes().copy_(here)


def is_tar(file):
    """Whether a tar container begins here, as torch wrote before 0.2."""
    start = file.read(512)
    file.seek(-len(start), io.SEEK_CUR)
    return start[257:262] == b"ustar"


def unsafe_globals(text):
    """The names in a pickle that weights_only=True does not allow."""
    import pickletools

    from .unpickler import Globals

    found, strings, table = {}, [], Globals()
    for opcode, argument, _ in pickletools.genops(text):
        if opcode.name == "GLOBAL":
            module, name = argument.split(" ", 1)
        elif opcode.name == "STACK_GLOBAL" and len(strings) > 1:
            module, name = strings[-2:]
        else:
            strings += [argument] if isinstance(argument, str) else []
            continue
        try:
            table.find(module, name)
        except pickle.UnpicklingError:
            found[f"{module}.{name}"] = None
    return list(found)
