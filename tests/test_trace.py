"""adjoint.inspect.trace: every op once, forward and backward, with shapes, lines, time and memory; nothing changes."""

import json
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import adjoint as torch
from adjoint import _C, nn
from adjoint.inspect import trace

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def modes_stay_clean():
    before = _C._mode_flags()
    yield
    assert _C._mode_flags() == before


def ops(t):
    return [event.op for event in t.events]


def matrix(requires_grad=False):
    return torch.arange(6.0).reshape(2, 3).requires_grad_(requires_grad)


# ---- what is logged


def test_each_op_once_in_order_with_shapes_and_line():
    x, y = matrix(), torch.ones(3)
    with trace() as t:
        a = x * y
        b = a.exp().sum(dim=1)
    first, second, third = t.events
    assert (first.op, second.op, third.op) == ("mul", "exp", "sum")
    assert first.inputs == ((torch.float32, (2, 3)), (torch.float32, (3,)))
    assert first.outputs == ((torch.float32, (2, 3)),)
    assert third.outputs == ((torch.float32, (2,)),)
    assert first.place.code == "a = x * y"
    assert second.place == third.place
    assert second.line == f"{HERE}:{first.place.line + 1} in test_each_op_once_in_order_with_shapes_and_line"
    assert first.start <= second.start <= third.start
    assert all(event.time > 0 and not event.backward and not event.failed for event in t.events)
    assert b.shape == (2,)


@pytest.mark.parametrize(
    ("key", "read", "written"),
    [
        (1, ["select"], ["select", "copy_"]),
        (slice(1, 3), ["slice"], ["slice", "copy_"]),
        (None, ["unsqueeze"], ["unsqueeze", "copy_"]),
        ([True, False, True], ["index"], ["index_put_"]),
        (torch.tensor([True, False, True]), ["index"], ["index_put_"]),
        ([0, 2], ["index"], ["index_put_"]),
        (torch.tensor([0, 2]), ["index"], ["index_put_"]),
        ((0, [True, False, True]), ["select", "index"], ["select", "index_put_"]),
    ],
)
def test_indexing_and_assignment_are_calls_like_any_other(key, read, written):
    x = torch.zeros(3, 3)
    with trace() as t:
        part = x[key]
    assert ops(t) == read
    assert t.events[-1].outputs == ((torch.float32, tuple(part.shape)),)
    with trace() as t:
        x[key] = 2.0
    assert ops(t) == written
    assert x[key].eq(2.0).all()
    assert x.sum() == 2 * part.numel()
    assert t.events[-1].place.code == "x[key] = 2.0"
    y, value = torch.zeros(3, 3, requires_grad=True) * 1, torch.ones((), requires_grad=True)
    with trace() as t:
        y[key] = value
    assert ops(t) == [*written[:-1], "fill_" if written[-1] == "copy_" else written[-1]]


def test_parts_are_results_of_one_call():
    x = matrix(requires_grad=True)
    with trace() as t:
        first, _ = x.unbind()
        x.chunk(3, 1)
    assert ops(t) == ["unbind", "chunk"]
    assert t.events[0].outputs == ((torch.float32, (3,)),) * 2
    with trace() as t:
        first.sum().backward()
    assert ops(t)[-3:] == ["UnbindBackward0", "stack", "AccumulateGrad"]


def test_functions_that_make_tensors_are_logged():
    out = torch.ones(3)
    with trace() as t:
        made = torch.zeros(2, 3, requires_grad=True)
        torch.zeros(2, out=out[:2])
        torch.zeros_like(made)
        made.new_full((2,), 3)
        torch.arange(3)
        torch.randn(4)
        torch.randint(5, (2,))
    assert ops(t) == ["zeros", "slice", "zeros", "zeros_like", "new_full", "arange", "randn", "randint"]
    assert t.events[0].inputs == ()
    assert t.events[0].outputs == ((torch.float32, (2, 3)),)
    assert t.events[3].inputs == ((torch.float32, (2, 3)),)
    assert made.is_leaf
    assert made.requires_grad
    assert out.tolist() == [0.0, 0.0, 1.0]


