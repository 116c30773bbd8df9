"""torch.autograd.forward_ad: dual tensors, their levels, views, in-place changes and errors, beside torch."""

import importlib

import pytest

import adjoint

from .compare import OPS, VALUES, assert_same, numbers, programs, raised, same

program, test_program = programs(OPS)


def forward_ad(L):
    return importlib.import_module(f"{L.__name__}.autograd.forward_ad")


def recorded(L, *shape, **options):
    return numbers(L, *shape).requires_grad_(**options)


def pushed(L, function, *inputs, tangents=None):
    """(value, tangent) of the function's results, when every input has a tangent."""
    fw = forward_ad(L)
    with fw.dual_level():
        tangents = tangents or [numbers(L, *x.shape, start=0.5 + i) for i, x in enumerate(inputs)]
        result = function(*[fw.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)])
        results = result if isinstance(result, tuple | list) else (result,)
        return [tuple(fw.unpack_dual(one)) for one in results]


def tangent(L, x):
    return forward_ad(L).unpack_dual(x).tangent


# ---- Levels


@program
def levels_are_numbered(L):
    fw = forward_ad(L)
    first = fw.enter_dual_level()
    nested = raised(fw.enter_dual_level)
    fw.exit_dual_level(level=first)
    with fw.dual_level() as level:
        pass
    return first, nested, level


@program
def no_level(L):
    fw = forward_ad(L)
    x = numbers(L, 2)
    return [
        raised(lambda: fw.make_dual(x, x), 60),
        fw.unpack_dual(x),
        raised(fw.exit_dual_level),
        raised(lambda: fw.exit_dual_level(level=3)),
    ]


@program
def wrong_level(L):
    fw = forward_ad(L)
    with fw.dual_level():
        return raised(lambda: fw.exit_dual_level(level=1), 60)


@program
def a_level_ends_with_an_error(L):
    fw = forward_ad(L)
    try:
        with fw.dual_level():
            raise KeyError
    except KeyError:
        pass
    with fw.dual_level() as level:
        return level


@program
def tangents_end_with_their_level(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, x)
        y = dual * 2
    outside = fw.unpack_dual(y)
    with fw.dual_level():
        return (
            outside.tangent,
            fw.unpack_dual(y).tangent,
            fw.unpack_dual(dual).tangent,
            fw.unpack_dual(dual * y).tangent,
        )


@program
def a_closed_level_leaves_values(L):
    fw = forward_ad(L)
    with fw.dual_level():
        y = fw.make_dual(numbers(L, 3), L.ones(3, dtype=L.float64)) * 2
    return y, y + 1


@program
def unpacking_gives_a_named_tuple(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 3), L.ones(3, dtype=L.float64))
        pair = fw.unpack_dual(dual)
        return type(pair).__name__, pair._fields, pair.primal, pair.tangent, fw.unpack_dual(pair.primal).tangent


@program
def unpacking_what_has_no_tangent(L):
    fw = forward_ad(L)
    with fw.dual_level():
        x = numbers(L, 3)
        primal, tangent = fw.unpack_dual(x)
        return primal, tangent, fw.unpack_dual(L.arange(3))


# ---- make_dual


@program
def the_dual_is_a_view(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, L.ones(3, dtype=L.float64))
        x.add_(1)
        return dual.data_ptr() == x.data_ptr(), dual._is_view(), dual._base is x, dual, fw.unpack_dual(dual).tangent


@program
def the_tangent_is_the_one_given(L):
    fw = forward_ad(L)
    x, t = numbers(L, 3), numbers(L, 3, start=2.0)
    with fw.dual_level():
        got = fw.unpack_dual(fw.make_dual(x, t)).tangent
        t.mul_(2)
        return got.data_ptr() == t.data_ptr(), got


