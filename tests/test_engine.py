"""The engine against torch: failures half-way, threads, forks, and backwards inside of backwards."""

import contextlib
import os
import threading

import pytest

import adjoint

from .compare import LIBRARIES, leaf, programs, same
from .processes import script

program, test_program = programs()


def in_threads(*bodies):
    """Runs the bodies at the same time; raises what the first of them raised."""
    errors = []

    def guarded(body):
        try:
            body()
        except BaseException as error:  # raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# ---- Failures half-way


@program
def leaves_not_reached_have_no_gradient(L):
    leaves = [leaf(L, float(i)) for i in range(6)]
    y = leaves[0] * 1
    for x in leaves[1:]:
        y = y * x
    leaves[3].register_hook(lambda g: 1 / 0)
    try:
        y.backward()
    except ZeroDivisionError:
        return [x.grad for x in leaves]


@program
def a_gradient_is_added_whole_or_not_at_all(L):
    x = leaf(L, 1.0)
    x.grad = L.ones(1)
    y = x * 2 + x * 3
    accumulator = L.autograd.graph.get_gradient_edge(x).node
    accumulator.register_prehook(lambda gs: 1 / 0)
    try:
        y.backward()
    except ZeroDivisionError:
        return x.grad


@program
def the_engine_goes_on_after_a_failure(L):
    x, w = leaf(L, 2.0), leaf(L, 3.0)
    y = x * w
    handle = y.register_hook(lambda g: 1 / 0)
    for _ in range(2):
        with contextlib.suppress(ZeroDivisionError):
            (y * y).backward(retain_graph=True)
    handle.remove()
    (y * y).backward()
    return x.grad, w.grad


@program
def what_was_applied_before_the_failure_is_freed(L):
    x = leaf(L, 1.0)
    y = x.exp()
    z = y.exp()
    y.register_hook(lambda g: 1 / 0)
    with contextlib.suppress(ZeroDivisionError):
        z.backward()
    kept = []
    for tensor in (y, z):
        try:
            kept.append(tensor.grad_fn._saved_result is not None)
        except RuntimeError as error:
            kept.append(str(error)[:30])
    return kept


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit])
def test_any_exception_passes_through(kind):
    def program(L):
        x, w = leaf(L, 1.0), leaf(L, 2.0)
        y = x * 2

        def stop(g):
            raise kind("mine")

        y.register_hook(stop)
        seen = None
        try:
            (y * w).backward()
        except kind as error:
            seen = str(error)
        (x * w).backward()
        return seen, x.grad, w.grad

    same(program)


