"""autograd.graph against torch: nodes, edges, versions, and hooks on what is saved."""

import gc
import threading
import weakref

import pytest

import adjoint

from .compare import leaf, of_one_kind, programs, same

program, test_program = programs()


def hooks(L, log, pack=lambda t: t, unpack=lambda p: p):
    """Hooks that note their calls."""

    def packing(tensor):
        log.append(("pack", tensor.tolist(), L.is_grad_enabled()))
        return pack(tensor)

    def unpacking(packed):
        log.append(("unpack", L.is_grad_enabled()))
        return unpack(packed)

    return L.autograd.graph.saved_tensors_hooks(packing, unpacking)


# ---- Nodes


@program
def nodes(L):
    x = leaf(L, 1.0, 2.0)
    y = x * x
    z = y.exp()
    node = z.grad_fn
    node.metadata["mine"] = 3
    accumulator = y.grad_fn.next_functions[0][0]
    return (
        node.name(),
        type(node).__name__,
        isinstance(node, L.autograd.graph.Node),
        isinstance(x, L.autograd.graph.Node),
        issubclass(type(node), L.autograd.graph.Node),
        [(f.name(), i) for f, i in node.next_functions],
        node.next_functions[0][0] is y.grad_fn,
        node._sequence_nr() > y.grad_fn._sequence_nr(),
        accumulator._sequence_nr(),
        accumulator.variable is x,
        accumulator.next_functions,
        node.metadata,
        node.requires_grad,
        node._saved_result,
        y.grad_fn._saved_self is x,
    )


@program
def saved_values_of_a_freed_node(L):
    y = leaf(L, 1.0) * leaf(L, 2.0)
    y.backward()
    return y.grad_fn._saved_self


@program
def raw_saved_values(L):
    x = leaf(L, 1.0, 2.0)
    y = x * x.exp()
    names = [name for name in dir(y.grad_fn) if "saved" in name]
    raw = y.grad_fn._raw_saved_other
    log = []
    raw.register_hooks(lambda t: log.append((t, t is x)) or "packed", lambda p: log.append(p) or x.exp() * 10)
    packed = raw.data
    y.sum().backward()
    return sorted(names), packed, x.grad, log


@program
def raw_saved_values_take_one_pair_of_hooks(L):
    x = leaf(L, 1.0)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda t: t, lambda t: t)
    raw.register_hooks(lambda t: t, lambda t: t)


@program
def raw_saved_values_that_are_none(L):
    y = leaf(L, 1.0) * L.ones(1)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


@program
def raw_saved_values_that_were_freed(L):
    x = leaf(L, 1.0)
    y = x * x
    y.backward()
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


