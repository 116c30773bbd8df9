"""Streams, events and graphs."""

import copy
import os
import subprocess
import sys
import threading

import pytest

import adjoint as torch

from .driver import STANDIN, Calls


def test_current_stream_is_the_thread_s():
    default = torch.cuda.default_stream()
    assert torch.cuda.current_stream() == default
    assert default.cuda_stream == 0
    assert default.device.index == 0
    side, seen = torch.cuda.Stream(), []
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side != default
        assert hash(side) == hash(torch.cuda.current_stream())
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert torch.cuda.current_stream() == default
    assert seen == [default]


def test_threads_enter_a_stream_of_both():
    shared, own, found = torch.cuda.Stream(), torch.cuda.Stream(), []
    entered, both = threading.Event(), threading.Event()

    def first():
        with own:
            with shared:
                entered.set()
                both.wait(60)
            found.append(torch.cuda.current_stream())

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(60)
    with shared:
        both.set()
        thread.join()
    assert found == [own]
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_streams_are_entered_and_left():
    default, side = torch.cuda.default_stream(), torch.cuda.Stream()
    torch.cuda.set_stream(side)
    assert torch.cuda.current_stream() == side
    torch.cuda.set_stream(default)
    with side:
        assert torch.cuda.current_stream() == side
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == default
    assert repr(side).startswith("<torch.cuda.Stream device=cuda:0 cuda_stream=0x")
    assert side != 3


def test_priorities():
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.cuda.Stream().priority == 0
    assert torch.cuda.Stream(priority=-1).priority == -1
    assert torch.cuda.Stream(priority=-9).priority == -3


def test_streams_are_handed_out_in_turn():
    made = [torch.cuda.Stream() for _ in range(40)]
    assert 1 < len(set(made)) <= 32


def test_streams_wait_for_one_another():
    side = torch.cuda.Stream()
    x = torch.arange(1000.0, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
        event = side.record_event()
    torch.cuda.current_stream().wait_event(event)
    z = y + 1
    y.record_stream(torch.cuda.current_stream())
    assert z.cpu().tolist() == [2.0 * i + 1 for i in range(1000)]
    side.synchronize()
    assert side.query()
    assert event.query()
    with pytest.raises((NotImplementedError, RuntimeError), match="record_stream"):
        torch.ones(1).record_stream(side)


def test_events_measure_time():
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert begin.query()
    assert begin.device is None
    assert "uninitialized" in repr(begin)
    begin.synchronize()
    begin.record()
    _ = torch.ones(10, device="cuda") + 1
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0
    assert end.device.index == 0
    assert end.cuda_event
    with pytest.raises(ValueError, match="enable_timing=True"):
        torch.cuda.Event().elapsed_time(end)
    with pytest.raises(ValueError, match="must be recorded"):
        torch.cuda.Event(enable_timing=True).elapsed_time(end)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="takes two GPUs")
def test_events_stay_on_their_device():
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(0))
    with pytest.raises(RuntimeError, match="does not match recording stream's device"):
        event.record(torch.cuda.current_stream(1))
    event.wait(torch.cuda.current_stream(1))
    other = torch.cuda.Stream(1)
    with torch.cuda.stream(other):
        assert torch.cuda.current_device() == 1
        assert torch.ones(1, device="cuda").device.index == 1
    assert torch.cuda.current_device() == 0


def test_external_streams():
    side = torch.cuda.Stream()
    same = torch.cuda.ExternalStream(side.cuda_stream)
    assert same == side
    assert torch.cuda.get_stream_from_external(side.cuda_stream) == side
    with torch.cuda.stream(same):
        assert (torch.ones(2, device="cuda") * 3).tolist() == [3.0, 3.0]


# ---- Graphs


def test_a_graph_does_its_work_again():
    x = torch.ones(3, device="cuda")
    _ = x * 2 + 1
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        assert torch.cuda.is_current_stream_capturing()
        middle = x * 2
        y = middle + 1
        del middle
    assert not torch.cuda.is_current_stream_capturing()
    for value in (5.0, 7.0):
        x.fill_(value)
        noise = [torch.full((3,), -1.0, device="cuda") for _ in range(8)]  # does not get the graph's memory
        g.replay()
        assert y.tolist() == [2 * value + 1] * 3
        assert all(each.tolist() == [-1.0] * 3 for each in noise)
    g.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        g.replay()


