"""Where files are, how they are opened, and what load() and save() are asked for."""

import copy
import importlib
import io
import mmap
import os
import pickle
import re
import threading
import zipfile
from collections import defaultdict, namedtuple

import numpy as np
import pytest
import torch

import adjoint

from ..compare import raised
from .objects import OBJECTS, checkpoint, described, loaded, saved


def message(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - callers look at the text
        call()
    return str(caught.value)


# ---- places


def test_paths_of_every_kind(tmp_path):
    for path in (str(tmp_path / "a.pt"), tmp_path / "b.pt"):
        adjoint.save([1], path)
        assert adjoint.load(path) == torch.load(path) == [1]
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]


def test_files_of_every_kind(tmp_path):
    class Partial(io.RawIOBase):
        """Takes a few bytes at a time, as a pipe may."""

        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data[:7])
            return min(7, len(data))

    class Minimal:
        """Has nothing but write, and says nothing of how much it took."""

        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))

    x = adjoint.arange(5)
    partial, minimal = Partial(), Minimal()
    adjoint.save(x, partial)
    adjoint.save(x, minimal)
    assert partial.data == b"".join(minimal.parts) == saved(adjoint, x)
    with open(tmp_path / "x", "w+b", buffering=0) as file:
        adjoint.save(x, file)
        file.seek(0)
        assert adjoint.load(file).tolist() == x.tolist()


def test_a_pipe_and_a_device_are_written_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    adjoint.save([1], path)
    reader.join()
    assert loaded(adjoint, received[0]) == [1]
    adjoint.save([1], "/dev/null")
    assert not os.path.isfile("/dev/null")


def test_several_legacy_objects_in_one_file():
    file = io.BytesIO()
    for value in (1, 2):
        adjoint.save({"x": adjoint.full((2,), value)}, file, _use_new_zipfile_serialization=False)
    for library in (adjoint, torch):
        file.seek(0)
        assert [library.load(file)["x"].tolist() for _ in range(2)] == [[1, 1], [2, 2]]


def test_bytes_before_the_archive():
    file = io.BytesIO(b"prefix" + saved(adjoint, [adjoint.ones(2)]))
    file.seek(6)
    assert adjoint.load(file)[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda L, folder: L.save([1], folder / "none" / "x.pt"),
        lambda L, folder: L.save([1], 3),
        lambda L, folder: L.save([1], None),
        lambda L, folder: L.save([1], b"x.pt"),
        lambda L, folder: L.load(folder / "none"),
        lambda L, folder: L.load(folder),
        lambda L, folder: L.load(3),
        lambda L, folder: L.load(io.BytesIO(pickle.dumps(3, 2))),
        lambda L, folder: L.load(io.BytesIO(b"PK\x03\x04")),
        lambda L, folder: L.load(io.BytesIO(saved(L, 1)), mmap=True),
        lambda L, folder: L.load(io.BytesIO(saved(L, 1)), pickle_module=pickle, weights_only=True),
        lambda L, folder: L.load(io.BytesIO(saved(L, L.ones(1))), map_location="cuda:0"),
        lambda L, folder: L.load(io.BytesIO(saved(L, L.ones(1))), map_location="nonsense"),
        lambda L, folder: L.load(io.BytesIO(saved(L, L.ones(1))), map_location=3),
        lambda L, folder: L.save([x := L.ones(4), x.view(L.int32)], folder / "x"),
        lambda L, folder: L.serialization.set_default_load_endianness(3),
        lambda L, folder: L.serialization.add_safe_globals(3),
    ],
)
def test_errors_as_in_torch(call, tmp_path):
    assert raised(lambda: call(adjoint, tmp_path)) == raised(lambda: call(torch, tmp_path))


def test_errors_that_say_more():
    for data in (b"", b"\x80\x02"):
        with pytest.raises(EOFError, match="Ran out of input"):
            loaded(adjoint, data)
    assert "seekable" in message(lambda: adjoint.load(object()))
    tar = b"x" * 257 + b"ustar" + b"\0" * 300
    assert "tar files" in message(lambda: loaded(adjoint, tar))
    assert "TorchScript" in message(lambda: loaded(adjoint, script()))
    with pytest.warns(UserWarning, match="pickle_load_args only works"):
        loaded(adjoint, saved(adjoint, 1), encoding="ascii")


