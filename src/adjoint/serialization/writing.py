"""Writing files: the zip container, and the stream of the time before torch 1.6."""

import pickle
import struct
import sys

from .archive import ALIGNMENT, CHUNK, ArchiveWriter
from .pickler import Contents, WeightsPickler
from .reading import LEGACY_MAGIC, LEGACY_PROTOCOL


def take_apart(obj, pickle_module, protocol, legacy):
    """The pickle and the storages of an object, as a safe file if it can be; else why not, and a full pickle."""
    contents = Contents()
    try:
        WeightsPickler(contents, legacy).dump(obj)
        return contents, None
    except (pickle.PicklingError, RecursionError, ValueError, OverflowError) as error:
        refusal = str(error)
    from . import full

    contents = Contents()
    try:
        full.dump(obj, contents, pickle_module or pickle, protocol)
    except Exception as error:
        error.add_note(refusal)
        raise
    return contents, refusal


def write_zip(contents, write, byte_order_record=True):
    """PyTorch's zip container: the pickle, then one record for each storage."""
    archive = ArchiveWriter(write)
    archive.add("data.pkl", contents.pickle)
    archive.add(".format_version", b"1")
    archive.add(".storage_alignment", str(ALIGNMENT).encode())
    if byte_order_record:
        archive.add("byteorder", sys.byteorder.encode())
    for key, data, _ in contents.storages():
        archive.add(f"data/{key}", data)
    archive.add("version", b"3\n")
    archive.close()


def write_legacy(contents, write):
    """The stream that every torch reads: a magic number, facts about the machine, the pickle, and the storages."""
    storages = list(contents.storages())
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": LEGACY_PROTOCOL, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for header in (LEGACY_MAGIC, LEGACY_PROTOCOL, system):
        write(pickle.dumps(header, 2))
    write(contents.pickle)
    write(pickle.dumps([key for key, _, _ in storages], 2))
    for _, data, width in storages:
        write(struct.pack("=q", len(data) // width))
        for begin in range(0, len(data), CHUNK):
            write(bytes(data[begin : begin + CHUNK]))


def whole_writes(file):
    """A function that writes all of its bytes: a file without a buffer may take only some at a time."""

    def write(data):
        written = file.write(data)
        while isinstance(written, int) and written < len(data):
            data = data[written:]
            written = file.write(data)

    return write
