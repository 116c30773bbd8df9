"""What programs ask a running backward, against torch: its node and number, callbacks at its end, its order."""

import pytest

import adjoint

from .compare import leaf, programs, raised

program, test_program = programs()


@program
def the_node_whose_turn_it_is(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    log = []

    def note(place):
        node = L._C._current_autograd_node()
        log.append((place, None if node is None else type(node).__name__, node is y.grad_fn))

    y.register_hook(lambda g: note("tensor"))
    y.grad_fn.register_prehook(lambda g: note("before"))
    y.grad_fn.register_hook(lambda gi, go: note("after"))
    x.register_post_accumulate_grad_hook(lambda p: note("leaf"))
    y.sum().backward()
    note("outside")
    return log


@program
def the_node_of_a_backward_inside(L):
    class Inner(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with L.enable_grad():
                z = leaf(L, 3.0)
                z.register_hook(lambda g: log.append(type(L._C._current_autograd_node()).__name__))
                (z * z).sum().backward()
            log.append(L._C._current_autograd_node() is ctx)
            return g * 2

    log = []
    Inner.apply(leaf(L, 1.0)).sum().backward()
    return log


@program
def numbers_of_runs(L):
    x = leaf(L, 1.0)
    seen = []
    x.register_hook(lambda g: seen.append(L._C._current_graph_task_id()))
    for _ in range(3):
        (x * 2).sum().backward()
    return [number - seen[0] for number in seen], L._C._current_graph_task_id()


@program
def callbacks_at_the_end(L):
    x = leaf(L, 1.0, 2.0)
    engine = L.autograd.Variable._execution_engine
    log = []

    def last():
        log.append((x.grad.tolist(), L._C._current_autograd_node(), L.is_grad_enabled()))
        engine.queue_callback(lambda: log.append("added by a callback"))

    x.register_hook(lambda g: engine.queue_callback(last))
    (x * 3).sum().backward()
    L.autograd.grad((x * 2).sum(), x, create_graph=True)
    return log


@program
def callbacks_that_fail(L):
    engine = L.autograd.Variable._execution_engine
    x = leaf(L, 1.0)
    handle = x.register_hook(lambda g: engine.queue_callback(lambda: 1 // 0))
    failed = raised(lambda: (x * 2).sum().backward(), 60)
    handle.remove()
    x.register_hook(lambda g: engine.queue_callback(3))
    return (
        failed,
        raised(lambda: L.autograd.backward((x * 2).sum()), 60),
        raised(lambda: engine.queue_callback(print), 60),
    )


@program
def which_nodes_run(L):
    a, b = leaf(L, 1.0), leaf(L, 2.0)
    left, right = a * 1, b * 1
    out = (left + right).sum()
    unused = (a * 3).grad_fn
    nodes = (left.grad_fn, right.grad_fn, left.grad_fn.next_functions[0][0], out.grad_fn, unused)
    seen = []
    out.register_hook(
        lambda g: seen.append([raised(lambda node=node: L._C._will_engine_execute_node(node), 200) for node in nodes])
    )
    out.backward(retain_graph=True)
    L.autograd.grad(out, left, retain_graph=True)
    L.autograd.grad(out, a, retain_graph=True)
    out.backward(inputs=(a,), retain_graph=True)
    return seen, [raised(lambda node=node: L._C._will_engine_execute_node(node), 60) for node in (unused, None)]


@program
def the_order_of_nodes(L):
    a, b = leaf(L, 1.0), leaf(L, 2.0)
    out = ((a * 1) + (b * 2).exp()).sum()
    orders = []
    out.register_hook(
        lambda g: orders.append([type(node).__name__ for node in L._C._current_graph_task_execution_order()])
    )
    with L.autograd.set_multithreading_enabled(False):
        out.backward(retain_graph=True)
        L.autograd.grad(out, b, retain_graph=True)
    return (
        orders,
        raised(lambda: out.backward(), 100),
        raised(L._C._current_graph_task_execution_order, 100),
    )


@program
def sequence_numbers(L):
    x = leaf(L, 1.0)
    kept = x * 1
    before = L._C._autograd._get_sequence_nr()
    y = x * 1
    numbers = [y.grad_fn._sequence_nr() - before, L.autograd._get_sequence_nr() - before]
    y.grad_fn._set_sequence_nr(5)
    return numbers, y.grad_fn._sequence_nr(), kept.grad_fn.next_functions[0][0]._sequence_nr()


@program
def whether_the_graph_is_kept(L):
    x = leaf(L, 1.0)
    kept = []
    x.register_hook(lambda g: kept.append(L._C._autograd._get_current_graph_task_keep_graph()))
    y = (x * 2).sum()
    y.backward(retain_graph=True)
    y.backward()
    return kept, L._C._autograd._get_current_graph_task_keep_graph()


@program
def threads_are_a_mode(L):
    states = [L.autograd.is_multithreading_enabled()]
    with L.autograd.set_multithreading_enabled(False):
        states.append(L.autograd.is_multithreading_enabled())
    states.append(L.autograd.is_multithreading_enabled())
    L.autograd.set_multithreading_enabled(False)
    states.append(L.autograd.is_multithreading_enabled())
    L.autograd.set_multithreading_enabled(True)
    return states, raised(lambda: L.autograd.set_multithreading_enabled(3), 80)


@program
def whether_hooks_on_saved_tensors_are_allowed(L):
    state = L._C._autograd
    with L.autograd.graph.disable_saved_tensors_hooks("not here"):
        inside = state._saved_tensors_hooks_is_enabled(), state._saved_tensors_hooks_get_disabled_error_message()
    return inside, state._saved_tensors_hooks_is_enabled(), state._saved_tensors_hooks_get_disabled_error_message()


@program
def names_for_streams_and_compilers(L):
    G = L.autograd.graph
    return [
        G.set_warn_on_accumulate_grad_stream_mismatch(True),
        raised(lambda: G.set_warn_on_accumulate_grad_stream_mismatch(3), 80),
        raised(lambda: G.set_override_stale_capture_stream("a"), 80),
        raised(lambda: G.region_activation_memory_budget(2.0), 100),
        raised(lambda: G.region_activation_memory_budget("a"), 100),
        raised(lambda: G.region_activation_memory_budget(0.5), 100),
    ]


@program
def boxed_gradients(L):
    class Boxed(L.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x, y):
            return x * 1, y * 2

        @staticmethod
        def backward(ctx, grads):
            seen.append((type(grads).__name__, len(grads)))
            first, second = grads
            grads.clear()
            return first * 1, second * 2

    seen = []
    x, y = leaf(L, 1.0), leaf(L, 2.0)
    a, b = Boxed.apply(x, y)
    (a * 3 + b).sum().backward()
    node = Boxed.apply(x, y)[0].grad_fn
    return seen, x.grad, y.grad, node.apply(x.detach(), x.detach()), node.apply_boxed([x.detach(), x.detach()])


def test_a_boxed_gradient_is_free_when_its_list_is_emptied():
    import weakref

    class Boxed(adjoint.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grads):
            gone = weakref.ref(grads[0])
            grads.clear()
            assert gone() is None
            return adjoint.zeros(2)

    x = leaf(adjoint, 1.0, 2.0)
    (Boxed.apply(x) * 2).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@program
def saved_tensors_that_are_given_out_once(L):
    class Once(L.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            log.append(raised(lambda: ctx.saved_tensors, 60))
            return 2 * g * x

    log = []
    x = leaf(L, 3.0)
    y = Once.apply(x).sum()
    y.backward(retain_graph=True)
    return log, x.grad, raised(lambda: y.backward(), 60)


@program
def saved_tensors_that_are_freed_early(L):
    class Early(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            ctx.maybe_clear_saved_tensors()
            log.append(raised(lambda: ctx.saved_tensors, 60))
            return 2 * g * x

    log = []
    x = leaf(L, 3.0)
    y = Early.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return log, x.grad


def test_the_engine_runs_what_backward_runs():
    x = leaf(adjoint, 3.0)
    y = x * x
    engine = adjoint.autograd.Variable._execution_engine
    (grad,) = engine.run_backward((y,), (adjoint.ones(1),), True, False, (x,), allow_unreachable=True)
    assert grad.tolist() == [6.0]
    assert x.grad is None
    engine.run_backward((y,), (None,), False, False)
    assert x.grad.tolist() == [6.0]
    assert engine.is_checkpoint_valid()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_mode_of_threads_decorates(enabled):
    @adjoint.autograd.set_multithreading_enabled(enabled)
    def state():
        return adjoint.autograd.is_multithreading_enabled()

    try:
        assert state() is enabled
    finally:
        adjoint.autograd.set_multithreading_enabled(True)