@program
def the_input_has_no_tangent(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        fw.make_dual(x, x)
        return fw.unpack_dual(x).tangent, fw.unpack_dual(x * 2).tangent


@program
def tangents_of_other_strides(L):
    fw = forward_ad(L)
    x = numbers(L, 2, 3)
    results = []
    for t in (
        numbers(L, 3, 2).t(),
        numbers(L, 2, 6)[:, ::2],
        numbers(L, 1, 3).expand(2, 3),
        numbers(L, 2, 1).expand(2, 3),
        numbers(L, 1).expand(2, 3),
    ):
        with fw.dual_level():
            dual = fw.make_dual(x, t)
            results.append(fw.unpack_dual(dual).tangent)
            results += [fw.unpack_dual(y).tangent for y in (dual * 2, dual.t(), dual[1], dual.view(6), dual.sum(0))]
    return results


@program
def primals_of_other_strides(L):
    fw = forward_ad(L)
    t = numbers(L, 2, 3)
    results = []
    for x in (numbers(L, 3, 2).t(), numbers(L, 2, 6)[:, ::2]):
        with fw.dual_level():
            dual = fw.make_dual(x, t)
            results += [fw.unpack_dual(y).tangent for y in (dual, dual * 2, dual.t(), dual[1], dual.reshape(6))]
    return results


@program
def errors_of_make_dual(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, x)
        return [
            raised(lambda: fw.make_dual(x, x[:2]), 80),
            raised(lambda: fw.make_dual(L.arange(3), x), 80),
            raised(lambda: fw.make_dual(x, L.arange(3)), 80),
            raised(lambda: fw.make_dual(dual, x), 80),
            raised(lambda: fw.make_dual(x, x.float()), 80),
            raised(lambda: fw.make_dual(x, x.to(L.complex128)), 80),
        ]


@program
def a_tangent_that_is_dual_itself(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, x)
        return raised(lambda: fw.unpack_dual(fw.make_dual(x, dual * 2)).tangent, 74)


@program
def levels_that_are_said(L):
    fw = forward_ad(L)
    x = numbers(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, x, level=0)
        return [
            dual,
            fw.unpack_dual(dual, level=0).tangent,
            fw.unpack_dual(x, level=1).tangent,
            raised(lambda: fw.unpack_dual(dual, level=1), 13),
            raised(lambda: fw.make_dual(x, x, level=1), 30),
            raised(lambda: fw.make_dual(x, x, level=-1), 60),
        ]


@program
def empty_and_numbers(L):
    return pushed(L, lambda x: x * 2, numbers(L, 0)) + pushed(L, lambda x: x * 2, numbers(L))


@program
def complex_duals(L):
    x = L.complex(numbers(L, 3), numbers(L, 3, start=-1.0))
    t = L.complex(numbers(L, 3, start=0.3), numbers(L, 3, start=0.1))
    functions = [lambda z: z * z, lambda z: z.abs(), lambda z: z.real * 1, lambda z: z.exp() / z, lambda z: z.angle()]
    return [pushed(L, function, x, tangents=[t]) for function in functions]


# ---- Ops


@program
def one_of_two_has_a_tangent(L):
    fw = forward_ad(L)
    x, y = numbers(L, 3), numbers(L, 3, start=4.0)
    with fw.dual_level():
        dual = fw.make_dual(x, L.ones(3, dtype=L.float64))
        results = [
            dual * y,
            y * dual,
            dual - y,
            y / dual,
            dual**y,
            y**dual,
            L.where(y > 4.2, dual, y),
            L.stack([y, dual]),
        ]
        return [fw.unpack_dual(result).tangent for result in results]


@program
def ops_without_derivatives(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 3), L.ones(3, dtype=L.float64))
        results = [dual > 1, dual.argmax(), dual.long(), dual.isnan(), L.zeros_like(dual), dual.new_ones(2)]
        return [fw.unpack_dual(result).tangent for result in results]


@program
def flat_functions_have_zero_tangents(L):
    return pushed(L, lambda x: [x.floor(), x.sign(), x.round()], numbers(L, 3))


@program
def changes_of_type(L):
    return pushed(L, lambda x: [x.float(), x.float().double() * 2, x.to(L.complex128) * 1j], numbers(L, 3))


@program
def types_are_promoted(L):
    x, y = numbers(L, 3), numbers(L).float()
    return pushed(L, lambda x, y: [x * y, x + y, y - 1], x, y, tangents=[x * 2, y * 3])


