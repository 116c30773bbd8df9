"""UntypedStorage: what torch's does, in calls and programs that both libraries run, and memory that never dangles."""

import copy
import gc
import sys
import warnings
import weakref

import numpy as np
import pytest
import torch

import adjoint
from adjoint.multiprocessing.reductions import StorageWeakRef

from .compare import LIBRARIES, programs

program, test_program = programs()
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def outcome(call, words=24):
    """What a call gives, or the type of its error and its first words."""
    try:
        value = call()
    except Exception as error:
        return type(error).__name__, str(error)[:words]
    if isinstance(value, torch.UntypedStorage | adjoint.UntypedStorage):
        values = None if value.device.type == "meta" else value.tolist()
        return "UntypedStorage", str(value.device), value.nbytes(), values
    if isinstance(value, torch.TypedStorage | adjoint.TypedStorage):
        values = None if value.device.type == "meta" else value.tolist()
        return "TypedStorage", str(value.dtype), str(value.device), value.size(), values
    if isinstance(value, torch.Tensor | adjoint.Tensor):
        return str(value.dtype), value.tolist()
    return str(value) if isinstance(value, torch.device | adjoint.device) else value


def agree(text, **names):
    """Evaluates an expression of L in both libraries."""
    theirs, ours = (
        outcome(lambda L=L: eval(text, {"L": L, "np": np, **{k: v(L) for k, v in names.items()}})) for L in LIBRARIES
    )
    assert ours == theirs, text


def eight(L):
    return L.UntypedStorage([0, 1, 2, 3, 4, 5, 6, 7])


CONSTRUCTORS = [
    *("L.UntypedStorage()", "L.UntypedStorage(3).nbytes()", "L.UntypedStorage(size=3).nbytes()"),
    *("L.UntypedStorage([1, 2, 300])", "L.UntypedStorage([1, -1])", "L.UntypedStorage((1, 2))"),
    *("L.UntypedStorage(range(3))", "L.UntypedStorage(b'ab')", "L.UntypedStorage([])", "L.UntypedStorage('')"),
    *("L.UntypedStorage(L.UntypedStorage([4, 5]))", "L.UntypedStorage(bytearray(3))"),
    *("L.UntypedStorage(3, device='meta')", "L.UntypedStorage(3, device='cpu').device"),
    *("L.UntypedStorage([1], device='meta')", "L.UntypedStorage(2, device=L.device('cpu')).nbytes()"),
    *("L.UntypedStorage(True)", "L.UntypedStorage(3.0)", "L.UntypedStorage(None)", "L.UntypedStorage([1.5])"),
    *("L.UntypedStorage('ab')", "L.UntypedStorage(L.tensor([1, 2]))", "L.UntypedStorage(2**70)"),
    *("L.UntypedStorage(3, 4)", "L.UntypedStorage(3, 'cpu')", "L.UntypedStorage(foo=3)"),
    *("L.UntypedStorage(3, device='cuda')", "L.UntypedStorage(2, device='foo')", "L.StorageBase()"),
]
READS = [
    *("len(s)", "s.size()", "s.nbytes()", "s.element_size()", "s[0]", "s[-1]", "s[np.int64(2)]", "list(s)", "1 in s"),
    *("s[1:3]", "s[5:2]", "s[:]", "s[-3:]", "s[8]", "s[-9]", "s[::2]", "s['a']", "s[1.0]", "s[None]", "s[True]"),
    *(
        "s[L.tensor(1)]",
        "s[2**70]",
        "s[(1, 2)]",
        "bytes(s)",
        "bool(s)",
        "bool(L.UntypedStorage(0))",
        "repr(s)",
        "str(s)",
    ),
    *("repr(L.UntypedStorage(0))", "repr(L.UntypedStorage(3, device='meta'))", "s.is_cuda", "s.is_hpu", "s.is_sparse"),
    *("s.device", "s.get_device()", "s.type()", "s.resizable()", "s.filename", "s.is_shared()", "s.is_pinned()"),
    *("s.untyped() is s", "s.cpu() is s", "s.to(device='cpu') is s", "s.type(L.UntypedStorage) is s", "s == s"),
    *("s == s.clone()", "s != s", "L.is_storage(s)", "L.UntypedStorage(0).data_ptr()", "s._checkpoint_offset"),
    *("L.tensor(s)", "L.tensor(s, dtype=L.uint8)", "L.as_tensor(s)", "np.array(s).tolist()", "L.typename(s)[-22:]"),
    *("s.pin_memory()", "s.clone()", "s.new()", "s.bool()", "s.byte()", "s.char()", "s.short()"),
    *("s.int()", "s.long()", "s.half()", "s.float()", "s.double()", "s.bfloat16()", "s.complex_float()"),
    *("s.complex_double()", "s.type('torch.storage.UntypedStorage') is s", "s._get_filename()", "s._shared_incref()"),
]
WRITES = [
    *("s.fill_(3)", "s.fill_(300)", "s.fill_(-1)", "s.fill_(True)", "s.fill_(1.5)", "s.fill_('a')", "s.fill_(None)"),
    *("s.copy_(L.UntypedStorage([9] * 8))", "s.copy_(s, True)", "s.copy_(s[1:8], non_blocking=True)", "s.copy_([1])"),
    *("s.copy_(L.zeros(8))", "s.copy_(L.UntypedStorage(8, device='meta'))", "s.copy_(L.ByteStorage([5] * 8))"),
    *("L.UntypedStorage(8, device='meta').copy_(s)", "s.resize_(3)", "s.resize_(0)", "s.resize_(12).nbytes()"),
    *("s.resize_(1.5)", "s.resize_('a')", "s.resize_(True)", "s.resize_(None)", "s[1:3].resize_(1)"),
    *("s.byteswap(3)", "s[:3].byteswap(L.float32)", "s._byteswap(3)", "s._byteswap('a')", "s.share_memory_() is s"),
    *("s.share_memory_().is_shared()", "s.share_memory_()", "L.UntypedStorage._new_shared(3).is_shared()"),
    *("s.__setitem__(1, 300)", "s.__setitem__(slice(1, 3), 9)", "s.__setitem__(slice(0, 8, 2), 9)"),
    *("s.__setitem__(0, 1.5)", "s.__setitem__(0, None)", "s.__setitem__(slice(1, 3), [1, 2])", "s.__setitem__('a', 1)"),
    *("s.__setitem__(True, 1)", "s.__setitem__(2**70, 1)", "s.__setitem__(0, L.tensor(3))", "s.__setitem__(0, True)"),
]
META = [
    *("m.nbytes()", "m.data_ptr()", "m[0]", "m[0:2]", "m.tolist()", "list(m)", "m.__setitem__(0, 1)", "m.fill_(1)"),
    *("m.clone()", "m.cpu()", "m.copy_(m)", "m.is_shared()", "m.share_memory_()", "m.is_pinned()", "m.pin_memory()"),
    *("m.float()", "m.resize_(100)", "m.resize_(0)", "m.type()", "m.get_device()", "m.is_cuda", "m._share_fd_cpu_()"),
]


