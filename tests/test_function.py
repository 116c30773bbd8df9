"""Custom Functions against torch: each program runs on both libraries and must give the same."""

import copy
import pickle

import pytest
import torch

import adjoint

from .compare import EXACT, of_one_kind, programs, same

program, test_program = programs()


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


# ---- The ctx


@program
def ctx_is_the_node(L):
    seen = []

    def forward(ctx, x, k):
        ctx.k = k
        kinds = isinstance(ctx, L.autograd.function.FunctionCtx), isinstance(ctx, L.autograd.graph.Node)
        seen.append((type(ctx).__name__, kinds, ctx.needs_input_grad, ctx.saved_tensors, dict(vars(ctx))))
        ctx.save_for_backward(x)
        seen.append(ctx)
        return x * k

    def backward(ctx, g):
        seen.append((ctx is seen[1], ctx.name(), ctx.next_functions[0][0].name(), ctx.metadata, ctx.saved_tensors))
        return g * ctx.k, None

    x = L.ones(3).requires_grad_()
    y = make(L, forward, backward).apply(x, 5)
    node = seen[1]
    state = node is y.grad_fn, node.to_save, node.dirty_tensors, node.non_differentiable, node.saved_for_forward
    node.k = 7
    y.sum().backward()
    return state, seen[0], seen[2], x.grad, y.grad_fn.k, hasattr(y.grad_fn, "other"), node.saved_tensors


@program
def attributes_of_ctx(L):
    def forward(ctx, x):
        ctx.a, ctx.name = 1, "mine"
        del ctx.a
        return x * 2

    node = make(L, forward, lambda ctx, g: g).apply(L.ones(1).requires_grad_()).grad_fn
    return vars(node), node.name, node.nothing


@program
def ctx_of_ones_own(L):
    ctx = L.autograd.function.FunctionCtx()
    ctx.save_for_backward(L.ones(1))
    ctx.mark_dirty(3)
    ctx.k = 5
    return vars(ctx), ctx.saved_tensors


@program
def needs_of_the_arguments(L):
    seen = []

    def forward(ctx, a, b, c):
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function = make(L, forward, backward)
    x = L.ones(1).requires_grad_()
    function.apply(x, L.ones(1), 3).backward()
    with L.no_grad():
        function.apply(x, x, 3)
    return seen


@program
def modes_inside(L):
    seen = []

    def forward(ctx, x):
        seen.append(L.is_grad_enabled())
        L.set_grad_enabled(True)
        return x * 2

    def backward(ctx, g):
        seen.append(L.is_grad_enabled())
        return g * 2

    x = L.ones(1).requires_grad_()
    y = make(L, forward, backward).apply(x)
    y.backward(retain_graph=True)
    L.autograd.grad(y, x, create_graph=True)
    with L.no_grad():
        make(L, forward, backward).apply(x)
        seen.append(L.is_grad_enabled())
    return seen


# ---- Inputs, views and changed inputs as outputs


@program
def input_as_output(L):
    x = L.ones(2).requires_grad_()
    h = x * 1
    same_one = make(L, lambda ctx, x: x, lambda ctx, g: g * 2)
    out = same_one.apply(h)
    with L.no_grad():
        unrecorded = same_one.apply(x)
    plain = same_one.apply(L.ones(2))
    twice = make(L, lambda ctx, x: (x, x), lambda ctx, g, h: g * 2 + h * 3).apply(x)
    (twice[0] * 5 + twice[1]).sum().backward()
    facts = out is h, out._is_view(), out._base is h, out.data_ptr() == h.data_ptr(), unrecorded is x, plain._is_view()
    return facts, out, unrecorded, plain, [t._is_view() for t in twice], x.grad