def script():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("net/data.pkl", b"\x80\x02N.")
        target.writestr("net/constants.pkl", b"\x80\x02N.")
    return file.getvalue()


# ---- map_location and mmap


def rewritten(data, change):
    """A zip file with each record replaced by change(record)."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(source.read(name)))
    return file.getvalue()


def cuda_file():
    """A file of a machine with a GPU."""
    data = saved(adjoint, {"x": adjoint.ones(2)})
    return rewritten(data, lambda record: record.replace(b"\x03\0\0\0cpu", b"\x06\0\0\0cuda:0"))


@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        "meta",
        {"cuda:0": "cpu"},
        {"cuda:0": "meta"},
        {"cuda:1": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: storage.cpu(),
        lambda storage, location: None,
        None,
    ],
)
def test_map_location(where):
    def result(L):
        return described(loaded(L, cuda_file(), map_location=where))

    assert raised(lambda: result(adjoint)) == raised(lambda: result(torch))


def test_map_location_by_device_and_what_a_function_is_given():
    assert loaded(adjoint, cuda_file(), map_location=adjoint.device("meta"))["x"].device.type == "meta"
    met = []
    loaded(adjoint, cuda_file(), map_location=lambda s, where: met.append((len(s), str(s.device), where)) or s)
    assert met == [(8, "cpu", "cuda:0")]
    assert "got 3" in message(lambda: loaded(adjoint, cuda_file(), map_location=lambda s, w: 3))
    assert "CUDA" in message(lambda: loaded(adjoint, cuda_file(), map_location=lambda s, w: s.cuda(0)))
    legacy = saved(adjoint, [adjoint.ones(2), adjoint.zeros(3)], _use_new_zipfile_serialization=False)
    assert [x.shape for x in loaded(adjoint, legacy, map_location="meta")] == [(2,), (3,)]


def test_mapped_files_are_read_when_used_and_never_written(tmp_path):
    path = tmp_path / "x.pt"
    adjoint.save(checkpoint(adjoint), path)
    before = path.read_bytes()
    obj = adjoint.load(path, mmap=True)
    assert described(obj) == described(checkpoint(adjoint))
    weight = obj["model"]["0.weight"]
    assert weight.data_ptr() % mmap.PAGESIZE % 64 == 0
    weight.zero_()
    assert path.read_bytes() == before
    path.unlink()
    assert weight.sum() == 0
    assert described(obj["optimizer"]) == described(checkpoint(adjoint)["optimizer"])


def test_mapped_files_of_torch(tmp_path):
    for name, make in OBJECTS.items():
        obj = make(torch)
        if name == "values":
            obj[3] = obj[3][1:3]
        torch.save(obj, tmp_path / name)
        assert described(adjoint.load(tmp_path / name, mmap=True)) == described(torch.load(tmp_path / name))
    torch.save(1, tmp_path / "old", _use_new_zipfile_serialization=False)
    assert raised(lambda: adjoint.load(tmp_path / "old", mmap=True)) == raised(
        lambda: torch.load(tmp_path / "old", mmap=True)
    )


def test_loading_maps_instead_of_reading(tmp_path):
    adjoint.save(adjoint.zeros(1 << 20), tmp_path / "x")
    adjoint.reset_peak_memory_stats()
    before = adjoint.memory_stats()["current"]
    adjoint.load(tmp_path / "x", mmap=True)
    assert adjoint.memory_stats()["peak"] - before < 1 << 20


# ---- what is no data


Point = namedtuple("Point", "x y")


class Hook:
    def __call__(self):
        pass


@pytest.mark.parametrize(
    ("value", "kind", "advice"),
    [
        (len, "builtin_function_or_method", "leave it out"),
        (Hook(), "tests.serialization.test_files.Hook", "leave it out"),
        (Hook, "type", "leave it out"),
        (defaultdict(int), "collections.defaultdict", "save dict() of it"),
        (Point(1, 2), "tests.serialization.test_files.Point", "save tuple() of it"),
        (frozenset([1]), "frozenset", "save set() of it"),
        (np.ones(2), "numpy.ndarray", "save torch.from_numpy() of it"),
        (np.float64(1), "numpy.float64", "save its .item()"),
        (adjoint.nn.Linear(1, 1), "adjoint.nn.modules.linear.Linear", "save its state_dict()"),
        (adjoint.nn.UninitializedParameter(), "adjoint.nn.parameter.UninitializedParameter", "leave it out"),
        (range(3), "range", "leave it out"),
    ],
)
def test_values_that_are_no_data_make_a_full_pickle_and_are_named_by_their_place(value, kind, advice, tmp_path):
    path = tmp_path / "x.pt"
    with pytest.warns(UserWarning, match="got ") as caught:
        adjoint.save({"model": {"hook": [0, value]}}, path)
    (warning,) = caught
    assert f"got {kind} at obj['model']['hook'][1]." in str(warning.message)
    assert advice in str(warning.message)
    assert warning.filename == __file__
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        adjoint.load(path)
    assert type(adjoint.load(path, weights_only=False)["model"]["hook"][1]) is type(value)


def test_what_cannot_be_pickled_leaves_the_old_file_and_is_named_by_its_place(tmp_path):
    path = tmp_path / "x.pt"
    adjoint.save("old", path)
    for L in (adjoint, torch):
        with pytest.raises((AttributeError, pickle.PicklingError), match="lambda") as caught:
            L.save({"model": {"hook": lambda x: x}}, path if L is adjoint else tmp_path / "theirs")
        if L is adjoint:
            assert "got function at obj['model']['hook']." in "".join(caught.value.__notes__)
    assert adjoint.load(path) == "old"


def test_places_are_spelled_as_in_python():
    x = adjoint.ones(1)
    x.note = {"f": len}
    state = adjoint.nn.Linear(1, 1).state_dict()
    state._metadata[""]["f"] = len
    cases = {
        "obj": len,
        "obj[0].note['f']": [x],
        "obj._metadata['']['f']": state,
        "obj (its key <built-in function len>)": {len: 1},
        "obj[(1, 2)][0]": {(1, 2): (len,)},
    }
    for place, obj in cases.items():
        with pytest.warns(UserWarning, match=re.escape(f" at {place}. ")):
            saved(adjoint, obj)


def test_objects_that_a_safe_file_cannot_hold_say_why():
    ring = []
    loop = (ring,)
    ring.append(loop)
    for why, obj in {"a tuple that contains itself": loop, "at most 2040 bits": 1 << 5000}.items():
        with pytest.warns(UserWarning, match=why):
            saved(adjoint, obj)


def test_objects_that_cannot_be_written_say_why():
    meta = adjoint.empty(1, device="meta")
    meta.note = 1
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for why, obj in {"nested too deeply": deep, "obj[0] is a meta tensor with attributes": [meta]}.items():
        with pytest.raises(RuntimeError) as caught:
            saved(adjoint, obj)
        assert why in "".join(caught.value.__notes__)


def test_hooks_are_not_saved_and_that_is_said():
    for library in (adjoint, torch):
        x = library.ones(1, requires_grad=True)
        x.register_hook(len)
        with pytest.warns(UserWarning, match="backward hook <built-in function len> on tensor will not be serialized"):
            data = saved(library, x)
        assert not loaded(adjoint, data)._backward_hooks


# ---- classes that the user allows


class Config:
    def __init__(self, width):
        self.width = width


class Slotted:
    __slots__ = ("a", "b")


def test_safe_globals_let_files_hold_objects():
    serialization = adjoint.serialization
    with serialization.safe_globals([Config]):
        data = saved(adjoint, {"config": Config(3)})
        assert loaded(adjoint, data)["config"].width == 3
    assert serialization.get_safe_globals() == []
    assert "GLOBAL tests.serialization.test_files.Config was not an allowed global" in message(
        lambda: loaded(adjoint, data)
    )
    with torch.serialization.safe_globals([Config]):
        assert loaded(torch, data)["config"].width == 3
        assert loaded(torch, saved(torch, Config(4))).width == 4
    with serialization.safe_globals([(Config, "old.place.Config")]):
        here, there = b"tests.serialization.test_files\nConfig", b"old.place\nConfig"
        assert loaded(adjoint, rewritten(data, lambda record: record.replace(here, there)))["config"].width == 3


def test_safe_globals_with_slots_and_names():
    serialization = adjoint.serialization
    value = Slotted()
    value.a, value.b = 1, [2]
    serialization.add_safe_globals([Slotted])
    serialization.add_safe_globals([Slotted, Config])
    try:
        assert serialization.get_safe_globals() == [Slotted, Config]
        back = loaded(adjoint, saved(adjoint, value))
        assert (back.a, back.b) == (1, [2])
    finally:
        serialization.clear_safe_globals()
    assert "expected classes, functions or (one, its name) pairs" in message(
        lambda: serialization.add_safe_globals([3])
    )


def test_numpy_scalars_of_torch_files_when_allowed():
    data = saved(torch, {"loss": np.float64(0.5)})
    assert "numpy._core.multiarray.scalar" in message(lambda: loaded(adjoint, data))
    scalar = np._core.multiarray.scalar
    with adjoint.serialization.safe_globals([scalar, np.dtype, type(np.dtype(np.float64))]):
        assert loaded(adjoint, data) == {"loss": 0.5}


def test_unsafe_globals_of_a_file(tmp_path):
    torch.save([torch.nn.Linear(1, 1), Config(1)], tmp_path / "x")
    mine, theirs = (L.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "x") for L in (adjoint, torch))
    assert sorted(mine) == sorted(theirs) != []


# ---- full pickles


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_full_pickles_on_demand(protocol, zipped):
    x = adjoint.arange(4.0)
    module = adjoint.nn.Linear(2, 2)
    module.register_buffer("view", x[1:])
    obj = {"module": module, "x": x, "f": len, "parameter": adjoint.nn.Parameter(x)}
    options = {"pickle_module": pickle, "pickle_protocol": protocol, "_use_new_zipfile_serialization": zipped}
    data = saved(adjoint, obj, **options)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        loaded(adjoint, data)
    for how in ({"weights_only": False}, {"pickle_module": pickle}):
        back = loaded(adjoint, data, **how)
        assert back["f"] is len
        assert described(back["module"].state_dict()) == described(module.state_dict())
        assert isinstance(back["parameter"], adjoint.nn.Parameter)
        back["x"][1] = 9
        assert back["module"].view[0] == back["parameter"][1] == 9


def test_a_pickle_module_writes_data_as_safely_as_without():
    data = saved(adjoint, checkpoint(adjoint), pickle_module=pickle, pickle_protocol=4)
    assert described(loaded(torch, data, weights_only=True)) == described(checkpoint(torch))


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_modules_of_torch_become_modules_of_adjoint(zipped):
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    data = saved(torch, theirs, _use_new_zipfile_serialization=zipped)
    mine = loaded(adjoint, data, weights_only=False)
    assert type(mine) is adjoint.nn.Sequential
    assert described(mine.state_dict()) == described(theirs.state_dict())
    assert mine(adjoint.ones(2)).tolist() == pytest.approx(theirs(torch.ones(2)).tolist())


def test_functions_of_torch_become_functions_of_adjoint():
    theirs = [torch.relu, torch.nn.functional.relu, torch.nn.functional.gelu, torch.Tensor.sin]
    mine = [adjoint.relu, adjoint.nn.functional.relu, adjoint.nn.functional.gelu, adjoint.Tensor.sin]
    assert loaded(adjoint, saved(torch, theirs), weights_only=False) == mine
    module = loaded(adjoint, saved(torch, torch.nn.TransformerEncoderLayer(4, 2, 8)), weights_only=False)
    assert type(module) is adjoint.nn.TransformerEncoderLayer


# ---- Python's own copy and pickle


def test_every_function_can_be_pickled():
    names = [(space, name) for space, name, _ in adjoint.ops.language.PUBLIC]
    assert len(names) > 500
    for space, name in names:
        function = getattr(importlib.import_module(f"adjoint.{space}".rstrip(".")), name)
        assert pickle.loads(pickle.dumps(function)) is function, name
        assert copy.deepcopy(function) is function


def test_pickle_and_deepcopy_of_modules_and_tensors():
    module = adjoint.nn.Sequential(adjoint.nn.Linear(2, 3), adjoint.nn.Linear(3, 1))
    module.register_buffer("count", adjoint.tensor(3))
    for copied in (copy.deepcopy(module), *(pickle.loads(pickle.dumps(module, p)) for p in range(6))):
        assert described(copied.state_dict()) == described(module.state_dict())
        assert repr(copied) == repr(module)
        assert all(p.requires_grad and isinstance(p, adjoint.nn.Parameter) for p in copied.parameters())
        copied[0].weight.data.zero_()
        assert module[0].weight.abs().sum() > 0
    for value in (adjoint.float32, adjoint.device("cpu"), adjoint.Size([1, 2]), adjoint.strided):
        assert pickle.loads(pickle.dumps(value)) == value
