"""Objects survive the way through a file: of either library, read by either library."""

import io
import zipfile

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

import adjoint

from .objects import DTYPES, OBJECTS, checkpoint, described, loaded, saved, tensors

LIBRARIES = {"adjoint": adjoint, "torch": torch}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("reader", LIBRARIES)
@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("name", OBJECTS)
def test_both_ways(name, writer, reader, zipped):
    make = OBJECTS[name]
    obj = make(LIBRARIES[writer])
    if (writer, reader, name) == ("torch", "torch", "values"):
        obj[3] = obj[3][1:3]  # torch does not read the empty bytes that it writes
    data = saved(LIBRARIES[writer], obj, _use_new_zipfile_serialization=zipped)
    result = described(loaded(LIBRARIES[reader], data, weights_only=True))
    if name == "tensors":
        obj["computed"] = obj["computed"].detach().requires_grad_()  # what comes back has no history
    assert result == described(obj)


def test_reading_one_anothers_files_gives_the_same():
    for make in OBJECTS.values():
        for library in LIBRARIES.values():
            obj = make(library)
            if make is OBJECTS["values"]:
                obj[3] = obj[3][1:3]
            data = saved(library, obj)
            assert described(loaded(adjoint, data)) == described(loaded(torch, data))


@pytest.mark.parametrize("writer", LIBRARIES)
def test_sharing_stays(writer):
    library = LIBRARIES[writer]
    x = library.zeros(6)
    item = [1]
    back = loaded(adjoint, saved(library, {"whole": x, "part": x[2:4], "same": x, "a": item, "b": item}))
    assert back["whole"] is back["same"]
    assert back["a"] is back["b"]
    back["whole"][2] = 5
    assert back["part"].tolist() == [5, 0]
    assert back["part"]._base is None


def test_one_storage_is_written_once():
    x = adjoint.zeros(1000)
    data = saved(adjoint, [x, x[1:], x.view(10, 100).t(), adjoint.nn.Parameter(x)])
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert [name for name in file.namelist() if "data/" in name and ".data" not in name] == ["archive/data/0"]


def test_lists_that_contain_themselves():
    ring = [1]
    ring.append({"ring": ring})
    data = saved(adjoint, ring)
    for library in LIBRARIES.values():
        back = loaded(library, data)
        assert back[1]["ring"] is back


def test_records_begin_at_multiples_of_64_and_pass_the_check_of_zip():
    data = saved(adjoint, tensors(adjoint))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        for entry in file.infolist():
            header = data[entry.header_offset :]
            start = entry.header_offset + 30 + int.from_bytes(header[26:28], "little")
            assert (start + int.from_bytes(header[28:30], "little")) % 64 == 0
        mine = [name.partition("/")[2] for name in file.namelist()]
    with zipfile.ZipFile(io.BytesIO(saved(torch, tensors(torch)))) as file:
        theirs = [name.partition("/")[2] for name in file.namelist()]
    assert mine == theirs


@pytest.mark.parametrize("limit", [50, 1000])
def test_large_files(limit, monkeypatch):
    """Sizes beyond 4 GiB are written in other fields; here they are small, and only the limit is moved."""
    monkeypatch.setattr("adjoint.serialization.archive._LIMIT", limit)
    data = saved(adjoint, checkpoint(adjoint))
    monkeypatch.undo()
    assert data != saved(adjoint, checkpoint(adjoint))
    for library in LIBRARIES.values():
        assert described(loaded(library, data)) == described(checkpoint(adjoint))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None


