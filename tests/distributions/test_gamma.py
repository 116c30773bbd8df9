"""Gamma and beta numbers move with their parameters as quantiles do: against derivatives in high precision."""

import mpmath
import numpy as np
import pytest

import adjoint as torch
from adjoint.autograd import forward_ad

from ..compare import EXACT, Bound, check, programs, same

program, test_program = programs(bound=Bound(2e-3, 2e-3))


def gamma_slope(a, x):
    """dx/da at a fixed quantile."""
    with mpmath.workdps(40):
        a, x = mpmath.mpf(a), mpmath.mpf(x)
        by_a = mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)
        return float(-by_a * mpmath.gamma(a) * mpmath.exp(x) * x ** (1 - a))


def beta_slope(x, a, b):
    """dx/da at a fixed quantile, divided by 1 - x."""
    with mpmath.workdps(40):
        x, a, b = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b)
        by_a = mpmath.diff(lambda a: mpmath.betainc(a, b, 0, x, regularized=True), a)
        return float(-by_a * mpmath.beta(a, b) * x ** (1 - a) * (1 - x) ** -b)


GAMMAS = [(1e-3, 1e-5), (0.01, 1.0), (0.01, 2.5), (0.5, 0.1), (0.5, 5.0), (0.5, 9.0), (3.0, 2.5), (3.0, 15.0)]
GAMMAS += [(30.0, 20.0), (30.0, 50.0), (1e3, 950.0), (1e3, 1100.0), (2.5, 30.0), (39.9, 45.8), (1.9, 2.01)]
GAMMAS += [(500.0, 520.0), (900.0, 990.0), (999.0, 900.0), (2.5, 16.0), (100.0, 138.0), (0.02, 1e-300), (1.46, 0.46)]


@pytest.mark.parametrize(("a", "x"), GAMMAS)
def test_slopes_of_gamma_numbers(a, x):
    slope = torch._standard_gamma_grad(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64))
    np.testing.assert_allclose(slope.item(), gamma_slope(a, x), rtol=2e-13)
    single = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x))
    np.testing.assert_allclose(
        single.item(), gamma_slope(single.new_tensor(a).item(), single.new_tensor(x).item()), rtol=1e-7
    )


def test_slopes_of_many_gamma_numbers():
    """They are computed in blocks, those that have no series apart: each is what it is alone."""
    shapes, draws = (torch.tensor(column, dtype=torch.float64) for column in zip(*GAMMAS * 7, strict=True))
    alone = [torch._standard_gamma_grad(a, x).item() for a, x in zip(shapes[: len(GAMMAS)], draws, strict=False)]
    np.testing.assert_allclose(torch._standard_gamma_grad(shapes, draws), alone * 7, rtol=5e-13)
    odd = torch.tensor([0.0, -1.0, 2.0, float("nan"), 2.0, 2.0], dtype=torch.float64)
    at = torch.tensor([1.0, 1.0, 0.0, 1.0, float("inf"), 1.5], dtype=torch.float64)
    np.testing.assert_array_equal(torch._standard_gamma_grad(odd, at).isnan(), [False, True, False, True, True, False])


BETAS = [(0.3, 2, 3), (0.7, 2, 3), (1e-5, 0.1, 0.2), (0.99, 0.1, 0.2), (0.5, 0.01, 0.02), (0.9999, 0.01, 3)]
BETAS += [(1e-8, 0.01, 3), (0.5, 300, 310), (0.45, 300, 310), (0.02, 1, 50), (0.999, 50, 1), (0.5, 1e-3, 1e-3)]
BETAS += [(0.2, 1e-3, 5.0), (0.6, 5, 1e-3), (1 - 1e-9, 3.0, 0.5)]


@pytest.mark.parametrize(("x", "a", "b"), BETAS)
def test_slopes_of_beta_numbers(x, a, b):
    numbers = (torch.tensor(value, dtype=torch.float64) for value in (x, a, a + b))
    np.testing.assert_allclose(torch._dirichlet_grad(*numbers).item(), beta_slope(x, a, (a + b) - a), rtol=1e-11)


