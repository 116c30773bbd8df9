"""Checkpoints beside torch's: gradients, nesting, random numbers, autocast, memory; errors that name op and line."""

import contextlib
import gc
import sys
import threading
import weakref

import pytest
import torch
import torch.utils.checkpoint

import adjoint
from adjoint.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled

from .compare import programs, raised

program, test_program = programs()

RUNS = {"use_reentrant": False}


def cp(L):
    return L.utils.checkpoint


def leaf(L, *values):
    return L.tensor(values, dtype=L.float64, requires_grad=True)


def near(value):
    """Tensors as lists of numbers without their last digits, which the order of additions decides."""
    if isinstance(value, list | tuple):
        return [near(item) for item in value]
    return [round(number, 9) for number in value.flatten().tolist()] if hasattr(value, "grad_fn") else value


def wave(x):
    return (x.sin() * x).exp()


# ---- Gradients


@program
def gradients(L):
    results = []
    for reentrant in (False, True):
        x = leaf(L, 0.5, 1.0)
        y = cp(L).checkpoint(wave, x, use_reentrant=reentrant)
        (y * y).sum().backward()
        results += [y, x.grad]
    return near(results)


@program
def the_function_runs_once_more(L):
    calls = []

    def counted(x):
        calls.append(L.is_grad_enabled())
        return wave(x)

    x = leaf(L, 0.5)
    for reentrant in (False, True):
        y = cp(L).checkpoint(counted, x, use_reentrant=reentrant)
        y.backward()
        calls.append("done")
    with L.no_grad():
        cp(L).checkpoint(counted, x, **RUNS)
    return calls


@program
def several_inputs_and_outputs(L):
    def function(a, number, b, *, scale=1, shift=None):
        return a * b * number + (0 if shift is None else shift), [a.exp() * scale], "text"

    a, b, shift = leaf(L, 1.0, 2.0), leaf(L, 3.0, 4.0), leaf(L, 5.0, 6.0)
    first, (second,), text = cp(L).checkpoint(function, a, 3, b, scale=b, shift=shift, **RUNS)
    (first * second).sum().backward()
    return near((text, a.grad, b.grad, shift.grad))


@program
def tensors_that_are_not_arguments(L):
    x, weight = leaf(L, 1.0, 2.0), leaf(L, 3.0, 4.0)
    y = cp(L).checkpoint(lambda: (x * weight).exp(), **RUNS)
    y.sum().backward()
    z = cp(L).checkpoint(lambda x: (x * weight).sin(), x.detach(), **RUNS)
    z.sum().backward()
    return near((x.grad, weight.grad))


@program
def parts_without_gradient(L):
    def function(x):
        with L.no_grad():
            scale = (x * x).exp()
        return (x * scale).sin() * x.detach().cos()

    x = leaf(L, 0.5, 1.0)
    cp(L).checkpoint(function, x, **RUNS).sum().backward()
    return near(x.grad)


@program
def several_backwards(L):
    x = leaf(L, 0.5, 1.0)
    y = cp(L).checkpoint(wave, x, **RUNS).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    return near((first, x.grad, raised(y.backward)))


@program
def second_gradients(L):
    x = leaf(L, 0.5, 1.0)
    y = cp(L).checkpoint(wave, x, **RUNS).sum()
    (first,) = L.autograd.grad(y, x, create_graph=True)
    (second,) = L.autograd.grad(first.sum(), x, create_graph=True)
    second.sum().backward()
    return near((first, second, x.grad))


@program
def some_gradients_only(L):
    x, w = leaf(L, 0.5), leaf(L, 2.0)
    y = cp(L).checkpoint(lambda x, w: wave(x) * w, x, w, **RUNS)
    return (
        L.autograd.grad(y, w, retain_graph=True),
        L.autograd.grad(y, x, retain_graph=True),
        L.autograd.grad(y, (x, w)),
    )


