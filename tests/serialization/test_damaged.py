"""Files that were cut off or changed: an error that says so, or the values that were saved; never others."""

import contextlib
import io
import pickle
import zipfile

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

import adjoint

from .objects import archive, checkpoint, described, loaded, saved, tensor_pickle

CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
FILES = {name: saved(library, checkpoint(library)) for name, library in (("adjoint", adjoint), ("torch", torch))}
LEGACY = saved(torch, checkpoint(torch), _use_new_zipfile_serialization=False)
EXPECTED = described(checkpoint(adjoint))


def error_of(data, **options):
    """None if the values are right, or the error; other values are a failure."""
    try:
        result = loaded(adjoint, data, **options)
    except CLEAR as error:
        return error
    assert described(result) == EXPECTED
    return None


@pytest.mark.parametrize("writer", FILES)
def test_cut_anywhere(writer):
    data = FILES[writer]
    places = {0, 1, 3, 4, 5, 29, 30, 63, 64, len(data) - 1, len(data) - 21, len(data) - 22, len(data) - 23}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for entry in file.infolist():
            places |= {entry.header_offset, entry.header_offset + 30, entry.header_offset + 64 + entry.file_size}
        places |= {file.start_dir, file.start_dir + 10}
    for place in sorted(places):
        assert isinstance(error_of(data[:place]), CLEAR), place


def test_a_legacy_file_cut_anywhere():
    for place in [*range(200), *range(200, len(LEGACY), 37), len(LEGACY) - 1]:
        error = error_of(LEGACY[:place])
        assert isinstance(error, EOFError), (place, error)
        assert "not whole" in str(error)


@pytest.mark.parametrize("writer", FILES)
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=150)
def test_one_bit_flipped_anywhere(writer, data):
    changed = bytearray(FILES[writer])
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    error_of(bytes(changed))


@pytest.mark.parametrize("writer", FILES)
def test_a_bit_flipped_in_a_value_or_in_the_pickle(writer):
    with zipfile.ZipFile(io.BytesIO(FILES[writer])) as file:
        entries = [entry for entry in file.infolist() if entry.filename.endswith(("data.pkl", "data/0", "data/3"))]
    assert len(entries) == 3
    for entry in entries:
        data = bytearray(FILES[writer])
        header = data[entry.header_offset :]
        begin = entry.header_offset + 30 + sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
        data[begin + entry.file_size // 2] ^= 4
        assert "checksum" in str(error_of(bytes(data)))


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=100)
def test_several_bytes_changed_anywhere(data):
    changed = bytearray(FILES["adjoint"])
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    error_of(bytes(changed))


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=150)
def test_a_legacy_file_changed_anywhere(data):
    """This format has no checksums: what is read may differ, but it is data, or a clear error."""
    changed = bytearray(LEGACY)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(*CLEAR):
        loaded(adjoint, bytes(changed))


@hypothesis.given(st.binary(max_size=60))
@hypothesis.settings(max_examples=150)
def test_any_bytes_for_a_pickle(data):
    for whole in (archive(b"\x80\x02" + data), data, b"PK\x03\x04" + data):
        with contextlib.suppress(*CLEAR):
            loaded(adjoint, whole)


def entries(count=6, size=24, **changes):
    return archive(tensor_pickle(count, **changes), {"data/0": bytes(size)})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (entries(size=20), "should have 24 bytes, but its record has 20"),
        (entries(size=28), "should have 24 bytes, but its record has 28"),
        (entries(key="1"), "file not found: archive/data/1"),
        (entries(key="../0"), "file not found: archive/data/../0"),
        (entries(offset=1), "out of bounds for storage of size 24"),
        (entries(size=24, stride=(2,)), "out of bounds for storage of size 24"),
        (entries(offset=-1), "expected the storage offset as whole numbers from 0 up"),
        (entries(count=-6), "expected a storage's type, key, location and size"),
        (entries(count=2**62), "should have"),
    ],
)
def test_sizes_that_do_not_fit(data, words):
    with pytest.raises(CLEAR, match=words.replace(".", r"\.")):
        loaded(adjoint, data)


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((7,), (1,), 0),
        ((2, 4), (3, 1), 0),
        ((2**62, 2**62), (0, 0), 0),
        ((2**40,), (2**40,), 0),
        ((-1,), (1,), 0),
        ((6,), (-1,), 5),
        ((1,), (1,), 2**62),
        ((0,), (1,), 2**61),
        ((6,), (1, 1), 0),
        ((2,) * 200, (2**50,) * 200, 0),
    ],
)
def test_geometry_that_does_not_fit(size, stride, offset):
    with pytest.raises(CLEAR):
        loaded(adjoint, archive(tensor_pickle(6, offset, size, stride), {"data/0": bytes(24)}))


def test_a_storage_said_to_have_two_sizes():
    one, other = (tensor_pickle(count, size=(1,))[2:-1] for count in (6, 5))
    data = archive(b"\x80\x02" + one + other + b"\x86.", {"data/0": bytes(24)})
    with pytest.raises(pickle.UnpicklingError, match="24 bytes at one place, 20 at another"):
        loaded(adjoint, data)


def test_a_legacy_file_that_promises_more_than_it_has():
    changed = LEGACY.replace(b"K\x0cNt", b"J\xff\xff\xff\x7fNt", 1)
    assert changed != LEGACY
    adjoint.reset_peak_memory_stats()
    with pytest.raises(EOFError, match="promises"):
        loaded(adjoint, changed)
    assert adjoint.memory_stats()["peak"] < 1 << 28
