"""torch.accelerator, and torch.Stream and torch.Event, which mean its streams."""

import inspect

import pytest
import torch as reference

import adjoint as torch

accelerator = torch.accelerator


def test_what_there_is():
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == torch.device("cuda")
    assert accelerator.device_count() == torch.cuda.device_count()
    assert torch.float32 in accelerator.get_device_capability("cuda:0")["supported_dtypes"]
    assert torch.get_device_module() is torch.cuda
    accelerator.synchronize()


def test_the_current_device():
    last = accelerator.device_count() - 1
    with accelerator.device_index(last):
        assert accelerator.current_device_index() == accelerator.current_device_idx() == last
        assert torch.ones(1, device="cuda").get_device() == last
    with accelerator.device_index(None):
        assert accelerator.current_device_index() == 0
    accelerator.set_device_index(f"cuda:{last}")
    assert torch.cuda.current_device() == last
    accelerator.set_device_idx(torch.device("cuda", 0))
    assert torch.cuda.current_device() == 0


@pytest.mark.parametrize("device", [None, 0, "cuda", "cuda:0", torch.device("cuda", 0)])
def test_memory(device):
    x = torch.ones(1000, device="cuda")
    assert accelerator.memory_allocated(device) == torch.cuda.memory_allocated() >= x.nbytes
    assert accelerator.max_memory_allocated(device) >= accelerator.memory_allocated(device)
    assert accelerator.max_memory_reserved(device) >= accelerator.memory_reserved(device) >= x.nbytes
    assert accelerator.memory_stats(device) == torch.cuda.memory_stats()
    assert accelerator.memory.get_memory_info(device)[1] == torch.cuda.mem_get_info()[1]
    accelerator.reset_accumulated_memory_stats(device)
    accelerator.reset_peak_memory_stats(device)
    assert accelerator.max_memory_allocated(device) == torch.cuda.memory_allocated()
    accelerator.empty_cache()
    accelerator.empty_host_cache()


def test_other_devices_are_refused():
    for call in (accelerator.synchronize, accelerator.memory_allocated, accelerator.current_stream):
        with pytest.raises(ValueError, match="cpu doesn't match the current accelerator cuda; name a device"):
            call("cpu")
    with pytest.raises(ValueError, match="expected the number of a device, from 0; got -1"):
        accelerator.set_device_index(-1)
    with pytest.raises(TypeError, match=r"expected a torch\.Stream, got int"):
        accelerator.set_stream(0)


def test_signatures_are_torch_s():
    for name in reference.accelerator.__all__:
        theirs = inspect.signature(getattr(reference.accelerator, name)).parameters.values()
        ours = inspect.signature(getattr(accelerator, name)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs], name


# ---- Streams by their general names


def test_a_stream_is_one_of_the_gpu():
    last = torch.cuda.device_count() - 1
    for stream in (torch.Stream(), torch.Stream("cuda"), torch.Stream(device="cuda:0", priority=-1)):
        assert isinstance(stream, torch.cuda.Stream)
        assert (stream.device, stream.device_type) == (torch.device("cuda", 0), 1)
    assert torch.Stream(f"cuda:{last}").device_index == last
    assert torch.Stream(priority=-1).priority == -1
    with torch.Stream() as stream:
        assert accelerator.current_stream() == stream
        x = torch.ones(3, device="cuda") * 2
    accelerator.current_stream().wait_stream(stream)
    assert x.tolist() == [2.0] * 3
    accelerator.set_stream(stream)
    assert torch.cuda.current_stream() == stream
    accelerator.set_stream(torch.cuda.default_stream())


def test_an_event_is_one_of_the_gpu():
    begin, end = torch.Event(enable_timing=True), torch.Event("cuda", enable_timing=True)
    assert isinstance(begin, torch.cuda.Event)
    begin.record()
    _ = torch.ones(3, device="cuda") * 2
    end.record(accelerator.current_stream())
    end.synchronize()
    assert begin.elapsed_time(end) >= 0


def test_a_graph_captures_the_current_stream():
    x = torch.zeros(3, device="cuda")
    x.add_(1)
    graph = accelerator.Graph()
    with torch.Stream() as stream, graph:
        x.add_(1)
        assert stream.is_capturing()
        assert not torch.cuda.default_stream().is_capturing()
    assert not stream.is_capturing()
    assert graph.pool()[0] == 0
    graph.instantiate()
    for _ in range(2):
        graph.replay()
    assert x.tolist() == [3.0] * 3
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
