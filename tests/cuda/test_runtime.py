"""torch.cuda with a GPU: devices, properties, moving tensors and modules, default devices, autocast, old types."""

import os

import pytest

import adjoint as torch

from ..processes import script
from .driver import standin_only

TWO = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="takes two GPUs")


def test_devices_are_counted_and_chosen():
    assert torch.cuda.is_available()
    assert torch.accelerator.is_available()
    assert torch.backends.cuda.is_built()
    assert torch.cuda.device_count() == torch.accelerator.device_count() > 0
    assert torch.cuda.current_device() == 0
    assert torch.cuda.is_initialized()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    torch.cuda.init()
    torch.cuda.set_device(0)
    torch.cuda.set_device(-1)  # changes nothing
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.set_device(torch.cuda.device_count())
    with pytest.raises(ValueError, match="Expected a cuda device"):
        torch.cuda.set_device("cpu")


@TWO
def test_contexts_choose_a_device_and_go_back():
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        assert torch.zeros(1, device="cuda").device == torch.device("cuda:1")
        with torch.cuda.device("cuda:0"):
            assert torch.cuda.current_device() == 0
        assert torch.cuda.current_device() == 1
        with torch.cuda.device_of(torch.zeros(1)):
            assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    with torch.cuda.device_of(torch.zeros(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1
    with pytest.raises(ZeroDivisionError), torch.cuda.device(1):
        _ = 1 / 0
    assert torch.cuda.current_device() == 0
    with torch.accelerator.device_index(1):
        assert torch.accelerator.current_device_index() == 1


def test_properties_are_those_of_the_driver():
    known = torch.cuda.get_device_properties()
    assert known.name == torch.cuda.get_device_name(0)
    assert known.total_memory == torch.cuda.mem_get_info()[1]
    assert (known.major, known.minor) == torch.cuda.get_device_capability("cuda")
    assert f"sm_{known.major}{known.minor}" in torch.cuda.get_arch_list()
    assert known.warp_size == 32
    assert known.multi_processor_count > 0
    assert repr(known).startswith("_CudaDeviceProperties(name='")
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(99)


def test_tensors_go_there_and_back():
    x = torch.arange(6.0).reshape(2, 3)
    for there in (x.cuda(), x.cuda(0), x.to("cuda"), x.to(0), x.to(torch.device("cuda")), torch.as_tensor(x, device=0)):
        assert there.device == torch.device("cuda:0")
        assert there.is_cuda
        assert there.get_device() == 0
        assert torch.equal(there.cpu(), x)
    there = x.cuda()
    assert there.cuda() is there
    assert there.to("cuda") is there
    assert there.to("cuda", copy=True) is not there
    assert there.to("cuda", torch.float64).dtype == torch.float64
    assert there.to(x).device == torch.device("cpu")
    assert x.type_as(there).is_cuda
    with pytest.warns(UserWarning, match="copy construct"):
        copies = torch.tensor(there), torch.tensor(there, device="cpu")
    assert [each.is_cuda for each in copies] == [True, False]
    assert torch.as_tensor(there) is there
    assert torch.asarray(there) is there
    assert torch.as_tensor([1.0], device="cuda").is_cuda
    assert torch.asarray([1.0], device="cuda").is_cuda
    assert not torch.as_tensor(there, device="cpu").is_cuda
    assert there.new_tensor([1.0]).is_cuda
    assert there.new([1.0]).is_cuda
    assert there.new(2, 3).is_cuda
    with pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'cuda:0'"):
        torch.asarray(x, device="cuda", copy=False)
    with pytest.raises(RuntimeError, match="must be cuda device"):
        x.cuda("cpu")


@TWO
def test_tensors_go_from_device_to_device():
    x = torch.arange(12.0, device="cuda:0").reshape(3, 4)
    y = x.t().to("cuda:1")
    assert y.device == torch.device("cuda:1")
    assert y.tolist() == x.t().tolist()
    z = torch.empty(4, 3, dtype=torch.float64, device="cuda:0").copy_(y)
    assert z.tolist() == x.t().tolist()
    with pytest.raises(RuntimeError, match=r"expected device|same device"):
        x + y.t()


def test_gradients_go_back_over_a_move():
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()
    assert x.grad.device.type == "cpu"
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_modules_move():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).cuda()
    assert all(each.is_cuda for each in (*layer.parameters(), *layer.buffers()))
    out = layer(torch.ones(5, 3, device="cuda"))
    assert out.is_cuda
    layer.cpu()
    assert not any(each.is_cuda for each in layer.parameters())
    assert layer.to(0, non_blocking=True)[0].weight.is_cuda
    assert layer.to("cpu")[0].weight.device.type == "cpu"


def test_default_device():
    torch.set_default_device("cuda")
    try:
        made = [torch.zeros(2), torch.tensor([1]), torch.as_tensor([1.0]), torch.asarray([1]), torch.arange(3)]
        assert all(each.is_cuda for each in made)
        assert torch.nn.Linear(2, 2).weight.is_cuda
        assert not torch.zeros(1, device="cpu").is_cuda
    finally:
        torch.set_default_device(None)
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda
    assert not torch.ones(1).is_cuda


def test_old_types():
    x = torch.cuda.FloatTensor([1, 2])
    assert x.is_cuda
    assert x.tolist() == [1.0, 2.0]
    assert x.type() == "torch.cuda.FloatTensor"
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.FloatTensor)
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert torch.ones(1).type(torch.cuda.DoubleTensor).type() == "torch.cuda.DoubleTensor"
    assert x.type("torch.LongTensor").type() == "torch.LongTensor"
    assert x.type(torch.half).is_cuda
    for make, given, device in ((torch.FloatTensor, x, "cuda:0"), (torch.cuda.FloatTensor, x.cpu(), "cpu")):
        with pytest.raises(
            TypeError, match=rf"\(got TensorOptions\(dtype=float, device={device}, .*use tensor\.to\(device"
        ):
            make(given)


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_a_default_type_of_a_gpu_ends_with_the_next():
    try:
        torch.set_default_tensor_type(torch.cuda.HalfTensor)
        assert torch.zeros(1).type() == "torch.cuda.HalfTensor"
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.zeros(1).type() == "torch.FloatTensor"
    with torch.device("cuda"):
        torch.set_default_tensor_type(torch.FloatTensor)
        assert torch.zeros(1).is_cuda


