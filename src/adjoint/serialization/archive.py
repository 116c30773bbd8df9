"""The zip container of PyTorch's files: records stored as they are, each beginning at a multiple of 64 bytes."""

import hashlib
import struct
import zipfile
import zlib

ALIGNMENT = 64
CHUNK = 1 << 20
MAGIC = b"PK\x03\x04"

_LIMIT = 0xFFFFFFFF  # sizes and places from here on stand in a zip64 field,
_ELSEWHERE = 0xFFFFFFFF  # and this in theirs
_VERSION, _VERSION_64 = 20, 45
_DESCRIPTOR_FOLLOWS, _UTF8 = 0x0008, 0x0800


def _short(value):
    return value if value < _LIMIT else _ELSEWHERE


class ArchiveWriter:
    """Writes records one after the other, without seeking: checksums follow the data."""

    def __init__(self, write, root="archive"):
        self._write, self._root = write, root
        self._position = 0
        self._directory = []
        self._identity = hashlib.sha256()

    def _put(self, data):
        self._write(data)
        self._position += len(data)

    def add(self, name, data):
        """One record; `data` is anything with the buffer protocol."""
        encoded = f"{self._root}/{name}".encode()
        view = memoryview(data).cast("B")
        start, large = self._position, len(view) >= _LIMIT
        # The sizes come behind the data; a large record says so here, because their width depends on it.
        extra = struct.pack("<HHQQ", 1, 16, 0, 0) if large else b""
        padding = -(start + 30 + len(encoded) + len(extra) + 4) % ALIGNMENT
        extra += struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        version, size = (_VERSION_64, _ELSEWHERE) if large else (_VERSION, 0)
        flags = _DESCRIPTOR_FOLLOWS | _UTF8
        self._put(
            MAGIC + struct.pack("<HHHIIIIHH", version, flags, 0, 0, 0, size, size, len(encoded), len(extra))
        )  # method 0: stored; time 0
        self._put(encoded + extra)
        checksum = 0
        for begin in range(0, len(view), CHUNK):
            # A copy: should another thread change the data meanwhile, checksum and data still agree.
            chunk = bytes(view[begin : begin + CHUNK])
            checksum = zlib.crc32(chunk, checksum)
            self._put(chunk)
        self._put(struct.pack("<4sIQQ" if large else "<4sIII", b"PK\x07\x08", checksum, len(view), len(view)))
        self._identity.update(encoded + struct.pack("<IQ", checksum, len(view)))
        self._directory.append((encoded, checksum, len(view), start))

    def close(self):
        """Writes what stands behind the records: an id of the contents, and the directory."""
        self.add(".data/serialization_id", str(int(self._identity.hexdigest(), 16))[:40].zfill(40).encode())
        begin = self._position
        for encoded, checksum, size, start in self._directory:
            wide = [value for value in (size, size, start) if value >= _LIMIT]
            extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
            version = _VERSION_64 if wide else _VERSION
            fields = (version, version, _DESCRIPTOR_FOLLOWS | _UTF8, 0, 0, checksum)
            fields += (_short(size), _short(size), len(encoded), len(extra), 0, 0, 0, 0, _short(start))
            self._put(b"PK\x01\x02" + struct.pack("<HHHHIIIIHHHHHII", *fields) + encoded + extra)
        end, count = self._position, len(self._directory)
        if max(begin, end - begin) >= _LIMIT or count >= 0xFFFF:
            fields = (44, _VERSION_64, _VERSION_64, 0, 0, count, count, end - begin, begin)
            self._put(b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", *fields))
            self._put(b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1))
        count = min(count, 0xFFFF)
        fields = (0, 0, count, count, _short(end - begin), _short(begin), 0)
        self._put(b"PK\x05\x06" + struct.pack("<HHHHIIH", *fields))


def _broken(what):
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {what}. The file is not whole, was changed after it was "
        "saved, or is no file of torch.save: fetch or save it again."
    )


class ArchiveReader:
    """Reads records, believing nothing: names, places, sizes and checksums are verified."""

    def __init__(self, file):
        self._file = file
        try:
            directory = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, OverflowError, OSError) as error:
            raise _broken(f"failed finding central directory ({error})") from error
        entries = directory.infolist()
        self._end = directory.start_dir
        if not entries:
            raise _broken("it holds no records")
        self.root = entries[0].filename.partition("/")[0]
        self._records = {}
        free_from = 0
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            name = self._checked_name(entry)
            if entry.header_offset < free_from:
                raise _broken(f"the record {name!r:.80} overlaps another one")
            begin = self._begin(entry)
            free_from = begin + entry.file_size
            if free_from > self._end:
                raise _broken(f"the record {name!r:.80} reaches past its end")
            self._records[name] = (begin, entry.file_size, entry.CRC)

    def _checked_name(self, entry):
        name = entry.filename
        parts = name.split("/")
        if len(parts) < 2 or parts[0] != self.root or {"", ".", ".."} & set(parts) or "\\" in name:
            raise _broken(f"the record name {name!r:.80} is not of the form {self.root!r:.80} / name")
        short = name[len(self.root) + 1 :]
        if short in self._records:
            raise _broken(f"there are two records {short!r:.80}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise _broken(f"the record {short!r:.80} is compressed, which torch.save never does")
        if entry.flag_bits & 1:
            raise _broken(f"the record {short!r:.80} is encrypted")
        return short

    def _begin(self, entry):
        """Where the data of a record begins: behind its own header, which must name the same record."""
        header = self._read_at(entry.header_offset, 30)
        if header[:4] != MAGIC:
            raise _broken(f"no record at the place of {entry.filename!r:.80}")
        length, extra = struct.unpack("<HH", header[26:])
        if self._read_at(entry.header_offset + 30, length) != entry.orig_filename.encode(
            "utf-8" if entry.flag_bits & _UTF8 else "cp437"
        ):
            raise _broken(f"the record {entry.filename!r:.80} has another name in its header")
        return entry.header_offset + 30 + length + extra

    def _read_at(self, place, size):
        if place < 0:
            raise _broken("a record begins before the file")
        self._file.seek(place)
        data = self._file.read(size)
        if len(data) != size:
            raise _broken("unexpected end of file")
        return data

    def __contains__(self, name):
        return name in self._records

    def find(self, name):
        """(begin, size) of a record's data in the file."""
        try:
            return self._records[name][:2]
        except KeyError:
            raise _broken(f"file not found: {self.root}/{name:.80}") from None

    def read(self, name):
        """A record as bytes."""
        data = bytearray(self.find(name)[1])
        self.read_into(name, memoryview(data))
        return bytes(data)

    def read_into(self, name, target):
        """Reads a record into memory of its size, and compares the checksum."""
        begin, size = self.find(name)
        self._file.seek(begin)
        checksum = 0
        for place in range(0, size, CHUNK):
            part = self._file.read(min(CHUNK, size - place))
            if len(part) != min(CHUNK, size - place):
                raise _broken("unexpected end of file")
            checksum = zlib.crc32(part, checksum)
            target[place : place + len(part)] = part
        written = self._records[name][2]
        # torch writes zero when it is told to compute no checksums (set_crc32_options(False)).
        if checksum != written != 0:
            raise _broken(f"the checksum of the record {name!r:.80} is {checksum:08x} where {written:08x} was written")
