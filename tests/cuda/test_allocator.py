"""The allocator of device memory: random use, streams, devices, fragmentation, running out of it."""

import itertools
import os
import random
import subprocess
import sys

import pytest

import adjoint as torch

from .driver import STANDIN, fail, standin_only

MB = 1 << 20


def block(nbytes, device="cuda"):
    return torch.empty(nbytes, dtype=torch.uint8, device=device)


@pytest.fixture(autouse=True)
def emptied():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    yield
    torch.cuda.empty_cache()


def overlapping(blocks):
    spans = sorted((each.data_ptr(), each.data_ptr() + each.numel()) for each in blocks)
    return [(a, b) for a, b in itertools.pairwise(spans) if a[1] > b[0]]


CAPTURED = """
import adjoint as torch
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    whole = torch.empty(100003, dtype=torch.uint8, device="cuda")
    del whole  # its memory is the graph's, and is not given back
    parts = [torch.empty(100, dtype=torch.uint8, device="cuda") for _ in range(3)]
print([part.data_ptr() % 256 for part in parts])
"""


def test_memory_of_its_own_is_not_cut_in_a_capture():
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run([sys.executable, "-c", CAPTURED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 0, 0]\n"


@pytest.mark.parametrize("seed", range(3))
def test_random_sizes(seed):
    chance, live = random.Random(seed), []
    before = torch.cuda.memory_allocated()
    for step in range(600):
        if live and chance.random() < 0.45:
            live.pop(chance.randrange(len(live)))
        else:
            size = chance.choice([0, 1, 511, 512, 513, 4096, MB, MB + 1, 3 * MB, 9 * MB, 21 * MB])
            live.append(block(max(0, size + chance.randrange(-1, 2))))
        if step % 50 == 0:
            assert not overlapping([each for each in live if each.numel()])
            assert torch.cuda.memory_allocated() - before >= sum(each.numel() for each in live)
            assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    live.clear()
    assert torch.cuda.memory_allocated() == before
    figures = torch.cuda.memory_stats()
    names = ("small_pool", "large_pool")
    for what in ("allocation", "allocated_bytes", "reserved_bytes", "segment", "active_bytes", "inactive_split_bytes"):
        for which in ("current", "allocated", "freed"):
            assert figures[f"{what}.all.{which}"] == sum(figures[f"{what}.{name}.{which}"] for name in names)
    torch.cuda.empty_cache()


def test_values_survive():
    """Blocks that are given out again while work on them waits are used in order."""
    chance = random.Random(7)
    kept = []
    for i in range(200):
        x = torch.full((chance.randrange(1, 5000),), float(i), device="cuda")
        if chance.random() < 0.3:
            kept.append((i, x + 1))
        if len(kept) > 20:
            kept.pop(chance.randrange(len(kept)))
    for i, x in kept:
        assert (x == i + 1).all().item()


def test_blocks_are_joined():
    parts = [block(MB // 8) for _ in range(16)]
    reserved = torch.cuda.memory_reserved()
    del parts[::2]
    assert torch.cuda.memory_stats()["inactive_split_bytes.all.current"] > 0
    parts.clear()
    whole = [block(MB) for _ in range(2)]
    assert torch.cuda.memory_reserved() == reserved
    assert len(whole) == 2
    shown = torch.cuda.memory_snapshot()
    assert sum(each["total_size"] for each in shown) == torch.cuda.memory_reserved() + sum(
        torch.cuda.memory_reserved(i) for i in range(1, torch.cuda.device_count())
    )


def test_empty_cache_gives_back_what_is_whole():
    held = block(64)
    large = block(50 * MB)
    reserved = torch.cuda.memory_reserved()
    del large
    assert torch.cuda.memory_reserved() == reserved
    torch.cuda.empty_cache()
    assert reserved - torch.cuda.memory_reserved() >= 50 * MB
    assert held.numel() == 64


def test_peaks():
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    x = block(8 * MB)
    del x
    assert torch.cuda.max_memory_allocated() >= start + 8 * MB
    assert torch.cuda.memory_allocated() == start
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == start
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 0
    assert "Allocated memory" in torch.cuda.memory_summary()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def test_streams_have_blocks_of_their_own():
    side = torch.cuda.Stream()
    x = block(4096)
    place = x.data_ptr()
    del x
    with torch.cuda.stream(side):
        y = block(4096)
    assert y.data_ptr() != place
    assert block(4096).data_ptr() == place


def test_recorded_streams_hold_a_block():
    side = torch.cuda.Stream()
    x = torch.ones(4096, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    place = x.data_ptr()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x + 1
    x.record_stream(side)
    del x
    if STANDIN:  # nothing is done there before somebody waits
        assert block(4096).data_ptr() != place
    side.synchronize()
    assert (y == 2).all().item()
    assert block(4096).data_ptr() == place


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="takes two GPUs")
def test_devices_have_memory_of_their_own():
    before = torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1)
    x, y = block(3 * MB, "cuda:0"), block(5 * MB, "cuda:1")
    assert torch.cuda.memory_allocated(0) - before[0] >= 3 * MB
    assert 5 * MB <= torch.cuda.memory_allocated("cuda:1") - before[1] < 8 * MB
    assert not overlapping([x, y])
    z = (x.zero_() + 1).to("cuda:1") + y.zero_()[: 3 * MB]
    assert z.device.index == 1
    assert z[:10].tolist() == [1] * 10


def test_loans():
    place = torch.cuda.caching_allocator_alloc(1024)
    assert place
    torch.cuda.caching_allocator_delete(place)
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch.cuda.caching_allocator_delete(place)


def test_out_of_memory():
    total = torch.cuda.mem_get_info()[1]
    failures = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate") as caught:
        block(2 * total)
    assert "total capacity" in str(caught.value)
    assert caught.type is torch.cuda.OutOfMemoryError
    assert torch.cuda.memory_stats()["num_ooms"] == failures + 1
    assert block(10).numel() == 10


def test_kept_memory_is_given_back_before_it_fails():
    total = torch.cuda.mem_get_info()[1]
    part = total // 3
    x = [block(part), block(part)]
    x.clear()
    retries = torch.cuda.memory_stats()["num_alloc_retries"]
    y = block(2 * part)
    assert y.numel() == 2 * part
    assert torch.cuda.memory_stats()["num_alloc_retries"] == retries + 1


@standin_only
def test_a_driver_that_fails_once():
    fail("cuMemAlloc_v2", 2)
    assert block(30 * MB).numel() == 30 * MB
    fail("cuMemAlloc_v2", 700)
    with pytest.raises(RuntimeError, match=r"an illegal memory access .*, in allocating memory"):
        block(40 * MB)
    assert block(40 * MB).numel() == 40 * MB


@standin_only
def test_nothing_leaks_on_failure():
    x = torch.ones(10, device="cuda")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    fail("cuLaunchKernel", 700)
    with pytest.raises(RuntimeError, match="launching a kernel"):
        x + 1
    assert torch.cuda.memory_allocated() == before
    assert (x + 1).sum().item() == 20.0
