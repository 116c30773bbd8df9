"""TypedStorage and the old names, FloatStorage and so on: as in torch, with its warning that they go away."""

import copy
import warnings

import pytest
import torch

import adjoint

from .compare import LIBRARIES, programs
from .processes import python
from .test_storage import agree

program, test_program = programs()
quiet = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

LEGACY = [
    "Double",
    "Float",
    "Half",
    "BFloat16",
    "Long",
    "Int",
    "Short",
    "Char",
    "Byte",
    "Bool",
    "ComplexDouble",
    "ComplexFloat",
]


def three(L):
    return L.TypedStorage([1.0, 2.0, 3.0])


CONSTRUCTORS = [
    *("L.TypedStorage()", "L.TypedStorage(3).size()", "L.TypedStorage([1, 2], dtype=L.int16)"),
    *("L.TypedStorage(3, device='meta')", "L.TypedStorage(2, dtype=L.int64, device=L.device('cpu')).nbytes()"),
    *("L.TypedStorage(wrap_storage=L.UntypedStorage([0] * 8), dtype=L.float)", "L.TypedStorage([[1, 2]])"),
    *("len(L.TypedStorage(wrap_storage=L.UntypedStorage(7), dtype=L.float))", "L.TypedStorage('ab')"),
    *("L.TypedStorage(wrap_storage=L.UntypedStorage(8))", "L.TypedStorage(wrap_storage=[1], dtype=L.float)"),
    *("L.TypedStorage(3, wrap_storage=L.UntypedStorage(8), dtype=L.float)", "L.TypedStorage(1, 2)"),
    *("L.TypedStorage(wrap_storage=L.UntypedStorage(8), dtype=L.float, device='cpu')", "L.TypedStorage(3.5)"),
    *("L.TypedStorage(None)", "L.TypedStorage(L.tensor([1.0]))"),
    *("L.FloatStorage()", "L.FloatStorage(2).size()", "L.FloatStorage([1, 2])", "L.FloatStorage(range(3))"),
    *("L.FloatStorage(wrap_storage=L.UntypedStorage([0] * 8))", "L.FloatStorage(2, dtype=L.int)"),
    *("L.FloatStorage(2, device='cpu')", "L.FloatStorage(1, 2)", "L.FloatStorage(foo=1)", "L.FloatStorage('a')"),
    *("L.FloatStorage(np.array([1.0]))", "L.ByteStorage(L.UntypedStorage([1, 2]))", "L.IntStorage([1.5, 2])"),
    *("L.BoolStorage([0, 3])", "L.ComplexFloatStorage([1 + 2j])", "L.cuda.FloatStorage(3)", "L.LongStorage(['a'])"),
    *("L.FloatStorage._new_shared(3).is_shared()", "L.Storage([1.0])", "L.FloatStorage.dtype == L.float32"),
]
CALLS = [
    *("s.dtype == L.float32", "s.device", "s.is_cuda", "s.is_hpu", "s.is_sparse", "len(s)", "s.size()", "s.nbytes()"),
    *("s.element_size()", "s[0]", "s[-1]", "s[5]", "s[-5]", "s[1:]", "s['a']", "s[1.0]", "s[True]", "s.tolist()"),
    *("list(s)", "s.fill_(2)", "s.fill_('a')", "s.copy_(L.FloatStorage([5, 6, 7]))", "s.copy_(L.LongStorage([5]))"),
    *("s.copy_([1, 2, 3])", "s.resize_(2)", "s.resize_(1.5)", "s.clone()", "s.untyped().nbytes()", "s.type()"),
    *("s.float()", "s.long()", "s.bool()", "s.char()", "s.short()", "s.int()", "s.half()", "s.double()", "s.byte()"),
    *("s.bfloat16()", "s.complex_float()", "s.complex_double()", "s.cpu()", "s.cpu() is s", "s.to(device='cpu')"),
    *("s.is_pinned()", "s.pin_memory()", "s.is_shared()", "s.share_memory_().is_shared()", "s.pickle_storage_type()"),
    *("s.get_device()", "s.filename", "s == s", "s == s.clone()", "repr(s)", "str(s)", "s.resizable()"),
    *("s._size()", "s._nbytes()", "s._element_size()", "s._getitem(0)", "s._setitem(0, 1)", "s._is_shared()"),
    *("s.untyped() is s.untyped()", "s._untyped_storage is s.untyped()", "s._cdata == s.untyped()._cdata"),
    *("L.is_storage(s)", "L.tensor(s)", "L.Tensor(s)", "isinstance(s, L.FloatStorage)", "isinstance(s, L.LongStorage)"),
    *("isinstance(s.untyped(), L.FloatStorage)", "isinstance(L.FloatStorage(2), L.TypedStorage)", "hash(s) == hash(s)"),
    *("isinstance(s, L.cuda.FloatStorage)", "L.zeros(3)._typed_storage()", "L.zeros(3)[1:].storage().size()"),
    *("s.__setitem__(0, 9)", "s.__setitem__(slice(1, 3), 7)", "s.__setitem__(0, 'a')", "s.__setitem__(9, 1)"),
    *("s.__setitem__(slice(0, 3, 2), 1)", "s.__setitem__(slice(0, 2), [4, 5])", "s.__setitem__('a', 1)"),
    *("s.__setitem__(0, None)", "s.__setitem__(1.0, 2)", "s.__setitem__(0, L.tensor(3.0))"),
]
META = [
    "m",
    "m.tolist()",
    "m[0]",
    "m.fill_(1)",
    "m.data_ptr()",
    "m.clone()",
    "m.type()",
    "m.copy_(m)",
    "m.long()",
    "repr(m)",
]