@program
def in_place_inside(L):
    def function(x):
        y = x.exp()
        y.mul_(x)
        return y.sin_()

    x = leaf(L, 0.5, 1.0)
    cp(L).checkpoint(function, x, **RUNS).sum().backward()
    return near(x.grad)


@program
def an_input_that_was_changed(L):
    x = leaf(L, 0.5, 1.0)
    y = x * 2
    z = cp(L).checkpoint(wave, y, **RUNS)
    with L.no_grad():
        y.zero_()
    return raised(z.sum().backward)


@program
def custom_functions(L):
    class Square(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            for _ in range(times[0]):
                (x,) = ctx.saved_tensors
            return 2 * x * g

    x, results, times = leaf(L, 0.5), [], [1]
    for _ in range(2):
        y = cp(L).checkpoint(lambda x: Square.apply(x.exp()), x, **RUNS)
        results.append(raised(y.backward))
        times[0] += 1
    return near((results, x.grad))


@program
def saved_values_outside_of_backward(L):
    x = leaf(L, 0.5)
    y = cp(L).checkpoint(lambda x: x.exp(), x, **RUNS)
    seen = y.grad_fn._saved_result, y.grad_fn._saved_result
    y.backward()
    return near(([value.detach() for value in seen], x.grad))


def test_threads_through_one_graph():
    """Each backward gets what it recomputed, though others run meanwhile."""
    x = adjoint.linspace(0.0, 1.0, 5).requires_grad_()
    y = checkpoint(wave, x, **RUNS).sum()
    (expected,) = adjoint.autograd.grad(y, x, retain_graph=True)
    results = []

    def work():
        for _ in range(500):
            results.append(adjoint.autograd.grad(y, x, retain_graph=True)[0].equal(expected))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [True] * 2000


# ---- In one another


@program
def nested(L):
    calls = []

    def inner(x, name):
        calls.append(name)
        return wave(x)

    def outer(x):
        calls.append("outer")
        y = cp(L).checkpoint(inner, x * 2, "first", **RUNS)
        z = cp(L).checkpoint(inner, y.sin(), "second", **RUNS)
        return (y * z).cos()

    x = leaf(L, 0.25, 0.5)
    y = cp(L).checkpoint(outer, x.exp(), **RUNS).sum()
    calls.append("backward")
    y.backward(retain_graph=True)
    once = x.grad.clone()
    y.backward()
    return near((calls, once, x.grad))


@program
def nested_deeply(L):
    def level(x, depth):
        return x.sin() if depth == 0 else cp(L).checkpoint(level, x.cos() * x, depth - 1, **RUNS) * x

    x = leaf(L, 0.25, 0.5)
    y = cp(L).checkpoint(level, x, 6, **RUNS).sum()
    (first,) = L.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    return near((first, x.grad))


@program
def both_kinds_together(L):
    x = leaf(L, 0.5, 1.0)
    y = cp(L).checkpoint(lambda x: cp(L).checkpoint(wave, x.sin(), use_reentrant=False), x, use_reentrant=True)
    y.sum().backward()
    return near(x.grad)


@program
def with_hooks_around(L):
    packed = []

    def pack(tensor):
        packed.append(tuple(tensor.shape))
        return tensor

    x = leaf(L, 0.5, 1.0)
    with L.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = cp(L).checkpoint(wave, x, **RUNS)
    y.sum().backward()
    return near((packed, x.grad))


# ---- Early stop


def last_line(L, seen, **options):
    def function(x):
        y = x.exp()
        seen.append("computed")
        z = y + 1
        seen.append("reached")
        return z

    x = leaf(L, 0.5)
    y = cp(L).checkpoint(function, x, **options, **RUNS)
    y.backward()
    return x.grad


@program
def early_stop(L):
    seen = []
    results = [last_line(L, seen), last_line(L, seen, early_stop=False)]
    for enabled in (True, False):
        with cp(L).set_checkpoint_early_stop(enabled):
            results += [last_line(L, seen), last_line(L, seen, early_stop=not enabled)]
    return near((seen, results))


def test_a_function_that_catches_exceptions_is_stopped():
    def function(x):
        with contextlib.suppress(Exception):
            return x.exp() + 1

    x = adjoint.tensor(0.5, requires_grad=True)
    checkpoint(function, x, **RUNS).backward()
    assert x.grad.item() == pytest.approx(torch.tensor(0.5).exp().item())


# ---- Random numbers, autocast, contexts


@program
def random_numbers(L):
    results = []
    for reentrant in (False, True):
        for preserve in (True, False):
            L.manual_seed(3)
            x = L.ones(6, requires_grad=True)
            noisy = lambda x: (x * L.rand(6)) * x
            y = cp(L).checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=preserve)
            between = L.rand(2)
            y.sum().backward()
            results += [between, x.grad, L.rand(2)]
    return near(results)