@program
def raw_saved_values_of_a_function(L):
    class Mine(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(L, 3.0)
    y = Mine.apply(x)
    raw = y.grad_fn._raw_saved_tensors
    raw[0].register_hooks(lambda t: t * 2, lambda t: t * 2)
    y.backward()
    return len(raw), x.grad


@program
def saved_tensors_are_not_made_by_hand(L):
    L.autograd.SavedTensor()


# ---- Edges


@program
def gradient_edges(L):
    a = leaf(L, 1.0, 2.0)
    b = a * 2
    c = (b * 3).sum()
    edge, of_leaf = L.autograd.graph.get_gradient_edge(b), L.autograd.graph.get_gradient_edge(a)
    grads = [
        L.autograd.grad(c, edge, retain_graph=True),
        L.autograd.grad(c, (edge, of_leaf), retain_graph=True),
        L.autograd.grad(edge, of_leaf, L.ones(2), retain_graph=True),
    ]
    c.backward(inputs=(of_leaf,), retain_graph=True)
    grads.append(a.grad.clone())
    L.autograd.backward(L.autograd.graph.get_gradient_edge(c), retain_graph=True)
    grads.append(a.grad.clone())
    c.backward(inputs=[edge])
    return grads, a.grad, b.is_leaf, edge._fields, edge.node.name(), edge.output_nr, of_leaf.node.name(), len(edge)


@program
def edges_outlive_tensors(L):
    a = leaf(L, 1.0, 2.0)
    b = a.exp()
    c = b.sum()
    edge = L.autograd.graph.get_gradient_edge(b)
    del b
    return L.autograd.grad(c, edge)


@program
def edge_of_a_later_output(L):
    x = leaf(L, 1.0, 2.0)
    a, b = x.unbind()
    edge = L.autograd.graph.get_gradient_edge(b)
    return edge.output_nr, L.autograd.grad(a * b * 3, edge)


@program
def edge_of_a_view_whose_base_changed(L):
    a = leaf(L, 1.0, 2.0) * 2
    v = a[:1]
    a.mul_(2)
    return L.autograd.graph.get_gradient_edge(v).node.name()


@program
def implicit_gradient_of_an_edge(L):
    L.autograd.backward(L.autograd.graph.get_gradient_edge(leaf(L, 1.0, 2.0) * 2))


@program
def gradient_of_an_edge_of_wrong_shape(L):
    L.autograd.backward(L.autograd.graph.get_gradient_edge(leaf(L, 1.0, 2.0) * 2), L.ones(3))


@program
def edge_of_what_does_not_require_grad(L):
    L.autograd.graph.get_gradient_edge(L.ones(1))


@pytest.mark.parametrize("value", [3, None, "a", ()])
def test_edges_of_other_things(value):
    same(lambda L: L.autograd.graph.get_gradient_edge(value))


@program
def edge_of_a_view_without_history(L):
    x = leaf(L, 1.0)
    with L.no_grad():
        view = x.view(1)
    L.autograd.graph.get_gradient_edge(view)


@program
def edges_of_a_leaf_are_equal(L):
    x = leaf(L, 1.0)
    first, second = L.autograd.graph.get_gradient_edge(x), L.autograd.graph.get_gradient_edge(x)
    L.autograd.backward(first, L.ones(1) * 4)
    return first == second, first.node is second.node, type(first).__name__, x.grad


@program
def nodes_are_objects_with_identity(L):
    y = leaf(L, 1.0) * 2
    node = y.grad_fn
    other = (leaf(L, 1.0) * 2).grad_fn
    kept = {node: 1, other: 2}
    node.metadata["a"] = 1
    del y
    return node == node, node == other, kept[node], node.next_functions == node.next_functions, node.metadata


@pytest.mark.parametrize("statement", ["node.foo", "node.foo = 3", "node.metadata = {}", "del node.next_functions"])
def test_attributes_that_nodes_do_not_have(statement):
    def program(L):
        exec(statement, {"node": (leaf(L, 1.0) * 2).grad_fn})

    same(program, error=of_one_kind)


@program
def edge_that_is_not_used(L):
    a = leaf(L, 1.0)
    return L.autograd.grad(a * 2, L.autograd.graph.get_gradient_edge(a * 3))


@program
def edges_have_no_zeros(L):
    a = leaf(L, 1.0)
    return L.autograd.grad(a * 2, L.autograd.graph.get_gradient_edge(a * 3), materialize_grads=True)


@program
def inputs_of_another_type(L):
    L.autograd.grad(leaf(L, 1.0) * 2, [3])


@pytest.mark.parametrize("number", [1, -1, 2**40])
def test_edges_to_outputs_that_are_not_there(number):
    """torch reads past the end."""
    y = leaf(adjoint, 1.0) * 2
    with pytest.raises(IndexError, match="MulBackward0 has no output"):
        adjoint.autograd.grad(y, adjoint.autograd.graph.GradientEdge(y.grad_fn, number))


# ---- Versions


@program
def versions(L):
    x = L.zeros(2)
    L.autograd.graph.increment_version(x)
    first = x._version
    L.autograd.graph.increment_version([x, x])
    return first, x._version


@program
def a_change_that_was_announced_is_noticed(L):
    x = leaf(L, 1.0)
    y = x * x
    L.autograd.graph.increment_version(x)
    y.backward()


@program
def version_of_a_number(L):
    L.autograd.graph.increment_version(3)


@program
def version_of_a_list_of_numbers(L):
    L.autograd.graph.increment_version([3])


# ---- Hooks on what is saved


@program
def packed_and_unpacked(L):
    log = []
    x = leaf(L, 1.0, 2.0)
    with hooks(L, log, lambda t: t * 10, lambda p: p / 10):
        y = (x * x).exp()
    y.sum().backward()
    return x.grad, log


@program
def packed_as_something_else(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda p: L.tensor(p)):
        y = (x.sin() * x / (x + 2)).sum() + L.cat([x, x.exp()]).sum() + x.view(2, 1).matmul(x.view(1, 2)).sum()
    y.backward()
    return x.grad


@program
def the_innermost_hooks_are_used(L):
    log = []
    x = leaf(L, 1.0)
    with hooks(L, log, lambda t: (1, t), lambda p: p[1]):
        with hooks(L, log, lambda t: (2, t), lambda p: p[1]):
            y = x * x
        with L.no_grad():
            x * x
        z = y.exp()
    z.backward()
    return log, x.grad, z.grad_fn._sequence_nr() > 0


@program
def the_tensor_itself_is_packed(L):
    x = leaf(L, 1.0)
    seen = []
    with L.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t is x), lambda p: x):
        x * x
    return seen


