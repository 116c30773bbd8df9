"""safe_branches(): gradients of what is not taken are zero, and all others what they are without it."""

import contextlib
import threading

import pytest
import torch

import adjoint
from adjoint.func import grad, hessian, jacfwd, jacrev, jvp, safe_branches, vmap

from .compare import OPS, VALUES, Bound, assert_same, numbers, outcome, outcome_difference
from .gradients import second_gradients
from .test_op_table import NAMES, run, samples_by_name

# What torch says of itself when forward mode is first used.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
NEAR = Bound(1e-12, 1e-12)
POINTS = [0.0, 0.5, 1.0, 2.0]


def selected(L, condition, values, safe, otherwise=0.0):
    """values(x) where the condition holds; torch is given the point `safe` in the other places, as one does by hand."""

    def function(x):
        held = condition(x)
        return L.where(held, values(x if L is adjoint else L.where(held, x, safe)), otherwise)

    return function


def rows(L, x):
    return L.outer(x, L.tensor([1.0, 2.0, -1.0], dtype=x.dtype))


def positive(x):
    return x > 0


CASES = {
    "sqrt": lambda L: selected(L, positive, lambda x: x.sqrt(), 1.0),
    "log": lambda L: selected(L, positive, lambda x: x.log(), 1.0, -1.0),
    "x log x": lambda L: selected(L, positive, lambda x: x * x.log(), 1.0),
    "sin x / x": lambda L: selected(L, positive, lambda x: x.sin() / x, 1.0, 1.0),
    "reciprocal": lambda L: selected(L, positive, lambda x: 1 / x, 1.0),
    "a power": lambda L: selected(L, positive, lambda x: x**0.3, 1.0),
    "powers": lambda L: selected(L, positive, lambda x: x**x, 1.0),
    "acos": lambda L: selected(L, lambda x: x < 1, lambda x: x.acos(), 0.5),
    "atanh": lambda L: selected(L, lambda x: x < 1, lambda x: x.atanh(), 0.5),
    "a product with infinity": lambda L: selected(L, positive, lambda x: x.sin() * (1 / x), 1.0),
    "rows by their lengths": lambda L: (
        lambda x: selected(
            L, lambda m: (m != 0).any(-1, keepdim=True), lambda m: m / (m * m).sum(-1, keepdim=True).sqrt(), 1.0
        )(rows(L, x))
    ),
    "norms of rows": lambda L: (
        lambda x: selected(
            L, lambda m: (m != 0).any(-1, keepdim=True), lambda m: m / m.norm(dim=-1, keepdim=True), 1.0
        )(rows(L, x))
    ),
    "logsumexp of rows": lambda L: (
        lambda x: selected(
            L, lambda m: (m != 0).any(-1, keepdim=True), lambda m: (m.abs().log() * m).logsumexp(-1, keepdim=True), 1.0
        )(rows(L, x))
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


def points(L, values=POINTS):
    return L.tensor(values, dtype=L.float64)


def number(f):
    return lambda x: f(x).sum()


DERIVATIVES = {
    "grad": lambda L, f, x: L.func.grad(number(f))(x),
    "jacrev": lambda L, f, x: L.func.jacrev(f)(x),
    "jvp": lambda L, f, x: L.func.jvp(f, (x,), (x.cos(),)),
    "hessian": lambda L, f, x: L.func.hessian(number(f))(x),
    "jacrev of jacrev": lambda L, f, x: L.func.jacrev(L.func.jacrev(f))(x),
    "grad of jvp": lambda L, f, x: L.func.grad(lambda x: L.func.jvp(number(f), (x,), (L.ones_like(x),))[1])(x),
    "vmap of grad": lambda L, f, x: L.vmap(L.func.grad(number(f)))(L.stack([x, x + 0.1])),
    "grad of vmap": lambda L, f, x: L.func.grad(number(L.vmap(f)))(L.stack([x, x * 0.5])),
    "vmap of hessian": lambda L, f, x: L.vmap(L.func.hessian(number(f)))(L.stack([x, x * 0.5])),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@every_case
def test_derivatives_are_those_of_branches_made_safe_by_hand(name, derivative):
    with safe_branches():
        ours = DERIVATIVES[derivative](adjoint, CASES[name](adjoint), points(adjoint))
    assert_same(ours, DERIVATIVES[derivative](torch, CASES[name](torch), points(torch)), bound=NEAR)


@every_case
def test_backward_may_come_later(name):
    x = points(adjoint).requires_grad_()
    with safe_branches():
        y = CASES[name](adjoint)(x).sum()
    y.backward()
    assert_same(x.grad, DERIVATIVES["grad"](torch, CASES[name](torch), points(torch)), bound=NEAR)


@every_case
def test_without_it_there_are_nans_or_the_same(name):
    """Elsewhere the gradients are those without it, to the last bit."""
    x = points(adjoint)
    with safe_branches():
        safe = grad(number(CASES[name](adjoint)))(x)
    plain = grad(number(CASES[name](adjoint)))(x)
    assert (plain.isnan() | (plain == safe)).all()
    assert not safe.isnan().any()


SELECTIONS = {
    "masked_fill": lambda x: x.rsqrt().masked_fill(x <= 0, 0.0),
    "maximum": lambda x: adjoint.maximum(x.sqrt(), adjoint.tensor(0.5, dtype=adjoint.float64)),
    "clamp": lambda x: x.sqrt().clamp(min=0.5),
    "max": lambda x: x.sqrt().max(),
    "indices": lambda x: x.sqrt()[x > 0],
    "a slice": lambda x: x.sqrt()[1:],
    "in place": lambda x: adjoint.where(x > 0, x.clone().sqrt_(), 0.0),
    "a logarithm in place": lambda x: adjoint.where(x > 0, x.clone().log_().mul_(x), 0.0),
    "in place in a view": lambda x: half_roots(x),
    "a product with a mask": lambda x: x.sqrt() * (x > 0),
}


def half_roots(x):
    y = x.clone()
    y[:2].sqrt_()
    return adjoint.where(x > 0, y, 0.0)


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections(name):
    """The element that nothing has selected has no gradient, the others have theirs."""
    x = points(adjoint)
    with safe_branches():
        safe = grad(number(SELECTIONS[name]))(x)
    moved = grad(number(SELECTIONS[name]))(points(adjoint, [1e-9, *POINTS[1:]]))
    assert safe[0] == 0
    assert_same(safe[1:], moved[1:], bound=NEAR)


def test_results_that_are_not_taken_as_a_whole():
    """An op of which nothing is known sends no gradient back where none of its results has one."""
    x = points(adjoint)

    def function(x):
        matrix = adjoint.outer(x, x)
        return adjoint.where(x[0] > 0, adjoint.linalg.inv_ex(matrix / matrix[0, 0]).inverse.sum(), x.sum())

    assert grad(function)(x).isnan().any()
    with safe_branches():
        assert_same(grad(function)(x), adjoint.ones(4, dtype=adjoint.float64))


def test_attention_to_nothing():
    """A row of scores that is masked as a whole has no softmax: NaN, which is not taken."""
    scores = numbers(adjoint, 2, 3)
    mask = adjoint.tensor([[True, True, False], [False, False, False]])
    bias = adjoint.where(mask, 0.0, -adjoint.inf)

    def attended(scores):
        weights = (scores + bias).softmax(-1)
        return adjoint.where(mask.any(-1, keepdim=True), weights, 0.0) * numbers(adjoint, 3)

    assert grad(number(attended))(scores).isnan().any()
    with safe_branches():
        found = grad(number(attended))(scores)
    one = grad(lambda row: (row[:2].softmax(-1) * numbers(adjoint, 3)[:2]).sum())(scores[0])
    assert_same(found, adjoint.stack([one, adjoint.zeros(3, dtype=adjoint.float64)]), bound=NEAR)


def test_gradients_that_are_wrong_stay_wrong():
    """What is taken, and infinite, is no one's mistake but the program's."""
    x = points(adjoint)
    with safe_branches():
        assert grad(number(adjoint.sqrt))(x)[0] == adjoint.inf
        assert (x.sqrt() * adjoint.tensor(adjoint.inf))[0].isnan()


def test_contexts_end():
    root = selected(adjoint, positive, adjoint.sqrt, 1.0)
    x = points(adjoint)
    with contextlib.suppress(KeyError), safe_branches():
        raise KeyError
    with safe_branches(), safe_branches():
        pass
    assert grad(number(root))(x)[0].isnan()
    assert vmap(grad(root))(x)[0].isnan()
    found = []
    with safe_branches():
        thread = threading.Thread(target=lambda: found.append(grad(number(root))(x)))
        thread.start()
        thread.join()
        assert not grad(number(root))(x).isnan().any()
    assert found[0][0].isnan(), "of another thread"


def test_as_a_decorator_and_inside_of_functions():
    @safe_branches()
    def gradient(x):
        return grad(number(selected(adjoint, positive, adjoint.sqrt, 1.0)))(x)

    def inside(x):
        with safe_branches():
            return adjoint.where(x > 0, x.sqrt(), 0.0)

    x = points(adjoint)
    expected = gradient(x)
    for found in (grad(number(inside))(x), vmap(grad(inside))(x), jacrev(inside)(x).diagonal()):
        assert_same(found, expected)


@pytest.mark.parametrize("derivative", [jacfwd, lambda f: lambda x: jvp(f, (x,), (adjoint.ones_like(x),)), hessian])
def test_forward_mode_alone_needs_nothing(derivative):
    function = selected(adjoint, positive, lambda x: x.sqrt() ** 3, 1.0)
    x = points(adjoint, [0.5, 1.0])
    with safe_branches():
        safe = derivative(number(function))(x)
    assert_same(safe, derivative(number(function))(x))


def test_linearized_functions():
    """A gradient that is differentiated by is zero, and no branch."""
    x, along = points(adjoint, [0.5, 1.0]), points(adjoint, [1.0, -2.0])
    function = selected(adjoint, positive, lambda x: x.sqrt().logsumexp(0) * x, 1.0)
    with safe_branches():
        value, product = adjoint.func.linearize(function, x)
        found = product(along)
    assert_same((value, found), jvp(function, (x,), (along,)), bound=NEAR)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_every_op_stay(name):
    """First and second ones, and what is refused, of the first sample of each op."""

    def call(library):
        result, leaves = run(library, name, samples_by_name()[name][0])
        return result, second_gradients(library, result, leaves)

    plain = outcome(call, adjoint, VALUES)
    with safe_branches():
        safe = outcome(call, adjoint, VALUES)
    assert outcome_difference(safe, plain, OPS, warned=None) is None  # some are given once in a process