@pytest.mark.parametrize("text", CONSTRUCTORS)
def test_constructors(text):
    agree(text)


@pytest.mark.parametrize("text", READS + WRITES)
def test_calls(text):
    agree(text, s=eight)


@pytest.mark.parametrize("text", [text for text in WRITES if "meta" not in text])
def test_what_calls_write(text):
    # Memory that is shared or larger than before has values of its own.
    def after(L):
        s = eight(L)
        outcome(lambda: eval(text, {"L": L, "s": s}))
        return s.tolist()[:8]

    assert after(adjoint) == after(torch)


@pytest.mark.parametrize("text", META)
def test_meta(text):
    agree(text, m=lambda L: L.empty(4, device="meta").untyped_storage())


def test_where_torch_ends_the_process():
    storage = adjoint.empty(4, device="meta").untyped_storage()
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        storage.byteswap(adjoint.float32)
    shared = adjoint.zeros(4).share_memory_()
    for grow in (lambda: shared.untyped_storage().resize_(100), lambda: shared.resize_(100)):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            grow()
    with pytest.raises((TypeError, AttributeError)):
        del eight(adjoint)[0]
    with pytest.raises(RuntimeError, match="expected a number from 0 up; got -1"):
        eight(adjoint).resize_(-1)
    with pytest.raises(RuntimeError, match="expected a number from 0 up; got -1"):
        adjoint.UntypedStorage(-1)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        eight(adjoint).resize_(2**62)


@pytest.mark.parametrize(
    "dtype",
    [
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "uint8",
        "bool",
    ],
)
def test_byteswap(dtype):
    for L in LIBRARIES:
        storage = L.UntypedStorage(list(range(32)))
        assert storage.byteswap(getattr(L, dtype)) is None
        swapped = (
            np.arange(32, dtype=np.uint8).view({"bfloat16": "float16"}.get(dtype, dtype)).byteswap().view(np.uint8)
        )
        assert storage.tolist() == swapped.tolist()