@program
def no_memory_in_a_backward(L):
    class Greedy(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g + L.empty(1 << 60)

    x, w = leaf(L, 1.0), leaf(L, 2.0)
    try:
        (Greedy.apply(x) * w).backward()
    except RuntimeError:
        failed = True
    before = x.grad
    (x * w).backward()
    return failed, before, x.grad, w.grad


@program
def a_failure_inside_a_backward_inside_a_backward(L):
    x = leaf(L, 2.0)
    y = x * x

    def again(g):
        L.ones(1).backward()

    y.register_hook(again)
    y.backward()


# ---- What is asked for


@program
def hooks_of_nodes_that_are_asked_for(L):
    log = []
    x = leaf(L, 1.0)
    y = x * 2
    z = y * 3
    y.register_hook(lambda g: log.append("y"))
    y.grad_fn.register_prehook(lambda gs: log.append("before y"))
    y.grad_fn.register_hook(lambda gi, go: log.append(("after y", [g is None for g in gi])))
    z.grad_fn.register_hook(lambda gi, go: log.append("after z"))
    L.autograd.grad(z, y, retain_graph=True)
    log.append("backward to y")
    z.backward(inputs=[y], retain_graph=True)
    log.append("backward to x")
    z.backward(inputs=[x])
    return log, x.grad


@program
def a_custom_backward_runs_for_its_own_output(L):
    log = []

    class Mine(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            log.append("run")
            return g

    x = leaf(L, 1.0)
    y = Mine.apply(x)
    (y * 3).backward(inputs=[y], retain_graph=True)
    log.append(L.autograd.grad(y * 3, y))
    return log, x.grad, y.grad


@program
def calling_a_node(L):
    x, w = leaf(L, 3.0), leaf(L, 2.0)
    log = []
    y = x * w
    y.register_hook(log.append)
    y.grad_fn.register_prehook(log.append)
    first = y.grad_fn(L.ones(1))
    with L.no_grad():
        second = y.grad_fn(L.ones(1))
    accumulator = y.grad_fn.next_functions[0][0]
    a, _ = leaf(L, 1.0, 2.0).unbind()
    return first, second, x.exp().grad_fn(None), accumulator(L.ones(1) * 5), x.grad, a.grad_fn(None, L.ones(())), log


@pytest.mark.parametrize("arguments", ["", "one, one", "3", "one, k=one"])
def test_calling_a_node_wrongly(arguments):
    same(lambda L: eval(f"node({arguments})", {"node": leaf(L, 3.0).exp().grad_fn, "one": L.ones(1)}))


def test_calling_a_node_with_a_gradient_of_another_shape():
    """torch computes what it can."""
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        leaf(adjoint, 1.0, 2.0).exp().grad_fn(adjoint.ones(3))
    assert leaf(adjoint, 0.0).exp().grad_fn(adjoint.ones(1, dtype=adjoint.float64)).dtype == adjoint.float32


# ---- Threads


@pytest.mark.parametrize("size", [3, 1 << 18])
@pytest.mark.parametrize("L", LIBRARIES, ids=["torch", "adjoint"])
def test_gradients_of_threads_add_up(L, size):
    x = L.ones(size).requires_grad_()
    calls = []
    x.register_hook(lambda g: calls.append(1))
    x.register_post_accumulate_grad_hook(lambda p: calls.append(2))

    def work():
        for _ in range(20):
            (x * 2).sum().backward()

    in_threads(*[work] * 4)
    assert (x.grad == 160.0).all().item()
    assert sorted(calls) == [1] * 80 + [2] * 80


@pytest.mark.parametrize("size", [3, 1 << 18])
@pytest.mark.parametrize("L", LIBRARIES, ids=["torch", "adjoint"])
def test_threads_share_a_retained_graph(L, size):
    x = L.ones(size).requires_grad_()
    loss = (x * x * 3).sum()
    in_threads(*[lambda: [loss.backward(retain_graph=True) for _ in range(10)]] * 4)
    assert (x.grad == 240.0).all().item()


def test_a_graph_is_freed_by_one_of_the_threads():
    """The others fail, or take part: nothing is computed from what was freed."""
    for _ in range(20):
        x = adjoint.ones(1 << 18).requires_grad_()
        loss = (x.exp() * x).sum()
        failures = []

        def work(loss=loss, failures=failures):
            try:
                loss.backward()
            except RuntimeError as error:
                failures.append(str(error))

        in_threads(work, work, work)
        assert len(failures) < 3
        assert all(text.startswith("Trying to backward through the graph a second time") for text in failures)


@pytest.mark.parametrize("L", LIBRARIES, ids=["torch", "adjoint"])
def test_threads_with_graphs_and_modes_of_their_own(L):
    results = {}

    def work(number):
        x = leaf(L, float(number))
        for i in range(50):
            y = x * x
            y.register_hook(lambda g: g * 2)
            with L.no_grad():
                z = y * 3
                assert not z.requires_grad
            y.backward()
            assert L.is_grad_enabled()
            if number == 0:
                L.set_grad_enabled(False)
                L.set_grad_enabled(True)
            assert x.grad.item() == 4 * number * (i + 1)
        results[number] = x.grad.item()

    in_threads(*[lambda number=number: work(number) for number in range(4)])
    assert results == {number: 200.0 * number for number in range(4)}


def test_modes_are_of_a_thread():
    def program(L):
        seen = []

        def look():
            seen.append((L.is_grad_enabled(), L.is_inference_mode_enabled()))
            L.set_grad_enabled(False)

        with L.no_grad():
            in_threads(look)
        with L.inference_mode():
            in_threads(look)
        in_threads(look)
        return seen, L.is_grad_enabled()

    same(program)


def test_backward_in_a_thread_sees_the_exception():
    def program(L):
        x = leaf(L, 1.0)
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
        try:
            in_threads(y.backward)
        except ZeroDivisionError as error:
            return str(error), x.grad

    same(program)


# ---- Forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("size", [3, 1 << 18])
@pytest.mark.parametrize("when", ["before", "after", "during"])
def test_backward_after_fork(when, size):
    """In a process of its own, whose other threads are ours: before a backward, after one, and in the midst of one."""
    text = f"""
import os, threading
import adjoint as torch
x = torch.ones({size}).requires_grad_()
y = x * x
inside, go = threading.Event(), threading.Event()
def hook(g):
    inside.set()
    go.wait(20)
if {when != "before"}:
    y.sum().backward(retain_graph=True)
    x.grad = None
if {when == "during"}:
    handle = y.register_hook(hook)
    thread = threading.Thread(target=lambda: y.sum().backward(retain_graph=True))
    thread.start()
    inside.wait(20)
child = os.fork()
if child == 0:
    go.set()
    (y * 2).sum().backward(retain_graph=True)
    (x.exp().sum() * 0).backward()
    os._exit(0 if (x.grad == 4.0).all().item() else 1)
_, status = os.waitpid(child, 0)
go.set()
if {when == "during"}:
    thread.join()
    handle.remove()
    assert (x.grad == 2.0).all().item()
    x.grad = None
y.sum().backward()
assert (x.grad == 2.0).all().item()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    # From 3.12 on Python warns of forks beside other threads, which is what is tested here.
    quiet = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}
    assert script(text, timeout=60, environment=quiet).stderr == ""


# ---- A backward inside a backward


@program
def inside_a_hook(L):
    x = leaf(L, 2.0)
    y = x * x

    def hook(g):
        with L.enable_grad():
            z = x.detach().requires_grad_()
            (z * z * z).backward()
        return g * z.grad

    y.register_hook(hook)
    y.backward()
    return x.grad


@program
def through_the_same_graph(L):
    x = leaf(L, 2.0)
    y = x * x
    z = y * 3
    calls = []

    def hook(g):
        if len(calls) < 3:
            calls.append(g)
            y.backward(retain_graph=True)

    z.register_hook(hook)
    z.backward()
    return x.grad, calls


@program
def from_the_hook_of_a_leaf(L):
    x, w = leaf(L, 2.0), leaf(L, 3.0)
    calls = []

    def hook(g):
        if len(calls) < 3:
            calls.append(g)
            (x * w).backward()

    x.register_hook(hook)
    (x * w).backward()
    return x.grad, w.grad, calls


def checkpoint(L):
    class Again(L.autograd.Function):
        """Computes its forward once more in backward."""

        @staticmethod
        def forward(ctx, x, depth):
            ctx.save_for_backward(x)
            ctx.depth = depth
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            with L.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                y = Again.apply(x, ctx.depth - 1) if ctx.depth else x * 1.0
            y.backward(g)
            return x.grad, None

    return Again


@program
def inside_a_custom_backward(L):
    x = leaf(L, 2.0)
    checkpoint(L).apply(checkpoint(L).apply(x, 3), 2).backward()
    return x.grad


@pytest.mark.parametrize("depth", [200, 1000, 10000])
def test_very_deep(depth):
    """torch goes as deep, on threads of its own; it is not asked here, since it is slow and may crash at exit."""
    x = leaf(adjoint, 2.0)
    checkpoint(adjoint).apply(x, depth).backward()
    assert x.grad.item() == 1.0


def test_a_failure_very_deep():
    class Failing(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.save_for_backward(x)
            ctx.depth = depth
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            assert not adjoint.is_grad_enabled()
            if not ctx.depth:
                raise KeyError("deep down")
            with adjoint.enable_grad():
                y = Failing.apply(ctx.saved_tensors[0].detach().requires_grad_(), ctx.depth - 1)
            y.backward(g)

    x = leaf(adjoint, 2.0)
    with pytest.raises(KeyError, match="deep down"):
        Failing.apply(x, 500).backward()
    assert x.grad is None
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_saved_tensor_hooks_hold_very_deep():
    packed = []
    x = leaf(adjoint, 2.0)
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        checkpoint(adjoint).apply(x, 150).backward()
    assert len(packed) == 151


@program
def roots_that_are_asked_for_twice(L):
    x, g = L.tensor([1.0, 2.0], requires_grad=True), L.tensor([1.0, 3.0])
    y = x * 2
    of_tensor, of_node = [], []
    y.register_hook(of_tensor.append)
    y.grad_fn.register_hook(lambda inputs, outputs: of_node.append(outputs[0]))
    twice = L.autograd.grad([x, x], [x], [g, g])
    both = L.autograd.grad([*y.unbind()], x, retain_graph=True)
    mixed = L.autograd.grad([y, y.sum(), y], x, [g, L.tensor(1.0), g], retain_graph=True)
    L.autograd.backward([y, x, x, y], [g, g, g, g])
    return twice, both, mixed, x.grad, of_tensor, of_node, L.func.vjp(lambda x: [x, x], g)[1]([g, g])
