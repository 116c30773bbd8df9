"""Divergences of every registered pair beside torch's, with gradients; how the pair is chosen."""

import itertools

import numpy as np
import pytest
import torch

import adjoint

from ..compare import VALUES, Bound, programs, same
from ..gradients import first_gradients
from .cases import BATCH_TRIL, COVARIANCE, LOGITS, SCALES, SHAPES, SHARES, SPREAD, TRIL, Maker

program, test_program = programs(bound={"float64": Bound(1e-12, 1e-13)})
NEAR = {"float64": Bound(1e-9, 1e-9)}

# By family: distributions to be p or q.
FACTOR, DIAGONAL = [[0.4, 1.0], [0.2, -0.3], [0.9, 0.1]], [1.0, 0.5, 2.5]
FAMILIES = {
    "Bernoulli": [
        lambda D, t: D.Bernoulli(t([[0.1, 0.0, 1.0], [0.5, 0.3, 0.2]])),
        lambda D, t: D.Bernoulli(t([0.3, 0.0, 0.9])),
        lambda D, t: D.Bernoulli(logits=t([0.3, -1.0, 0.5])),
    ],
    "Beta": [lambda D, t: D.Beta(t(SHAPES), t(SCALES)), lambda D, t: D.Beta(t(SCALES), t(SHAPES))],
    "Binomial": [
        lambda D, t: D.Binomial(6, t(SHARES)),
        lambda D, t: D.Binomial(t([6.0, 5.0, 6.0]), t([0.3, 0.5, 0.9])),
    ],
    "Categorical": [
        lambda D, t: D.Categorical(t([[0.1, 0.0, 0.9], [0.5, 0.3, 0.2]])),
        lambda D, t: D.Categorical(t([0.3, 0.0, 0.7])),
        lambda D, t: D.Categorical(logits=t(LOGITS)),
    ],
    "Cauchy": [lambda D, t: D.Cauchy(t(SPREAD), t(SCALES)), lambda D, t: D.Cauchy(t([0.0, 1.0, 2.0]), t(1.5))],
    "ContinuousBernoulli": [
        lambda D, t: D.ContinuousBernoulli(t(SHARES)),
        lambda D, t: D.ContinuousBernoulli(t([0.4995, 0.9, 0.3])),
    ],
    "Dirichlet": [lambda D, t: D.Dirichlet(t(SHAPES)), lambda D, t: D.Dirichlet(t(SCALES))],
    "Exponential": [lambda D, t: D.Exponential(t(SHAPES)), lambda D, t: D.Exponential(t(SCALES))],
    "Gamma": [lambda D, t: D.Gamma(t(SHAPES), t(SCALES)), lambda D, t: D.Gamma(t(SCALES), t(SHAPES))],
    "Geometric": [lambda D, t: D.Geometric(t(SHARES)), lambda D, t: D.Geometric(t([0.2, 0.4, 0.6]))],
    "Gumbel": [lambda D, t: D.Gumbel(t(SPREAD), t(SCALES)), lambda D, t: D.Gumbel(t([0.0, 1.0, 2.0]), t(1.5))],
    "HalfNormal": [lambda D, t: D.HalfNormal(t(SHAPES)), lambda D, t: D.HalfNormal(t(SCALES))],
    "Independent": [
        lambda D, t: D.Independent(D.Normal(t(SPREAD), t(SCALES)), 1),
        lambda D, t: D.Independent(D.Normal(t([0.0, 1.0, 2.0]), t(SCALES)), 1),
    ],
    "Laplace": [lambda D, t: D.Laplace(t(SPREAD), t(SCALES)), lambda D, t: D.Laplace(t([0.0, 1.0, 2.0]), t(1.5))],
    "LowRankMultivariateNormal": [
        lambda D, t: D.LowRankMultivariateNormal(t(SPREAD), t(FACTOR), t(DIAGONAL)),
        lambda D, t: D.LowRankMultivariateNormal(t(SPREAD[0]), t([[1.0], [0.5], [2.0]]), t([2.0, 0.4, 0.7])),
    ],
    "MultivariateNormal": [
        lambda D, t: D.MultivariateNormal(t(SPREAD), t(COVARIANCE)),
        lambda D, t: D.MultivariateNormal(t(SPREAD[1]), scale_tril=t(TRIL)),
        lambda D, t: D.MultivariateNormal(t(SPREAD), scale_tril=t(BATCH_TRIL)),
    ],
    "Normal": [lambda D, t: D.Normal(t(SPREAD), t(SCALES)), lambda D, t: D.Normal(t([0.0, 1.0, 2.0]), t(1.5))],
    "OneHotCategorical": [
        lambda D, t: D.OneHotCategorical(t(SHARES)),
        lambda D, t: D.OneHotCategorical(logits=t(LOGITS)),
    ],
    "Pareto": [lambda D, t: D.Pareto(t(SHAPES), t([0.8, 1.5, 3.0])), lambda D, t: D.Pareto(t(0.5), t([1.5, 2.0, 2.5]))],
    "Poisson": [lambda D, t: D.Poisson(t(SHAPES)), lambda D, t: D.Poisson(t(SCALES))],
    "TransformedDistribution": [
        lambda D, t: D.TransformedDistribution(D.Normal(t(SPREAD), t(SCALES)), [D.ExpTransform()]),
        lambda D, t: D.TransformedDistribution(D.Normal(t([0.0, 1.0, 2.0]), t(1.5)), [D.ExpTransform()]),
    ],
    "Uniform": [
        lambda D, t: D.Uniform(t([[0.1, 0.2, 0.6], [0.5, 1.5, -1.0]]), t([0.9, 4.0, 0.7])),
        lambda D, t: D.Uniform(t([-1.0, -2.0, 0.6]), t([1.1, 5.0, 0.9])),
    ],
}
PAIRS = sorted(
    (p.__name__, q.__name__)
    for p, q in torch.distributions.kl._KL_REGISTRY
    if p is not torch.distributions.ExponentialFamily
)


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_pairs(p, q):
    for make_p, make_q in itertools.product(FAMILIES[p], FAMILIES[q]):

        def call(L, make_p=make_p, make_q=make_q):
            maker = Maker(L)
            first, second = make_p(L.distributions, maker), make_q(L.distributions, maker)
            # Of one batch: where a divergence may be infinite, torch does not broadcast.
            batch = L.broadcast_shapes(first.batch_shape, second.batch_shape)
            result = L.distributions.kl_divergence(first.expand(batch), second.expand(batch))
            finite = L.where(L.isfinite(result), result, 0.0)
            return result, [L.nan_to_num(g) for g in first_gradients(L, finite, maker.leaves)[0]]

        same(call, VALUES, NEAR, error=lambda ours, theirs: type(ours) is type(theirs), warned=None)