@program
def dropout(L):
    L.manual_seed(1)
    x = L.ones(10, requires_grad=True)
    y = cp(L).checkpoint(lambda x: L.nn.functional.dropout(x * x, 0.5), x, **RUNS)
    y.sum().backward()
    return near((y, x.grad))


@program
def autocast_is_kept(L):
    seen = []

    def function(x, w):
        seen.append((L.is_autocast_enabled("cpu"), str(L.get_autocast_dtype("cpu"))))
        return L.tanh(x @ w)

    results = []
    for reentrant in (False, True):
        x, w = L.eye(2).requires_grad_(), L.ones(2, 2, requires_grad=True)
        with L.autocast("cpu", dtype=L.float16):
            y = cp(L).checkpoint(function, x, w, use_reentrant=reentrant)
        y.sum().backward()
        z = cp(L).checkpoint(function, x, w, use_reentrant=reentrant)
        with L.autocast("cpu"):
            total = z.float().sum()
        total.backward()
        results += [y, z, str(x.grad.dtype), str(w.grad.dtype)]
    return near((seen, results))


@program
def contexts(L):
    seen = []

    @contextlib.contextmanager
    def noted(name):
        seen.append(f"enter {name}")
        yield
        seen.append(f"exit {name}")

    x = leaf(L, 0.5)
    y = cp(L).checkpoint(wave, x, context_fn=lambda: (noted("forward"), noted("again")), early_stop=False, **RUNS)
    y.backward()
    with L.no_grad():
        cp(L).checkpoint(wave, x, context_fn=lambda: (noted("forward"), noted("again")), **RUNS)
    return near((seen, [type(context).__name__ for context in cp(L).noop_context_fn()]))


@program
def forked_generators(L):
    L.manual_seed(5)
    with L.random.fork_rng():
        inside = L.rand(2)
    with L.random.fork_rng(enabled=False):
        drawn = L.rand(2)
    with contextlib.suppress(KeyError), L.random.fork_rng(devices=[]):
        L.rand(3)
        raise KeyError
    names = [hasattr(L.random, name) for name in ("get_rng_state", "set_rng_state", "seed", "initial_seed")]
    return near(
        (inside, drawn, L.rand(2), names, L.random.initial_seed(), L.random.default_generator is L.default_generator)
    )


# ---- In sequence


@program
def sequences(L):
    results = []
    for reentrant in (False, True):
        for segments in (1, 2, 3, 5):
            x = leaf(L, 0.5, 1.0)
            functions = [L.sin, L.exp, lambda x: x * x, L.cos, L.tanh]
            y = cp(L).checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
            y.sum().backward()
            results += [y, x.grad]
    return near(results)


@program
def sequences_of_modules(L):
    L.manual_seed(0)
    model = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Linear(4, 4), L.nn.Linear(4, 2))
    x = L.ones(2, 3, requires_grad=True)
    y = cp(L).checkpoint_sequential(model, 3, x, use_reentrant=False)
    (y * y).sum().backward()
    return near(([str(p.grad.dtype) for p in model.parameters()], tuple(x.grad.shape), y.requires_grad))


