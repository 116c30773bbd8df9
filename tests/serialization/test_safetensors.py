"""Files of the safetensors format: the same ones that safetensors.torch writes and reads."""

import os
import stat

import pytest
import safetensors
import safetensors.torch
import torch

import adjoint

from ..compare import raised
from ..processes import script
from .objects import DTYPES, described

THEIRS = safetensors.torch


def tensors(L):
    result = {name: L.tensor([[0, 1, 1]]).to(getattr(L, name)) for name in DTYPES if name != "complex128"}
    return {**result, "empty": L.empty(0, 3), "scalar": L.tensor(2.5), "odd": L.ones(3, dtype=L.uint8)}


def same(mine, theirs):
    assert {name: described(value) for name, value in mine.items()} == {
        name: described(value) for name, value in theirs.items()
    }


def test_files_of_one_another(tmp_path):
    adjoint.safetensors.save_file(tensors(adjoint), tmp_path / "mine", metadata={"a": "b"})
    THEIRS.save_file(tensors(torch), tmp_path / "theirs", metadata={"a": "b"})
    assert (tmp_path / "mine").read_bytes() == (tmp_path / "theirs").read_bytes()
    for name in ("mine", "theirs"):
        mine, theirs = adjoint.safetensors.load_file(tmp_path / name), THEIRS.load_file(tmp_path / name)
        same(mine, tensors(torch))
        assert list(mine) == list(theirs)


def test_bytes_of_one_another():
    data = adjoint.safetensors.save(tensors(adjoint), metadata={"a": "b"})
    assert data == THEIRS.save(tensors(torch), metadata={"a": "b"})
    same(adjoint.safetensors.load(data), THEIRS.load(data))


def test_safe_open_reads_what_is_asked_for(tmp_path):
    path = tmp_path / "x"
    adjoint.safetensors.save_file({"x": adjoint.arange(12).view(3, 4), "y": adjoint.ones(2)}, path, {"note": "n"})
    with adjoint.safetensors.safe_open(path, framework="pt", device="cpu") as mine:
        with safetensors.safe_open(path, framework="pt", device="cpu") as theirs:
            assert list(mine.keys()) == list(theirs.keys())
            assert mine.offset_keys() == theirs.offset_keys()
            assert mine.metadata() == theirs.metadata() == {"note": "n"}
            assert described(mine.get_tensor("x")) == described(theirs.get_tensor("x"))
            one, other = mine.get_slice("x"), theirs.get_slice("x")
            assert (one.get_shape(), one.get_dtype()) == (other.get_shape(), other.get_dtype())
            assert one[1:, :2].tolist() == other[1:, :2].tolist()
            for call in ("get_tensor", "get_slice"):
                assert raised(lambda: getattr(mine, call)("z")) == raised(lambda: getattr(theirs, call)("z"))  # noqa: B023 - at once
        kept = mine.get_tensor("x")
    assert kept.sum() == 66


def test_values_stay_in_the_file_and_changes_out_of_it(tmp_path):
    path = tmp_path / "x"
    adjoint.safetensors.save_file({"x": adjoint.zeros(1 << 20)}, path)
    adjoint.reset_peak_memory_stats()
    before = adjoint.memory_stats()["current"]
    x = adjoint.safetensors.load_file(path)["x"]
    assert adjoint.memory_stats()["peak"] - before < 1 << 20
    x.add_(1)
    assert adjoint.safetensors.load_file(path)["x"].sum() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda L: {"a": (x := L.ones(4)), "b": x[1:]},
        lambda L: {"a": (x := L.ones(4)), "b": x},
        lambda L: {"a": L.ones(2, 3).t()},
        lambda L: [L.ones(1)],
        lambda L: {"a": 3},
        lambda L: {3: L.ones(1)},
    ],
)
def test_refused_as_by_the_library(make, tmp_path):
    def kind(call):
        with pytest.raises((ValueError, RuntimeError, TypeError)) as caught:
            call()
        return caught.type, " ".join(str(caught.value).split())[:60]

    mine = kind(lambda: adjoint.safetensors.save_file(make(adjoint), tmp_path / "x"))
    assert mine == kind(lambda: THEIRS.save_file(make(torch), tmp_path / "x"))
    assert os.listdir(tmp_path) == []


def test_parts_of_one_memory_that_do_not_overlap(tmp_path):
    x = adjoint.arange(4)
    adjoint.safetensors.save_file({"a": x[:2], "b": x[2:], "none": x[:0]}, tmp_path / "x")
    assert THEIRS.load_file(tmp_path / "x")["b"].tolist() == [2, 3]


def test_dtypes_without_a_place(tmp_path):
    with pytest.raises(ValueError, match=r"`a` .torch.complex128, cpu. has no place"):
        adjoint.safetensors.save_file({"a": adjoint.ones(1, dtype=adjoint.complex128)}, tmp_path / "x")


def test_types_that_are_stored(tmp_path):
    names = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
    for writer, save, reader, load in (
        (torch, THEIRS.save_file, adjoint, adjoint.safetensors.load_file),
        (adjoint, adjoint.safetensors.save_file, torch, THEIRS.load_file),
    ):
        save({name: writer.arange(1, 5).to(getattr(writer, name)) for name in names}, tmp_path / "x")
        read = load(tmp_path / "x")
        assert {name: (x.dtype, x.tolist()) for name, x in read.items()} == {
            name: (getattr(reader, name), [1, 2, 3, 4]) for name in names
        }


def test_files_are_replaced_whole_with_the_rights_of_open(tmp_path):
    path = tmp_path / "x"
    before = os.umask(0o022)
    try:
        adjoint.safetensors.save_file({"a": adjoint.ones(1)}, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(TypeError):
        adjoint.safetensors.save_file({"a": adjoint.zeros(1)}, path, metadata={"a": 3})
    assert adjoint.safetensors.load_file(path)["a"].tolist() == [1]
    assert os.listdir(tmp_path) == ["x"]


def test_damaged_files(tmp_path):
    path = tmp_path / "x"
    adjoint.safetensors.save_file({"a": adjoint.ones(10)}, path)
    data = path.read_bytes()
    for changed in (data[:-1], data[:20], b"", data + b"x", b"\xff" * 8 + data[8:], data.replace(b"[10]", b"[11]")):
        path.write_bytes(changed)
        with pytest.raises(safetensors.SafetensorError):
            adjoint.safetensors.load_file(path)
    with pytest.raises(FileNotFoundError):
        adjoint.safetensors.load_file(tmp_path / "none")


def test_without_the_library():
    code = "import sys; sys.modules['safetensors'] = None\nimport adjoint\nadjoint.safetensors"
    assert "pip install 'safetensors>=0.8'" in script(code, code=1).stderr