def test_graphs_keep_and_free_their_memory():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    x = torch.ones(1 << 20, device="cuda")
    _ = x + 1
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = x + 1
    del y
    torch.cuda.empty_cache()
    held = torch.cuda.memory_reserved()
    g.replay()
    torch.cuda.synchronize()
    del g, x, _
    torch.cuda.empty_cache()
    assert held > before >= torch.cuda.memory_reserved()


def test_first_uses_in_a_graph():
    """Memory, code, libraries and records that nothing has asked for before."""
    program = """
import adjoint as torch
a, index = torch.ones(200, 200, device="cuda"), torch.tensor([3, 1]).cuda()
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g, capture_error_mode="global"):
    product, rows = a @ a, a[index].sum(0)
g.replay()
print(product[0, 0].item(), rows[0].item())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "200.0 2.0\n", done.stderr


def test_graphs_share_a_pool():
    pool = torch.cuda.graph_pool_handle()
    x = torch.ones(4, device="cuda")
    _ = (x + 1, x * 3)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first, pool=pool):
        y = x + 1
    with torch.cuda.graph(second, pool=first.pool()):
        z = y * 3
    assert first.pool() == second.pool() == pool
    x.fill_(2)
    first.replay()
    second.replay()
    assert z.tolist() == [9.0] * 4


def test_a_capture_with_launches_that_are_waited_for():
    """Nothing runs while a graph is captured, so that there is nothing to wait for."""
    program = """
import adjoint as torch
x, g = torch.ones(40, 40, device="cuda"), torch.cuda.CUDAGraph()
_ = x @ x * 2
with torch.cuda.graph(g):
    y = x @ x * 2
x.fill_(4)
g.replay()
print(y[0, 0].item())
"""
    environment = os.environ | {"CUDA_LAUNCH_BLOCKING": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "1280.0\n", done.stderr


def test_what_cannot_be_captured_raises_and_leaves_all_well():
    g = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="non-default stream"):
        g.capture_begin()
    with pytest.raises(RuntimeError, match="no capture to end"):
        g.capture_end()
    with pytest.raises(RuntimeError, match="capture error mode"):
        g.capture_begin(capture_error_mode="odd")
    x = torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="CUDA error"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        (x + 1).tolist()
    assert (x + 1).tolist() == [2.0, 2.0]
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


DRAWS = {
    "rand": lambda out, g: out.uniform_(generator=g),
    "normal": lambda out, g: out.normal_(generator=g),
    "bernoulli": lambda out, g: out.bernoulli_(0.5, generator=g),
    "integers": lambda out, g: out.random_(0, 1000, generator=g),
    "few in order": lambda out, g: out.copy_(torch.randperm(out.numel(), generator=g, device="cuda")),
    "many in order": lambda out, g: out.copy_(torch.randperm(2000, generator=g, device="cuda")[: out.numel()]),
    "poisson": lambda out, g: out.copy_(torch.poisson(torch.full_like(out, 7.0), generator=g)),
}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_a_graph_draws_new_numbers_each_time(name, given):
    """As many calls would, whose generator stands where the graph's does."""
    draw, plain = DRAWS[name], torch.Generator(device="cuda")
    own = torch.Generator(device="cuda") if given else None
    generator = own or torch.cuda.default_generators[0]
    out, other = torch.zeros(40, device="cuda"), torch.zeros(40, device="cuda")
    for tensor in (out, other):
        draw(tensor, own)
    generator.manual_seed(3)
    state = generator.get_state()
    g = torch.cuda.CUDAGraph()
    if given:
        g.register_generator_state(own)
    with torch.cuda.graph(g):
        draw(out, own)
        draw(other, own)
    assert torch.equal(generator.get_state(), state)
    seen = []
    for seed in (3, None, 5):
        for each in (generator, plain):
            each.manual_seed(seed) if seed else None
        g.replay()
        for tensor in (out, other):
            expected = torch.zeros_like(tensor)
            draw(expected, plain)
            assert torch.equal(tensor, expected)
            seen.append(tensor.tolist())
        assert torch.equal(generator.get_state(), plain.get_state())
        draw(expected, own)  # what is not captured goes on from there
        draw(tensor, plain)
        assert torch.equal(tensor, expected)
    assert all(a != b for i, a in enumerate(seen) for b in seen[:i])