@program
def second_derivatives_through_hooks(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda p: p.clone()):
        y = (x**3).exp().log().sin()
        (g,) = L.autograd.grad(y.sum(), x, create_graph=True)
    return L.autograd.grad(g.sum(), x)


@program
def hooks_answer_for_the_values(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda p: p):
        a = x * 1
        y = a * a
    with L.no_grad():
        a.add_(1)
    y.sum().backward()
    return x.grad


@program
def hooks_and_custom_functions(L):
    class Mine(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            x, twice = ctx.saved_tensors
            return g * x * twice

    log = []
    x = leaf(L, 3.0)
    with hooks(L, log, lambda t: t * 1, lambda p: p * 1):
        y = Mine.apply(x)
    y.backward()
    return x.grad, log


@program
def saved_values_are_unpacked_at_each_look(L):
    log = []
    with hooks(L, log, lambda t: t * 1):
        y = leaf(L, 1.0).exp()
    a, b = y.grad_fn._saved_result, y.grad_fn._saved_result
    return a, a is b, a is y, len(log)


@program
def packing_in_place(L):
    with L.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda p: p):
        leaf(L, 1.0).clone() * leaf(L, 1.0)


@program
def packing_raises(L):
    def fail(t):
        raise KeyError("mine")

    with L.autograd.graph.saved_tensors_hooks(fail, lambda p: p):
        leaf(L, 1.0) * leaf(L, 1.0)


@program
def unpacking_raises(L):
    def fail(t):
        raise KeyError("mine")

    with L.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        y = leaf(L, 1.0) * leaf(L, 1.0)
    y.backward()


@program
def unpacking_gives_no_tensor(L):
    with L.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: 3):
        y = leaf(L, 1.0) * leaf(L, 1.0)
    y.backward()


@program
def unpacking_gives_another_shape(L):
    with L.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: L.ones(5)):
        y = leaf(L, 1.0, 2.0) * leaf(L, 1.0, 2.0)
    y.sum().backward()


@pytest.mark.parametrize("pair", [(3, print), (print, 3)])
def test_hooks_must_be_callable(pair):
    with pytest.raises(TypeError, match="hooks must be callable"):
        adjoint.autograd.graph.saved_tensors_hooks(*pair).__enter__()


