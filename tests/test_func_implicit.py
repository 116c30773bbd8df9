"""Solutions of equations as functions, against solutions that can be written down."""

import math

import pytest

import adjoint
from adjoint.func import fixed_point, grad, hessian, implicit_root, jacfwd, jacrev, jvp, vmap, where_safe

from .compare import Bound, assert_same

CLOSE = Bound(1e-8, 1e-8)


def tensor(*values):
    return adjoint.tensor(values, dtype=adjoint.float64)


def roots(method="direct"):
    return implicit_root(lambda x, a: x**3 - a, lambda a: a ** (1 / 3), method=method)


@pytest.mark.parametrize("method", ["direct", "cg", "gmres"])
def test_three_orders(method):
    a, power = tensor(1.0, 8.0), 1 / 3
    derivative = lambda a: roots(method)(a).sum()
    for order in range(1, 4):
        derivative = (lambda inner: lambda a: grad(inner)(a).sum())(derivative)
        factor = math.prod(power - k for k in range(order))
        assert_same(derivative(a), (factor * a ** (power - order)).sum(), bound=CLOSE)


@pytest.mark.parametrize("method", ["direct", "cg", "gmres"])
def test_tangents(method):
    a, t = tensor(1.0, 8.0), tensor(1.0, -2.0)
    assert_same(jvp(roots(method), (a,), (t,))[1], t * a ** (-2 / 3) / 3, bound=CLOSE)


def test_several_parameters_and_a_matrix():
    """A x = b."""
    solve = implicit_root(lambda x, A, b: A @ x - b, lambda A, b: adjoint.linalg.solve(A, b))
    A = adjoint.eye(3, dtype=adjoint.float64) * 2 + adjoint.ones(3, 3, dtype=adjoint.float64)
    b = tensor(1.0, 2.0, 4.0)
    expected = jacrev(adjoint.linalg.solve, argnums=(0, 1))(A, b)
    for transform in (jacrev, jacfwd):
        assert_same(transform(solve, argnums=(0, 1))(A, b), expected, bound=CLOSE)
    assert_same(
        hessian(lambda b: solve(A, b**2).sum())(b),
        hessian(lambda b: adjoint.linalg.solve(A, b**2).sum())(b),
        bound=CLOSE,
    )


def test_over_a_batch():
    a = tensor(1.0, 8.0, 27.0)
    assert_same(vmap(grad(roots()))(a), a ** (-2 / 3) / 3, bound=CLOSE)


def test_parameters_that_are_not_asked_for():
    a = tensor(8.0).requires_grad_()
    x = implicit_root(lambda x, a, b: x**3 - a * b, lambda a, b: (a * b) ** (1 / 3))(a, tensor(1.0))
    assert_same(adjoint.autograd.grad(x.sum(), a)[0], a.detach() ** (-2 / 3) / 3, bound=CLOSE)


def test_fixed_points():
    a = tensor(0.3, 0.5).requires_grad_()
    x = fixed_point(lambda x, a: adjoint.cos(a * x), adjoint.ones(2, dtype=adjoint.float64), a)
    assert_same(x.detach(), adjoint.cos(a * x).detach(), bound=CLOSE)
    slope = -adjoint.sin(a * x).detach()
    expected = slope * x.detach() / (1 - slope * a.detach())
    assert_same(adjoint.autograd.grad(x.sum(), a)[0], expected, bound=CLOSE)


def test_fixed_points_over_a_batch():
    def rest(a):
        return fixed_point(lambda x, a: adjoint.cos(a * x), adjoint.ones((), dtype=a.dtype), a)

    a = tensor(0.1, 0.5, 0.8)
    assert_same(vmap(rest)(a), adjoint.stack([rest(one) for one in a]), bound=CLOSE)
    assert_same(vmap(grad(rest))(a), adjoint.stack([grad(rest)(one) for one in a]), bound=CLOSE)
    with pytest.raises(RuntimeError, match=r"within 5 steps; the last one still changed x by 2\.0e\+00"):
        vmap(lambda a: fixed_point(lambda x, a: -x * a, a, a, max_steps=5))(tensor(0.1, 1.0))


def test_refusals():
    with pytest.raises(RuntimeError, match="expected func to come to rest within 10 steps"):
        fixed_point(lambda x: -x, tensor(1.0), max_steps=10)
    with pytest.raises(ValueError, match="expected a method of direct, cg, gmres, got 'lu'"):
        implicit_root(None, None, method="lu")
    with pytest.raises(TypeError, match="expected a tensor from the solver, got float"):
        implicit_root(lambda x: x, lambda: 1.0)()
    with pytest.raises(RuntimeError, match="gmres did not reach"):
        grad(implicit_root(lambda x, a: x * 0 - a, lambda a: a, method="gmres"))(tensor(1.0)[0])


def test_branches_that_are_not_taken():
    x = tensor(-1.0, 0.0, 4.0).requires_grad_()
    where_safe(x > 0, lambda x: x.sqrt() + x.log(), x).sum().backward()
    assert_same(x.grad, tensor(0.0, 0.0, 0.5), bound=CLOSE)
    with pytest.raises(TypeError, match="expected a condition of bools"):
        where_safe(x, adjoint.sqrt, x)