def test_random_fills_are_logged_as_changes():
    w = torch.empty(3, 2)
    with trace() as t:
        w.normal_()
        w.uniform_(-1, 1)
        w.bernoulli_(0.5)
        w.random_(3)
    assert ops(t) == ["normal_", "uniform_", "bernoulli_", "random_"]
    assert all(event.inputs == event.outputs == ((torch.float32, (3, 2)),) for event in t.events)


def test_a_step_from_its_first_tensor_on():
    with trace() as t:
        x = torch.zeros(4, 2)
        w = torch.empty(2, 1, requires_grad=True)
        with torch.no_grad():
            w.normal_()
        noise = torch.randn(4, 1)
        ((x @ w - noise) ** 2).sum().backward()
    forward = [event.op for event in t.events if not event.backward]
    assert forward == ["zeros", "empty", "normal_", "randn", "mm", "sub", "pow", "sum"]


def test_nothing_is_logged_outside_of_the_block():
    x = matrix()
    x * 2
    with trace() as t:
        pass
    x * 2
    assert t.events == []
    assert t.table().rows == ()
    assert t.table().total.calls == 0


def test_in_place_and_out():
    x = matrix()
    out = torch.empty(0)
    with trace() as t:
        x.mul_(2)
        x += 1
        x.fill_(3)
        x.t_()
        torch.add(x, 1, out=out)
        x[0] = 5
    assert ops(t) == ["mul_", "add_", "fill_", "t_", "add", "select", "copy_"]
    assert t.events[3].inputs == ((torch.float32, (2, 3)),)
    assert t.events[3].outputs == ((torch.float32, (3, 2)),)
    assert x.tolist() == [[5.0, 5.0], [3.0, 3.0], [3.0, 3.0]]
    assert out.tolist() == [[4.0, 4.0]] * 3


def test_an_op_goes_by_the_name_it_was_called_by():
    x = matrix()
    with trace() as t:
        x**2, x**0.5, 2 * x, x.clamp(0, 1), x.sum(), x.max(dim=1)
    assert ops(t) == ["pow", "pow", "mul", "clamp", "sum", "max"]


def test_lists_several_results_and_types():
    x = matrix()
    with trace() as t:
        torch.cat([x, x, x])
        x.max(dim=1)
        x.to(torch.float64)
    cat, largest, cast = t.events
    assert len(cat.inputs) == 3
    assert cat.outputs == ((torch.float32, (6, 3)),)
    assert largest.outputs == ((torch.float32, (2,)), (torch.int64, (2,)))
    assert cast.outputs == ((torch.float64, (2, 3)),)


def test_composites_appear_as_their_ops_and_are_named():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with trace() as t:
        model(matrix())
    linear, relu = (event for event in t.events if event.op in ("linear", "relu"))
    assert linear.within[:2] == ("Sequential.forward", "Linear.forward")
    assert relu.within[:2] == ("Sequential.forward", "ReLU.forward")
    assert linear.place.code == relu.place.code == "model(matrix())"


def test_memory_is_what_the_op_leaves_behind():
    x = torch.ones(1000)
    with trace() as t:
        x.exp()
        x.mul_(2)
        x.view(10, 100)
        torch.stack([x, x])
    assert [event.memory for event in t.events if event.op in ("exp", "mul_", "view", "stack")] == [4000, 0, 0, 8000]


# ---- backward


def test_backward_shows_fused_loops_rules_and_leaves():
    x = matrix(requires_grad=True)
    with trace() as t:
        y = x * x  # fused loops
        z = y @ torch.ones(3, 2)  # a rule in Python
        z.sum().backward()
    backward = [event for event in t.events if event.backward]
    nodes = [event for event in backward if event.parent is None]
    assert [event.op for event in nodes] == ["SumBackward0", "MmBackward0", "MulBackward0", "AccumulateGrad"]
    mul, mm = nodes[2], nodes[1]
    assert mul.place.code == "y = x * x  # fused loops"
    assert mm.place.code == "z = y @ torch.ones(3, 2)  # a rule in Python"
    assert mul.inputs == ((torch.float32, (2, 3)),)
    assert mul.outputs == ((torch.float32, (2, 3)),) * 2
    inside = [event for event in backward if event.parent == t.events.index(mm)]
    assert inside
    assert all(event.line == mm.line for event in inside)
    assert mm.own_time == pytest.approx(mm.time - sum(event.time for event in inside))
    assert mm.start <= inside[0].start
    assert inside[-1].start + inside[-1].time <= mm.start + mm.time


