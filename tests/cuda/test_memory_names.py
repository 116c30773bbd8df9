"""Names of torch.cuda that ask for memory and for the machine: limits, summaries, snapshots, pinned memory, figures."""

import pickle
import sys
import types

import pytest

import adjoint as torch

cuda = torch.cuda
MB = 1 << 20


@pytest.fixture
def limited():
    """A GPU of which this program may have no more than it has, and 64 MiB."""
    cuda.empty_cache()
    total = cuda.mem_get_info()[1]
    cuda.set_per_process_memory_fraction((cuda.memory_reserved() + 64 * MB) / total)
    yield
    cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.usefixtures("limited")
def test_a_limit_of_memory():
    assert 0 < cuda.get_per_process_memory_fraction() < 1
    x = torch.empty(40 * MB, dtype=torch.uint8, device="cuda")
    words = r"^CUDA out of memory\. Tried to allocate 40\.00 MiB\. GPU 0 has a total capacity of .* allowed; "
    with pytest.raises(torch.OutOfMemoryError, match=words):
        torch.empty(40 * MB, dtype=torch.uint8, device="cuda")
    del x
    assert torch.empty(60 * MB, dtype=torch.uint8, device="cuda").is_cuda  # what was kept is given back first
    cuda.set_per_process_memory_fraction(1.0, "cuda:0")
    assert cuda.get_per_process_memory_fraction(0) == 1.0
    assert torch.empty(100 * MB, dtype=torch.uint8, device="cuda").is_cuda


def test_limits_that_make_no_sense():
    with pytest.raises(TypeError, match=r"^Invalid type for fraction argument, must be `float`; got int"):
        cuda.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"^Invalid fraction value: 1\.5\. Allowed range: 0~1"):
        cuda.set_per_process_memory_fraction(1.5)


def test_sizes_are_told_in_their_units():
    total = cuda.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError, match=rf"Tried to allocate {2 * total / (1 << 30):.2f} GiB\. GPU 0 has"):
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")


def test_the_summary_is_a_table():
    lines = cuda.memory_summary().splitlines()
    assert {len(line) for line in lines} == {77}
    assert "PyTorch CUDA memory summary, device ID 0" in lines[1]
    titles = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert {"Metric", "Allocated memory", "GPU reserved segments", "from large pool"} < set(titles)
    assert "from large pool" not in cuda.memory_summary(abbreviated=True)


def test_snapshots(tmp_path):
    x = torch.ones(1000, device="cuda")
    found = cuda.memory._snapshot()
    assert len(found["device_traces"]) == cuda.device_count()
    (segment,) = (each for each in found["segments"] if 0 <= x.data_ptr() - each["address"] < each["total_size"])
    (block,) = (each for each in segment["blocks"] if each["address"] == x.data_ptr())
    assert (block["state"], block["requested_size"], block["frames"]) == ("active_allocated", 4000, [])
    path = tmp_path / "snapshot.pickle"
    cuda.memory._dump_snapshot(path)
    assert pickle.loads(path.read_bytes()).keys() == found.keys()
    with pytest.warns(UserWarning, match="no history is recorded here"):
        cuda.memory._record_memory_history()
    cuda.memory._record_memory_history(enabled=None)
    with pytest.raises(RuntimeError, match="expected enabled to be None, 'state' or 'all'; got 'some'"):
        cuda.memory._record_memory_history("some")


def test_figures_of_pinned_memory():
    torch.accelerator.empty_host_cache()
    cuda.reset_peak_host_memory_stats()
    cuda.reset_accumulated_host_memory_stats()
    before = cuda.host_memory_stats()
    x = torch.empty(1000, pin_memory=True)
    after = cuda.host_memory_stats()
    assert after["active_bytes.current"] - before["active_bytes.current"] == 4096
    assert (after["active_requests.allocated"], after["num_host_alloc"]) == (1, after["allocations.allocated"])
    assert after["allocated_bytes.peak"] >= after["allocated_bytes.current"] >= 4096
    del x
    last = cuda.host_memory_stats_as_nested_dict()
    assert last["active_requests"]["freed"] == 1
    assert last["active_bytes"]["current"] == before["active_bytes.current"]


def test_the_allocator_stays():
    cuda.caching_allocator_enable()
    with (
        pytest.raises(NotImplementedError, match="PYTORCH_NO_CUDA_MEMORY_CACHING=1"),
        cuda.caching_allocator_disabled(),
    ):
        pass
    with pytest.raises(NotImplementedError, match="memory is kept by the one allocator of this package"):
        cuda.change_current_allocator(None)


# ---- CUDA's runtime


def test_the_program_s_own_memory_is_pinned():
    x, runtime = torch.arange(5000.0), cuda.cudart()
    cuda.check_error(runtime.cudaHostRegister(x.data_ptr(), x.nbytes, 0))
    assert x.is_pinned()
    assert x[100:].is_pinned()
    assert torch.equal(x.cuda(non_blocking=True).cpu(), x)
    assert runtime.cudaHostUnregister(x.data_ptr()) == runtime.cudaError.success
    assert not x.is_pinned()
    with pytest.raises(cuda.CudaError):
        cuda.check_error(runtime.cudaHostUnregister(x.data_ptr()))


def test_profilers_are_told():
    with cuda.profiler.profile():
        x = torch.ones(3, device="cuda")
    cuda.profiler.start()
    cuda.profiler.stop()
    assert cuda.cudart().cudaMemGetInfo(x.device) == cuda.mem_get_info()
    assert cuda.current_blas_handle() == cuda.current_blas_handle() != 0
    cuda.ipc_collect()


def test_errors_of_the_driver_are_of_the_accelerator():
    for call in (lambda: torch.ones(1, device="cuda:99"), lambda: cuda.set_device(99)):
        with pytest.raises(torch.AcceleratorError, match=r"^CUDA error: invalid device ordinal"):
            call()
    assert cuda.AcceleratorError is torch.AcceleratorError


# ---- Figures of the machine


def test_figures_come_from_the_management_library(monkeypatch):
    rates = types.SimpleNamespace(gpu=80, memory=30)
    library = types.SimpleNamespace(
        NVML_TEMPERATURE_GPU=0,
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda name: name,
        nvmlDeviceGetUtilizationRates=lambda handle: rates,
        nvmlDeviceGetTemperature=lambda handle, sensor: 50,
        nvmlDeviceGetPowerUsage=lambda handle: 70000 if handle.startswith("GPU-") else 0,
        nvmlDeviceGetClockInfo=lambda handle, clock: 1980,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    asked = (cuda.utilization, cuda.memory_usage, cuda.temperature, cuda.power_draw, cuda.clock_rate)
    assert [ask("cuda:0") for ask in asked] == [80, 30, 50, 70000, 1980]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ModuleNotFoundError, match=r"^nvidia-ml-py does not seem to be installed"):
        cuda.utilization()


def test_helpers_of_torch_cuda():
    assert cuda._get_device_index("cuda:0") == cuda._utils._get_device_index("cuda", optional=True) == 0
    assert torch._utils._get_available_device_type() == "cuda"
    assert torch._utils._get_all_device_indices() == list(range(cuda.device_count()))
    assert torch._utils._get_device_index(torch.device("cuda"), optional=True) == cuda.current_device()
    called = []
    cuda._lazy_init()
    cuda._lazy_call(lambda: called.append(1))
    assert called == [1]
    assert cuda._is_compiled()
    assert not cuda.amp.common.amp_definitely_not_available()
