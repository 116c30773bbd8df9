"""Files made to do harm: they run nothing, crash nothing, take no memory to speak of, and end in a clear error."""

import contextlib
import io
import os
import pickle
import pickletools
import struct
import zipfile

import pytest
import torch

import adjoint

from ..processes import python, script
from .objects import archive, loaded, saved, tensor_pickle

P = b"\x80\x02"


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """The name of a file that exists if some file's code was run."""
    path = tmp_path / "canary"
    monkeypatch.setenv("CANARY", str(path))
    yield
    assert not path.exists()


class Evil:
    def __reduce__(self):
        return os.system, ("touch $CANARY",)


def bytes_as(dtype, storage="UntypedStorage"):
    """A tensor whose storage is of another type than it says itself."""
    data = tensor_pickle(24, size=(24,)) if storage == "UntypedStorage" else tensor_pickle()
    data = data.replace(b"_v2", b"_v3").replace(b")RtR.", b")Rctorch\n" + dtype.encode() + b"\ntR.")
    return data.replace(b"ctorch\nFloatStorage", b"ctorch.storage\nUntypedStorage") if storage[0] == "U" else data


def routes(command):
    """A command for os.system, on every way on which a pickle can call something."""
    argument = text(command)
    protocol_4 = b"\x80\x04\x8c" + bytes([len(command)]) + command.encode()
    system = b"\x8c\x05posix\x8c\x06system\x93"
    state = b"}" + text("x") + b"Ns"
    return {
        "GLOBAL REDUCE": P + b"cposix\nsystem\n" + argument + b"\x85R.",
        "GLOBAL os": P + b"cos\nsystem\n" + argument + b"\x85R.",
        "GLOBAL eval": P + b"c__builtin__\neval\n" + text(f"__import__('os').system('{command}')") + b"\x85R.",
        "GLOBAL exec": P + b"cbuiltins\nexec\n" + text(f"import os; os.system('{command}')") + b"\x85R.",
        "GLOBAL getattr": P + b"cbuiltins\ngetattr\n" + text("x") + text("y") + b"\x86R.",
        "GLOBAL dotted": b"\x80\x04ctorch\n_C.Tensor.__class__\n.",
        "GLOBAL subprocess": P + b"csubprocess\nPopen\n" + argument + b"\x85R.",
        "GLOBAL pickle": P + b"c_pickle\nloads\n" + argument + b"\x85R.",
        "GLOBAL load": P + b"ctorch.storage\n_load_from_bytes\n" + argument + b"\x85R.",
        "GLOBAL adjoint": P + b"cadjoint.serialization\nload\n" + argument + b"\x85R.",
        "GLOBAL newline": P + b"ctorch\nTensor\nx\n.",
        "STACK_GLOBAL": b"\x80\x04" + system + protocol_4[2:] + b"\x85R.",
        "STACK_GLOBAL of allowed parts": P + text("posix") + text("system") + b"\x93" + argument + b"\x85R.",
        "INST": b"(" + argument + b"iposix\nsystem\n.",
        "OBJ": b"(cposix\nsystem\n" + argument + b"o.",
        "NEWOBJ": P + b"csubprocess\nPopen\n" + argument + b"\x85\x81.",
        "NEWOBJ of a function": P + b"ctorch._utils\n_rebuild_tensor_v2\n)\x81.",
        "NEWOBJ of Tensor": P + b"ctorch\nTensor\n)\x81.",
        "NEWOBJ_EX": P + b"csubprocess\nPopen\n" + argument + b"\x85}\x92.",
        "EXT1": P + b"\x82\x01.",
        "EXT2": P + b"\x83\x01\0.",
        "EXT4": P + b"\x84\x01\0\0\0.",
        "REDUCE of text": P + argument + argument + b"\x85R.",
        "REDUCE of Tensor": P + b"ctorch\nTensor\n" + argument + b"\x85R.",
        "REDUCE of a dtype": P + b"ctorch\nfloat32\n)R.",
        "REDUCE without a tuple": P + b"ccollections\nOrderedDict\nNR.",
        "BUILD a function": P + b"ctorch._utils\n_rebuild_tensor_v2\n" + state + b"b.",
        "BUILD slots of a function": P + b"ccollections\nOrderedDict\nN" + state + b"\x86b.",
        "BUILD a class": P + b"ctorch\nTensor\n" + state + b"b.",
        "BUILD a dict": P + b"}" + state + b"b.",
        "BUILD a tensor": tensor_pickle()[:-1] + state + b"b.",
        "BUILD OrderedDict of no dict": P + b"ccollections\nOrderedDict\n)R]b.",
        "BUILD OrderedDict of numbers": P + b"ccollections\nOrderedDict\n)R}K\x01Nsb.",
        "PERSID": b"P0\n.",
        "BINPERSID of text": P + argument + b"Q.",
        "BINPERSID of nothing": P + b")Q.",
        "BINPERSID of a module": P + b"(" + text("module") + b"cposix\nsystem\ntQ.",
        "BINPERSID too short": P + b"(" + text("storage") + b"ctorch\nFloatStorage\ntQ.",
        "BINPERSID of a function": P
        + b"("
        + text("storage")
        + b"ctorch\nSize\n"
        + text("0")
        + text("cpu")
        + b"K\x06tQ.",
        "BINPERSID key": tensor_pickle(key="../../etc/passwd"),
        "APPEND to text": P + argument + b"Na.",
        "APPEND to a tensor": tensor_pickle()[:-1] + b"Na.",
        "SETITEM of a list": P + b"]NNs.",
        "SETITEM of a class": P + b"ctorch\nTensor\n" + text("__reduce__") + b"Ns.",
        "SETITEMS odd": P + b"}(Nu.",
        "unhashable key": P + b"}]Ns.",
        "encode": P + b"c_codecs\nencode\n" + argument + text("rot13") + b"\x86R.",
        "rebuild of a class": P + b"ctorch._tensor\n_rebuild_from_type_v2\n(cposix\nsystem\nctorch\nTensor\n))tR.",
        "rebuild by Size": P + b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nctorch\nTensor\n)}tR.",
        "rebuild with text": P + b"ctorch._utils\n_rebuild_parameter\n" + argument + b"\x88N\x87R.",
        "bytes as bool": bytes_as("bool"),
        "floats as bool": bytes_as("bool", "FloatStorage"),
        "rebuild of nothing": P + b"ctorch._utils\n_rebuild_tensor_v2\n)R.",
        "device": P + b"ctorch\ndevice\n" + text("cuda:99999999999") + b"\x85R.",
        "layout": P + b"ctorch.serialization\n_get_layout\n" + text("torch._C") + b"\x85R.",
        "Size": P + b"ctorch\nSize\n" + argument + b"\x85R.",
        "Counter": P + b"ccollections\nCounter\n" + argument + b"\x85R.",
        "set": P + b"c__builtin__\nset\nK\x05\x85R.",
        "bytearray": P + b"c__builtin__\nbytearray\n\x8a\x05\0\0\0\0\x7f\x85R.",
        "bytes": P + b"c__builtin__\nbytes\n\x8a\x05\0\0\0\0\x7f\x85R.",
        "complex": P + b"c__builtin__\ncomplex\n" + argument + b"\x85R.",
        "no object": P + b".",
        "only a mark": P + b"(.",
        "memo of nothing": P + b"h\x05.",
        "put of nothing": P + b"q\0.",
        "protocol": b"\x80\xffN.",
        "a global that is no text": P + b"c\xff\xfe\n\xff\n.",
    }


