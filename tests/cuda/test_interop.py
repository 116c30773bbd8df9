"""Tensors of a GPU elsewhere: pinned memory, storages, pickles, files, DLPack and __cuda_array_interface__."""

import copy
import io
import pickle
import warnings

import pytest

import adjoint as torch

from .driver import Calls, standin_only


def waits(function):
    """How often a stream waits for an event while a function runs."""
    calls = Calls("cuStreamWaitEvent")
    function()
    return calls["cuStreamWaitEvent"]


def whole(count=6):
    return torch.arange(float(count), device="cuda")


# ---- Pinned memory


def test_pinned_memory():
    x = torch.arange(6.0).reshape(2, 3)
    assert not x.is_pinned()
    p = x.t().pin_memory()
    assert p.is_pinned()
    assert p[1:].is_pinned()
    assert p.pin_memory() is p
    assert torch.equal(p, x.t())
    assert p.stride() == (1, 3)
    assert p.untyped_storage().is_pinned()
    assert not p.clone().is_pinned()
    for made in (torch.empty(3, pin_memory=True), torch.tensor([1.0], pin_memory=True), torch.rand(2, pin_memory=True)):
        assert made.is_pinned()
    assert torch.zeros(3, pin_memory=True).tolist() == [0.0] * 3
    assert torch.ones(2, pin_memory=True, requires_grad=True).requires_grad
    assert x.untyped_storage().pin_memory().is_pinned()
    with pytest.raises(RuntimeError, match="dense CPU tensors can be pinned"):
        torch.zeros(2, device="cuda", pin_memory=True)
    with pytest.raises(RuntimeError, match="dense CPU tensors can be pinned"):
        torch.zeros(2, device="cuda").pin_memory()


def test_copies_that_are_not_waited_for():
    p = torch.arange(1000.0).pin_memory()
    there = p.to("cuda", non_blocking=True)
    back = torch.empty(1000, pin_memory=True).copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, p)
    assert torch.equal(there.cpu(), p)
    wide = p.to("cuda", torch.float64, non_blocking=True)
    narrow = torch.empty(1000, dtype=torch.float16, pin_memory=True).copy_(wide, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(narrow, p.half())
    assert torch.equal(p.cuda(non_blocking=True).cpu(), p)
    plain = torch.arange(10.0)
    assert torch.equal(plain.cuda(non_blocking=True).cpu(), plain)


def test_pinned_memory_that_a_graph_reads_stays():
    x, source = torch.zeros(3000, device="cuda"), torch.ones(3000).pin_memory()
    x.copy_(source, non_blocking=True)  # leaves an event, which a capture must not be asked about
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        x.copy_(source, non_blocking=True)
    source.fill_(5)
    g.replay()
    assert x.tolist() == [5.0] * 3000
    place = source.data_ptr()
    del source
    others = [torch.full((3000,), 9.0).pin_memory() for _ in range(4)]
    assert place not in [other.data_ptr() for other in others]
    x.zero_()
    g.replay()
    assert x.tolist() == [5.0] * 3000


def test_pinned_memory_waits_for_its_copies():
    """A block whose copy is still to be done is not given out again."""
    p = torch.full((1000,), 1.0).pin_memory()
    there = p.cuda(non_blocking=True)
    del p
    other = torch.full((1000,), 2.0).pin_memory()
    assert there.sum().item() == 1000.0
    assert other.sum().item() == 2000.0
    torch.accelerator.empty_host_cache()
    assert torch.cuda.host_memory_stats()["allocations.current"] >= 1


def test_data_loaders_pin():
    data = [(torch.full((2,), float(i)), i) for i in range(6)]
    for workers in (0, 1):
        loader = torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers)
        batches = list(loader)
        assert all(x.is_pinned() and y.is_pinned() for x, y in batches)
        assert [y.tolist() for _, y in batches] == [[0, 1, 2], [3, 4, 5]]
        assert batches[1][0].cuda(non_blocking=True).sum().item() == 24.0