VIEWS = {
    "input": lambda x: x,
    "view": lambda x: x.view(2, 1),
    "view of a new tensor": lambda x: (x * 2).view(2, 1),
    "detached": lambda x: x.detach(),
    "two views": lambda x: (x[:1], x[1:]),
    "two tensors": lambda x: (x * 2, x * 3),
    "input and another": lambda x: (x, x * 2),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("changed", ["output", "input", "input under no_grad"])
def test_views_as_outputs_and_in_place_changes(name, changed):
    def program(L):
        x = L.ones(2).requires_grad_()
        h = x * 1
        function = make(L, lambda ctx, x: VIEWS[name](x), lambda ctx, *g: sum(t.sum() for t in g) + L.zeros(2))
        out = function.apply(h)
        first = out[0] if isinstance(out, tuple) else out
        facts = first._is_view(), first._version
        if changed == "output":
            first.mul_(2)
        elif changed == "input":
            h.mul_(2)
        else:
            with L.no_grad():
                h.mul_(2)
        first.sum().backward()
        return facts, first, x.grad

    same(program)


def changing(*, result=lambda x: x, mark=lambda ctx, x: ctx.mark_dirty(x)):
    """A forward that changes its input."""

    def forward(ctx, x):
        x.add_(1)
        mark(ctx, x)
        return result(x)

    return forward


@program
def a_changed_view(L):
    x = L.ones(3).requires_grad_()
    h = x * 2
    v = h[:2]
    out = make(L, changing(), lambda ctx, g: g * 5).apply(v)
    names = out is v, h.grad_fn.name(), v.grad_fn.name(), h._version
    h.sum().backward()
    return names, h, x.grad


@program
def a_changed_view_and_another_output(L):
    h = L.ones(3).requires_grad_() * 2
    make(L, changing(result=lambda x: (x, x * 2)), lambda ctx, g, k: g).apply(h[:2])


@program
def a_changed_view_of_a_leaf(L):
    make(L, changing(), lambda ctx, g: g).apply(L.ones(3).requires_grad_()[:2])


def test_a_changed_view_must_come_first():
    """torch gives wrong gradients."""

    def forward(ctx, w, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    h = adjoint.ones(3).requires_grad_() * 2
    with pytest.raises(RuntimeError, match="must be the first of its tensor arguments"):
        make(adjoint, forward, lambda ctx, g: (g, g)).apply(adjoint.ones(1).requires_grad_(), h[:2])


@pytest.mark.parametrize("made", ["leaf", "other", "constant"])
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("forward", ["dirty", "twice", "not returned", "also not differentiable", "not dirty"])
def test_changed_inputs(forward, recorded, made):
    forwards = {
        "dirty": changing(),
        "twice": changing(result=lambda x: (x, x)),
        "not returned": changing(result=lambda x: x * 2),
        "also not differentiable": changing(mark=lambda ctx, x: (ctx.mark_dirty(x), ctx.mark_non_differentiable(x))),
        "not dirty": changing(mark=lambda ctx, x: None),
    }

    def program(L):
        x = L.ones(1)
        if made != "constant":
            x.requires_grad_()
        h = x * 1 if made == "other" else x
        with L.set_grad_enabled(recorded):
            out = make(L, forwards[forward], lambda ctx, *g: g[0] * 7).apply(h)
        first = out[0] if isinstance(out, tuple) else out
        if first.requires_grad:
            first.sum().backward()
        return first, first is h, h, h._version, x.grad

    same(program)


@program
def dirty_tensor_that_is_no_input(L):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    out = make(L, forward, lambda ctx, g: g).apply(L.ones(1).requires_grad_())
    return out, out._version


@program
def dirty_constant_beside_a_variable(L):
    def forward(ctx, x, z):
        z.add_(1)
        ctx.mark_dirty(z)
        return z * 1, z

    z = L.ones(1)
    out = make(L, forward, lambda ctx, g, h: (g, h)).apply(L.ones(1).requires_grad_(), z)
    return out, out[1] is z, z._version


@program
def outputs_that_are_not_differentiable(L):
    seen = []

    def forward(ctx, x):
        a, b, c = x * 2, x * 3, x.view(1, 1)
        ctx.mark_non_differentiable(b, c)
        return a, b, (x * 4).long(), x > 0, c

    def backward(ctx, *gradients):
        seen.append(gradients)
        return gradients[0]

    x = L.ones(1).requires_grad_()
    out = make(L, forward, backward).apply(x)
    out[0].backward()
    return out, seen, x.grad


@program
def a_tensor_from_elsewhere_as_output(L):
    w = L.ones(1).requires_grad_()
    out = make(L, lambda ctx, x: w, lambda ctx, g: g * 2).apply(L.ones(1))
    return out is w, w


# ---- Misuse

MISUSES = {
    "list of gradients": (lambda L, ctx, x: x * 2, lambda L, ctx, g: [g]),
    "no gradients": (lambda L, ctx, x: x * 2, lambda L, ctx, g: ()),
    "nested gradients": (lambda L, ctx, x: x * 2, lambda L, ctx, g: ((g,),)),
    "text": (lambda L, ctx, x: x * 2, lambda L, ctx, g: "a"),
    "wide gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: L.ones(4, 3)),
    "scalar gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: L.ones(())),
    "short gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: L.ones(1)),
    "double gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: g.double()),
    "integer gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: L.ones(3, dtype=L.int64)),
    "complex gradient": (lambda L, ctx, x: x * 2, lambda L, ctx, g: L.ones(3, dtype=L.complex64)),
    "no attribute": (lambda L, ctx, x: x * 2, lambda L, ctx, g: ctx.nothing),
    "no output": (lambda L, ctx, x: None, lambda L, ctx, g: g),
    "number": (lambda L, ctx, x: 3, lambda L, ctx, g: g),
    "list": (lambda L, ctx, x: [x * 2, x * 3], lambda L, ctx, g: g),
    "dict": (lambda L, ctx, x: {"a": x * 2}, lambda L, ctx, g: g),
    "nothing": (lambda L, ctx, x: (), lambda L, ctx, g: g),
    "tuple of one": (lambda L, ctx, x: (x * 2,), lambda L, ctx, g: g),
    "nested tuple": (lambda L, ctx, x: (x * 2, (x * 3,)), lambda L, ctx, g, h: g),
    "none among them": (
        lambda L, ctx, x: (x * 2, None, "a", x * 3),
        lambda L, ctx, *g: g[0] if g[1:3] == (None, None) else 0,
    ),
    "ten outputs": (lambda L, ctx, x: tuple(x * i for i in range(10)), lambda L, ctx, *g: sum(g)),
    "saving text": (lambda L, ctx, x: ctx.save_for_backward(x, "a") or x * 2, lambda L, ctx, g: g),
    "saving a list": (lambda L, ctx, x: ctx.save_for_backward([x]) or x * 2, lambda L, ctx, g: g),
    "saving twice": (
        lambda L, ctx, x: ctx.save_for_backward(x) or ctx.save_for_backward(x * 5) or x * 2,
        lambda L, ctx, g: g * ctx.saved_tensors[0],
    ),
    "saving nothing": (lambda L, ctx, x: x * 2, lambda L, ctx, g: g * len(ctx.saved_tensors)),
    "saving none": (
        lambda L, ctx, x: ctx.save_for_backward(None, x) or x * 2,
        lambda L, ctx, g: g * ctx.saved_tensors[1] if ctx.saved_tensors[0] is None else None,
    ),
    "reading in forward": (lambda L, ctx, x: ctx.save_for_backward(x) or ctx.saved_tensors[0], lambda L, ctx, g: g),
    "dirty number": (lambda L, ctx, x: ctx.mark_dirty(3) or x * 2, lambda L, ctx, g: g),
    "dirty list": (lambda L, ctx, x: ctx.mark_dirty([x]) or x * 2, lambda L, ctx, g: g),
    "not differentiable number": (lambda L, ctx, x: ctx.mark_non_differentiable(3) or x * 2, lambda L, ctx, g: g),
    "materialize what": (lambda L, ctx, x: ctx.set_materialize_grads(3) or x * 2, lambda L, ctx, g: g),
    "forward number": (lambda L, ctx, x: ctx.save_for_forward(3) or x * 2, lambda L, ctx, g: g),
    "old name": (
        lambda L, ctx, x: ctx.save_for_backward(x) or x * 2,
        lambda L, ctx, g: g * ctx.saved_variables[0],
    ),
    "shared storage": (lambda L, ctx, x: ctx.mark_shared_storage((x, x)) or x * 2, lambda L, ctx, g: g),
    "raising forward": (lambda L, ctx, x: 1 / 0, lambda L, ctx, g: g),
}


@pytest.mark.parametrize("name", MISUSES)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_unusual_functions(name, requires_grad):
    def program(L):
        forward, backward = MISUSES[name]
        function = make(L, lambda ctx, x: forward(L, ctx, x), lambda ctx, *g: backward(L, ctx, *g))
        x = L.ones(3).requires_grad_(requires_grad)
        out = function.apply(x)
        first = out[0] if isinstance(out, tuple) and out else out
        if getattr(first, "requires_grad", False):
            first.sum().backward()
        return out, type(out).__name__, x.grad

    same(program)


@program
def gradients_for_constants(L):
    function = make(L, lambda ctx, x, w, i: x * 2, lambda ctx, g: (g, L.ones(7), L.ones(7)))
    x = L.ones(3).requires_grad_()
    function.apply(x, L.ones(3), L.ones(3, dtype=L.int64)).sum().backward()
    return x.grad


@program
def saved_values_after_they_were_freed(L):
    kept = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        kept.append(ctx)
        return x * 2

    make(L, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(L.ones(1).requires_grad_()).backward()
    return kept[0].saved_tensors


@program
def an_instance(L):
    function = make(L, lambda ctx, x: x, lambda ctx, g: g)
    return type(function()).__name__, function()(L.ones(1))


@program
def methods_that_are_not_static(L):
    class Old(L.autograd.Function):
        def forward(self, x):
            self.k = 3
            return x * 2

        def backward(self, g):
            return g * self.k

    x = L.ones(1).requires_grad_()
    Old.apply(x).backward()
    return x.grad


BASE = ["apply(x)", "forward(None, x)", "backward(None, x)", "vjp(None, x)", "jvp(None, x)", "vmap(None, None, x)"]


@pytest.mark.parametrize("call", [*BASE, "setup_context(None, (), x)", "generate_vmap_rule"])
def test_the_base_class(call):
    same(lambda L: eval(f"F.{call}", {"F": L.autograd.Function, "x": L.ones(1).requires_grad_()}))


# ---- Classes


@program
def both_backward_and_vjp(L):
    class Two(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    Two.apply(L.ones(1)).item()
    Two.apply(L.ones(1).requires_grad_()).backward()


@program
def vjp_instead_of_backward(L):
    class Vjp(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 5

    x = L.ones(1).requires_grad_()
    Vjp.apply(x).backward()
    return x.grad


@program
def subclasses(L):
    class First(L.autograd.Function):
        factor = 3

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @staticmethod
        def backward(ctx, g):
            return g * 5

        @staticmethod
        def jvp(ctx, t):
            return t

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    class Second(First):
        factor = 4

    x = L.ones(1).requires_grad_()
    y = Second.apply(x)
    Second.backward = staticmethod(lambda ctx, g: g * 11)
    y.backward()
    names = y.grad_fn.name(), type(y.grad_fn).__name__, repr(y), y.grad_fn._forward_cls.__name__
    return y, x.grad, names, type(Second).__name__, Second.jvp(None, 3), Second.vmap(None, None, 3)


@program
def setup_apart(L):
    seen = []

    class Mine(L.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, *more):
            seen.append(L.is_grad_enabled())
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((type(inputs), inputs, type(output), output, ctx.needs_input_grad, L.is_grad_enabled()))
            ctx.save_for_backward(inputs[0], output[1])
            return 5

        @staticmethod
        def backward(ctx, g, h):
            return g * ctx.saved_tensors[1], None, None

    x = L.ones(1).requires_grad_()
    y = Mine.apply(x, "a", (3,))
    y[0].backward()
    return y, x.grad, seen


def keyword_function(L, apart):
    class Mine(L.autograd.Function):
        if apart:

            @staticmethod
            def forward(x, a=2, b=3):
                return x * a * b

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.inputs = inputs

        else:

            @staticmethod
            def forward(ctx, x, a=2, b=3):
                ctx.inputs = x, a, b
                return x * a * b

        @staticmethod
        def backward(ctx, g):
            return (g * 5, g * 7, None)[: len(ctx.needs_input_grad)]

    return Mine


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    "arguments", ["x", "x, 5", "x, a=w", "x, b=5", "x, a=w, b=7", "x, c=3", "x, x=3", "a=w", "x, 1, 2, 3", "", "[x]"]
)
def test_keyword_arguments(arguments, apart):
    def program(L):
        x, w = L.ones(1).requires_grad_(), L.ones(1).requires_grad_()
        y = eval(f"apply({arguments})", {"apply": keyword_function(L, apart).apply, "x": x, "w": w})
        y.backward()
        return y, x.grad, w.grad, y.grad_fn.inputs

    # The texts come from the interpreter where forward is called, and name the function differently.
    same(program, bound=EXACT, error=of_one_kind)


@program
def keyword_only_arguments(L):
    class Mine(L.autograd.Function):
        @staticmethod
        def forward(x, *, k=2):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return Mine.apply(L.ones(1).requires_grad_(), k=3)


@program
def copies_and_pickles(L):
    function = make(L, lambda ctx, x: x * 2, lambda ctx, g: g)
    node = function.apply(L.ones(1).requires_grad_()).grad_fn
    errors = []
    for action in (copy.deepcopy, copy.copy, pickle.dumps):
        try:
            action(node)
        except TypeError as error:
            errors.append(str(error))
    return copy.deepcopy(function) is function, errors


# ---- Second derivatives


@program
def once_differentiable_leaves_an_error_behind(L):
    once = L.autograd.function.once_differentiable(lambda ctx, g: (g * 2, None))
    x, w = L.ones(1).requires_grad_(), L.ones(1).requires_grad_()
    y = make(L, lambda ctx, x, k: x * k, once).apply(x, 3) * w
    (g,) = L.autograd.grad(y, x, create_graph=True)
    return g, [(n.name() if n else None, i) for n, i in g.grad_fn.next_functions], type(g.grad_fn).__name__


@program
def once_differentiable_without_a_graph(L):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    once = L.autograd.function.once_differentiable(lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    x = L.ones(1).requires_grad_()
    make(L, forward, once).apply(x).backward(create_graph=True)
    return x.grad


def sinh(L):
    """Saves what is neither an input nor an output."""

    def forward(ctx, x):
        up, down = x.exp(), (-x).exp()
        ctx.save_for_backward(up, down)
        return (up - down) / 2

    def backward(ctx, g):
        up, down = ctx.saved_tensors
        return g * (up + down) / 2

    return make(L, forward, backward)


def test_first_derivative_through_a_saved_intermediate():
    def program(L):
        x = L.zeros(2).requires_grad_()
        y = sinh(L).apply(x)
        y.sum().backward(retain_graph=True)
        return x.grad, y.grad_fn.saved_tensors

    same(program)


def test_second_derivative_through_a_saved_intermediate_raises():
    """torch takes it for a constant: here the second derivative of x * sinh(x) would be wrong without a word."""
    x = adjoint.zeros(2).requires_grad_()
    (g,) = adjoint.autograd.grad((sinh(adjoint).apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="neither an input nor an output of it"):
        g.sum().backward()

    theirs = torch.zeros(2).requires_grad_()
    (g,) = torch.autograd.grad((sinh(torch).apply(theirs) * theirs).sum(), theirs, create_graph=True)
    assert torch.autograd.grad(g.sum(), theirs)[0].tolist() == [2.0, 2.0]


@program
def constants_on_ctx_in_second_derivatives(L):
    def forward(ctx, x):
        ctx.mask = (x > 0).to(x.dtype)
        ctx.save_for_backward(x > 1)
        return x * ctx.mask

    x = L.ones(2).requires_grad_()
    function = make(L, forward, lambda ctx, g: g * ctx.mask + 0 * ctx.saved_tensors[0])
    (g,) = L.autograd.grad((function.apply(x) * x).sum(), x, create_graph=True)
    return g, L.autograd.grad(g.sum(), x)


@program
def intermediate_as_output_in_second_derivatives(L):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return x * y, y

    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * (y + x * y) + h * y

    x = L.zeros(2).requires_grad_()
    y, _ = make(L, forward, backward).apply(x)
    (g,) = L.autograd.grad((y * x).sum(), x, create_graph=True)
    return g, L.autograd.grad(g.sum(), x)


def test_more_outputs_than_expected():
    """The node is made before forward says how many outputs there are."""
    seen = []

    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return tuple(x * i for i in range(n))

    def backward(ctx, *gradients):
        seen.append((len(gradients), ctx.n))
        return sum(gradients) * ctx.saved_tensors[0], None

    function = make(adjoint, forward, backward)
    for n in (1, 20, 3, 100, 20):
        x = adjoint.full((1,), 2.0, requires_grad=True)
        out = function.apply(x, n)
        sum(out).backward()
        assert x.grad.item() == 2.0 * n
        assert out[-1].output_nr == n - 1
    assert seen == [(n, n) for n in (1, 20, 3, 100, 20)]


def test_gradcheck_of_a_function():
    x = adjoint.tensor([0.3, -0.7], dtype=adjoint.float64, requires_grad=True)
    assert adjoint.autograd.gradcheck(square(adjoint).apply, (x,))
    assert adjoint.autograd.gradgradcheck(square(adjoint).apply, (x,))