# ---- What is refused, and warnings


@program
def arguments(L):
    x = leaf(L, 0.5)
    C = cp(L)
    calls = (
        lambda: C.checkpoint(wave, x).backward(),
        lambda: C.checkpoint(wave, x, use_reentrant=True, scale=2),
        lambda: C.checkpoint(wave, x, use_reentrant=True, debug=True),
        lambda: C.checkpoint(wave, x, use_reentrant=True, context_fn=lambda: None),
        lambda: C.checkpoint(wave, x, use_reentrant=False, determinism_check="some"),
        lambda: C.checkpoint(wave, x, use_reentrant=False, wrong=1),
        lambda: C.checkpoint(wave, x.detach(), use_reentrant=True),
        lambda: C.checkpoint(wave, x.detach(), use_reentrant=False).requires_grad,
        lambda: C.checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward(),
        lambda: L.autograd.grad(C.checkpoint(wave, x, use_reentrant=True), x),
        lambda: C.checkpoint(wave, x, use_reentrant=True).backward(inputs=[x]),
        lambda: C.checkpoint_sequential([L.sin, L.cos], 2, x),
        lambda: C.checkpoint_sequential([L.sin, L.cos], 3, x, use_reentrant=False),
        lambda: C.checkpoint_sequential([L.sin, L.cos], 1, x, use_reentrant=False, wrong=1),
        lambda: C.detach_variable([x]),
        lambda: C.check_backward_validity([x.detach()]),
    )
    return near(([raised(call) for call in calls], x.grad))


def changing(first, second):
    """A function that does one thing at first, and another when it is run again."""
    runs = []

    def function(x):
        runs.append(x)
        return (first if len(runs) == 1 else second)(x)

    return function


@program
def errors_of_recomputation(L):
    def run(first, second, **options):
        x = leaf(L, 0.5, 1.0, 1.5)
        return raised(cp(L).checkpoint(changing(first, second), x, **options, **RUNS).sum().backward)

    return (
        run(lambda x: x.sin().exp() * x, lambda x: x.sin()),
        run(lambda x: x.sin().exp() * x, lambda x: x.sin(), early_stop=False),
        run(lambda x: x.sin().exp() * x, lambda x: x.sin(), debug=True),
        run(lambda x: x.sin(), lambda x: x.sin().exp()),
        run(lambda x: x.sin(), lambda x: x.sin().exp(), early_stop=False),
        run(lambda x: x.sin(), lambda x: x[:2].sin()),
        run(lambda x: x.sin(), lambda x: x.double().sin()),
        run(lambda x: x.sin(), lambda x: x.double().sin(), determinism_check="none"),
        run(lambda x: x.sin(), lambda x: {}["missing"]),
    )


def failure(first, second, **options):
    x = adjoint.ones(3, requires_grad=True)
    y = checkpoint(changing(first, second), x, **options, **RUNS).sum()
    with pytest.raises(CheckpointError) as error:
        y.backward()
    return str(error.value)


def place(function, name):
    """How an error names the op on the only line of a function."""
    code = function.__code__
    return f"saved by {name} at {code.co_filename}:{code.co_firstlineno} in {code.co_name}"


def test_the_first_difference_is_named_by_op_and_line():
    def first(x): return x.sin().exp()  # fmt: skip

    def second(x): return x.sin().cos()  # fmt: skip

    text = failure(first, second)
    assert text.startswith(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata"
    )
    forward, again = text[text.index("They differ first in") :].splitlines()[1:3]
    assert forward.startswith("  in forward: a torch.float32 tensor of shape [3], ")
    assert forward.endswith(place(first, "SinBackward0"))  # the same op, on another line
    assert again.endswith(place(second, "SinBackward0"))