ROUTES = routes("touch $CANARY")


@pytest.mark.usefixtures("canary")
@pytest.mark.parametrize("name", ROUTES)
def test_nothing_is_called(name):
    for data in (archive(ROUTES[name], {"data/0": bytes(24)}), ROUTES[name]):
        with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
            loaded(adjoint, data)
        assert str(caught.value)


def test_the_routes_are_real(tmp_path, monkeypatch):
    """Python's own reader is taken in by them: the test above would see it."""
    for name in ("GLOBAL REDUCE", "GLOBAL eval", "GLOBAL exec", "STACK_GLOBAL", "INST", "OBJ"):
        path = tmp_path / name.replace(" ", "")
        monkeypatch.setenv("CANARY", str(path))
        pickle.loads(ROUTES[name])
        assert path.exists(), name


@pytest.mark.usefixtures("canary")
def test_every_instruction_of_pickle_is_known_or_refused():
    """Each opcode behind a stack of useful things: data, or a clear error."""
    before = P + b"}]](" + text("a") + text("b")
    for opcode in pickletools.opcodes:
        for tail in (b"", b"\0", b"\1\0\0\0\0\0\0\0", b"a\nb\n", b"1\n"):
            code = opcode.code.encode("latin1")
            with contextlib.suppress(pickle.UnpicklingError, RuntimeError, EOFError):
                loaded(adjoint, archive(before + code + tail + b"."))