def test_batches_broadcast():
    D, T = adjoint.distributions, adjoint.tensor
    for p, q in (
        (D.Uniform(T([[0.1], [0.2]]), 0.9), D.Gamma(T([1.0, 2.0]), 1.0)),
        (D.Pareto(T([1.0]), T([[3.0], [4.0]])), D.Normal(T([0.0, 1.0]), 1.0)),
    ):
        whole = D.kl_divergence(p, q)
        assert whole.shape == (2, 2)
        assert (whole == D.kl_divergence(p.expand((2, 2)), q.expand((2, 2)))).all()


def test_uniform_around_a_continuous_bernoulli():
    """The same support is no reason for an infinite divergence, which torch gives."""
    D = adjoint.distributions
    p = D.ContinuousBernoulli(adjoint.tensor([0.3]))
    np.testing.assert_allclose(D.kl_divergence(p, D.Uniform(0.0, 1.0)).numpy(), -p.entropy().numpy())
    assert D.kl_divergence(p, D.Uniform(0.1, 1.0)).item() == float("inf")


def test_the_same_pairs():
    ours = {(p.__name__, q.__name__) for p, q in adjoint.distributions.kl._KL_REGISTRY}
    assert ours == {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}


@pytest.mark.parametrize("name", ["Beta", "Dirichlet", "Exponential", "Gamma", "Normal", "Bernoulli", "Poisson"])
def test_bregman_divergences(name):
    """What the family's normalizer gives is what the formula gives; so is the entropy."""
    D = adjoint.distributions
    p, q = (make(D, Maker(adjoint)) for make in FAMILIES[name][-2:])
    if name == "Bernoulli":
        p, q = D.Bernoulli(adjoint.tensor([0.3, 0.6])), D.Bernoulli(adjoint.tensor([0.5, 0.2]))
    ours = D.kl._kl_expfamily_expfamily(p, q).detach().numpy()
    np.testing.assert_allclose(ours, D.kl_divergence(p, q).detach().numpy(), rtol=1e-5, atol=1e-6)
    if name not in ("Beta", "Dirichlet", "Poisson"):
        np.testing.assert_allclose(
            D.ExponentialFamily.entropy(p).detach().numpy(), p.entropy().detach().numpy(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    ("p", "q"), [("Normal", "Laplace"), ("Gamma", "Normal"), ("Beta", "Gamma"), ("Uniform", "Gumbel")]
)
def test_by_chance(p, q):
    """The mean of log p - log q over many draws."""
    first, second = (FAMILIES[name][0](adjoint.distributions, Maker(adjoint, grad=False)) for name in (p, q))
    x = first.sample((20000,))
    terms = (first.log_prob(x) - second.log_prob(x)).numpy()
    expected = adjoint.distributions.kl_divergence(first, second).numpy()
    error = terms.std(0) / np.sqrt(len(terms))
    assert (np.abs(terms.mean(0) - expected) < 6 * error + 1e-9).all()


@program
def the_nearest_pair_is_taken(L):
    D = L.distributions

    class Narrow(D.Normal):
        pass

    @D.register_kl(Narrow, D.Normal)
    def left(p, q):
        return L.tensor(1.0)

    seen = [
        D.kl_divergence(Narrow(0.0, 1.0), D.Normal(0.0, 1.0)),
        D.kl_divergence(D.Normal(0.0, 1.0), Narrow(0.0, 2.0)),
    ]

    @D.register_kl(D.Normal, Narrow)
    def right(p, q):
        return L.tensor(2.0)

    seen += [D.kl_divergence(D.Normal(0.0, 1.0), Narrow(0.0, 1.0)), D.kl_divergence(Narrow(0.0, 1.0), Narrow(0.0, 1.0))]
    for pair in ((Narrow, D.Normal), (D.Normal, Narrow)):
        del D.kl._KL_REGISTRY[pair]
    D.kl._KL_MEMOIZE.clear()
    return seen


@program
def derived_families_take_their_bases(L):
    D = L.distributions

    def T(numbers):
        return L.tensor(numbers, dtype=L.float64)

    pairs = [
        (D.Chi2(T([2.0, 3.0])), D.Chi2(T([1.0, 5.0]))),
        (D.Chi2(T([2.0, 3.0])), D.Gamma(T([1.0, 5.0]), 2.0)),
        (D.LogNormal(T([0.0, 1.0]), 1.0), D.LogNormal(T([1.0, 1.0]), 2.0)),
        (D.OneHotCategoricalStraightThrough(T([0.2, 0.8])), D.OneHotCategorical(T([0.5, 0.5]))),
        (D.Weibull(1.0, T([1.0, 2.0])), D.Weibull(1.0, T([1.0, 2.0]))),
    ]
    return [D.kl_divergence(p, q) for p, q in pairs]