@program
def tangents_that_are_missing(L):
    x = numbers(L, 2, 3)
    calls = [
        lambda: L.func.jvp(lambda x: L.unique(x), (x,), (x,)),
        lambda: L.func.hessian(lambda x: L.cdist(x, x + 1).sum())(x),
    ]
    return [raised(call, 29) for call in calls]


@program
def several_results(L):
    return pushed(L, lambda x: [*x.sort(descending=True), *x.max(0), *x.split(1), *L.var_mean(x)], numbers(L, 3))


@program
def products_of_matrices(L):
    x, y = numbers(L, 2, 3), numbers(L, 3, 2, start=-1.0)
    functions = [lambda x, y: x @ y, lambda x, y: L.einsum("ij,ji->i", x, y), lambda x, y: L.linalg.inv(x @ y)]
    return [pushed(L, function, x, y) for function in functions]


@program
def layers(L):
    F = L.nn.functional
    x, w, b = numbers(L, 2, 3), numbers(L, 4, 3, start=-2.0), numbers(L, 4)
    functions = [
        lambda x, w, b: F.linear(x, w, b),
        lambda x, w, b: F.softmax(F.linear(x, w, b), -1),
        lambda x, w, b: F.layer_norm(F.linear(x, w), (4,), b),
        lambda x, w, b: F.cross_entropy(F.linear(x, w, b), L.tensor([1, 3])),
        lambda x, w, b: F.gelu(F.linear(x, w, b)),
    ]
    return [pushed(L, function, x, w, b) for function in functions]


@program
def indexing(L):
    x = numbers(L, 3, 2)
    i = L.tensor([2, 0])
    return pushed(
        L, lambda x: [x[i], x[x > 1.5], x[..., 1], x.gather(1, L.tensor([[0], [1], [0]])), x.index_select(0, i)], x
    )


@program
def modules(L):
    layer = L.nn.Linear(3, 2, dtype=L.float64)
    with L.no_grad():
        layer.weight.copy_(numbers(L, 2, 3)), layer.bias.copy_(numbers(L, 2))
    results = pushed(L, lambda x: layer(x).tanh(), numbers(L, 4, 3, start=-1.0))
    return [(value.detach(), along.detach()) for value, along in results]


# ---- Views


@program
def views_of_duals(L):
    def views(x):
        return [
            x.t(),
            x[1],
            x[:, :2],
            x.view(6),
            x.unsqueeze(0),
            x.diagonal(),
            x.unbind()[1],
            x.T[0],
            x.expand(2, 2, 3),
        ]

    return pushed(L, views, numbers(L, 2, 3))


@program
def views_of_a_base_that_gets_a_tangent_later(L):
    fw = forward_ad(L)
    with fw.dual_level():
        base = numbers(L, 2, 3)
        view = base[1]
        base.mul_(fw.make_dual(numbers(L, 2, 3), numbers(L, 2, 3, start=2.0)))
        return tangent(L, view), tangent(L, view * 2), tangent(L, base), tangent(L, base[0])


@program
def a_base_whose_view_gets_a_tangent(L):
    fw = forward_ad(L)
    with fw.dual_level():
        base = numbers(L, 2, 3)
        view, other = base[1], base[0]
        view.mul_(fw.make_dual(numbers(L, 3), numbers(L, 3, start=2.0)))
        return [tangent(L, x) for x in (view, base, other, base * 2, base[:, 1])]


@program
def views_of_views_get_tangents(L):
    fw = forward_ad(L)
    with fw.dual_level():
        base = numbers(L, 3, 4)
        row = base[1]
        part = row[1:3]
        part.copy_(fw.make_dual(numbers(L, 2), L.ones(2, dtype=L.float64)))
        row.mul_(3)
        base.add_(1)
        return [tangent(L, x) for x in (part, row, base)]


@program
def overlapping_views(L):
    fw = forward_ad(L)
    with fw.dual_level():
        base = numbers(L, 4)
        left, right = base[:3], base[1:]
        left.add_(fw.make_dual(numbers(L, 3), L.ones(3, dtype=L.float64)))
        right.mul_(fw.make_dual(numbers(L, 3), L.ones(3, dtype=L.float64)))
        return [tangent(L, x) for x in (left, right, base)]