@pytest.mark.parametrize("pinned", [False, True])
def test_saved_values_wait_on_the_cpu(pinned):
    x = whole().requires_grad_()
    with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
        y = x.sin()
        z = y.exp()
        del y
    z.sum().backward()
    own = x.detach().clone().requires_grad_()
    own.sin().exp().sum().backward()
    assert torch.equal(x.grad.cpu(), own.grad.cpu())


# ---- Storages


def test_storages():
    x = whole()
    storage = x.untyped_storage()
    assert storage.device == x.device
    assert storage.is_cuda
    assert storage.nbytes() == 24
    assert storage.get_device() == 0
    assert storage.data_ptr() == x.data_ptr() != 0
    assert x[2:].untyped_storage() is storage
    assert storage.cpu().tolist() == list(x.cpu().untyped_storage())
    assert storage[4] == x.cpu().untyped_storage()[4]
    assert storage.clone().device == x.device
    assert storage.cuda() is storage
    assert torch.UntypedStorage(4, device="cuda").is_cuda
    assert torch.UntypedStorage([1, 2]).cuda().tolist() == [1, 2]
    storage[0:4] = 0
    storage.copy_(torch.arange(6.0, 12.0).untyped_storage())
    assert x.tolist() == [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert x.is_shared()
    assert x.share_memory_() is x


def test_storages_grow():
    x = whole()
    y = x[3:]
    x.untyped_storage().resize_(4096)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert y.tolist() == [3.0, 4.0, 5.0]
    x.resize_(10)
    assert x[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    x.resize_(2)
    assert x.tolist() == [0.0, 1.0]
    y += 1
    assert y.tolist() == [4.0, 5.0, 6.0]


def test_typed_storages():
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        storage = whole().storage()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert storage.is_cuda
        assert isinstance(storage, torch.cuda.FloatStorage)
        assert storage.cpu().tolist()[1] == 1.0


# ---- Pickles and files


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(through):
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t().requires_grad_()
    y = through(x)
    assert y.device == x.device
    assert y.requires_grad
    assert torch.equal(x.detach().cpu(), y.detach().cpu())
    layer = through(torch.nn.Linear(2, 1).cuda())
    assert layer.weight.is_cuda
    assert isinstance(layer.weight, torch.nn.Parameter)


@pytest.mark.parametrize("zipped", [True, False])
def test_files(zipped):
    x = whole()
    file = io.BytesIO()
    torch.save({"x": x, "part": x[2:], "here": torch.ones(1)}, file, _use_new_zipfile_serialization=zipped)

    def read(**options):
        file.seek(0)
        return torch.load(file, **options)

    found = read()
    assert found["x"].device == x.device
    assert found["here"].device.type == "cpu"
    assert torch.equal(found["x"].cpu(), x.cpu())
    assert found["x"].untyped_storage() is found["part"].untyped_storage()
    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        found = read(map_location=place)
        assert found["x"].device.type == "cpu"
        assert found["part"].tolist() == [2.0, 3.0, 4.0, 5.0]
    assert read(map_location="cuda")["here"].is_cuda
    assert read(map_location=lambda storage, location: storage.cuda())["x"].tolist() == x.tolist()
    with pytest.raises(RuntimeError, match=r"CUDA device 77 but torch.cuda.device_count\(\)"):
        read(map_location="cuda:77")


def test_state_of_modules_and_optimizers():
    layer = torch.nn.Linear(2, 1).cuda()
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(3, 2, device="cuda")).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save([layer.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    weights, state = torch.load(file, map_location="cpu")
    assert not weights["weight"].is_cuda
    other = torch.nn.Linear(2, 1).cuda()
    other.load_state_dict(weights)
    assert other.weight.is_cuda
    assert torch.equal(other.weight.cpu(), layer.weight.cpu())
    again = torch.optim.Adam(other.parameters())
    again.load_state_dict(state)
    assert again.state[other.weight]["exp_avg"].is_cuda


# ---- Other libraries


class Library:
    """An array of another library, which knows DLPack."""

    def __init__(self, tensor):
        self.tensor, self.asked = tensor, {}

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked = options
        return self.tensor.__dlpack__(**options)


def test_dlpack():
    x = whole()
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x[1:])
    assert y.device == x.device
    assert y.data_ptr() == x.data_ptr() + 4
    y[0] = 9.0
    assert x[1].item() == 9.0
    other = Library(x)
    assert torch.from_dlpack(other).is_cuda
    assert other.asked["stream"] == 1
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.from_dlpack(other)
    assert other.asked["stream"] == side.cuda_stream
    assert torch.from_dlpack(x, device="cpu").tolist() == x.tolist()
    assert torch.from_dlpack(torch.ones(2), device="cuda").is_cuda
    assert torch.from_dlpack(x.__dlpack__(dl_device=(1, 0))).device.type == "cpu"
    x.__dlpack__(stream=side.cuda_stream)
    x.__dlpack__(stream=-1)
    with pytest.raises(BufferError, match="unsupported stream on CUDA: 0"):
        x.__dlpack__(stream=0)
    capsule = torch.utils.dlpack.to_dlpack(x)
    assert torch.utils.dlpack.from_dlpack(capsule).data_ptr() == x.data_ptr()


class OldLibrary(Library):
    """One that knows of streams, and of nothing that came later."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


def test_dlpack_tells_old_libraries_the_stream():
    other, side = OldLibrary(whole()), torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert torch.from_dlpack(other).is_cuda
    assert other.asked["stream"] == side.cuda_stream


@standin_only
def test_dlpack_waits_where_the_streams_are_different():
    x, side = whole(), torch.cuda.Stream()
    assert [waits(lambda given=given: x.__dlpack__(stream=given)) for given in (None, 1, -1, side.cuda_stream)] == [
        *(0, 0, 0, 1)
    ]
    with torch.cuda.stream(side):
        assert waits(x.__dlpack__) == 0
        # None is the default stream, as DLPack has it
        assert [waits(lambda given=given: x.__dlpack__(stream=given)) for given in (None, 1, -1, side.cuda_stream)] == [
            *(1, 1, 0, 0)
        ]


class Described:
    """An array of another library, which describes its memory."""

    def __init__(self, facts, owner=None):
        self.__cuda_array_interface__ = facts
        self.owner = owner


def test_array_interface():
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    facts = x.t().__cuda_array_interface__
    assert facts == {
        "typestr": "<f4", "shape": (4, 3), "strides": (4, 16), "data": (x.data_ptr(), False), "version": 2,
    }  # fmt: skip
    assert x.__cuda_array_interface__["strides"] is None
    for read in (torch.as_tensor, torch.asarray):
        y = read(Described(facts, x))
        assert y.data_ptr() == x.data_ptr()
        assert y.shape == (4, 3)
        assert torch.equal(y.cpu(), x.t().cpu())
    copied = torch.tensor(Described(facts))
    assert copied.is_cuda
    assert copied.data_ptr() != x.data_ptr()
    assert copied.tolist() == x.t().tolist()
    assert torch.as_tensor(Described(facts), device="cpu").tolist() == x.t().tolist()
    kept = torch.as_tensor(Described(x.__cuda_array_interface__, owner := torch.ones(1)))
    del owner
    assert kept.tolist() == x.tolist()
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires grad"):
        _ = x.clone().requires_grad_().__cuda_array_interface__
    with pytest.raises(TypeError, match="no type for"):
        torch.as_tensor(Described(facts | {"typestr": "<M8"}))
    with pytest.raises(ValueError, match="stream 0"):
        torch.as_tensor(Described(facts | {"stream": 0}))


@standin_only
def test_array_interface_waits_where_the_streams_are_different():
    x, side = whole(), torch.cuda.Stream()
    of = {name: Described(x.__cuda_array_interface__ | {"stream": name}, x) for name in (None, 1, side.cuda_stream)}
    assert [waits(lambda each=each: torch.as_tensor(each)) for each in of.values()] == [0, 0, 1]
    with torch.cuda.stream(side):
        assert [waits(lambda each=each: torch.as_tensor(each)) for each in of.values()] == [0, 1, 0]


def test_numpy_and_buffers_refuse():
    with pytest.raises(TypeError, match="cuda"):
        whole().numpy()
    with pytest.raises((BufferError, TypeError), match=r"GPU|cuda"):
        memoryview(whole())
    assert whole().numpy(force=True).tolist() == whole().tolist()