def test_a_graph_of_gradients_is_logged_as_the_ops_of_the_rules():
    x = matrix(requires_grad=True)
    with trace() as t:
        (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
        g.sum().backward()
    inside = [t.events[event.parent].op for event in t.events if event.op == "mul" and event.parent is not None]
    assert "MulBackward0" in inside
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_a_custom_function_has_its_own_lines():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with trace() as t:
        Double.apply(matrix(requires_grad=True)).sum().backward()
    node = next(event for event in t.events if event.op == "DoubleBackward")
    inside = [event for event in t.events if event.parent == t.events.index(node)]
    assert [event.op for event in inside] == ["mul"]
    assert inside[0].place.function == "backward"


def test_a_node_that_is_called():
    y, g = matrix(requires_grad=True).exp(), torch.ones(2, 3)
    with trace() as t:
        y.grad_fn(g)
    assert [(event.op, event.backward) for event in t.events if event.parent is None] == [("ExpBackward0", True)]


def test_backwards_in_backwards_go_on_in_the_trace():
    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                with torch.enable_grad():
                    Deeper.apply(torch.ones(1, requires_grad=True), ctx.depth - 1).backward()
            return g, None

    with trace() as t:
        Deeper.apply(torch.ones(1, requires_grad=True), 130).backward()
    assert ops(t).count("DeeperBackward") == ops(t).count("AccumulateGrad") == 131
    assert {event.thread for event in t.events} == {threading.get_native_id()}


# ---- contexts, threads, errors


def test_nested_traces_see_what_happens_in_them():
    x = matrix()
    with trace() as outer:
        x * 2
        with trace() as inner:
            x + 2
            x.mul_(1)
        x - 2
    assert ops(outer) == ["mul", "add", "mul_", "sub"]
    assert ops(inner) == ["add", "mul_"]
    assert outer.events[1].place == inner.events[0].place
    assert inner.events[0].place.code == "x + 2"


def test_traces_may_be_closed_in_any_order():
    x = matrix()
    first, second = trace(), trace()
    first.__enter__()
    second.__enter__()
    x * 2
    first.__exit__(None, None, None)
    x + 2
    second.__exit__(None, None, None)
    x - 2
    assert ops(first) == ["mul"]
    assert ops(second) == ["mul", "add"]


def test_a_trace_can_be_opened_again_and_goes_on():
    x = matrix()
    t = trace()
    with t:
        x * 2
        with pytest.raises(RuntimeError, match="trace: expected one that is not open"):
            t.__enter__()
    with t:
        x + 2
    assert ops(t) == ["mul", "add"]
    with pytest.raises(RuntimeError, match="trace: expected one that this thread has open"):
        t.__exit__(None, None, None)


def test_opened_in_a_hook_and_closed_after_backward():
    x = matrix(requires_grad=True)
    t = trace()
    y = x * 2
    y.register_hook(lambda g: t.__enter__() and None)
    y.exp().sum().backward()
    x.detach() * 3
    assert ops(t)[-2:] == ["detach", "mul"]
    assert "MulBackward0" in ops(t)
    t.__exit__(None, None, None)


def test_closed_in_a_hook_and_in_grad_modes():
    before = _C._mode_flags()  # a class with __torch_dispatch__ leaves a transform open
    x = matrix(requires_grad=True)
    t = trace()
    y = x * 2
    y.register_hook(lambda g: t.__exit__(None, None, None))
    with torch.no_grad():
        t.__enter__()
    with torch.inference_mode():
        x + 1
    y.exp().sum().backward()
    assert ops(t)[0] == "add"
    assert "MulBackward0" not in ops(t)
    assert _C._mode_flags() == before


def test_threads_have_their_own():
    x = matrix()
    found = {}

    def work(name, op):
        with trace() as t:
            meet.wait()
            for _ in range(50):
                op(x)
            meet.wait()
        found[name] = t

    meet = threading.Barrier(2)
    with trace() as here_alone:
        threads = [threading.Thread(target=work, args=pair) for pair in (("a", torch.exp), ("b", torch.sin))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert ops(found["a"]) == ["exp"] * 50
    assert ops(found["b"]) == ["sin"] * 50
    assert here_alone.events == []
    assert found["a"].events[0].thread != found["b"].events[0].thread


def test_closing_in_another_thread_is_refused():
    t = trace()
    caught = []

    def close():
        try:
            t.__exit__(None, None, None)
        except RuntimeError as error:
            caught.append(str(error))

    with t:
        thread = threading.Thread(target=close)
        thread.start()
        thread.join()
        torch.ones(2) * 2
    assert "of another thread" in caught[0]
    assert ops(t) == ["ones", "mul"]


def test_errors_leave_the_stack_as_it_was():
    x, longer = matrix(), torch.ones(7)
    with trace() as t:
        with pytest.raises(RuntimeError):
            x @ x
        with pytest.raises(RuntimeError):
            x.add_(longer)
        x * 2
    assert [(event.op, event.failed, bool(event.outputs)) for event in t.events] == [
        ("mm", True, False),
        ("add_", True, False),
        ("mul", False, True),
    ]


def test_errors_in_backward_leave_the_stack_as_it_was():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("no gradient")

    with trace() as t:
        with pytest.raises(KeyError, match="no gradient"):
            Fails.apply(matrix(requires_grad=True)).sum().backward()
        matrix(requires_grad=True).exp().sum().backward()
    node = next(event for event in t.events if event.op == "FailsBackward")
    assert node.failed
    assert node.outputs == ()
    later = next(event for event in t.events if event.op == "ExpBackward0")
    assert later.parent is None
    assert not later.failed


def test_a_signal_handler_may_close_and_open_traces_in_the_middle_of_an_op():
    x = matrix(requires_grad=True)
    t, other = trace(), trace()

    def handler(*_):
        t.__exit__(None, None, None)
        other.__enter__()

    class Interrupted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            signal.raise_signal(signal.SIGUSR1)
            return g * 2

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        t.__enter__()
        Interrupted.apply(x).sum().backward()
        x.detach() + 1
        other.__exit__(None, None, None)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "InterruptedBackward" in ops(t)
    assert "add" not in ops(t)
    assert ops(other)[0] == "mul"
    assert ops(other)[-1] == "add"


def test_events_may_be_read_while_it_runs():
    x = matrix(requires_grad=True)
    seen = []
    with trace() as t:
        y = x * 2
        y.register_hook(lambda g: seen.append(ops(t)))
        y.exp().sum().backward()
    assert seen[0][0] == "mul"
    assert "ExpBackward0" in seen[0]
    assert "MulBackward0" not in seen[0]


# ---- nothing changes


def small_model():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 8), nn.LayerNorm(8)
    model = nn.Sequential(*layers, nn.Dropout(0.5), nn.Linear(8, 3))
    return model, torch.optim.Adam(model.parameters()), torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 2, 1, 0])


