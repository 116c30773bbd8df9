"""The tape against torch: each program runs on both libraries and must give the same values, names and errors."""

import gc
import threading
import weakref

import numpy as np
import pytest

import adjoint

from .compare import leaf, programs

program, test_program = programs()


@program
def derivative_of_a_polynomial(L):
    x = leaf(L, 2.0)
    y = x**2 + 3 * x + 2
    y.backward()
    return x.grad, y


@program
def two_variables(L):
    x, y = L.tensor(2.0, requires_grad=True), L.tensor(3.0, requires_grad=True)
    z = x * y + y**2
    z.backward()
    return x.grad, y.grad, z


@program
def accumulation(L):
    x = leaf(L, 2.0)
    (x**2).backward()
    first = x.grad.clone()
    (x**3).backward()
    second = x.grad.clone()
    x.grad.zero_()
    return first, second, x.grad


@program
def gradient_argument(L):
    x = L.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x**2
    y.backward(L.ones_like(y))
    return x.grad


@program
def implicit_gradient_needs_scalar(L):
    (leaf(L, 1.0, 2.0) * 2).backward()


@program
def gradient_of_wrong_shape(L):
    (leaf(L, 1.0, 2.0) * 2).backward(L.ones(3))


@program
def gradient_of_wrong_type(L):
    (leaf(L, 1.0, 2.0) * 2).backward([1.0, 1.0])


@program
def backward_without_graph(L):
    L.tensor([1.0]).backward()


@program
def backward_of_a_leaf(L):
    x = leaf(L, 3.0)
    x.backward()
    return x.grad


@program
def second_backward(L):
    x = leaf(L, 1.0)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def second_backward_without_saved_values(L):
    x = leaf(L, 1.0)
    y = x + 1
    y.backward()
    y.backward()
    return x.grad


@program
def retained_graph(L):
    x = L.tensor([[1.0, 2.0]], requires_grad=True)
    y = x**2
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    (y * 2).sum().backward()
    return first, x.grad


@program
def detach_and_no_grad(L):
    x = leaf(L, 2.0)
    y = x**2
    d = y.detach()
    with L.no_grad():
        z = x * 2
        with L.enable_grad():
            w = x * 3
    with L.set_grad_enabled(False):
        v = x * 4
    L.set_grad_enabled(False)
    u = x * 5
    L.set_grad_enabled(True)
    return d, z, w, v, u, L.is_grad_enabled()


@program
def decorators(L):
    x = leaf(L, 2.0)

    @L.no_grad()
    def f(t):
        return t * 2

    @L.enable_grad()
    def g(t):
        return t * 2

    @L.no_grad()
    def numbers(t):
        yield t * 2
        yield t * 3

    @L.set_grad_enabled(False)
    def h(t):
        return t * 2

    with L.no_grad():
        inside = g(x)
    return f(x), inside, list(numbers(x)), L.is_grad_enabled(), h(x), f.__name__


@program
def leaf_attributes(L):
    x = leaf(L, 2.0)
    y = x**2
    return x.is_leaf, x.grad_fn, x.grad, y.is_leaf, y.grad_fn.name(), type(y.grad_fn).__name__


@program
def non_leaf_grad_warns(L):
    x = leaf(L, 2.0)
    y = x**2
    y.backward()
    return y.grad


@program
def retain_grad(L):
    x = leaf(L, 2.0)
    y = x**2
    y.retain_grad()
    (y * 3).backward()
    return y.grad, y.retains_grad, x.retains_grad


@program
def retain_grad_without_grad(L):
    L.tensor([1.0]).retain_grad()


@program
def next_functions(L):
    x, y = leaf(L, 1.0), L.tensor([2.0])
    z = x * y + 1
    names = []
    stack = [z.grad_fn]
    while stack:
        node = stack.pop()
        names.append(None if node is None else (node.name(), [n for _, n in node.next_functions]))
        stack.extend(next_node for next_node, _ in (node.next_functions if node else ()))
    return names