@program
def transposed_views_change(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 2, 3), numbers(L, 2, 3, start=3.0)).clone()
        dual.t()[1].mul_(2)
        dual.t().add_(fw.make_dual(numbers(L, 3, 2), numbers(L, 3, 2)))
        return fw.unpack_dual(dual)


# ---- In place


@program
def changes_of_duals(L):
    fw = forward_ad(L)
    results = []
    changes = [
        lambda x: x.mul_(2),
        lambda x: x.exp_(),
        lambda x: x.add_(x),
        lambda x: x.zero_(),
        lambda x: x.fill_(3.0),
        lambda x: x.copy_(numbers(L, 2, 3)),
        lambda x: x.clamp_(1.2, 2.0),
        lambda x: x.t_(),
        lambda x: x.index_fill_(1, L.tensor([1]), 0.0),
        lambda x: x.masked_fill_(x > 2, 0.0),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x[1].mul_(x[0]),
        lambda x: x.relu_(),
        lambda x: x.floor_(),
    ]
    for change in changes:
        with fw.dual_level():
            x = fw.make_dual(numbers(L, 2, 3), numbers(L, 2, 3, start=3.0)).clone()
            change(x)
            results.append(fw.unpack_dual(x))
    return results


def changed_by_a_dual(L, change):
    """(value, tangent) of a tensor without one after change(it, a dual)."""
    fw = forward_ad(L)
    with fw.dual_level():
        x = numbers(L, 2, 3)
        change(x, fw.make_dual(numbers(L, 2, 3, start=2.0), numbers(L, 2, 3, start=3.0)))
        return fw.unpack_dual(x)


@program
def constants_become_duals(L):
    changes = [
        lambda x, d: x.mul_(d),
        lambda x, d: x.addcmul_(d, d),
        lambda x, d: x.index_add_(0, L.tensor([1, 0]), d),
        lambda x, d: x.masked_scatter_(x > 2, d),
        lambda x, d: x.index_put_((L.tensor([0]),), d[:1]),
        lambda x, d: x.addmm_(d, L.ones(3, 3, dtype=L.float64)),
    ]
    return [changed_by_a_dual(L, change) for change in changes]


@program
def copies_of_duals_into_constants(L):
    changes = [
        lambda x, d: x.copy_(d),
        lambda x, d: x.__setitem__(0, d[1]),
        lambda x, d: x[1].copy_(d[0]),
        lambda x, d: x.fill_(d[0, 0]),
    ]
    return [changed_by_a_dual(L, change) for change in changes]


@program
def a_change_of_the_dual_itself(L):
    fw = forward_ad(L)
    x, t = numbers(L, 3), numbers(L, 3, start=2.0)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        dual.mul_(2)
        return x, t, fw.unpack_dual(dual), fw.unpack_dual(x).tangent


@program
def out_arguments(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 3), numbers(L, 3))
        return raised(lambda: L.sin(dual, out=L.empty(3, dtype=L.float64)), 40)


# ---- Other modes


@program
def no_grad_keeps_tangents(L):
    fw = forward_ad(L)
    with fw.dual_level():
        with L.no_grad():
            y = fw.make_dual(numbers(L, 3), numbers(L, 3)) * 2
        return fw.unpack_dual(y)


@program
def inference_mode(L):
    fw = forward_ad(L)
    with L.inference_mode(), fw.dual_level():
        return raised(lambda: tangent(L, fw.make_dual(numbers(L, 3), numbers(L, 3)) * 2))