# ---- identity


@program
def one_object_for_all_tensors_on_it(L):
    x = L.arange(4.0)
    storage = x.untyped_storage()
    others = (x[1:], x.view(2, 2), x.detach(), x.data, x.view(L.int32), L.empty(0).set_(storage))
    same = [one.untyped_storage() is storage for one in others]
    apart = (x.clone(), x + 1, L.arange(4.0))
    return same, [one.untyped_storage() is storage for one in apart], storage._cdata == x[2:].untyped_storage()._cdata


@program
def attributes_stay_while_the_memory_does(L):
    x = L.arange(4.0)
    x.untyped_storage().note = [1]
    view = x[1:]
    del x
    gc.collect()
    alive = weakref.ref(view.untyped_storage())
    storage = view.untyped_storage()
    del view
    gc.collect()
    values = alive() is storage, storage.note, storage.nbytes()
    del storage
    gc.collect()
    return values, alive()


@program
def the_object_outlives_the_tensors(L):
    storage = L.tensor([1.0, 2.0]).untyped_storage()
    gc.collect()
    x = L.empty(0).set_(storage)
    storage.note = 3
    del storage
    return x, x.untyped_storage().note


@program
def cycles_are_collected(L):
    storage = L.UntypedStorage(3)
    storage.me = storage
    x = L.zeros(3)
    x.untyped_storage().me = x.untyped_storage()
    dead = weakref.ref(storage), weakref.ref(x.untyped_storage())
    del storage, x
    gc.collect()
    return [ref() for ref in dead]


@program
def weak_references(L):
    x = L.zeros(2)
    reference = L.multiprocessing.reductions.StorageWeakRef
    one, other = reference(x.untyped_storage()), reference(x[1:].untyped_storage())
    apart = reference(L.zeros(2).untyped_storage())
    before = one == other, one.expired(), hash(one) == hash(other), one.cdata == x.untyped_storage()._cdata
    del x
    gc.collect()
    return before, one.expired(), apart.expired()


def test_numbers_of_weak_references():
    storage = adjoint.UntypedStorage([1, 2])
    number = storage._weak_ref()
    assert number == storage._cdata
    assert adjoint.UntypedStorage._new_with_weak_ptr(number) is storage
    del storage
    assert adjoint.UntypedStorage._expired(number)
    assert adjoint.UntypedStorage._new_with_weak_ptr(number) is None
    # Storages that come to lie where it lay have other numbers while it is in use.
    later = [adjoint.UntypedStorage([1, 2]) for _ in range(100)]
    assert number not in [one._weak_ref() for one in later]
    adjoint.UntypedStorage._free_weak_ref(number)
    for bad in (number, 2, 2**64 - 1):
        for ask in (adjoint.UntypedStorage._expired, adjoint.UntypedStorage._free_weak_ref):
            with pytest.raises(ValueError, match="expected a number that storage"):
                ask(bad)
    with pytest.raises(OverflowError):
        adjoint.UntypedStorage._expired(-1)
    with pytest.raises(TypeError):
        adjoint.UntypedStorage._expired("a")
    references = [StorageWeakRef(one) for one in later]
    del later
    assert all(one.expired() for one in references)


@program
def copies(L):
    x = L.arange(4.0)
    tensor, storage, view = copy.deepcopy([x, x.untyped_storage(), x[1:]])
    twice = copy.deepcopy([storage, storage])
    return (
        (tensor, tensor.untyped_storage() is storage, view.untyped_storage() is storage, twice[0] is twice[1]),
        (copy.copy(storage).tolist() == storage.tolist(), copy.copy(storage) is storage),
        (copy.deepcopy(L.empty(3, device="meta").untyped_storage()).nbytes()),
    )


# ---- sizes that change


@program
def growth_keeps_values_and_sharing(L):
    x = L.arange(4.0)
    view = x[1:]
    storage = x.untyped_storage()
    same = storage.resize_(64) is storage
    view[0] = 9.0
    x[3] = 7.0
    y = L.empty(0).set_(storage, 3, (2,))
    y[0] = 5.0
    return same, x, view, y[0], storage.nbytes(), view.untyped_storage() is storage, x._version, storage.resizable()


@program
def smaller_and_back(L):
    x = L.arange(30.0)
    storage = x.untyped_storage()
    storage.resize_(0)
    seen = x.shape, storage.nbytes(), storage.data_ptr(), x._version
    storage.resize_(120)
    x.copy_(L.ones(30))
    return seen, x, storage.nbytes()