@program
def grad_returns_a_tuple(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    return L.autograd.grad((x * y).sum(), [x, y]), x.grad


@program
def grad_of_unused(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    L.autograd.grad((x * 2).sum(), [x, y])


@program
def grad_allow_unused(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    return L.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)


@program
def grad_materialized(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    return L.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)


@program
def grad_of_constant_input(L):
    x = leaf(L, 2.0)
    return L.autograd.grad((x * 2).sum(), [L.tensor([1.0])])


@program
def grad_of_intermediate(L):
    x = leaf(L, 2.0)
    y = x * 3
    z = y * y
    return L.autograd.grad(z.sum(), [y, x])


@program
def grad_of_several_outputs(L):
    x = leaf(L, 2.0, 5.0)
    return L.autograd.grad([(x * 2), (x**2)], x, [L.ones(2), L.tensor([1.0, 10.0])])


@program
def grad_wrong_number_of_outputs(L):
    x = leaf(L, 2.0)
    return L.autograd.grad([x * 2, x * 3], x, [L.ones(1)])


@program
def grad_needs_inputs(L):
    return L.autograd.grad([leaf(L, 2.0) * 2], [])


@program
def higher_orders(L):
    x = L.tensor(1.5, requires_grad=True)
    y = x**5
    results = []
    for _ in range(6):
        (y,) = L.autograd.grad(y, x, create_graph=True)
        results.append(y.detach())
        if not y.requires_grad:
            break
    return results


@program
def gradient_penalty(L):
    x = leaf(L, 1.0, -2.0, 3.0)
    y = (L.tanh(x) * L.exp(-x)).sum()
    (g,) = L.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    return [round(v, 5) for v in x.grad.tolist()], g.requires_grad


@program
def create_graph_backward(L):
    x = leaf(L, 3.0)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return g.detach(), x.grad


@program
def inputs_argument(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    (x * y).sum().backward(inputs=[x])
    return x.grad, y.grad


@program
def inputs_non_leaf(L):
    x = leaf(L, 2.0)
    y = x * 3
    (y * y).sum().backward(inputs=[y])
    return x.grad


@program
def inputs_empty(L):
    x = leaf(L, 2.0)
    (x * x).sum().backward(inputs=[])


@program
def requires_grad_of_integers(L):
    L.tensor([1, 2]).requires_grad_()


@program
def requires_grad_of_computed(L):
    y = leaf(L, 1.0) * 2
    y.requires_grad = False


@program
def assigned_grad(L):
    x = leaf(L, 1.0, 2.0)
    x.grad = L.tensor([5.0, 6.0])
    (x * 2).sum().backward()
    return x.grad


@program
def assigned_grad_of_wrong_shape(L):
    x = leaf(L, 1.0, 2.0)
    x.grad = L.tensor([5.0])


@program
def assigned_grad_of_wrong_kind(L):
    x = leaf(L, 1.0, 2.0)
    x.grad = 3


@program
def diamond(L):
    x = leaf(L, 1.0, 2.0)
    a = x * 2
    (a * a + a * 3 + x).sum().backward()
    return x.grad


@program
def broadcasting_is_summed(L):
    x, y = L.ones(2, 3).requires_grad_(), L.ones(3).requires_grad_()
    z = L.ones(2, 1).requires_grad_()
    s = L.tensor(2.0, requires_grad=True)
    ((x * y + z) * s).sum().backward()
    return x.grad, y.grad, z.grad, s.grad


@program
def mixed_types(L):
    x = L.tensor([1.0, 2.0], requires_grad=True)
    y = L.tensor([1.0, 2.0], dtype=L.float64, requires_grad=True)
    (x * y).sum().backward()
    return x.grad, y.grad


@program
def complex_gradients(L):
    z = L.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = (z * z.conj()).real.sum()
    w.backward()
    return z.grad


@program
def complex_scalar_needs_gradient(L):
    z = L.tensor([1 + 2j], requires_grad=True)
    (z * z).sum().backward()


@program
def real_times_complex(L):
    x = leaf(L, 1.0, 2.0)
    z = L.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (x * z).abs().sum().backward()
    return [round(v, 5) for v in x.grad.tolist()], [
        complex(round(v.real, 5), round(v.imag, 5)) for v in z.grad.tolist()
    ]


@program
def hook_changes_gradient(L):
    x = leaf(L, 1.0)
    seen = []
    handle = x.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    return x.grad, seen


@program
def hook_on_intermediate(L):
    x = leaf(L, 1.0)
    y = x * 2
    y.register_hook(lambda g: g + 1)
    (y * 3).sum().backward()
    return x.grad


@program
def hook_on_constant(L):
    L.tensor([1.0]).register_hook(print)


@program
def hook_returns_wrong_shape(L):
    x = leaf(L, 1.0)
    x.register_hook(lambda g: L.ones(3))
    (x * 3).sum().backward()


@program
def post_accumulate_hook(L):
    x = leaf(L, 1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return seen


@program
def in_place_on_a_leaf(L):
    x = leaf(L, 1.0)
    x += 1


@program
def in_place_under_no_grad(L):
    x = leaf(L, 1.0)
    (x * 2).sum().backward()
    with L.no_grad():
        x -= 0.5 * x.grad
    return x, x._version


@program
def in_place_on_intermediate(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    y.mul_(3)
    y += 1
    y.sum().backward()
    return x.grad, y


@program
def changed_saved_input(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    z = y * y
    y += 1
    z.sum().backward()


@program
def changed_saved_output(L):
    x = leaf(L, 1.0, 2.0)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


@program
def changed_unsaved(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    z = y + 1
    y.mul_(5)
    z.sum().backward()
    return x.grad


@program
def change_through_detach_is_seen(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    z = y * y
    y.detach().zero_()
    z.sum().backward()


@program
def change_through_data_is_not_seen(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    z = y * y
    y.data.zero_()
    z.sum().backward()
    return x.grad


@program
def view_of_a_leaf_in_place(L):
    x = leaf(L, 1.0, 2.0)
    x[0] = 5


@program
def in_place_on_a_slice(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    y[1:].mul_(10)
    y.sum().backward()
    return x.grad, y, y._version


@program
def assignment_into_zeros(L):
    x = leaf(L, 1.0, 2.0)
    out = L.zeros(3)
    view = out[1:]
    view.copy_(x * 2)
    (out * L.tensor([1.0, 10.0, 100.0])).sum().backward()
    return x.grad, out.requires_grad, out.grad_fn.name(), view.grad_fn.name()


@program
def stale_view_of_a_base_with_an_offset(L):
    w = L.ones(2, 3).requires_grad_()
    c = L.arange(12.0).reshape(4, 3)[2:].detach()
    d = c[1]
    c.mul_(w)
    (d * L.tensor([1.0, 2.0, 3.0])).sum().backward()
    return w.grad, d.grad_fn.name()


@program
def list_argument_changed_after_the_call(L):
    x = L.ones(2, 3).requires_grad_()
    dims = [1, 0]
    y = x.permute(dims)
    dims[0] = 5
    (y * L.arange(6.0).reshape(3, 2)).sum().backward()
    return x.grad


@program
def numpy_like_updates(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x.clone()
    y[0] = 7.0
    y[1:] *= x[:2]
    (y * y).sum().backward()
    return x.grad, y


@program
def saved_values_of_a_node(L):
    x = leaf(L, 1.0, 2.0)
    y = x.exp()
    z = x * y
    return z.grad_fn._saved_self, z.grad_fn._saved_other, y.grad_fn._saved_result, z.grad_fn._saved_self is x


@program
def saved_values_after_backward(L):
    x = leaf(L, 1.0, 2.0)
    z = x * x
    z.sum().backward()
    return z.grad_fn._saved_self


@program
def numbers_and_tensors(L):
    x = L.tensor(0.5, requires_grad=True)
    y = (2 * x + 1) * 3 - x / 4 + 1 / x - (1 - x) + x**2 + 2**x
    y.backward()
    return round(x.grad.item(), 5), y.grad_fn.name()


@program
def pow_at_zero(L):
    x = leaf(L, 0.0, 1.0, 2.0)
    e = leaf(L, 0.0, 2.0, 3.0)
    (x**e).sum().backward()
    return x.grad, e.grad


@program
def inference_tensors(L):
    x = leaf(L, 1.0)
    with L.inference_mode():
        y = x * 2
        inside = L.is_inference_mode_enabled()
    return y.requires_grad, y.is_inference(), inside, L.is_inference_mode_enabled()


@program
def inference_tensor_saved(L):
    with L.inference_mode():
        y = L.ones(2)
    x = leaf(L, 1.0, 2.0)
    return x * y


@program
def grad_strides_follow_the_leaf(L):
    x = L.ones(2, 3).t().requires_grad_()
    (x * L.ones(3, 2)).sum().backward()
    return x.grad.stride(), x.stride()


def test_million_node_chain_is_iterative():
    x = adjoint.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 0.0
    y.backward()
    assert x.grad.item() == 1.0
    del y
    assert gc.isenabled()


def test_grad_mode_is_per_thread():
    seen = []
    with adjoint.no_grad():
        thread = threading.Thread(target=lambda: seen.append(adjoint.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not adjoint.is_grad_enabled()
    assert seen == [True]


def test_backward_inside_a_hook():
    x = adjoint.tensor([2.0], requires_grad=True)
    y = adjoint.tensor([3.0], requires_grad=True)
    inner = (y * y).sum()

    def hook(g):
        inner.backward()
        return g

    z = x * 5
    z.register_hook(hook)
    z.sum().backward()
    assert x.grad.tolist() == [5.0]
    assert y.grad.tolist() == [6.0]


def test_exception_in_a_hook_leaves_the_engine_usable():
    x = adjoint.tensor([2.0], requires_grad=True)
    y = x * 3

    def hook(g):
        raise KeyError("from the hook")

    handle = y.register_hook(hook)
    with pytest.raises(KeyError, match="from the hook"):
        y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_line_of_python_is_known():
    x = adjoint.tensor([2.0], requires_grad=True)
    y = x * 3
    assert "test_autograd.py" in y.grad_fn.source_line
    assert "test_line_of_python_is_known" in y.grad_fn.source_line


def test_line_of_a_composite_is_the_users():
    x = adjoint.tensor([2.0, 1.0], requires_grad=True)
    y = adjoint.nn.functional.mse_loss(x, adjoint.zeros(2))
    for node in (y.grad_fn, x.std().grad_fn):
        assert "test_line_of_a_composite_is_the_users" in node.source_line


def test_in_place_error_names_the_saving_line():
    x = adjoint.tensor([2.0], requires_grad=True)
    y = x * 3
    z = y.exp() * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"MulBackward0 \(made at .*test_autograd.py"):
        z.sum().backward()


def test_graph_is_freed_at_once():
    x = adjoint.tensor([2.0], requires_grad=True)
    y = x * 3
    z = (y * y).sum()
    reference = weakref.ref(y)
    del y, z
    assert reference() is None


def test_cycle_through_a_hook_is_collected():
    x = adjoint.tensor([2.0], requires_grad=True)
    x.register_hook(lambda g, x=x: g)
    y = x * 2
    reference = weakref.ref(x)
    del x, y
    gc.collect()
    assert reference() is None


def test_cycle_through_grad_with_graph_is_collected():
    x = adjoint.tensor([2.0], requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_gradients_of_threads_add_up():
    x = adjoint.tensor(np.ones(1000, dtype=np.float32), requires_grad=True)

    def work():
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [400.0] * 1000
