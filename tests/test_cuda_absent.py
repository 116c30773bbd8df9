"""torch.cuda without a GPU: what torch's build for the CPU answers and refuses, and what may not be asked there."""

import pytest

import adjoint

from .compare import programs, raised

program, test_program = programs()
pytestmark = pytest.mark.skipif(adjoint.cuda.is_available(), reason="there is a GPU")
WORDS = 40  # how much of a message is compared: what comes after it says why there is no GPU


@program
def quiet_answers(L):
    cuda = L.cuda
    asked = (cuda.is_available, cuda.device_count, cuda.is_bf16_supported, cuda.is_tf32_supported, cuda.is_initialized)
    counted = (cuda.memory_allocated, cuda.memory_reserved, cuda.max_memory_allocated, cuda.max_memory_reserved)
    nested = (cuda.memory_stats_as_nested_dict(), cuda.host_memory_stats_as_nested_dict())
    flat = [dict(cuda.memory_stats()), dict(cuda.host_memory_stats())]
    found = [cuda.get_arch_list(), cuda.get_gencode_flags(), cuda.get_rng_state_all(), cuda.has_half, cuda.has_magma]
    done = [cuda.empty_cache(), cuda.manual_seed(1), cuda.manual_seed_all(1), cuda.set_device(-1)]
    done += [cuda.set_rng_state(L.zeros(16, dtype=L.uint8)), cuda.caching_allocator_enable(False)]
    return [ask() for ask in (*asked, *counted)], nested, flat, found, done, cuda._is_in_bad_fork(), cuda._is_compiled()


@program
def contexts_that_change_nothing(L):
    with L.cuda.device(-1), L.cuda.device_of(L.ones(1)), L.cuda.stream(None):
        return L.ones(1)


@program
def what_needs_a_gpu(L):
    cuda = L.cuda
    calls = (
        *(cuda.init, cuda._lazy_init, cuda.current_device, cuda.synchronize, cuda.get_device_name, cuda.mem_get_info),
        *(cuda.get_device_properties, cuda.get_device_capability, cuda.current_stream, cuda.default_stream),
        *(cuda.get_rng_state, cuda.initial_seed, cuda.ipc_collect, cuda.cudart, cuda.current_blas_handle),
        *(cuda.current_solver_handle, cuda.get_sync_debug_mode, cuda.get_per_process_memory_fraction),
        lambda: cuda.set_per_process_memory_fraction(0.5),
        lambda: cuda.can_device_access_peer(0, 1),
        cuda.profiler.start,
        lambda: L.random.fork_rng(devices=[0]).__enter__(),
        lambda: L.cuda.FloatTensor([1.0]),
    )
    return [raised(call, 36) for call in calls]


@program
def the_management_library_is_not_there(L):
    names = ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate")
    return [raised(getattr(L.cuda, name), WORDS) for name in names]


@program
def numbers_of_devices(L):
    index = L.cuda._utils._get_device_index
    found = [L.cuda._get_device_index("cuda:1"), index(3), index("cpu", allow_cpu=True), index("cuda", optional=True)]
    return found, raised(lambda: index("cuda")), raised(lambda: index("cpu")), L.cuda.amp.amp_definitely_not_available()


def test_types_of_a_gpu_are_no_default():
    for kind in ("torch.cuda.FloatTensor", adjoint.cuda.FloatTensor):
        with pytest.raises(TypeError, match=r"^type torch\.cuda\.FloatTensor not available\. Torch not "):
            adjoint.set_default_tensor_type(kind)


def test_modules_can_be_imported():
    for name in ("comm", "jiterator", "green_contexts", "profiler", "nccl", "tunable", "gds", "sparse", "_utils"):
        assert __import__(f"adjoint.cuda.{name}", fromlist=["x"]) is getattr(adjoint.cuda, name)
    for name in ("common", "autocast_mode", "grad_scaler"):
        assert __import__(f"adjoint.cuda.amp.{name}", fromlist=["x"]).__all__
    assert not adjoint.cuda.tunable.is_enabled()
    with pytest.raises(NotImplementedError, match=r"torch\.cuda\.jiterator\._create_jit_fn\(\): this part of"):
        adjoint.cuda.jiterator._create_jit_fn("")
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        adjoint.cuda.memory.change_current_allocator(None)


def test_signatures_are_torch_s():
    import inspect

    import torch

    left_out = {"CUDAPluggableAllocator", "GreenContext", "Stream", "change_current_allocator", "current_solver_handle"}
    for name in set(torch.cuda.__all__) - left_out:
        theirs, ours = getattr(torch.cuda, name), getattr(adjoint.cuda, name)
        if not callable(theirs) or name.endswith(("Storage", "Tensor", "Error")):
            continue
        try:
            wanted = [(p.name, p.default) for p in inspect.signature(theirs).parameters.values()]
        except ValueError:  # of a class that is not written in Python
            continue
        assert [(p.name, p.default) for p in inspect.signature(ours).parameters.values()] == wanted, name
    assert set(torch.cuda.__all__) <= set(adjoint.cuda.__all__)


@program
def loaders_say_that_nothing_is_pinned(L):
    data = [L.ones(1), L.zeros(1)]
    loaders = [L.utils.data.DataLoader(data, pin_memory=True, pin_memory_device=name) for name in ("", "cuda")]
    loaders.append(L.utils.data.DataLoader(data, pin_memory_device="cuda"))
    return [[batch.is_pinned() for batch in loader] for loader in loaders]