def test_bytes_of_bool_that_are_no_values_of_bool():
    data = bytearray(saved(torch, torch.tensor([False, True])))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        place = data.index(file.read("archive/data/0"), file.getinfo("archive/data/0").header_offset + 60)
    torch.serialization.set_crc32_options(False)
    try:
        data = bytearray(saved(torch, torch.tensor([False, True])))
    finally:
        torch.serialization.set_crc32_options(True)
    data[place + 1] = 7
    assert loaded(adjoint, bytes(data)).view(adjoint.uint8).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_files_of_the_other_byte_order(dtype):
    values = torch.tensor([1, 0, 1]).to(getattr(torch, dtype))
    unit = values.itemsize // (2 if values.is_complex() else 1)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(torch, values))) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            record = source.read(name)
            if name.endswith("byteorder"):
                record = b"big"
            elif name.endswith("data/0"):
                record = b"".join(record[i : i + unit][::-1] for i in range(0, len(record), unit))
            target.writestr(name, record)
    assert described(loaded(adjoint, file.getvalue())) == described(values)


def test_byte_order_of_files_that_do_not_say_it():
    serialization = adjoint.serialization
    data = saved(adjoint, adjoint.tensor([1, 2], dtype=adjoint.int16), _disable_byteorder_record=True)
    assert loaded(adjoint, data).tolist() == [1, 2]
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert loaded(adjoint, data).tolist() == [256, 512]
    finally:
        serialization.set_default_load_endianness(None)


def test_conjugate_and_negative_bits():
    z = torch.tensor([1 + 2j, 3 - 4j])
    for item in (z.conj(), z.conj().imag, z.conj().requires_grad_()):
        back = loaded(adjoint, saved(torch, item))
        assert back.tolist() == item.tolist()
        assert (back.requires_grad, back.is_leaf) == (item.requires_grad, True)


def train(L, model, optimizer, scheduler, steps):
    """The losses of so many steps."""
    x, y = L.linspace(-1, 1, 12).reshape(4, 3), L.linspace(0, 1, 8).reshape(4, 2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = L.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "Adagrad", "Rprop"])
@pytest.mark.parametrize(("first", "second"), [("torch", "adjoint"), ("adjoint", "torch")])
def test_training_goes_on_in_the_other_library_and_comes_back(first, second, optimizer, zipped):
    def fresh(L):
        model = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.BatchNorm1d(4), L.nn.Tanh(), L.nn.Linear(4, 2))
        options = {"lr": 0.05, "momentum": 0.9} if optimizer == "SGD" else {"lr": 0.05}
        updates = getattr(L.optim, optimizer)(model.parameters(), **options)
        return model, updates, L.optim.lr_scheduler.StepLR(updates, step_size=4, gamma=0.5)

    def checkpoint(library, parts):
        names = ("model", "optimizer", "scheduler")
        state = {name: part.state_dict() for name, part in zip(names, parts, strict=True)}
        return saved(library, state, _use_new_zipfile_serialization=zipped)

    library = LIBRARIES[first]
    parts = fresh(library)
    train(library, *parts, 5)
    data = checkpoint(library, parts)
    expected = train(library, *parts, 10)
    losses = []
    for library in (LIBRARIES[second], LIBRARIES[first]):
        parts = fresh(library)
        for part, state in zip(parts, loaded(library, data).values(), strict=True):
            part.load_state_dict(state)
        losses += train(library, *parts, 5)
        data = checkpoint(library, parts)
    assert losses == pytest.approx(expected, rel=1e-5)
    assert losses[-1] < losses[0]


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@hypothesis.given(PLAIN)
@hypothesis.settings(max_examples=60)
def test_any_plain_object(obj):
    data = saved(adjoint, obj)
    assert described(loaded(adjoint, data)) == described(loaded(torch, data)) == described(obj)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=60)
def test_any_view(data):
    dims = data.draw(st.lists(st.integers(1, 4), max_size=3))
    strides = data.draw(st.lists(st.integers(0, 5), min_size=len(dims), max_size=len(dims)))
    offset = data.draw(st.integers(0, 5))
    view = torch.arange(80).as_strided(dims, strides, offset)
    assert described(loaded(adjoint, saved(torch, view))) == described(view)
    mine = adjoint.arange(80).as_strided(dims, strides, offset)
    assert described(loaded(torch, saved(adjoint, mine))) == described(view)
