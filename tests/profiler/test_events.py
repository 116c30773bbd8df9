"""The events of a profiler beside torch's: names, order, nesting, shapes, sequence numbers, memory, operations."""

import gc
import weakref

import pytest
import torch

import adjoint

from ..processes import script

LIBRARIES = (torch, adjoint)
# What torch does inside of its ops, or to make tensors of Python's data and gradients of nothing: no calls here.
TORCHS_OWN = {
    *("aten::as_strided", "aten::resolve_conj", "aten::empty_strided", "aten::lift_fresh", "aten::detach_", "detach_"),
    *("aten::ones_like", "aten::resize_", "aten::as_strided_", "aten::mkldnn_convolution", "detach"),
    "aten::result_type",
}
ENGINE = "autograd::engine::evaluate_function: "


def profiled(library, call, **options):
    with library.profiler.profile(**options) as prof:
        call(library)
    return prof


def inputs(library):
    a = library.arange(20.0).reshape(4, 5).requires_grad_()
    b = library.arange(30.0).reshape(5, 6).requires_grad_()
    bias = library.ones(6, requires_grad=True)
    return a, b, bias


def top_level(library, call):
    """Names and shapes of the events that nothing contains."""
    prof = profiled(library, call, record_shapes=True)
    return [
        (event.name, event.input_shapes)
        for event in prof.events()
        if event.cpu_parent is None and event.name not in TORCHS_OWN and event.name != ENGINE + "TBackward0"
    ]


def same_top_level(make, call):
    got = []
    for library in LIBRARIES:
        made = make(library)
        got.append(top_level(library, lambda L, made=made: call(L, *made)))
    theirs, ours = got
    assert ours == theirs
    return ours


def test_a_product_and_its_backward():
    names = same_top_level(inputs, lambda L, a, b, bias: (a @ b).sum().backward())
    assert [name for name, _ in names][:3] == ["aten::matmul", "aten::sum", ENGINE + "SumBackward0"]


def test_a_layer_and_its_backward():
    same_top_level(inputs, lambda L, a, b, bias: L.nn.functional.linear(a, b.t(), bias).relu().mean().backward())


def test_a_convolution_and_its_backward():
    def images(L):
        return L.ones(2, 3, 8, 8), L.ones(4, 3, 3, 3, requires_grad=True), L.ones(4, requires_grad=True)

    same_top_level(images, lambda L, x, w, b: L.nn.functional.conv2d(x, w, b).sum().backward())


def test_changes_in_place():
    def changes(L, t, other):
        t.add_(1)
        t.mul_(2)
        t.fill_(2.0)
        t.zero_()
        t.copy_(other)
        t += 1
        t.clamp_(0, 1)
        t.sqrt_()

    same_top_level(lambda L: (L.zeros(3), L.ones(3)), changes)