def test_slopes_of_huge_shapes():
    """Where the distribution is normal but for its first terms; there the way of computing changes, too."""
    for shape in (1e6, 0.99e8, 1.01e8, 1e12, 1e200):
        a, z = torch.tensor(shape, dtype=torch.float64), 0.7
        x = a + z * a.sqrt()
        np.testing.assert_allclose(torch._standard_gamma_grad(a, x).item(), 1 + (x - a).item() / (2 * shape), atol=1e-7)
    for shape in (1e5, 1e8, 1e12):
        a, x = torch.tensor(shape, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64)
        np.testing.assert_allclose(torch._dirichlet_grad(x, a, 2 * a).item() * shape, 0.5, rtol=1e-5)


def test_slopes_are_those_of_draws():
    """The gradient of a mean of draws is that of the mean, within what chance allows."""
    shape = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    draws = torch.distributions.Gamma(shape, 2.0).rsample((4000,))
    (slope,) = torch.autograd.grad(draws.mean(), shape)
    assert abs(slope - 0.5) < 0.02
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    points = torch.distributions.Dirichlet(weights).rsample((4000,))
    (slopes,) = torch.autograd.grad(points[:, 0].mean(), weights)
    np.testing.assert_allclose(slopes.numpy(), [5 / 36, -1 / 36, -1 / 36], atol=0.01)


@program
def far_and_special_numbers(L):
    nan, inf = float("nan"), float("inf")
    shapes = L.tensor([2.0, 2.0, 2.0, 2.0, 0.0, 2.0, -1.0])
    return (
        L._standard_gamma(L.tensor([0.0, nan, inf])),
        L._standard_gamma_grad(shapes, L.tensor([0.0, -1.0, inf, nan, 0.0, 5.0, 1.0])),
        L._dirichlet_grad(L.tensor([0.0, 1.0, 0.5]), L.tensor([2.0, 2.0, 3.0]), L.tensor([5.0, 5.0, 7.0])),
    )


@program
def points_stay_off_the_corners(L):
    L.manual_seed(0)
    points = L._sample_dirichlet(L.full((50, 3), 1e-3))
    return bool((points > 0).all()), bool((points < 1).all()), points.sum(-1)


def test_refusals():
    check(lambda L: L._standard_gamma(L.tensor([1, 2])))
    check(lambda L: L._standard_gamma(L.ones(2, dtype=L.bfloat16)))
    check(lambda L: L._standard_gamma_grad(L.ones(2), L.ones(3)))
    check(lambda L: L._standard_gamma_grad(L.ones(2), L.ones(2, dtype=L.float64)))
    with pytest.raises(RuntimeError, match="to one type"):
        torch._standard_gamma_grad(torch.ones(2), torch.ones(2, dtype=torch.float64))


def second_gradient(L):
    shape = L.tensor(2.0, requires_grad=True)
    (slope,) = L.autograd.grad(L._standard_gamma(shape), shape, create_graph=True)
    return L.autograd.grad(slope, shape)


def test_no_second_gradient():
    same(second_gradient, bound=EXACT)


def test_forward_mode():
    """The tangent is that of the numbers that were drawn."""
    shapes = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    tangent = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    weights = torch.tensor([0.3, 0.7, -1.1], dtype=torch.float64)
    for draw in (torch._standard_gamma, torch._sample_dirichlet):
        with forward_ad.dual_level():
            value, moved = forward_ad.unpack_dual(draw(forward_ad.make_dual(shapes, tangent)))
        (gradient,) = torch.autograd.grad(value, shapes, weights)
        np.testing.assert_allclose((gradient * tangent).sum().item(), (weights * moved).sum().item(), rtol=1e-12)


def test_vmap():
    shapes = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64)
    draws = torch._standard_gamma(shapes)
    mapped = torch.vmap(torch._standard_gamma_grad)(shapes.repeat(2, 1), draws.repeat(2, 1))
    np.testing.assert_array_equal(mapped[1].numpy(), torch._standard_gamma_grad(shapes, draws).numpy())
    assert torch.vmap(torch._standard_gamma, randomness="different")(torch.ones(50)).unique().numel() == 50