def step(model, optimizer, images, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


def trained(context):
    made = small_model()
    with context:
        losses = [step(*made).item() for _ in range(2)]
    return losses, [p.detach().numpy() for p in made[0].parameters()], [p.grad.numpy() for p in made[0].parameters()]


def test_results_and_gradients_are_the_same():
    with trace() as outer:
        losses, values, gradients = trained(trace())
    plain = trained(torch.enable_grad())
    assert losses == plain[0]
    for ours, theirs in zip(values + gradients, plain[1] + plain[2], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert outer.events


def test_autocast_is_behind_it():
    x, w = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16), trace() as t:
        y = x @ w
    assert ops(t) == ["mm"]
    assert t.events[0].inputs == ((torch.float32, (4, 4)),) * 2
    assert t.events[0].outputs == ((torch.bfloat16, (4, 4)),)
    y.sum().backward()
    assert w.grad.dtype == torch.float32


def test_forward_checks_of_anomaly_mode_are_behind_it():
    x = torch.tensor([-1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        anomaly = torch.autograd.detect_anomaly(check_forward=True)
    with anomaly, trace() as t:
        with pytest.raises(RuntimeError, match="Function 'sqrt' returned nan values"):
            x.sqrt()
        with pytest.raises(RuntimeError, match="Function 'sqrt_' returned nan values"):
            x.detach().sqrt_()
    assert [(event.op, event.failed) for event in t.events if "sqrt" in event.op] == [("sqrt", True), ("sqrt_", True)]


# ---- table and file


def test_the_table_of_a_training_step():
    made = small_model()
    with trace() as t:
        step(*made)
    table = t.table(limit=None)
    rows = {row.op: row for row in table}
    assert rows["linear"].calls == 2
    assert rows["AccumulateGrad"].calls == len(list(made[0].parameters()))
    assert {"ConvolutionBackward0", "NativeBatchNormBackward0", "AddmmBackward0"} <= rows.keys()
    assert sum(row.calls for row in table) == table.total.calls == len(t.events)
    tops = [event for event in t.events if event.parent is None]
    assert table.total.time == pytest.approx(sum(event.time for event in tops))
    assert table.total.memory == sum(event.memory for event in tops)
    assert [row.time for row in table] == sorted((row.time for row in table), reverse=True)
    for key in ("memory", "calls"):
        found = [getattr(row, key) for row in t.table(sort=key)]
        assert found == sorted(found, reverse=True)
    row = rows["linear"]
    assert row.mean == row.time / 2


def test_the_table_as_text():
    x = torch.ones(1024)
    with trace() as t:
        for _ in range(3):
            x.exp()
        x.sin()
    text = str(t.table(sort="calls", limit=1)).splitlines()
    assert text[0].split() == ["op", "calls", "time", "mean", "memory"]
    assert text[1].split()[:2] == ["exp", "3"]
    assert text[1].endswith("12.0 KB")
    assert text[2] == "... and 1 calls of other ops; table(limit=None) shows all"
    assert text[3].split()[:2] == ["total", "4"]
    assert str(t).count("\n") == 3
    assert repr(t) == "<trace of 4 events>"
    with pytest.raises(ValueError, match="table: expected sort to be one of time, memory, calls; got 'name'"):
        t.table(sort="name")
    with pytest.raises(ValueError, match="table: expected a limit of 0 rows or more"):
        t.table(limit=-1)


def test_the_file_of_a_training_step(tmp_path):
    made = small_model()
    with trace() as t:
        step(*made)
    path = tmp_path / "trace.json"
    t.save(path)
    content = json.loads(path.read_text())
    events = content["traceEvents"]
    assert len(events) == len(t.events)
    for ours, event in zip(t.events, events, strict=True):
        assert event["name"] == ours.op
        assert event["ph"] == "X"
        assert event["dur"] == pytest.approx(ours.time * 1e6)
        assert event["ts"] == pytest.approx(ours.start * 1e6)
        assert isinstance(event["pid"], int)
        assert event["tid"] == threading.get_native_id()
        assert event["cat"] == ("backward" if ours.backward else "forward")
        assert len(event["args"]["inputs"]) == len(ours.inputs)
        assert event["args"]["line"] == ours.line
    linear = next(event for event in events if event["name"] == "linear")
    assert "float32 [5, 144]" in linear["args"]["inputs"]
    assert linear["args"]["outputs"] == ["float32 [5, 8]"]
    assert linear["args"]["within"].startswith("Sequential.forward > Linear.forward")
    assert linear["args"]["code"] == "loss = nn.functional.cross_entropy(model(images), labels)"


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    with trace() as t:
        torch.ones(2) * 2
    path = tmp_path / "trace.json"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        t.save(path)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["trace.json"]