@program
def detach_takes_no_tangent_along(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        y = dual * 2
        return [tangent(L, x) for x in (dual.detach(), y.detach(), dual.data, y.detach() * 2)]


@program
def detach_in_place(L):
    fw = forward_ad(L)
    with fw.dual_level():
        y = fw.make_dual(recorded(L, 3), numbers(L, 3)) * 2
        y.detach_()
        return y.requires_grad, tangent(L, y)


@program
def turned_off(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 3), numbers(L, 3))
        with fw._set_fwd_grad_enabled(False):
            off = dual * 2
            inner = fw._is_fwd_grad_enabled()
            again = fw.unpack_dual(dual).tangent
            with fw._set_fwd_grad_enabled(True):
                on = dual * 2
        results = [tangent(L, x) for x in (off, on, dual * 2)]
        return results, inner, fw._is_fwd_grad_enabled(), again


@program
def turned_off_and_changed(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 3), numbers(L, 3)).clone()
        with fw._set_fwd_grad_enabled(False):
            dual.mul_(2)
        return fw.unpack_dual(dual)


@program
def make_dual_while_it_is_off(L):
    fw = forward_ad(L)
    with fw.dual_level():
        with fw._set_fwd_grad_enabled(False):
            dual = fw.make_dual(numbers(L, 3), numbers(L, 3))
        return tangent(L, dual), tangent(L, dual * 2)


# ---- Together with backward


@program
def both_modes(L):
    fw = forward_ad(L)
    x = recorded(L, 3)
    with fw.dual_level():
        y = (fw.make_dual(x, numbers(L, 3)) ** 3).sum()
        value, pushed = fw.unpack_dual(y)
        by_value = L.autograd.grad(value, x, retain_graph=True)
        by_tangent = L.autograd.grad(pushed, x, create_graph=True)[0]
        return value.detach(), pushed.detach(), by_value, by_tangent.detach(), L.autograd.grad(by_tangent.sum(), x)