FUNCTIONS = {
    "elementwise": lambda L, x: (
        x.exp(),
        x.log(),
        x.sqrt(),
        x / 2,
        2 - x,
        x.abs(),
        -x,
        x > 0,
        x.pow(2),
        x.reciprocal(),
    ),
    "views": lambda L, x: (
        x.view(-1),
        x.reshape(2, 10),
        x.transpose(0, 1),
        x.t(),
        x[0],
        x.unsqueeze(0),
        x.permute(1, 0),
    ),
    "sums": lambda L, x: (x.sum(), x.sum(0), x.mean(), x.max(1), x.argmax(), x.cumsum(0), x.std(), x.norm()),
    "joins": lambda L, x: (L.cat([x, x]), L.stack([x, x]), x.split(2), x.chunk(2), L.where(x > 0, x, x)),
    "copies": lambda L, x: (x.clone(), x.to(L.float64), x.float(), x.expand(2, 4, 5), x.detach(), x.sum().item()),
    "products": lambda L, x: (x @ x.t(), L.mm(x, x.t()), L.bmm(x[None], x.t()[None]), L.matmul(x[None], x.t())),
    "made": lambda L, x: (L.zeros(2), L.ones(2), L.randn(2), L.rand(2), L.empty(3), L.arange(3), L.zeros_like(x)),
    "order": lambda L, x: (x.topk(2), x.sort(), x.clamp(0, 1)),
    "layers": lambda L, x: (
        L.nn.functional.softmax(x, 1),
        L.nn.functional.log_softmax(x, 1),
        L.nn.functional.layer_norm(x, (5,)),
        L.nn.functional.batch_norm(x, None, None, training=True),
        L.nn.functional.gelu(x),
        L.nn.functional.silu(x),
        L.nn.functional.dropout(x, 0.5),
        L.nn.functional.mse_loss(x, x),
        L.nn.functional.normalize(x),
        L.nn.functional.pad(x, (1, 1)),
    ),
    "attention": lambda L, x: L.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_torchs_names_and_shapes(name):
    def hidden(L, x):
        return FUNCTIONS[name](L, x)

    got = []
    for library in LIBRARIES:
        x = library.arange(20.0).reshape(4, 5) + 1
        events = top_level(library, lambda L, x=x: hidden(L, x))
        got.append([event for event in events if event[0] != "aten::broadcast_tensors"])
    theirs, ours = got
    assert ours == theirs


def tree(events, dropped):
    """The nested names of events without those that are dropped, whose contents take their place."""

    def below(event):
        found = []
        for child in event.cpu_children:
            found += below(child) if child.name in dropped else [(child.name, below(child))]
        return found

    roots = [event for event in events if event.cpu_parent is None]
    return [(event.name, below(event)) for event in roots if event.name not in dropped]


@pytest.mark.parametrize(
    "call",
    [
        lambda L, a, b, bias: a @ b,
        lambda L, a, b, bias: L.nn.functional.linear(a, a, None),
        lambda L, a, b, bias: L.randn(3),
        lambda L, a, b, bias: L.zeros(3),
        lambda L, a, b, bias: L.nn.functional.softmax(a, 1),
        lambda L, a, b, bias: a.relu(),
        lambda L, a, b, bias: a.to(L.float64),
    ],
)
def test_what_an_op_contains(call):
    got = []
    for library in LIBRARIES:
        a, b, bias = (tensor.detach() for tensor in inputs(library))
        prof = profiled(library, lambda L, made=(a, b, bias): call(L, *made))
        got.append(tree(prof.events(), TORCHS_OWN | {"aten::copy_", "aten::transpose"}))
    theirs, ours = got
    assert ours == theirs


def test_nodes_contain_what_their_rules_call():
    for library in LIBRARIES:
        a, b, _ = inputs(library)
        prof = profiled(library, lambda L, made=(a, b): (made[0] @ made[1]).sum().backward())
        node = next(event for event in prof.events() if event.name == "MmBackward0")
        assert node.cpu_parent.name == ENGINE + "MmBackward0"
        assert [child.name for child in node.cpu_children if child.name == "aten::mm"] == ["aten::mm"] * 2
        assert {child.name for child in node.cpu_children} == {"aten::mm", "aten::t"}
        assert (node.scope, node.cpu_parent.scope) == (1, 0)


def test_sequence_numbers_link_forward_and_backward():
    for library in LIBRARIES:

        def program(L):
            x, y = L.randn(10, 10, requires_grad=True), L.randn(10, 10, requires_grad=True)
            (x + y).sum(dim=None).backward()

        prof = profiled(library, program)
        for i, (op, node) in enumerate((("aten::add", "AddBackward"), ("aten::sum", "SumBackward"))):
            found = [event for event in prof.events() if event.name == op or node in event.name]
            assert [event.name for event in found] == [op, f"{ENGINE}{node}{i}", f"{node}{i}"]
            forward, *backward = found
            assert forward.sequence_nr >= 0
            assert forward.fwd_thread == 0
            for event in backward:
                assert (event.sequence_nr, event.fwd_thread) == (forward.sequence_nr, forward.thread)
        assert {event.sequence_nr for event in prof.events() if event.name == "aten::empty"} == {-1}


def test_functions_of_a_program_have_their_names():
    for library in LIBRARIES:

        class Doubled(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2

        x = library.ones(3, requires_grad=True)
        prof = profiled(library, lambda L, x=x, apply=Doubled.apply: apply(x).sum().backward())
        names = [event.name for event in prof.events()]
        assert "Doubled" in names
        assert ENGINE + "DoubledBackward" in names
        forward = next(event for event in prof.events() if event.name == "Doubled")
        assert [child.name for child in forward.cpu_children] == ["aten::mul"]


def test_times_add_up():
    x = adjoint.ones(50, 50)
    prof = profiled(adjoint, lambda L: [(x @ x).relu() for _ in range(3)])
    events = prof.events()
    for event in events:
        assert event.self_cpu_time_total == event.cpu_time_total - sum(c.cpu_time_total for c in event.cpu_children)
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
    whole = sum(event.cpu_time_total for event in events if event.cpu_parent is None)
    assert prof.profiler.self_cpu_time_total == pytest.approx(whole)


def test_memory_is_of_the_op_that_takes_it():
    def program(L):
        a = L.ones(1000)
        b = a * 2
        del a
        c = b + 1
        del b
        return c

    kept = []
    for library in LIBRARIES:
        prof = profiled(library, lambda L: kept.append(program(L)), profile_memory=True)
        memory = {event.key: event.cpu_memory_usage for event in prof.key_averages()}
        own = {event.key: event.self_cpu_memory_usage for event in prof.key_averages()}
        for name in ("aten::ones", "aten::empty", "aten::mul", "aten::add"):
            assert memory[name] == 4000
        assert own["aten::ones"] == 0
        assert own["aten::empty"] == 4000
        assert memory["[memory]"] == -8000
        assert "Self CPU Mem" in prof.key_averages().table()


def test_memory_in_named_parts():
    for library in LIBRARIES:

        def program(L):
            with L.profiler.record_function("taking"):
                x = L.rand(10, 10)
            with L.profiler.record_function("freeing"):
                del x

        prof = profiled(library, program, profile_memory=True)
        memory = {event.key: event.cpu_memory_usage for event in prof.key_averages()}
        assert (memory["taking"], memory["freeing"]) == (400, -400)


@pytest.mark.parametrize(
    "call",
    [
        lambda L, a, b: a @ b,
        lambda L, a, b: L.addmm(L.zeros(6), a, b),
        lambda L, a, b: L.bmm(a[None], b[None]),
        lambda L, a, b: L.baddbmm(L.zeros(1, 4, 6), a[None], b[None]),
        lambda L, a, b: a * a + a - a / 2,
        lambda L, a, b: L.nn.functional.linear(a, b.t()),
        lambda L, a, b: L.nn.functional.conv2d(L.ones(2, 4, 8, 8), L.ones(6, 2, 3, 3), None, 2, 1, groups=2),
        lambda L, a, b: (a.mul_(2), a.relu(), a.exp().sum()),
    ],
)
def test_operations_are_torchs(call):
    got = []
    for library in LIBRARIES:
        a, b = (tensor.detach() for tensor in inputs(library)[:2])
        prof = profiled(library, lambda L, made=(a, b): call(L, *made), with_flops=True)
        got.append([(event.name, event.flops) for event in prof.events() if event.flops])
    theirs, ours = got
    assert ours == theirs


def test_optimizers_and_loaders_are_named():
    def program(L):
        layer = L.nn.Linear(2, 2)
        optimizer = L.optim.SGD(layer.parameters(), lr=0.1)
        for (x,) in L.utils.data.DataLoader(L.utils.data.TensorDataset(L.ones(4, 2)), batch_size=2):
            optimizer.zero_grad()
            layer(x).sum().backward()
            optimizer.step()

    theirs, ours = (
        [event.name for event in profiled(library, program).events() if "#" in event.name] for library in LIBRARIES
    )
    assert ours == theirs
    assert ours.count("Optimizer.step#SGD.step") == 2


def test_values_are_what_they_are_without_a_profiler():
    a, b, bias = inputs(adjoint)
    expected = adjoint.nn.functional.linear(a, b.t(), bias).relu().sum()
    expected.backward()
    before = a.grad.clone()
    a.grad = None
    with adjoint.profiler.profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=True):
        result = adjoint.nn.functional.linear(a, b.t(), bias).relu().sum()
        result.backward()
    assert adjoint.equal(result, expected)
    assert adjoint.equal(a.grad, before)


def test_a_profiler_keeps_no_tensors():
    with adjoint.profiler.profile(record_shapes=True, profile_memory=True) as prof:
        x = adjoint.ones(5)
        y = adjoint.cat([x, x]).sum()
        z = adjoint.nn.functional.lp_pool1d(adjoint.ones(1, 1, 4), 2.0, (2,))
        place = weakref.ref(x), weakref.ref(y), weakref.ref(z)
        del x, y, z
        gc.collect()
        assert [ref() for ref in place] == [None] * 3
    assert len(prof.events()) > 3


def test_without_a_profiler_nothing_is_noted_or_imported():
    assert adjoint._C._begin_span("part") == 0
    script("import sys, adjoint; assert not any('profile' in name for name in sys.modules if 'adjoint' in name)")


def test_an_error_leaves_no_profiler_behind():
    def fails():
        with adjoint.profiler.profile() as prof:
            try:
                adjoint.ones(2) + adjoint.ones(3)
            finally:
                fails.prof = prof

    with pytest.raises(RuntimeError, match="must match"):
        fails()
    assert [event.name for event in fails.prof.events()].count("aten::add") == 1
    assert not adjoint.autograd._profiler_enabled()