@program
def parameters_whose_memory_is_freed_between(L):
    # As sharded training does it: the graph has saved them, and they are back before the backward.
    weight = L.arange(6.0).view(2, 3).requires_grad_()
    kept = weight.detach().clone()
    x = L.ones(3, requires_grad=True)
    y = (weight.t().mul(2) * x.view(3, 1)).sum()
    storage = weight.untyped_storage()
    storage.resize_(0)
    storage.resize_(24)
    with L.no_grad():
        weight.data.copy_(kept)
    y.backward()
    return x.grad, weight.grad


@program
def saved_values_follow_memory_that_moves(L):
    x = L.arange(1.0, 4.0)
    w = L.ones(3, requires_grad=True)
    y = (w * x).sum() + (w * x[1:].sum()).sum()
    x.untyped_storage().resize_(4096)
    junk = [L.full((3,), 7.0) for _ in range(100)]
    y.backward()
    return w.grad, len(junk)


@program
def versions_do_not_count_what_storages_write(L):
    x = L.arange(4.0)
    storage, typed = x.untyped_storage(), x._typed_storage()
    storage.fill_(0)
    storage[0] = 3
    with warnings.catch_warnings(action="ignore"):  # that such storages are old is said once in a process
        typed[1] = 2.0
        typed.fill_(1.0)
    storage.copy_(L.zeros(4).untyped_storage())
    storage.resize_(32)
    return x._version, x, x.set_(L.zeros(2))._version


@program
def gradients_stay(L):
    x = L.arange(3.0, requires_grad=True)
    (x * x).sum().backward()
    x.untyped_storage().resize_(64)
    (x * x).sum().backward()
    return x.grad, x


@program
def memory_of_others_keeps_its_size(L):
    array = np.arange(4.0)
    adopted, buffer = L.from_numpy(array), L.frombuffer(bytearray(8), dtype=L.uint8)
    lent = L.arange(4.0)
    lent_to = lent.numpy()
    part = L.UntypedStorage(4)[1:]
    results = []
    for storage in (adopted.untyped_storage(), buffer.untyped_storage(), lent.untyped_storage(), part):
        results += [outcome(lambda n=n, s=storage: s.resize_(n), 44) for n in (0, 2, 100)]
        results += [storage.resizable()]
    grown = [outcome(lambda t=t: t.resize_(100), 44) for t in (adopted, buffer, lent)]
    return results, grown, array, lent_to, buffer.untyped_storage().nbytes()