@program
def the_gradient_of_a_dual_is_dual(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        gradient = L.autograd.grad((dual**3).sum(), dual, create_graph=True)[0]
        value, pushed = fw.unpack_dual(gradient)
        return value.detach(), pushed.detach()


@program
def without_create_graph(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        gradient = L.autograd.grad((dual**3).exp().sum(), dual)[0]
        value, pushed = fw.unpack_dual(gradient)
        return value.detach(), pushed.detach()


@program
def backward_fills_grad(L):
    fw = forward_ad(L)
    x = recorded(L, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, numbers(L, 3))
        (dual**3).sum().backward()
        first = fw.unpack_dual(x.grad)
    return first.primal, first.tangent, x.grad


@program
def gradients_by_the_tangent(L):
    fw = forward_ad(L)
    t = recorded(L, 3)
    with fw.dual_level():
        y = fw.make_dual(numbers(L, 3), t).sin()
        return L.autograd.grad(tangent(L, y).sum(), t)


@program
def requires_grad_of_values_and_tangents(L):
    fw = forward_ad(L)
    results = []
    for wants_x in (False, True):
        for wants_t in (False, True):
            with fw.dual_level():
                dual = fw.make_dual(recorded(L, 3, requires_grad=wants_x), recorded(L, 3, requires_grad=wants_t))
                pairs = [fw.unpack_dual(y) for y in (dual, dual.sin(), dual[1:])]
                results.append([(p.requires_grad, t.requires_grad) for p, t in pairs])
    return results


@program
def in_place_with_gradients(L):
    fw = forward_ad(L)
    x = recorded(L, 3)
    with fw.dual_level():
        y = fw.make_dual(x, numbers(L, 3)).exp()
        y.mul_(2).add_(x)
        value, pushed = fw.unpack_dual(y)
        by_value = L.autograd.grad(value.sum(), x, retain_graph=True)
        return value.detach(), pushed.detach(), by_value, L.autograd.grad(pushed.sum(), x)


@program
def saved_tensors_have_tangents(L):
    """What an op keeps for its gradient is dual: the result, the input, and a view of it."""
    fw = forward_ad(L)
    results = []
    for function in (L.exp, L.sin, lambda x: x[1:] ** 2, lambda x: x.sigmoid(), lambda x: x.softmax(0), L.prod):
        with fw.dual_level():
            dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
            results.append(tangent(L, L.autograd.grad(function(dual).sum(), dual)[0]).detach())
    return results


@program
def tangents_of_gradients_without_a_graph(L):
    """Nothing is left of the graph of y, so the tangent of its gradient has no history."""
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        return tangent(L, L.autograd.grad(dual.exp().sum(), dual)[0])


@program
def what_is_changed_was_saved_with_its_tangent(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        return tangent(L, L.autograd.grad(dual.clone().mul_(dual).sum(), dual)[0]).detach()


@program
def hooks_see_duals(L):
    fw = forward_ad(L)
    seen = []
    with fw.dual_level():
        dual = fw.make_dual(recorded(L, 3), numbers(L, 3))
        y = dual**3
        y.register_hook(lambda g: seen.append(tangent(L, g)) or g * 2)
        result = tangent(L, L.autograd.grad((y * dual).sum(), dual)[0])
        return [t.detach() for t in seen], result.detach()


# ---- Copies and printing


@program
def copies(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(numbers(L, 2, 2), numbers(L, 2, 2))
        copies = (
            dual.clone(),
            dual.contiguous(),
            dual.t().contiguous(),
            dual.to(L.float64),
            dual + 0,
            dual.view_as(dual),
        )
        return [tangent(L, x) for x in copies]


@program
def printing(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(L.tensor([1.0, 2.0]), L.tensor([3.0, 4.0]))
        wants = fw.make_dual(L.tensor([1.0], requires_grad=True), L.tensor([3.0]))
        texts = [repr(dual), str(dual * 2), repr(wants.sin())]
        matrix = fw.make_dual(L.ones(2, 2), L.zeros(2, 2))
        return texts, repr(matrix), repr(fw.unpack_dual(dual)), repr(dual > 1)


@program
def printing_numbers(L):
    fw = L.autograd.forward_ad
    with fw.dual_level():
        return repr(fw.make_dual(L.tensor(1.0), L.tensor(2.0))), repr(fw.unpack_dual(L.tensor(1.5)))


@program
def levels_as_decorators(L):
    fw = L.autograd.forward_ad

    @fw.dual_level()
    def tangent(x):
        """Along the ones."""
        return fw.unpack_dual(fw.make_dual(x, L.ones_like(x)).sin()).tangent

    return tangent(L.arange(3.0)), tangent(L.arange(2.0)), tangent.__name__, tangent.__doc__


@program
def printing_a_dual_that_requires_grad(L):
    fw = forward_ad(L)
    with fw.dual_level():
        return repr(fw.make_dual(L.tensor([1.0], requires_grad=True), L.tensor([3.0])))


@program
def items_and_arrays(L):
    fw = forward_ad(L)
    with fw.dual_level():
        dual = fw.make_dual(L.tensor([1.0, 2.0]), L.tensor([3.0, 4.0]))
        return dual.tolist(), dual[0].item(), bool(dual[0] > 0), dual.detach().numpy(), raised(lambda: dual.numpy(), 30)


# ---- What torch has no equal of, or where it fails


def test_duals_of_tensors_whose_elements_share_memory():
    """torch refuses to copy a tangent into such strides."""
    L, fw = adjoint, adjoint.autograd.forward_ad
    x, t = numbers(L, 1, 3).expand(2, 3), numbers(L, 2, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        assert_same(tangent(L, dual), t)
        assert_same(tangent(L, dual * x), t * x)
        assert_same(tangent(L, dual.t()[1]), t.t()[1])


def test_a_dual_lives_on_its_own_thread():
    import threading

    fw = adjoint.autograd.forward_ad
    found = []
    with fw.dual_level():
        dual = fw.make_dual(adjoint.ones(2), adjoint.ones(2))
        thread = threading.Thread(target=lambda: found.append((dual * 2).tolist()))
        thread.start()
        thread.join()
    assert found == [[2.0, 2.0]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_types(dtype):
    def call(L):
        fw = forward_ad(L)
        with fw.dual_level():
            dual = fw.make_dual(L.tensor([1.5, 2.0], dtype=getattr(L, dtype)), L.ones(2, dtype=getattr(L, dtype)))
            return [fw.unpack_dual(y) for y in (dual * dual, dual.sum(), dual.exp())]

    same(call, look=VALUES, bound=OPS)
