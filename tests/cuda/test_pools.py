"""Pools that a program asks for: torch.cuda.MemPool and use_mem_pool."""

import gc
import threading

import pytest

import adjoint as torch


def test_what_is_made_in_a_pool_lies_in_its_segments():
    pool, outside = torch.cuda.MemPool(), torch.ones(1000, device="cuda")
    with torch.cuda.use_mem_pool(pool):
        inside = torch.ones(1000, device="cuda")
        assert pool.use_count() == 2
    after = torch.ones(1000, device="cuda")
    assert pool.use_count() == 1
    (segment,) = pool.snapshot()
    places = range(segment["address"], segment["address"] + segment["total_size"])
    assert segment["segment_pool_id"] == pool.id
    assert [x.data_ptr() in places for x in (outside, inside, after)] == [False, True, False]
    assert (inside + outside + after).tolist() == [3.0] * 1000
    assert len(torch.cuda.memory_snapshot()) > 1


def test_memory_of_a_pool_serves_the_pool_and_goes_with_it():
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    pool = torch.cuda.MemPool()
    for _ in range(3):
        with torch.cuda.use_mem_pool(pool):
            x = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
        del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() - before == 30 << 20
    with torch.cuda.use_mem_pool(pool):
        x = torch.zeros(30 << 20, dtype=torch.uint8, device="cuda")
    del pool
    assert x.sum().item() == 0  # what lives stays
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before


def test_pools_within_pools_and_other_threads():
    first, second, made = torch.cuda.MemPool(), torch.cuda.MemPool(), []
    assert first.id != second.id
    with torch.cuda.use_mem_pool(first):
        with torch.cuda.use_mem_pool(second):
            a = torch.ones(1 << 20, device="cuda")
        b = torch.ones(1 << 20, device="cuda")
        thread = threading.Thread(target=lambda: made.append(torch.ones(1 << 20, device="cuda")))
        thread.start()
        thread.join()
        with pytest.raises(ZeroDivisionError), torch.cuda.use_mem_pool(second):
            1 / 0  # noqa: B018 - the error is the test
        c = torch.ones(1 << 20, device="cuda")

    def lies_in(x, pool):
        return any(s["address"] <= x.data_ptr() < s["address"] + s["total_size"] for s in pool.snapshot())

    assert [lies_in(x, first) for x in (a, b, c, *made)] == [False, True, True, False]
    assert [lies_in(x, second) for x in (a, b, c, *made)] == [True, False, False, False]


def test_a_graph_in_a_pool():
    pool, x, g = torch.cuda.MemPool(), torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    _ = x + 1
    with torch.cuda.graph(g, pool=pool.id):
        y = x + 1
    assert g.pool() == pool.id
    assert pool.use_count() == 2
    x.fill_(4)
    g.replay()
    assert y.tolist() == [5.0] * 4
    g.reset()
    assert pool.use_count() == 1


def test_a_name_of_a_pool_serves_again_when_its_first_graph_is_gone():
    handle, x = torch.cuda.graph_pool_handle(), torch.ones(6 << 20, device="cuda")
    _ = (x + 1) * 2
    for _ in range(2):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=handle):
            middle = x + 1
            y = middle * 2
            del middle
        held = torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() == held  # the graph writes there
        g.replay()
        assert y[-1].item() == 4
        g.reset()


def test_captures_of_several_threads_have_pools_of_their_own():
    x, g = torch.ones(1000, device="cuda"), torch.cuda.CUDAGraph()
    _ = x + 1

    def captures_nothing():
        other = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            other.capture_begin(capture_error_mode="thread_local")
            other.capture_end()

    with torch.cuda.graph(g, capture_error_mode="thread_local"):
        thread = threading.Thread(target=captures_nothing)
        thread.start()
        thread.join()
        y = x + 1
    places = [range(s["address"], s["address"] + s["total_size"]) for s in torch.cuda.memory_snapshot(g.pool())]
    assert any(y.data_ptr() in place for place in places)


def test_two_threads_capture_at_once():
    both, found = threading.Barrier(2, timeout=60), {}

    def captures(number):
        x, g = torch.full((1000,), number, device="cuda", requires_grad=True), torch.cuda.CUDAGraph()
        both.wait()
        with torch.cuda.graph(g, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
            both.wait()
            y = torch.autograd.grad((x * x).sum(), x)[0] + 1
            both.wait()
        g.replay()
        both.wait()  # the other one does not begin to wait for the GPU while this one captures
        found[number] = y[0].item()

    threads = [threading.Thread(target=captures, args=(number,)) for number in (2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {2.0: 5.0, 3.0: 7.0}


def test_a_graph_that_dies_while_another_one_is_captured():
    x = torch.ones(1000, device="cuda")
    dead, g, side = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(dead):
        y = x + 1
    dead.replay()
    pool = dead.pool()
    done = []

    def captures():
        with torch.cuda.graph(side, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
            done.append(x * 3)

    with torch.cuda.graph(g, capture_error_mode="thread_local"):
        z = x + 1
        thread = threading.Thread(target=captures)
        thread.start()
        thread.join()
        del dead, y
        z = z * 2
    g.replay()
    side.replay()
    assert (z[0].item(), done[0][0].item()) == (4, 3)
    torch.cuda.empty_cache()
    assert not torch.cuda.memory_snapshot(pool)


def test_a_graph_that_is_captured_after_a_capture_that_failed_uses_a_pool_once():
    pool, x, g = torch.cuda.MemPool(), torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    _ = x + 1
    with pytest.raises(RuntimeError, match="same stream"), torch.cuda.graph(g, pool=pool.id):
        torch.cuda.set_stream(torch.cuda.default_stream())
    with torch.cuda.graph(g, pool=pool.id):
        y = x + 1
    g.replay()
    assert y.tolist() == [2.0] * 4
    g.reset()
    assert pool.use_count() == 1


def test_what_pools_have_not():
    assert torch.cuda.MemPool().allocator is None
    with pytest.raises(NotImplementedError, match="use_on_oom is not here"):
        torch.cuda.MemPool(use_on_oom=True)