@program
def hooks_are_forbidden(L):
    with (
        L.autograd.graph.disable_saved_tensors_hooks("not here"),
        L.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p),
    ):
        pass


@program
def hooks_are_forbidden_too_late(L):
    with (
        L.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p),
        L.autograd.graph.disable_saved_tensors_hooks("not here"),
    ):
        pass


@program
def hooks_are_allowed_again(L):
    log = []
    with L.autograd.graph.disable_saved_tensors_hooks("not here"):
        pass
    x = leaf(L, 1.0)
    with hooks(L, log):
        x.exp()
    return len(log)


@program
def saved_on_the_cpu(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    with L.autograd.graph.save_on_cpu(pin_memory=False, device_type="cuda"):
        (x.exp() * x).sum().backward()
    return x.grad


def test_hooks_are_of_a_thread():
    log = []
    x = leaf(adjoint, 1.0)
    with hooks(adjoint, log):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    assert log == []


def test_an_unpack_hook_may_free_the_graph():
    x = leaf(adjoint, *map(float, range(1000)))

    def unpack(packed):
        if not freed:
            freed.append(True)
            other.backward()
        return packed

    freed = []
    a, b = x * 2, x * 3
    y = a * b
    y.grad_fn._raw_saved_other.register_hooks(lambda t: t.clone(), unpack)
    one, other = y.sum(), y.sum()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        one.backward()


# ---- Changing saved tensors


@program
def saved_tensors_may_change(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**2).sum() + y.exp().sum()
        y.sin_()
        z.backward()
    return x.grad


@program
def what_was_saved_lasts_as_long_as_the_context(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x.clone() ** 2).sum()
    y.backward()


@program
def what_was_saved_can_be_cleared(L):
    x = leaf(L, 1.0, 2.0)
    with L.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = (x.clone() ** 2).sum()
        context.clear()
        y.backward()


@program
def mutation_contexts_do_not_nest(L):
    with L.autograd.graph.allow_mutation_on_saved_tensors(), L.autograd.graph.allow_mutation_on_saved_tensors():
        pass


# ---- Leaks


@pytest.mark.parametrize("body", [lambda x: x.exp(), lambda x: x * 2.0 * x, lambda x: (x * 1).sigmoid_()])
def test_what_identity_hooks_keep_is_collected(body):
    x = leaf(adjoint, 1.0)
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p):
        y = body(x)
    watched = weakref.ref(y)
    y.backward(retain_graph=True)
    del y
    gc.collect()
    assert watched() is None


def test_hooks_that_raise_leave_nothing_behind():
    def fail(t):
        kept.append(weakref.ref(t))
        raise KeyError

    kept = []
    with pytest.raises(KeyError), adjoint.autograd.graph.saved_tensors_hooks(fail, fail):
        (leaf(adjoint, 1.0) * 2).exp()
    gc.collect()
    assert [reference() for reference in kept] == [None]
    y = leaf(adjoint, 1.0) * leaf(adjoint, 1.0)
    y.backward()


def test_saved_tensor_objects_hold_their_node():
    y = leaf(adjoint, 1.0).exp()
    raw = y.grad_fn._raw_saved_result
    watched = weakref.ref(y)
    del y
    assert watched() is None
    assert raw.unpack().tolist() == pytest.approx([2.718281828])
    assert not hasattr(leaf(adjoint, 1.0).exp().grad_fn, "_raw_saved_nothing")


def test_copies_of_saved_tensors_go_with_their_nodes():
    x = leaf(adjoint, 1.0)
    with adjoint.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.sin()
        assert len(context.original) == 1
        del y
        assert len(context.original) == 0


def test_the_node_of_a_gradient():
    x = leaf(adjoint, 1.0)
    y = x * 2
    node = adjoint.autograd.graph._get_grad_fn_or_grad_acc
    assert node(y) is y.grad_fn
    assert node(x) is y.grad_fn.next_functions[0][0]