def test_values_of_two_devices_are_compared():
    x = torch.arange(3.0)
    torch.testing.assert_close(x.cuda(), x, check_device=False)
    with pytest.raises(AssertionError, match="The values for attribute 'device' do not match: cuda:0 != cpu"):
        torch.testing.assert_close(x.cuda(), x)
    with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
        torch.testing.assert_close(x.cuda(), x + 1, check_device=False)


def test_what_libraries_ask_of_the_core():
    core = torch._C
    assert (core._cuda_getDevice(), core._cuda_getDeviceCount()) == (0, torch.cuda.device_count())
    with torch.cuda.stream(torch.cuda.Stream()):
        assert core._cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream != 0
    core._cuda_setDevice(0)
    core._cuda_emptyCache()
    core._cuda_clearCublasWorkspaces()
    assert int(torch.version.cuda.split(".")[0]) >= 12
    assert torch.version.hip is None


FORKED = """
import os
import adjoint as torch
x = torch.ones(2, device="cuda") + 1
x.tolist()
child = os.fork()
if child == 0:
    for call in (x.tolist, torch.cuda.init, lambda: torch.ones(1, device="cuda")):
        try:
            call()
        except RuntimeError as error:
            print(error)
    print(torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork(), (torch.ones(2) + 1).tolist(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(x.tolist(), torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork())
"""


def test_a_forked_process_has_no_gpu():
    lines = script(FORKED).stdout.splitlines()
    words = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the"
    assert [line.partition(" 'spawn' start method")[0] for line in lines[:3]] == [words] * 3
    assert lines[3:] == ["False True [2.0, 2.0]", "[2.0, 2.0] True False"]


INHERITED = """
import gc, os, warnings
import adjoint as torch
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, such as those that compile kernels
side, event, graph, pool = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.CUDAGraph(), torch.cuda.MemPool()
x, pinned = torch.ones(2, device="cuda"), torch.ones(2).pin_memory()
x.record_stream(side)
with torch.cuda.use_mem_pool(pool):
    y = x + 1
event.record()
with torch.cuda.graph(graph):
    z = x + 1
child = os.fork()
if child == 0:
    del side, event, graph, x, pinned, y, z, pool
    gc.collect()
    os._exit(0)
graph.replay()
print(os.waitpid(child, 0)[1], z.tolist())
"""


def test_what_a_forked_process_has_inherited_dies_quietly():
    done = script(INHERITED)
    assert (done.stdout, done.stderr) == ("0 [2.0, 2.0]\n", "")


@standin_only
def test_a_graph_that_cannot_give_its_memory_back_dies_quietly():
    program = f"""
import ctypes
import adjoint as torch
driver = ctypes.CDLL("{os.environ.get("ADJOINT_CUDA_LIBRARIES")}/libcuda.so.1")
x, graph = torch.ones(1 << 20, device="cuda"), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
del y
driver.standin_fail(b"cuMemFree_v2", 700, 0)
del graph
print(x.sum().item())
"""
    done = script(program)
    assert (done.stdout, done.stderr) == ("1048576.0\n", "")


