"""Ways to tie tensors, nodes and Python objects into cycles, or to stop a backward half-way: everything is freed, at
once or by the garbage collector.
"""

import gc
import weakref

import pytest

import adjoint as torch
from adjoint.autograd.graph import (
    allow_mutation_on_saved_tensors,
    register_multi_grad_hook,
    saved_tensors_hooks,
)

WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


class Mark:
    """Hangs on what is watched but cannot be referred to weakly, such as a node."""


def watch(*objects):
    return [weakref.ref(item) for item in objects]


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Mine", (torch.autograd.Function,), members)


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("retain", [False, True])
def test_the_usual_graph_is_freed_at_once(retain):
    """Saved inputs and results, ctx attributes, retained gradients and failures make no cycles."""

    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(x, out)
        ctx.mark = mark
        return out

    mine = function(forward, lambda ctx, g: g * ctx.saved_tensors[1])
    mark = Mark()
    x = leaf(1.0)
    h = (x * x).exp()
    h.retain_grad()
    y = mine.apply(h)
    z = y.sigmoid().sum()
    z.backward(retain_graph=retain)
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises((RuntimeError, ZeroDivisionError)):
        (y * y).sum().backward()
    references = watch(x, h, y, z, h.grad, x.grad)
    node = y.grad_fn
    del x, h, y, z
    assert [reference() for reference in references[1:5]] == [None] * 4
    del node
    assert references[0]() is None
    assert references[5]() is None


# ---- Functions


@way
def output_kept_on_ctx():
    def forward(ctx, x):
        ctx.out, ctx.mark = x * 2, mark
        return ctx.out

    mark, x = Mark(), leaf(1.0)
    y = function(forward).apply(x)
    y.backward()
    return watch(x, y, mark)


@way
def recorded_output_kept_on_its_node():
    mark, x = Mark(), leaf(1.0)
    y = function().apply(x)
    y.grad_fn.out, y.grad_fn.mark, y.grad_fn.me = y, mark, y.grad_fn
    return watch(x, y, mark)


@way
def ctx_kept_outside():
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.kept, ctx.mark = kept, mark
        return x * 2

    mark, x = Mark(), leaf(1.0)
    y = function(forward).apply(x)
    return watch(x, y, mark)


@way
def changed_input():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.input, ctx.mark = x, mark
        return x

    mark, x = Mark(), leaf(1.0, 2.0)
    h, base = x * 1, x * 1
    view = base[:1]
    mine = function(forward)
    (mine.apply(h).sum() + mine.apply(view).sum() + base.sum()).backward()
    return watch(x, h, base, view, mark)


@way
def forward_that_raises():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark, ctx.me = mark, ctx
        raise KeyError(ctx)

    mark, x = Mark(), leaf(1.0)
    with pytest.raises(KeyError):
        function(forward).apply(x)
    return watch(x, mark)


@way
def backward_that_raises():
    def backward(ctx, g):
        raise KeyError(ctx, g)

    mark, x = Mark(), leaf(1.0)
    y = function(backward=backward).apply(x)
    y.grad_fn.mark = mark
    z = y * y
    with pytest.raises(KeyError):
        z.backward()
    return watch(x, y, z, mark)


@way
def backward_that_runs_out_of_memory():
    mark, x = Mark(), leaf(1.0)
    y = function(backward=lambda ctx, g: g + torch.empty(1 << 60)).apply(x)
    y.grad_fn.mark = mark
    z = y * y
    with pytest.raises((RuntimeError, MemoryError)):
        z.backward()
    return watch(x, y, z, mark)


@way
def function_class():
    mark, x = Mark(), leaf(1.0)
    mine = function()
    mine.mark = mark
    y = mine.apply(x)
    y.backward()
    return watch(x, y, mark, mine)


@way
def many_outputs():
    def forward(ctx, x):
        ctx.mark = mark
        ctx.save_for_backward(x)
        return tuple(x * i for i in range(9))

    mark, x = Mark(), leaf(1.0)
    outputs = function(forward, lambda ctx, *g: sum(g)).apply(x)
    sum(outputs).backward()
    return watch(x, mark, *outputs)


@way
def second_derivatives_that_are_refused():
    def forward(ctx, x):
        up = x.exp()
        ctx.save_for_backward(up)
        return up * 2

    once = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x, w = leaf(1.0), leaf(1.0)
    y = function(backward=once).apply(x) * w
    z = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x) * w
    gradients = []
    for output in (y, z):
        (g,) = torch.autograd.grad(output, x, create_graph=True)
        gradients.append(g)
        with pytest.raises(RuntimeError):
            g.backward()
    return watch(x, w, y, z, *gradients)


# ---- Gradients with a graph


@way
def gradient_with_a_graph_on_its_leaf():
    x = leaf(2.0)
    y = x**3
    y.backward(create_graph=True)
    return watch(x, y, x.grad)


@way
def gradient_that_is_computed_from_its_leaf():
    x = leaf(1.0)
    x.grad = x * 2
    return watch(x, x.grad)


@way
def retained_gradient_with_a_graph():
    x = leaf(1.0)
    y = x.exp()
    y.retain_grad()
    z = y * y
    z.backward(create_graph=True)
    y.mul_(2)
    return watch(x, y, z, y.grad, x.grad)


