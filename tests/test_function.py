"""Custom Functions against torch: each program runs on both libraries and must give the same."""

import gc
import weakref

import pytest

import adjoint

from .test_autograd import same

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    same(PROGRAMS[name])


def make(L, forward, backward):
    """A Function of these two."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Mine", (L.autograd.Function,), members)


def run(L, forward, backward, *args):
    """The gradient of the sum of the first output with respect to a vector of ones."""
    x = L.ones(3).requires_grad_()
    out = make(L, forward, backward).apply(x, *args)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return x.grad


def square(L):
    class Square(L.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=2):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * x * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.factor, None

    return Square


@program
def first_and_second_derivative(L):
    x = L.tensor([1.0, -2.0], requires_grad=True)
    y = square(L).apply(x, 3)
    (g,) = L.autograd.grad(y.sum(), x, create_graph=True)
    return y, g, L.autograd.grad(g.sum(), x), y.grad_fn.needs_input_grad, y.grad_fn.factor


@program
def saved_tensors_of_the_node(L):
    x = L.tensor([1.0, -2.0], requires_grad=True)
    y = square(L).apply(x)
    return y.grad_fn.saved_tensors, y.grad_fn.saved_tensors[0] is x


@program
def saved_tensors_after_backward(L):
    x = L.tensor([1.0, -2.0], requires_grad=True)
    y = square(L).apply(x)
    y.sum().backward()
    return y.grad_fn.saved_tensors


@program
def second_backward(L):
    x = L.tensor([1.0, -2.0], requires_grad=True)
    y = square(L).apply(x).sum()
    y.backward()
    y.backward()


@program
def keyword_argument(L):
    return square(L).apply(L.ones(2).requires_grad_(), factor=5)


@program
def changed_saved_tensor(L):
    x = L.ones(2).requires_grad_()
    h = x * 2
    y = square(L).apply(h)
    h.add_(1)
    y.sum().backward()


@program
def too_many_gradients(L):
    return run(L, lambda ctx, x: x * 2, lambda ctx, g: (g, g))


@program
def trailing_none(L):
    return run(L, lambda ctx, x: x * 2, lambda ctx, g: (g, None, None))


@program
def too_few_gradients(L):
    return run(L, lambda ctx, x, k: x * 2, lambda ctx, g: g, 3)


@program
def gradient_of_a_number(L):
    return run(L, lambda ctx, x, k: x * 2, lambda ctx, g: (g, g), 3)


@program
def gradient_of_wrong_shape(L):
    return run(L, lambda ctx, x: x * 2, lambda ctx, g: L.ones(2))


@program
def gradient_is_no_tensor(L):
    return run(L, lambda ctx, x: x * 2, lambda ctx, g: 3)


@program
def no_gradient(L):
    return run(L, lambda ctx, x: x * 2, lambda ctx, g: None)


@program
def input_returned(L):
    return run(L, lambda ctx, x: x, lambda ctx, g: g * 5)


@program
def view_returned(L):
    return run(L, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3) * 5)


@program
def non_tensor_output(L):
    x = L.ones(3).requires_grad_()
    out = make(L, lambda ctx, x: (x * 2, "text"), lambda ctx, g, h: g).apply(x)
    out[0].sum().backward()
    return out, x.grad


@program
def dirty_input(L):
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    x = L.ones(3).requires_grad_()
    y = x * 2
    out = make(L, forward, lambda ctx, g: g * 7).apply(y)
    out.sum().backward()
    return out is y, y._version, x.grad, y


@program
def dirty_leaf(L):
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    return make(L, forward, lambda ctx, g: g).apply(L.ones(3).requires_grad_())


@program
def dirty_not_returned(L):
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x * 2

    return make(L, forward, lambda ctx, g: g).apply(L.ones(3).requires_grad_() * 2)


@program
def non_differentiable_output(L):
    def forward(ctx, x):
        mask = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        return x * 2, mask

    return make(L, forward, lambda ctx, g, h: g).apply(L.ones(3).requires_grad_())


@program
def saving_a_number(L):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x

    return run(L, forward, lambda ctx, g: g)


@program
def saving_the_output(L):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    x = L.tensor([0.5, 1.0], requires_grad=True)
    (g,) = L.autograd.grad(make(L, forward, backward).apply(x).sum(), x, create_graph=True)
    return [round(v, 5) for v in L.autograd.grad(g.sum(), x)[0].tolist()]


@program
def missing_forward(L):
    class Empty(L.autograd.Function):
        pass

    return Empty.apply(L.ones(2))


@program
def missing_backward(L):
    class Half(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Half.apply(L.ones(2).requires_grad_()).sum().backward()


@program
def separate_setup(L):
    class Scale(L.autograd.Function):
        @staticmethod
        def forward(x, k=2):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = L.ones(2).requires_grad_()
    (Scale.apply(x) + Scale.apply(x, k=5)).sum().backward()
    return x.grad


def with_materialize(L, value):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(value)
        return x * 1, x * 2

    def backward(ctx, a, b):
        seen.append(b)
        return a

    run(L, forward, backward)
    return seen


@program
def materialized_gradients(L):
    return with_materialize(L, True)


@program
def unmaterialized_gradients(L):
    return with_materialize(L, False)


@program
def without_recording(L):
    x = L.ones(2).requires_grad_()
    with L.no_grad():
        y = square(L).apply(x)
    return y, square(L).apply(L.ones(2))


@program
def once_differentiable_first_order(L):
    def backward(ctx, g):
        return g * 3

    once = L.autograd.function.once_differentiable(backward)
    return run(L, lambda ctx, x: x * 3, once)


@program
def once_differentiable_second_order(L):
    def backward(ctx, g):
        return g * 3

    once = L.autograd.function.once_differentiable(backward)
    x = L.ones(2).requires_grad_()
    scale = L.ones(2).requires_grad_()
    (g,) = L.autograd.grad((make(L, lambda ctx, x: x * 3, once).apply(x) * scale).sum(), x, create_graph=True)
    g.sum().backward()


@program
def exception_in_backward(L):
    def backward(ctx, g):
        raise ZeroDivisionError("mine")

    return run(L, lambda ctx, x: x * 2, backward)


def test_output_kept_on_ctx_is_collected():
    class Keeps(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.out = x * 2
            return ctx.out

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = Keeps.apply(adjoint.ones(2).requires_grad_())
    reference = weakref.ref(y)
    del y
    gc.collect()
    assert reference() is None


def test_gradcheck_of_a_function():
    x = adjoint.tensor([0.3, -0.7], dtype=adjoint.float64, requires_grad=True)
    assert adjoint.autograd.gradcheck(square(adjoint).apply, (x,))
    assert adjoint.autograd.gradgradcheck(square(adjoint).apply, (x,))
