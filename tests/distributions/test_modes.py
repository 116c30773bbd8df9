"""Distributions under vmap, in forward mode, in other default types, without values, in threads of no grad."""

import numpy as np
import pytest

import adjoint as torch
from adjoint.distributions import Beta, Categorical, Dirichlet, Exponential, Gamma, MultivariateNormal, Normal

from ..compare import Bound, programs
from .cases import CASES, make

program, test_program = programs(bound=Bound(1e-6, 1e-6))


def test_vmap_is_a_loop_over_densities():
    loc, scale, value = torch.randn(5), torch.rand(5) + 0.5, torch.randn(5)
    whole = Normal(loc, scale).log_prob(value)
    mapped = torch.vmap(lambda a, b, x: Normal(a, b).log_prob(x))(loc, scale, value)
    np.testing.assert_array_equal(mapped.numpy(), whole.numpy())
    tril = torch.eye(3) * torch.rand(4, 1, 1).add(0.5)
    vectors = torch.randn(4, 3)
    mapped = torch.vmap(lambda a, x: MultivariateNormal(torch.zeros(3), scale_tril=a).log_prob(x))(tril, vectors)
    np.testing.assert_allclose(
        mapped.numpy(), MultivariateNormal(torch.zeros(3), scale_tril=tril).log_prob(vectors).numpy(), rtol=1e-5
    )


def test_vmap_validates_all_elements():
    with pytest.raises(ValueError, match=r"Expected parameter scale .* to satisfy the constraint GreaterThan"):
        torch.vmap(lambda scale: Normal(0.0, scale).log_prob(torch.tensor(0.0)))(torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"Expected value argument .* to be within the support"):
        torch.vmap(lambda x: Exponential(1.0).log_prob(x))(torch.tensor([1.0, -1.0]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda p: Gamma(p, 1.0).rsample(),
        lambda p: Beta(p, 1.0).rsample(),
        lambda p: Exponential(p).rsample(),
        lambda p: Normal(p, 1.0).rsample(),
        lambda p: Dirichlet(p.expand(2)).rsample()[0],
        lambda p: Categorical(torch.ones(1000) * p).sample(),
    ],
)
def test_vmap_draws_differ(draw):
    drawn = torch.vmap(draw, randomness="different")(torch.ones(30))
    assert drawn.unique().numel() > 20


@program
def gradients_of_a_batch_by_vmap(L):
    D = L.distributions

    def density(loc, x):
        return D.Normal(loc, 2.0, validate_args=False).log_prob(x)

    return L.vmap(L.func.grad(density))(L.arange(4.0), L.ones(4))


@program
def forward_mode(L):
    D = L.distributions

    def density(scale):
        return D.Laplace(0.5, scale, validate_args=False).log_prob(L.tensor([1.0, 2.0]))

    def move(loc):
        L.manual_seed(3)
        return D.LogNormal(loc, 0.5).rsample((2,))

    return L.func.jvp(density, (L.tensor(2.0),), (L.tensor(1.0),)), L.func.jvp(move, (L.tensor(2.0),), (L.tensor(1.0),))


@program
def double_is_the_default_type(L):
    D = L.distributions
    before = L.get_default_dtype()
    L.set_default_dtype(L.float64)
    try:
        L.manual_seed(3)
        d = D.Normal(0, 1)
        return d.sample((2,)), d.log_prob(L.tensor(0.5)), D.Bernoulli(1).probs, D.StudentT(3.0).rsample()
    finally:
        L.set_default_dtype(before)


@program
def draws_carry_gradients_where_they_should(L):
    D = L.distributions
    loc = L.zeros(2, requires_grad=True)
    d = D.Normal(loc, 1.0)
    with L.no_grad():
        inside = d.rsample()
    return (
        d.sample().requires_grad,
        d.rsample().requires_grad,
        inside.requires_grad,
        D.Bernoulli(logits=loc).sample().requires_grad,
    )


@program
def generators_go_on(L):
    """What is drawn first does not change what is drawn later, however it is asked for."""
    D = L.distributions
    L.manual_seed(5)
    seen = [D.Normal(0.0, 1.0).sample(), D.Gamma(2.0, 1.0).sample((3,)), D.Categorical(L.ones(4)).sample((2,))]
    return [*seen, D.Normal(L.zeros(20), 1.0).sample(), D.Poisson(L.tensor([3.0, 40.0])).sample(), L.rand(2)]


@pytest.mark.parametrize("name", CASES)
def test_shapes_without_values(name):
    d, _ = make(name, torch, grad=False)
    value = d.sample((4,))
    without = CASES[name](
        torch.distributions, lambda numbers: torch.tensor(numbers, dtype=torch.float64, device="meta")
    )
    assert without.log_prob(value.to("meta")).shape == d.log_prob(value).shape