@pytest.mark.usefixtures("canary")
def test_objects_that_reduce_to_commands():
    for protocol in range(2, 6):
        for obj in (Evil(), [Evil()], {"state": {1: Evil()}}):
            data = saved(torch, obj, pickle_protocol=protocol)
            with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
                loaded(adjoint, data)
            with pytest.warns(UserWarning, match="Evil"):
                data = saved(adjoint, obj)
            with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
                loaded(adjoint, data)


def test_blocked_modules_stay_blocked():
    data = saved(torch, {"x": os.system})
    blocked = pytest.raises(pickle.UnpicklingError, match=r"GLOBAL posix\.system whose module posix is blocked")
    with adjoint.serialization.safe_globals([os.system]), blocked:
        loaded(adjoint, data)


def test_what_to_do_is_said():
    with pytest.raises(pickle.UnpicklingError) as caught:
        loaded(adjoint, saved(torch, torch.nn.Linear(1, 1)))
    with pytest.raises(pickle.UnpicklingError) as theirs:
        loaded(torch, saved(torch, torch.nn.Linear(1, 1)))
    assert str(caught.value)[:85] == str(theirs.value)[:85]
    for words in ("`weights_only` set to `False`", "add_safe_globals([torch.nn.modules.linear.Linear])"):
        assert words in str(caught.value)
        assert words in str(theirs.value)


# ---- the container


def container(*records, compress=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as target:
        for name, data in records:
            target.writestr(name, data)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")  # zipfile's, as it writes the bad archive
@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([("archive/data.pkl", b"\x80\x02N."), ("archive/../../x", b"")], "not of the form"),
        ([("archive/data.pkl", b"\x80\x02N."), ("/etc/passwd", b"")], "not of the form"),
        ([("../data.pkl", b"\x80\x02N.")], "not of the form"),
        ([("archive/data.pkl", b"\x80\x02N."), ("other/data/0", b"")], "not of the form"),
        ([("archive/data.pkl", b"\x80\x02N."), ("archive\\x", b"")], "not of the form"),
        ([("data.pkl", b"\x80\x02N.")], "not of the form"),
        ([("archive/data.pkl", b"\x80\x02N."), ("archive/data.pkl", b"")], "two records"),
        ([("archive/version", b"3\n")], "file not found: archive/data.pkl"),
        ([("archive/data.pkl", b"\x80\x02N."), ("archive/byteorder", b"middle")], "Unknown endianness"),
    ],
)
def test_names_in_the_container(records, words):
    with pytest.raises((RuntimeError, ValueError), match=words):
        loaded(adjoint, container(*records))