# ---- Hooks


@way
def hooks_on_tensors():
    mark, x = Mark(), leaf(1.0)
    y = x * 2
    y.register_hook(lambda g, kept=(y, mark): None)
    x.register_hook(lambda g, kept=(x, mark): None)
    x.register_post_accumulate_grad_hook(lambda p, kept=(x, y, mark): None)
    y.backward(retain_graph=True)
    return watch(x, y, mark)


@way
def hooks_on_nodes():
    mark, x = Mark(), leaf(1.0)
    y = x * 2
    node = y.grad_fn
    for each in (node, node.next_functions[0][0]):
        each.register_hook(lambda gi, go, kept=(each, x, y, mark): None)
        each.register_prehook(lambda go, kept=(each, x, y, mark): None)
        each.metadata["kept"] = each, x, y, mark
    y.backward()
    return watch(x, y, mark)


@way
def hooks_on_several():
    mark, x, w = Mark(), leaf(1.0), leaf(2.0)
    y = x * w
    for mode in ("all", "any"):
        register_multi_grad_hook((x, w, y), lambda g, kept=(x, w, y, mark): None, mode=mode)
    y.backward()
    return watch(x, w, y, mark)


@way
def hook_on_several_that_waits_for_ever():
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    z = y * 2
    register_multi_grad_hook((y, x), lambda g, kept=(x, y, z): None)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        z.backward()
    return watch(x, w, y, z)


@way
def hook_that_raises():
    mark, x = Mark(), leaf(1.0)
    y = x * 2
    z = y * y

    def fail(g):
        raise KeyError(g, y, z, mark)

    y.register_hook(fail)
    with pytest.raises(KeyError):
        z.backward()
    return watch(x, y, z, mark)


@way
def exception_that_is_kept():
    x = leaf(1.0)
    y = x * 2

    def fail(g):
        raise KeyError(y)

    y.register_hook(fail)
    try:
        y.backward()
    except KeyError as error:
        y.error = error
    return watch(x, y)


@way
def backward_inside_a_hook():
    mark, x = Mark(), leaf(1.0)
    y = x * 2
    z = y * 5

    def again(g):
        with torch.enable_grad():
            inner = y * 3
        inner.register_hook(lambda g, kept=(inner, mark): None)
        inner.backward(retain_graph=True)

    z.register_hook(again)
    z.backward()
    return watch(x, y, z, mark)


@way
def very_deep_backward_that_fails():
    marks = []

    def forward(ctx, x, depth):
        ctx.save_for_backward(x)
        ctx.depth, ctx.mark = depth, Mark()
        marks.append(weakref.ref(ctx.mark))
        return x * 2

    def backward(ctx, g):
        if not ctx.depth:
            raise KeyError(ctx)
        with torch.enable_grad():
            inner = mine.apply(ctx.saved_tensors[0].detach().requires_grad_(), ctx.depth - 1)
        inner.backward(g)

    mine = function(forward, backward)
    x = leaf(1.0)
    y = mine.apply(x, 150)
    with pytest.raises(KeyError):
        y.backward()
    return [*watch(x, y), *marks]


# ---- What is saved


@way
def packed_with_its_result():
    mark, x, kept = Mark(), leaf(1.0), []
    with saved_tensors_hooks(lambda t: (t, kept, mark), lambda p: p[0]):
        y = x.exp()
        z = y * y
    kept += [y, z]
    z.backward(retain_graph=True)
    return watch(x, y, z, mark)


@way
def packing_that_raises():
    def fail(t):
        raise KeyError(t, mark)

    mark, x = Mark(), leaf(1.0)
    y = x * 2
    with pytest.raises(KeyError), saved_tensors_hooks(fail, fail):
        y.exp()
    return watch(x, y, mark)


@way
def unpacking_that_raises():
    def fail(packed):
        raise KeyError(packed)

    mark, x = Mark(), leaf(1.0)
    with saved_tensors_hooks(lambda t: (t, mark), fail):
        y = x.exp()
        z = y * y
    with pytest.raises(KeyError):
        z.backward()
    return watch(x, y, z, mark)


@way
def saved_value_kept_by_its_own_hook():
    mark, x = Mark(), leaf(1.0)
    y = x.exp()
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(lambda t: (t, mark, raw), lambda p: p[0])
    y.grad_fn.metadata["raw"] = raw
    return watch(x, y, mark)


@way
def saved_tensors_that_may_change():
    x = leaf(1.0)
    with allow_mutation_on_saved_tensors():
        h = x * 1
        y = h * h
        h.mul_(2)
        y.backward()
    return watch(x, h, y)


@way
def changed_slices():
    mark, x = Mark(), leaf(1.0, 2.0)
    y = x * 1
    view = y[:1]
    view.mul_(view.clone())
    y.grad_fn.metadata["kept"] = mark, y, view
    y.sum().backward(retain_graph=True)
    return watch(x, y, view, mark)


@way
def nodes_that_know_their_parents():
    mark, x = Mark(), leaf(1.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.grad_fn.metadata["mark"] = mark
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    return watch(x, y, g, mark)


# ---- All of them


@pytest.mark.parametrize("name", WAYS)
def test_everything_is_freed(name):
    gc.collect()
    references = WAYS[name]()
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)