def test_freed_memory_is_never_read():
    for count in (3, 300, 30_000, 3_000_000):
        x = adjoint.ones(count)
        view = x[count // 3 :]
        x.untyped_storage().resize_(0)
        # Tensors that are still there show zeros, and may be written.
        assert x.sum().item() == view.sum().item() == 0.0
        assert (x + 1).sum().item() == count
        x.fill_(2.0)
        assert view[-1].item() == 2.0
        with pytest.raises(RuntimeError, match="setStorage: sizes"):
            x.as_strided((1,), (1,), 0)
        assert adjoint.empty(0).set_(x.untyped_storage()).shape == (0,)


def test_memory_goes_back_to_the_system():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    if not sys.platform.startswith("linux"):
        return
    x = adjoint.ones(16_000_000)
    before = resident()
    x.untyped_storage().resize_(0)
    assert before - resident() > 60_000_000


def test_growing_again_and_again():
    storage = adjoint.UntypedStorage([7])
    x = adjoint.empty(0, dtype=adjoint.uint8).set_(storage)
    for size in range(2, 3000):
        storage.resize_(size)
        storage[size - 1] = size % 256
    assert x.tolist() == [7]
    assert storage.tolist() == [7] + [size % 256 for size in range(2, 3000)]
    assert x.data_ptr() == storage.data_ptr()


def test_memory_that_is_lent_does_not_move():
    x = adjoint.arange(4.0)
    view = memoryview(x)
    for grow in (lambda: x.untyped_storage().resize_(100), lambda: x.resize_(100), lambda: x[1:].resize_(100)):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            grow()
    with pytest.raises(RuntimeError, match="cannot move"):
        x.untyped_storage().share_memory_()
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
    view.release()
    assert x.untyped_storage().resize_(100).nbytes() == 100
    y = adjoint.arange(4.0)
    capsule = adjoint.utils.dlpack.to_dlpack(y)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        y.untyped_storage().resize_(100)
    whole = eight(adjoint)
    part = whole[2:4]
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        whole.resize_(100)
    part[0] = 99
    assert (whole[2], part.data_ptr() - whole.data_ptr(), capsule is not None) == (99, 2, True)
    del whole
    assert part.tolist() == [99, 3]


def test_tensors_that_the_collector_does_not_show():
    x = adjoint.arange(4.0)
    view = x[1:]
    gc.collect()
    gc.freeze()
    try:
        x.untyped_storage().resize_(100)
        x[1] = 9.0
        assert view.tolist() == [9.0, 2.0, 3.0]
    finally:
        gc.unfreeze()


def test_elements_are_aligned():
    part = adjoint.UntypedStorage(9)[1:]
    for use in (
        lambda: adjoint.empty(0).set_(part),
        lambda: adjoint.empty(0, dtype=adjoint.uint8).set_(part).view(adjoint.float32),
        lambda: adjoint.TypedStorage(wrap_storage=part, dtype=adjoint.float64).tolist(),
        lambda: adjoint.frombuffer(bytearray(9), dtype=adjoint.uint8, offset=1).view(adjoint.int64),
        lambda: adjoint.Tensor(part),
    ):
        with pytest.raises(RuntimeError, match="begins at an address that is not a multiple of"):
            use()
    assert adjoint.empty(0).set_(part.clone()).shape == (2,)


# ---- set_


def six(L):
    return L.arange(6.0)


SETS = [
    *("z.set_(s)", "z.set_(t)", "z.set_(s, 1, (2,))", "z.set_(s, 1, (2,), (2,))", "z.set_(s, 0, (2, 2), (2, 1))"),
    *("z.set_(s, 0, (7,))[:6]", "z.set_(s, 0, (7,)).untyped_storage().nbytes()", "z.set_(t, 1, (2,), (2,))"),
    *("z.set_(source=s, storage_offset=1, size=(2,), stride=(1,))", "z.set_(s, 0, (0,))", "z.set_(s, 0, ())"),
    *("L.empty(0, dtype=L.int32).set_(s)", "L.empty(0, dtype=L.int64).set_(s)", "L.empty(0, dtype=L.int32).set_(t)"),
    *("L.empty(0, dtype=L.float64).set_(s, 1, (2,))", "z.set_(s, -1, (2,))", "z.set_(s, 0, (2,), (-1,))"),
    *("z.set_(s, 0, (2, 2), (1,))", "z.set_(s, 1)", "z.set_(s, 1, 2)", "z.set_(s, 1.5, (2,))", "z.set_([1])"),
    *("z.set_(L.UntypedStorage(8, device='meta'))", "z.set_(s, 2**62, (2,))", "z.set_(s, 0, (2**40, 2**40))"),
    *("z.set_(s, 0, (2,), (2**62,))", "z.set_(s, L.tensor(1), (2,))", "z.set_(L.UntypedStorage(7)).shape == (1,)"),
    *("z.set_(s).untyped_storage() is s", "z.set_(a, 1, (2,))", "z.set_(a[2:], 1, (2,))", "z.set_(a[::2], 0, (2,))"),
    *("z.set_(a, 0, (9,))[:6]", "z.set_(a, 0, (9,)).untyped_storage() is s", "a.set_(s, 1, (2,))._version"),
    *("L.empty(0, device='meta').set_(L.UntypedStorage(8, device='meta'), 0, (4,)).untyped_storage().nbytes()",),
    *("L.empty(0, device='meta').set_(s)", "L.empty(0, requires_grad=True).set_(s)", "z.set_(s)._version"),
    *("L.Tensor(s)", "L.FloatTensor(t)", "L.LongTensor(t)", "z.new(s)", "L.zeros(2).new(t)", "L.Tensor(t)"),
    *("L.empty(0).set_(L.from_numpy(np.zeros(3)).untyped_storage(), 0, (100,))", "z.set_(s[4:8])"),
]


@pytest.mark.parametrize("text", SETS)
def test_set(text):
    def run(L):
        a = six(L)
        names = {"L": L, "np": np, "a": a, "s": a.untyped_storage(), "t": a._typed_storage(), "z": L.empty(0)}
        return outcome(lambda: eval(text, names))

    assert run(adjoint) == run(torch)


@program
def writes_through_what_was_set(L):
    storage = L.UntypedStorage([0] * 16)
    x, y = L.empty(0).set_(storage), L.empty(0, dtype=L.int32).set_(storage)
    x[1] = 1.0
    y[0] = 7
    return storage.tolist(), x.view(L.int32), y