def test_generators_that_a_graph_does_not_know():
    x, own, g = torch.zeros(3, device="cuda"), torch.Generator(device="cuda"), torch.cuda.CUDAGraph()
    x.normal_(generator=own)
    with pytest.raises(RuntimeError, match=r"not in capture mode.*register_generator_state"), torch.cuda.graph(g):
        x.normal_(generator=own)
    with pytest.raises(RuntimeError, match="before capture_begin"):
        g.register_generator_state(own)
    with pytest.raises(RuntimeError, match="of cpu"):
        torch.cuda.CUDAGraph().register_generator_state(torch.Generator())
    with pytest.raises(TypeError, match=r"expected a torch\.Generator"):
        torch.cuda.CUDAGraph().register_generator_state(3)


def test_generators_are_not_set_during_a_capture():
    x, g, seed = torch.zeros(3, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.initial_seed()
    x.normal_()
    state = torch.cuda.get_rng_state()
    with torch.cuda.graph(g):
        torch.cuda.manual_seed(seed)  # as it is
        for wrong, message in (
            (lambda: torch.manual_seed(seed + 1), "only if new seed is the same as the original seed"),
            (lambda: torch.cuda.set_rng_state(state), "cannot be set during CUDA graph capture"),
        ):
            with pytest.raises(RuntimeError, match=message):
                wrong()
        x.normal_()
    assert torch.equal(torch.cuda.get_rng_state(), state)

    def draws_and_fails():
        x.normal_()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), torch.cuda.graph(torch.cuda.CUDAGraph()):
        draws_and_fails()
    torch.manual_seed(seed + 1)
    assert torch.cuda.initial_seed() == seed + 1


def test_graphed_callables_drop_out_other_elements_each_time():
    layer = torch.nn.Dropout(0.5).cuda()
    fast = torch.cuda.make_graphed_callables(layer, (torch.ones(200, device="cuda", requires_grad=True),))
    x, kept = torch.ones(200, device="cuda", requires_grad=True), []
    for _ in range(2):
        x.grad = None
        y = fast(x)
        y.sum().backward()
        assert torch.equal(x.grad, y.detach())  # the same elements both ways
        kept.append(y.tolist())
    assert kept[0] != kept[1]


def test_graphed_callables():
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).cuda()
    plain = copy.deepcopy(layer)
    sample = torch.ones(5, 3, device="cuda", requires_grad=True)
    fast = torch.cuda.make_graphed_callables(layer, (sample,))
    for seed in range(2):
        x = torch.arange(15.0).reshape(5, 3).cuda().add(seed).requires_grad_()
        own = x.detach().clone().requires_grad_()
        fast(x).square().sum().backward()
        plain(own).square().sum().backward()
        torch.testing.assert_close(x.grad, own.grad)
        for mine, theirs in zip(layer.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, theirs.grad)


def test_graphed_functions():
    def function(x, y):
        return x * y + 1, x.sin()

    samples = tuple(torch.ones(4, device="cuda", requires_grad=True) for _ in range(2))
    fast = torch.cuda.make_graphed_callables(function, samples)
    x = torch.arange(4.0).cuda().requires_grad_()
    y = torch.full((4,), 3.0).cuda().requires_grad_()
    first, second = fast(x, y)
    (first * 2 + second).backward(torch.ones(4, device="cuda"))
    assert first.tolist() == [1.0, 4.0, 7.0, 10.0]
    torch.testing.assert_close(x.grad, 2 * y.detach() + x.detach().cos())
    torch.testing.assert_close(y.grad, 2 * x.detach())