def test_a_difference_of_shape_is_named():
    def first(x): return x.exp()  # fmt: skip

    def second(x): return x[:2].exp()  # fmt: skip

    text = failure(first, second)
    assert "tensor at position 0:\nsaved metadata: {'shape': torch.Size([3])" in text
    assert f"in recomputation: a torch.float32 tensor of shape [2], {place(second, 'ExpBackward0')}" in text


def test_what_is_missing_or_too_much_is_named():
    def short(x): return x.exp()  # fmt: skip

    def long(x): return short(x).sin()  # fmt: skip

    missing = failure(long, short)
    assert "Number of tensors saved during forward: 2\nNumber of tensors saved during recomputation: 1." in missing
    assert "They differ first in tensor 1:\n  in forward: a torch.float32 tensor of shape [3], " in missing
    assert place(long, "SinBackward0") in missing
    assert "in recomputation: no more was saved" in missing
    surplus = failure(short, long, early_stop=False)
    assert "in forward: no more was saved" in surplus
    assert place(long, "SinBackward0") in surplus


def test_another_op_with_the_same_shapes_is_noticed():
    # torch takes the sine's input for the cosine's: a wrong gradient, in silence.
    text = failure(lambda x: x.sin(), lambda x: x.cos())
    assert "SinBackward0" in text
    assert "CosBackward0" in text


def test_debug_lists_all_that_was_saved():
    with set_checkpoint_debug_enabled(True):
        text = failure(lambda x: x.sin().exp(), lambda x: x.sin())
    assert text.startswith(" An error happened while unpacking tensors; dumping logs of latest computation")
    forward, again = text.split("Saved in recomputation:")
    assert forward.count("saved by") == 2
    assert again[: again.index("torch.utils")].count("saved by") == 1


# ---- Memory


def saved_bytes(use):
    """The bytes that are held between forward and backward, and at the peak of backward."""
    x = adjoint.ones(10_000, requires_grad=True)
    gc.collect()
    before = adjoint.memory_stats()["current"]
    y = use(x)
    held = adjoint.memory_stats()["current"] - before
    adjoint.reset_peak_memory_stats()
    y.sum().backward()
    peak = adjoint.memory_stats()["peak"] - before
    del y
    x.grad = None
    gc.collect()
    assert adjoint.memory_stats()["current"] - before == 0
    return held / 40_000, peak / 40_000


def chain(x, length=10):
    for _ in range(length):
        x = x.sin()
    return x


def segments(x):
    for _ in range(5):
        x = checkpoint(chain, x, **RUNS)
    return x


def test_saved_tensors_are_freed():
    plain, peak = saved_bytes(lambda x: chain(x, 50))
    held, lower_peak = saved_bytes(segments)
    assert plain == 50  # the inputs of 50 sines, but for the leaf, and the result
    assert 5 <= held < 6  # and the states of the random generator
    assert peak > 50
    assert lower_peak < 20


def test_inputs_of_inner_checkpoints_are_freed():
    held, _ = saved_bytes(lambda x: checkpoint(segments, x, **RUNS))
    assert 1 <= held < 2


def test_what_backward_does_not_use_is_dropped():
    x, w = adjoint.ones(10_000, requires_grad=True), adjoint.ones(10_000, requires_grad=True)
    y = checkpoint(lambda x, w: chain(x) * w, x, w, **RUNS).sum()
    before = adjoint.memory_stats()["current"]
    for _ in range(3):
        adjoint.autograd.grad(y, w, retain_graph=True)
        left = adjoint.memory_stats()["current"] - before
        assert left <= 12 * 40_000  # what the last run recomputed, not that of all
    del y
    gc.collect()
    assert adjoint.memory_stats()["current"] <= before


def test_the_arguments_die_with_the_graph():
    class Argument:
        pass

    argument = Argument()
    alive = weakref.ref(argument)
    x = adjoint.ones(2, requires_grad=True)
    y = checkpoint(lambda x, other: x.exp(), x, argument, **RUNS).sum()
    del argument
    gc.collect()
    assert alive() is not None
    y.backward()
    del y
    gc.collect()
    assert alive() is None