def test_printing():
    assert repr(torch.tensor([1.0, 2.5], device="cuda")) == "tensor([1.0000, 2.5000], device='cuda:0')"
    assert str(torch.tensor(3, device="cuda")) == "tensor(3, device='cuda:0')"
    assert f"{torch.tensor(2.5, device='cuda'):.2f}" == "2.50"


# ---- Autocast


def test_autocast_lowers_products_and_keeps_others():
    a = torch.ones(2, 2, device="cuda")
    assert torch.get_autocast_dtype("cuda") == torch.float16
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled("cuda")
        assert not torch.is_autocast_enabled("cpu")
        assert (a @ a).dtype == torch.float16
        assert torch.nn.functional.linear(a, a).dtype == torch.float16
        half = a.half()
        assert half.exp().dtype == half.sum().dtype == half.softmax(0).dtype == torch.float32
        assert (half + a).dtype == torch.float32
        assert half.relu().dtype == torch.float16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        with torch.autocast("cpu"):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
            assert (a @ a).dtype == torch.float16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        with torch.autocast("cuda", enabled=False):
            assert (a @ a).dtype == torch.float32
        assert (a @ a).dtype == torch.float16
    assert (a @ a).dtype == torch.float32
    assert not torch.is_autocast_enabled("cuda")
    with torch.autocast("cpu"):
        assert (a @ a).dtype == torch.float32
        assert torch.ones(2).bfloat16().exp().dtype == torch.bfloat16
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (a @ a).dtype == torch.bfloat16
    with pytest.warns(FutureWarning, match="deprecated"), torch.cuda.amp.autocast():
        assert (a @ a).dtype == torch.float16


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_are_computed_again_in_the_autocast_of_their_forward(use_reentrant):
    layer, seen = torch.nn.Linear(3, 3).cuda(), []

    def function(x):
        seen.append(((x @ x.t()).dtype, torch.is_autocast_enabled("cpu")))
        return layer(x)

    x = torch.randn(2, 3, device="cuda", requires_grad=True)
    with torch.autocast("cuda", torch.bfloat16):
        out = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=use_reentrant)
    out.float().sum().backward()
    out = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=use_reentrant)
    with torch.autocast("cuda"):
        out.sum().backward()
    assert seen == [(torch.bfloat16, False)] * 2 + [(torch.float32, False)] * 2


def test_states_of_devices_are_kept_for_checkpoints():
    from adjoint.utils.checkpoint import get_device_states, set_device_states

    x = torch.ones(3, device="cuda")
    devices, states = get_device_states(torch.ones(2), [x, {"more": x}])
    assert devices == [0]
    assert torch.equal(states[0], torch.cuda.get_rng_state(0))
    first = torch.rand(4, device="cuda")
    set_device_states(devices, states, device_type="cuda")
    assert torch.equal(torch.rand(4, device="cuda"), first)


def test_autocast_refuses_losses_that_are_unsafe_in_it():
    x = torch.full((2, 2), 0.5, device="cuda")
    with torch.autocast("cuda"):
        with pytest.raises(RuntimeError, match=r"binary_cross_entropy and torch\.nn\.BCELoss are unsafe to autocast"):
            torch.nn.BCELoss()(x, x)
        assert torch.nn.BCEWithLogitsLoss()(x, x).dtype == torch.float32
        with torch.autocast("cuda", enabled=False):
            assert torch.nn.functional.binary_cross_entropy(x, x).is_cuda
        assert torch.nn.functional.binary_cross_entropy(x.cpu(), x.cpu()).dtype == torch.float32


def test_autocast_trains():
    layer = torch.nn.Linear(4, 2).cuda()
    with torch.autocast("cuda"):
        out = layer(torch.ones(3, 4, device="cuda"))
        loss = torch.nn.functional.mse_loss(out, torch.zeros(3, 2, device="cuda"))
    assert out.dtype == torch.float16
    assert loss.dtype == torch.float32
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32
    assert layer.weight.grad.is_cuda


# ---- Random numbers


def test_generators_are_the_devices_own():
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    first = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first.cpu(), torch.rand(5, device="cuda").cpu())
    assert torch.cuda.initial_seed() == 3
    assert len(torch.cuda.get_rng_state_all()) == len(torch.cuda.default_generators) == torch.cuda.device_count()
    with torch.random.fork_rng():
        inside = torch.rand(5, device="cuda")
    assert torch.equal(inside.cpu(), torch.rand(5, device="cuda").cpu())


def test_scaler_trains():
    layer = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    before = layer.weight.detach().clone()
    with torch.autocast("cuda"):
        loss = layer(torch.ones(3, 4, device="cuda")).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.is_enabled()
    assert scaler.get_scale() == 8.0
    assert not torch.equal(before.cpu(), layer.weight.detach().cpu())