@quiet
@pytest.mark.parametrize("text", CONSTRUCTORS)
def test_constructors(text):
    agree(text)


@quiet
@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    agree(text, s=three)


@quiet
@pytest.mark.parametrize("text", META)
def test_meta(text):
    agree(text, m=lambda L: L.empty(4, device="meta").storage())


@quiet
@pytest.mark.parametrize("name", LEGACY)
def test_names(name):
    for L in LIBRARIES:
        kind = getattr(L, f"{name}Storage")
        storage = kind([1, 0])
        assert (kind.__name__, type(storage) is L.TypedStorage, isinstance(storage, kind)) == (
            f"{name}Storage",
            True,
            True,
        )
        assert issubclass(kind, L.storage._LegacyStorage)
        assert storage.type() == f"torch.{name}Storage"
        assert storage.pickle_storage_type() == f"{name}Storage"
        assert storage._get_legacy_storage_class() is kind
        assert L.storage._get_dtype_from_pickle_storage_type(f"{name}Storage") == storage.dtype
    with pytest.raises(KeyError, match="is not recognized"):
        adjoint.storage._get_dtype_from_pickle_storage_type("NoStorage")


@quiet
def test_types_by_name():
    # torch's own conversion by a name is broken: it raises for every storage.
    storage = adjoint.IntStorage([1, 2])
    assert storage.type("torch.FloatStorage").tolist() == [1.0, 2.0]
    assert storage.type(adjoint.LongStorage).dtype == adjoint.int64
    assert storage.type("torch.IntStorage") is storage
    assert storage.type(adjoint.UntypedStorage) is storage.untyped()
    assert storage.untyped().type("torch.LongStorage").tolist() == [1, 0, 0, 0, 2, 0, 0, 0]
    for bad in ("torch.FooStorage", "foo", adjoint.float32, 3):
        with pytest.raises(AttributeError, match="expected a type of storages"):
            storage.type(bad)
    with pytest.raises(NotImplementedError, match="quantized"):
        adjoint.QUInt8Storage(2)


@quiet
@program
def elements_are_the_tensors(L):
    x = L.arange(4.0)
    storage = x[1:].storage()
    storage[0] = 9
    storage[1:3] = 7
    same = L.empty(0).set_(storage)
    same[3] = 5
    one, other = copy.deepcopy([storage, storage])
    return x, storage.tolist(), one.untyped() is other.untyped(), x._version, copy.copy(storage).tolist()


def count(L, action):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        action(L)
    return [(one.category, str(one.message), one.filename) for one in seen]


@pytest.mark.parametrize(
    "action",
    [
        lambda L: L.zeros(2).storage(),
        lambda L: [L.zeros(2).storage().tolist() for _ in range(3)],
        lambda L: L.FloatStorage(2),
        lambda L: L.TypedStorage(2),
        lambda L: L.zeros(2).untyped_storage().tolist(),
        lambda L: L.empty(0).set_(L.zeros(2)._typed_storage()),
        lambda L: L.zeros(2)._typed_storage(),
    ],
)
def test_the_warning(action):
    seen = []
    for L in LIBRARIES:
        L.storage._reset_warn_typed_storage_removal()
        seen.append(count(L, action))
        L.storage._reset_warn_typed_storage_removal()
    assert seen[0] == seen[1]


def test_the_warning_as_often_as_asked():
    for L in LIBRARIES:
        storage = L.zeros(2)._typed_storage()
        L.storage._set_always_warn_typed_storage_removal(True)
        try:
            assert L.storage._get_always_warn_typed_storage_removal()
            assert len(count(L, lambda L, s=storage: [s.nbytes(), s.size(), s[0]])) == 3
        finally:
            L.storage._set_always_warn_typed_storage_removal(False)
        with pytest.raises(AssertionError):
            L.storage._set_always_warn_typed_storage_removal(3)


@quiet
def test_types_are_checked():
    for bad in ("float", 3, float):
        with pytest.raises(RuntimeError, match=r"expected torch\.dtype"):
            adjoint.TypedStorage(2, dtype=bad)


def test_both_directions():
    # A storage of one library is nothing to the other.
    with pytest.raises(TypeError):
        adjoint.UntypedStorage(4).copy_(torch.UntypedStorage(4))
    assert not adjoint.is_storage(torch.UntypedStorage(4))


IN_TORCHS_PLACE = """
import pickle, warnings
warnings.simplefilter("ignore")
import torch
import torch.quasirandom
from torch import DoubleStorage, FloatStorage, Storage, StorageBase
from torch._C import StorageBase as native
from torch.cuda import FloatStorage as on_gpu
from torch.multiprocessing.reductions import StorageWeakRef, reduce_storage
from torch.storage import _LegacyStorage, _load_from_bytes, _StorageBase, _warn_typed_storage_removal
from torch.storage import TypedStorage, UntypedStorage

x = torch.zeros(2)
print(UntypedStorage, TypedStorage, torch.typename(x.untyped_storage()), StorageBase is native)
print(isinstance(x.untyped_storage(), (UntypedStorage, _StorageBase)), issubclass(FloatStorage, _LegacyStorage))
print(pickle.loads(pickle.dumps(x.storage())), Storage is FloatStorage, isinstance(x.storage(), on_gpu))
print(torch.quasirandom.SobolEngine(2, True, seed=1).draw(2))
"""


def test_in_torchs_place(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(IN_TORCHS_PLACE)
    assert python("-m", "adjoint.run", path).stdout == python(path).stdout