def test_a_zip_bomb_is_not_unpacked():
    size = 1 << 26
    data = archive(tensor_pickle(size // 4, size=(1,)), {"data/0": bytes(size)}, compress=zipfile.ZIP_DEFLATED)
    assert len(data) < 1 << 17
    adjoint.reset_peak_memory_stats()
    with pytest.raises(RuntimeError, match=r"compressed, which torch\.save never does"):
        loaded(adjoint, data)
    assert adjoint.memory_stats()["peak"] < 1 << 26


def test_records_that_lie_over_each_other():
    """Many names for one large record would be read into many times its memory."""
    data = container(("archive/data.pkl", b"\x80\x02N."), ("archive/data/0", bytes(64)), ("archive/data/1", bytes(64)))
    begin = data.index(b"PK\x01\x02")
    second = data.index(b"archive/data/0", begin)
    third = data.index(b"archive/data/1", begin)
    changed = bytearray(data)
    changed[third - 4 : third] = data[second - 4 : second]
    with pytest.raises(RuntimeError, match=r"overlaps|another name"):
        loaded(adjoint, bytes(changed))
    changed[third : third + 14] = b"archive/data/0"
    with pytest.raises(RuntimeError, match=r"two records|overlaps"):
        loaded(adjoint, bytes(changed))


# ---- time and memory


LIMITED = """
import io, os, resource, sys
import adjoint
if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which reserves all the addresses there are
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
while size := sys.stdin.buffer.read(8):
    try:
        adjoint.load(io.BytesIO(sys.stdin.buffer.read(int.from_bytes(size, "little"))))
    except Exception as error:
        print(type(error).__name__, flush=True)
    else:
        print("loaded", flush=True)
"""


def limited(*files):
    """What becomes of files where memory and time are short."""
    given = b"".join(len(data).to_bytes(8, "little") + data for data in files)
    return script(LIMITED, given=given, timeout=100).stdout.decode().split()


def nested_tuples(depth, width):
    return P + b")" + (b"q\0" + b"h\0" * (width - 1) + (b"\x85", b"\x86")[width - 1]) * depth


BOUNDED = [
    (P + b"X\xff\xff\xff\x7fabc", "EOFError"),
    (P + b"Nr\xff\xff\xff\xff.", "loaded"),
    (P + b"\x8b\xff\xff\xff\x7f" + b"\0" * 9, "UnpicklingError"),
    (P + b"B\xff\xff\xff\xff" + b"\0" * 9, "UnpicklingError"),
    (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.", "UnpicklingError"),
    (P + b"](" * 200_000 + b"e" * 200_000 + b".", "loaded"),
    (P + b"(" * 300_000, "EOFError"),
    (nested_tuples(50, 2) + b".", "loaded"),
    (P + b"}" + nested_tuples(50, 2)[2:] + b"Ns.", "RuntimeError"),
    (P + b"}" + nested_tuples(200_000, 1)[2:] + b"Ns.", "RuntimeError"),
    (P + b"c__builtin__\nset\n" + nested_tuples(200_000, 1)[2:] + b"\x85\x85R.", "RuntimeError"),
    (P + b"ctorch\nSize\n" + nested_tuples(50, 2)[2:] + b"\x85R.", "RuntimeError"),
    (nested_tuples(50, 2) + b")R.", "UnpicklingError"),
    (nested_tuples(50, 2) + b"Q.", "UnpicklingError"),
]


def test_bounded_memory_and_time():
    assert limited(*(archive(pickled) for pickled, _ in BOUNDED)) == [expected for _, expected in BOUNDED]


def number(value):
    return b"\x8a\x0a" + value.to_bytes(10, "little", signed=True)


ALIKE = [number(k * (2**61 - 1)) for k in range(1, 15_000)]  # every one of them has the hash 0
V3 = b"ctorch._utils\n_rebuild_tensor_v3\n("
STORAGE = b"(" + text("storage") + b"ctorch.storage\nUntypedStorage\n" + text("0") + text("cpu") + b"K\x08tQ"
DEEP = b")" + b"\x85" * 300_000
LAUGHS = b")" + b"q\0h\0\x86" * 60  # two of the same, sixty times
ORDERED = b"ccollections\nOrderedDict\n"


def doubling_dicts(depth):
    """An OrderedDict with the one before as two of its values, again and again."""
    return ORDERED + b")R" + (b"q\0" + ORDERED + b")RK\1h\0sK\2h\0s") * depth


def again_and_again(value, function, count=20_000):
    """Calls of a function, each with the same large value."""
    return P + value + b"q\0" + function + b"q\1](" + b"h\1h\0\x85R" * count + b"e."


MUCH_OF_LITTLE = [
    # A dtype, a storage, a size, a name that is nested or shared beyond use.
    (P + V3 + STORAGE + b"K\0))\x89N" + DEEP + b"tR.", "RuntimeError"),
    (P + V3 + STORAGE + b"K\0))\x89N" + LAUGHS + b"tR.", "RuntimeError"),
    (P + V3 + DEEP + b"K\0))\x89Nctorch\nfloat32\ntR.", "RuntimeError"),
    (P + V3 + STORAGE + b"K\0" + DEEP + b")\x89Nctorch\nuint16\ntR.", "RuntimeError"),
    (P + V3 + STORAGE + b"K\0))\x89Nctorch\nuint16\n" + DEEP + b"tR.", "RuntimeError"),
    (P + b"ctorch.serialization\n_get_layout\n" + DEEP + b"\x85R.", "RuntimeError"),
    (P + b"ctorch\ndevice\n" + DEEP + b"K\0\x86R.", "RuntimeError"),
    (P + DEEP + b"Q.", "UnpicklingError"),
    (P + b"ctorch\nSize\n(" + doubling_dicts(60) + b"t\x85R.", "RuntimeError"),
    (P + doubling_dicts(60) + b")R.", "UnpicklingError"),
    (P + doubling_dicts(60) + b".", "loaded"),
    (P + b"]" + DEEP + b"a" + DEEP + b"a.", "loaded"),
    (P + b"](" + b"ctorch\nFloatStorage\n" + DEEP + b"t" + b")" * 9 + b"Q.", "UnpicklingError"),
    # Keys that hash alike.
    (P + b"}(" + b"N".join([*ALIKE, b"u."]), "RuntimeError"),
    (P + b"}" + b"Ns".join([*ALIKE, b"."]), "RuntimeError"),
    (P + b"}(" + b"\x85N".join([*ALIKE, b"u."]), "RuntimeError"),
    (b"\x80\x04\x8f(" + b"".join(ALIKE) + b"\x90.", "RuntimeError"),
    (P + b"c__builtin__\nset\n](" + b"".join(ALIKE) + b"e\x85R.", "RuntimeError"),
    (P + ORDERED + b"](" + b"N\x86".join([*ALIKE, b"e\x85R."]), "RuntimeError"),
    # Much made of little: a large value that is copied by each of many calls, keys that are walked by each use.
    (again_and_again(b"(" + b"K\1" * 50_000 + b"t", b"ctorch\nSize\n"), "RuntimeError"),
    (again_and_again(b"](" + b"K\1" * 50_000 + b"e", b"c__builtin__\nset\n"), "RuntimeError"),
    (
        again_and_again(
            b"c_codecs\nencode\n" + text("x" * 50_000) + text("latin1") + b"\x86R", b"c__builtin__\nbytearray\n"
        ),
        "RuntimeError",
    ),
    (P + b"}" + b"(" + b"N" * 990 + b"tq\0" + b"Ns" + b"h\0Ns" * 100_000 + b".", "RuntimeError"),
    (P + b"(" + b"K\1" * 99 + b"tq\0" + V3 + STORAGE + b"K\0h\0h\0\x89Nctorch\nuint16\ntR.", "RuntimeError"),
]


def test_much_of_little():
    files = [archive(pickled, {"data/0": bytes(8)}) for pickled, _ in MUCH_OF_LITTLE]
    assert limited(*files) == [expected for _, expected in MUCH_OF_LITTLE]


def test_headers_and_keys_of_legacy_files():
    """The pickles before and behind the object are read as carefully as the object."""
    data = saved(torch, torch.ones(2), _use_new_zipfile_serialization=False)
    version = data.index(b"\x80\x02M\xe9\x03.")
    keys = data.rindex(b"\x80\x02]q\0")
    files = [P + b"}(" + b"N".join([*ALIKE, b"u."])]
    for nested in (DEEP, LAUGHS):
        files.append(data[:version] + P + nested + b"." + data[version + 6 :])
        files.append(data[:keys] + P + b"]" + nested + b"a.")
    assert limited(*files) == ["RuntimeError"] * 5


def test_values_without_memory_are_promised_by_the_file_too():
    data = tensor_pickle(count=2**62, size=(1,), location="meta").replace(b"tQ", b"NtQ")
    before = saved(torch, 1, _use_new_zipfile_serialization=False)
    legacy = before[: before.rindex(b"\x80\x02K\1.")] + data + P + b"]" + text("0") + b"a." + struct.pack("<q", 2**62)
    with pytest.raises(EOFError, match="promises 18446744073709551616 bytes"):
        loaded(adjoint, legacy)


def test_a_negative_of_few_values_is_no_large_one():
    """Negative and conjugate are made of the values that are in the file, once, however often they are named."""
    conj = b"}" + text("conj") + b"\x88sq\7"
    tensor = tensor_pickle(3, size=(2**34,), stride=(0,), storage="ComplexFloatStorage")[:-3] + conj + b"tR"
    one, both = (
        archive(tensor + b".", {"data/0": bytes(24)}),
        archive(tensor + tensor[2:] + b"\x86.", {"data/0": bytes(24)}),
    )
    assert loaded(adjoint, one).shape == (2**34,)
    first, second = loaded(adjoint, both)
    assert first.data_ptr() == second.data_ptr()


def test_a_storage_is_of_one_type():
    """Bytes that are read as numbers first could be no values of bool."""
    first, second = (tensor_pickle(24, size=(24,), storage=name)[2:-1] for name in ("ByteStorage", "BoolStorage"))
    with pytest.raises(pickle.UnpicklingError, match=r"is of torch.uint8 at one place, of torch.bool at another"):
        loaded(adjoint, archive(P + first + second + b"\x86.", {"data/0": bytes(range(24))}))


def test_items_come_in_lists():
    """A tensor is iterable, and can have more elements than fit in memory."""
    many = tensor_pickle(6, size=(2**40,), stride=(0,))[2:-1]
    calls = [b"c__builtin__\nset\n", ORDERED, b"ccollections\nCounter\n", b"ctorch\nSize\n"]
    pickles = [P + function + many + b"\x85R." for function in calls]
    rebuild = b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n"
    pickles.append(P + rebuild + many + b"}tR.")
    assert limited(*(archive(pickled, {"data/0": bytes(24)}) for pickled in pickles)) == ["RuntimeError"] * 5


def test_large_tables_of_honest_keys():
    obj = [dict.fromkeys(range(5000)), {k / 7: None for k in range(5000)}, {(k, str(k)) for k in range(5000)}]
    obj += [
        dict.fromkeys(range(200), b"x" * 100000),
        dict.fromkeys(range(-3000, 3000)),
        {"long": {tuple(range(999)): 1}},
    ]
    for library in (torch, adjoint):
        assert loaded(adjoint, saved(library, obj)) == obj


@pytest.mark.parametrize("kind", ["zip", "legacy", "spliced", "safetensors"])
def test_mutated_files(kind):
    """A value or a clear error, whatever a file has become."""
    done = python("-X", "faulthandler", "-m", "tests.serialization.mutate", kind, 1, 400)
    assert "loaded" in done.stdout
    assert "Error" in done.stdout
    assert "without words" not in done.stdout


def test_sizes_that_nobody_has_memory_for():
    for count in (2**40, 2**61):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            loaded(adjoint, archive(tensor_pickle(count), {"data/0": bytes(24)}))