def test_graphed_functions_have_no_second_derivative():
    fast = torch.cuda.make_graphed_callables(torch.sin, (torch.ones(3, device="cuda", requires_grad=True),))
    x = torch.arange(3.0).cuda().requires_grad_()
    (slope,) = torch.autograd.grad(fast(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        (slope + x).sum().backward()


# ---- Streams of backward


SEEN: list = []


class Seeing(torch.autograd.Function):
    """Doubles, and notes the stream on which its backward runs."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        SEEN.append(torch.cuda.current_stream())
        return g * 2


@pytest.fixture
def seen():
    SEEN.clear()
    return SEEN


def test_backward_runs_on_the_streams_of_forward(seen):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    default = torch.cuda.current_stream()
    x = torch.arange(4.0, device="cuda", requires_grad=True)
    with torch.cuda.stream(first):
        y = Seeing.apply(x)
    with torch.cuda.stream(second):
        second.wait_stream(first)
        z = Seeing.apply(y)
    default.wait_stream(second)
    waits = STANDIN and Calls("cuStreamWaitEvent")
    Seeing.apply(z).sum().backward()
    assert seen == [default, second, first]
    assert torch.cuda.current_stream() == default
    assert x.grad.tolist() == [8.0] * 4
    # From stream to stream, back, and both for what they have left.
    assert not STANDIN or waits["cuStreamWaitEvent"] == 5


def test_backward_in_a_stream_of_what_was_made_outside(seen):
    x = torch.ones(4, device="cuda", requires_grad=True)
    y = Seeing.apply(x).sum()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        (g,) = torch.autograd.grad(y, x)
        assert torch.cuda.current_stream() == side
    assert seen == [torch.cuda.default_stream()]
    assert g.tolist() == [2.0] * 4


def test_backward_leaves_the_stream_as_it_was_after_an_error():
    def refuse(g):
        raise ZeroDivisionError

    side, x = torch.cuda.Stream(), torch.ones(4, device="cuda", requires_grad=True)
    with torch.cuda.stream(side):
        y = x * 2
        y.register_hook(refuse)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_a_captured_backward_stays_in_the_capture(seen):
    x = torch.ones(4, device="cuda", requires_grad=True)
    y, g = Seeing.apply(x).sum(), torch.cuda.CUDAGraph()
    torch.autograd.grad(y, x, retain_graph=True)
    with torch.cuda.graph(g):
        stream = torch.cuda.current_stream()
        (slope,) = torch.autograd.grad(y, x, retain_graph=True)
    g.replay()
    assert seen == [torch.cuda.default_stream(), stream]
    assert slope.tolist() == [2.0] * 4


def test_nodes_without_values_of_a_gpu_run_where_the_run_has_come(seen):
    side, x = torch.cuda.Stream(), torch.ones(4, requires_grad=True)
    with torch.cuda.stream(side):
        y = Seeing.apply((x * 3).cuda()).cpu() * 5
    y.sum().backward()
    assert seen == [side]
    assert x.grad.tolist() == [30.0] * 4
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_backward_deep_within_backwards_keeps_device_and_stream():
    """Such ones go on in a thread of their own."""
    found = []

    class Nest(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            found.append((torch.cuda.current_device(), torch.cuda.current_stream()))
            if ctx.depth:
                with torch.enable_grad():
                    Nest.apply(torch.ones(1, device="cuda", requires_grad=True), ctx.depth - 1).backward()
            return g, None

    device = torch.cuda.device_count() - 1
    side = torch.cuda.Stream(device)
    with torch.cuda.stream(side):
        Nest.apply(torch.ones(1, device="cuda", requires_grad=True), 70).backward()
    assert found == [(device, side)] * 71


# ---- Being told of what waits


@pytest.fixture
def sync_debug_mode():
    yield torch.cuda.set_sync_debug_mode
    torch.cuda.set_sync_debug_mode("default")


def test_what_waits_can_be_an_error(sync_debug_mode):
    x, pinned = torch.arange(4.0, device="cuda"), torch.arange(4.0).pin_memory()
    sync_debug_mode("error")
    assert torch.cuda.get_sync_debug_mode() == 2
    y = (x * 2 + pinned.cuda(non_blocking=True)).clamp(max=5)
    there = torch.empty(4, pin_memory=True).copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    torch.cuda.current_stream().synchronize()
    waits = (y.cpu, y.tolist, lambda: y.sum().item(), lambda: bool(y.sum() > 0), lambda: y.nonzero(), lambda: y[y > 1])
    for call in (*waits, lambda: torch.ones(2).cuda(), lambda: torch.tensor([1.0, 2.0], device="cuda")):
        with pytest.raises(RuntimeError, match=r"^called a synchronizing CUDA operation"):
            call()
    sync_debug_mode(0)
    assert there.tolist() == y.tolist() == [0.0, 3.0, 5.0, 5.0]


def test_what_waits_can_be_warned_of(sync_debug_mode):
    x = torch.ones(2, device="cuda")
    sync_debug_mode(1)
    with pytest.warns(UserWarning, match="^called a synchronizing CUDA operation") as seen:
        assert x.sum().item() == 2
    assert seen[0].filename == __file__
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
        sync_debug_mode("loud")
    with pytest.raises(RuntimeError, match="expected one of 0, 1, 2; got 3"):
        sync_debug_mode(3)
