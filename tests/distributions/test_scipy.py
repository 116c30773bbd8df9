"""Densities, distribution functions, moments and entropies against SciPy's, in double precision."""

import numpy as np
import pytest
from scipy import integrate, stats

import adjoint
from adjoint import distributions as D

# (ours, SciPy's, values, what SciPy has of it)
ALL = ("cdf", "mean", "variance", "entropy")
CONTINUOUS = {
    "Beta": (lambda t: D.Beta(t(0.7), t(2.5)), stats.beta(0.7, 2.5), [0.1, 0.5, 0.9], ALL[1:]),
    "Cauchy": (lambda t: D.Cauchy(t(0.3), t(2.0)), stats.cauchy(0.3, 2.0), [-3.0, 0.5, 9.0], ("cdf", "entropy")),
    "Chi2": (lambda t: D.Chi2(t(3.0)), stats.chi2(3.0), [0.1, 2.0, 9.0], ALL),
    "Exponential": (lambda t: D.Exponential(t(2.0)), stats.expon(scale=0.5), [0.1, 2.0], ALL),
    "FisherSnedecor": (lambda t: D.FisherSnedecor(t(3.0), t(7.0)), stats.f(3.0, 7.0), [0.1, 2.0], ("mean", "variance")),
    "Gamma": (lambda t: D.Gamma(t(2.5), t(3.0)), stats.gamma(2.5, scale=1 / 3), [0.1, 0.5, 4.0], ALL),
    "GeneralizedPareto": (
        lambda t: D.GeneralizedPareto(t(0.5), t(2.0), t(0.3)),
        stats.genpareto(0.3, 0.5, 2.0),
        [0.6, 2.0, 9.0],
        ALL,
    ),
    "GeneralizedPareto with an end": (
        lambda t: D.GeneralizedPareto(t(0.5), t(2.0), t(-0.4)),
        stats.genpareto(-0.4, 0.5, 2.0),
        [0.6, 2.0, 5.0],
        ALL,
    ),
    "Gumbel": (lambda t: D.Gumbel(t(0.3), t(2.0)), stats.gumbel_r(0.3, 2.0), [-3.0, 0.5, 9.0], ALL),
    "HalfCauchy": (lambda t: D.HalfCauchy(t(2.0)), stats.halfcauchy(scale=2.0), [0.1, 3.0], ("cdf", "entropy")),
    "HalfNormal": (lambda t: D.HalfNormal(t(2.0)), stats.halfnorm(scale=2.0), [0.1, 3.0], ALL),
    "InverseGamma": (lambda t: D.InverseGamma(t(3.5), t(2.0)), stats.invgamma(3.5, scale=2.0), [0.1, 2.0], ALL),
    "Laplace": (lambda t: D.Laplace(t(0.3), t(2.0)), stats.laplace(0.3, 2.0), [-3.0, 0.5, 9.0], ALL),
    "LogNormal": (lambda t: D.LogNormal(t(0.3), t(0.8)), stats.lognorm(0.8, scale=np.exp(0.3)), [0.1, 1.0, 9.0], ALL),
    "Normal": (lambda t: D.Normal(t(0.3), t(2.0)), stats.norm(0.3, 2.0), [-3.0, 0.5, 9.0], ALL),
    "Pareto": (lambda t: D.Pareto(t(2.0), t(3.5)), stats.pareto(3.5, scale=2.0), [2.1, 9.0], ALL),
    "StudentT": (lambda t: D.StudentT(t(4.5), t(0.3), t(2.0)), stats.t(4.5, 0.3, 2.0), [-3.0, 0.5], ALL[1:]),
    "Uniform": (lambda t: D.Uniform(t(0.3), t(2.0)), stats.uniform(0.3, 1.7), [0.4, 1.9], ALL),
    "VonMises": (lambda t: D.VonMises(t(0.3), t(50.0)), stats.vonmises(50.0, 0.3), [0.1, 0.3, -2.0], ()),
    "Weibull": (lambda t: D.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2.0), [0.1, 3.0], ALL),
}
DISCRETE = {
    "Bernoulli": (lambda t: D.Bernoulli(t(0.3)), stats.bernoulli(0.3), [0.0, 1.0], ALL[1:]),
    "Binomial": (lambda t: D.Binomial(9, t(0.3)), stats.binom(9, 0.3), [0.0, 4.0, 9.0], ALL[1:]),
    "Geometric": (lambda t: D.Geometric(t(0.3)), stats.geom(0.3, loc=-1), [0.0, 4.0], ALL[1:]),
    "NegativeBinomial": (lambda t: D.NegativeBinomial(t(2.5), t(0.3)), stats.nbinom(2.5, 0.7), [0.0, 4.0], ALL[1:3]),
    "Poisson": (lambda t: D.Poisson(t(2.5)), stats.poisson(2.5), [0.0, 4.0, 30.0], ALL[1:3]),
}


def number(value):
    return adjoint.tensor(value, dtype=adjoint.float64)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_against_scipy(name):
    make, theirs, values, known = (CONTINUOUS | DISCRETE)[name]
    d, x = make(number), number(values)
    density = theirs.logpdf(values) if name in CONTINUOUS else theirs.logpmf(values)
    np.testing.assert_allclose(d.log_prob(x).numpy(), density, rtol=1e-10, atol=1e-12)
    for what in known:
        ours = getattr(d, what)
        expected = {"cdf": lambda: theirs.cdf(values), "mean": theirs.mean, "variance": theirs.var}.get(
            what, theirs.entropy
        )
        ours = ours(x) if what == "cdf" else ours() if callable(ours) else ours
        np.testing.assert_allclose(ours.numpy(), expected(), rtol=1e-9, atol=1e-12, err_msg=what)


WITHOUT_QUANTILES = {"Chi2", "Gamma", "InverseGamma", "Beta", "FisherSnedecor", "StudentT", "VonMises"}  # in torch


@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - WITHOUT_QUANTILES))
def test_quantiles_against_scipy(name):
    make, theirs, values, _ = CONTINUOUS[name]
    d, levels = make(number), [0.001, 0.05, 0.3, 0.5, 0.8, 0.999]
    np.testing.assert_allclose(d.icdf(number(levels)).numpy(), theirs.ppf(levels), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(d.icdf(d.cdf(number(values))).numpy(), values, rtol=1e-8)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_draws_against_scipy(name):
    """Kolmogorov's distance of 4,000 draws, or the greatest error of a count's frequency, as chance would have it."""
    make, theirs, _, _ = (CONTINUOUS | DISCRETE)[name]
    adjoint.manual_seed(3)
    x = make(number).sample((4000,)).numpy()
    if name in DISCRETE:
        places = np.arange(12)
        shares, found = theirs.pmf(places), (x[:, None] == places).mean(0)
        assert (np.abs(found - shares) <= 6 * np.sqrt(shares * (1 - shares) / len(x)) + 1e-9).all()
    else:
        assert stats.kstest(x, theirs.cdf).pvalue > 1e-6


def pairs_of_scipy():
    """Pairs that both have a divergence of, by the names of their cases."""
    families = CONTINUOUS | DISCRETE
    for p, q in D.kl._KL_REGISTRY:
        for first in families:
            for second in families:
                if first.split()[0] == p.__name__ and second.split()[0] == q.__name__:
                    yield first, second


@pytest.mark.parametrize(("p", "q"), sorted(pairs_of_scipy()))
def test_divergences_against_scipy(p, q):
    """The integral, or the sum, of log p - log q by p; infinite where q has no room for all of p."""
    families = CONTINUOUS | DISCRETE
    (make_p, first, _, _), (make_q, second, _, _) = families[p], families[q]
    # Others than p's own, where the two are of one family: all are of the same parameters.
    found = D.kl_divergence(make_p(number), make_q(lambda value: number(value * 1.25 if p == q else value))).item()
    if p == q:
        second = OTHER[q]
    if (p in CONTINUOUS) != (q in CONTINUOUS):
        assert found == np.inf
        return
    density = "logpdf" if p in CONTINUOUS else "logpmf"
    inside = first.support()[0] >= second.support()[0] and first.support()[1] <= second.support()[1]
    if not inside:
        assert found == np.inf
        return

    def excess(x):
        return getattr(first, density)(x) - getattr(second, density)(x)

    if p in DISCRETE:
        expected = first.expect(excess)
    else:  # by the quantiles of p, which never run out of its support
        expected = integrate.quad(lambda u: excess(first.ppf(u)), 0, 1, limit=500, epsabs=1e-10)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


# The same families with parameters 1.25 times as large.
OTHER = {
    "Beta": stats.beta(0.875, 3.125),
    "Cauchy": stats.cauchy(0.375, 2.5),
    "Exponential": stats.expon(scale=0.4),
    "Gamma": stats.gamma(3.125, scale=1 / 3.75),
    "Gumbel": stats.gumbel_r(0.375, 2.5),
    "HalfNormal": stats.halfnorm(scale=2.5),
    "Laplace": stats.laplace(0.375, 2.5),
    "Normal": stats.norm(0.375, 2.5),
    "Pareto": stats.pareto(4.375, scale=2.5),
    "Uniform": stats.uniform(0.375, 2.125),
    "Bernoulli": stats.bernoulli(0.375),
    "Binomial": stats.binom(9, 0.375),
    "Geometric": stats.geom(0.375, loc=-1),
    "Poisson": stats.poisson(3.125),
}


COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]])


def test_vectors_against_scipy():
    shares = [0.2, 0.3, 0.5]
    normal = D.MultivariateNormal(number([0.1, 0.2, 0.3]), number(COVARIANCE.tolist()))
    theirs = stats.multivariate_normal([0.1, 0.2, 0.3], COVARIANCE)
    np.testing.assert_allclose(normal.log_prob(number(shares)).item(), theirs.logpdf(shares), rtol=1e-12)
    np.testing.assert_allclose(normal.entropy().item(), theirs.entropy(), rtol=1e-12)
    dirichlet, theirs = D.Dirichlet(number([0.5, 2.0, 3.0])), stats.dirichlet([0.5, 2.0, 3.0])
    np.testing.assert_allclose(dirichlet.log_prob(number(shares)).item(), theirs.logpdf(shares), rtol=1e-12)
    np.testing.assert_allclose(dirichlet.entropy().item(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(dirichlet.variance.numpy(), theirs.var(), rtol=1e-12)
    counts, theirs = D.Multinomial(6, number(shares)), stats.multinomial(6, shares)
    np.testing.assert_allclose(counts.log_prob(number([1.0, 2.0, 3.0])).item(), theirs.logpmf([1, 2, 3]), rtol=1e-12)
    np.testing.assert_allclose(counts.entropy().item(), theirs.entropy(), rtol=1e-12)
    wishart, theirs = D.Wishart(number(5.0), number(COVARIANCE.tolist())), stats.wishart(5.0, COVARIANCE)
    np.testing.assert_allclose(
        wishart.log_prob(number(np.eye(3).tolist())).item(), theirs.logpdf(np.eye(3)), rtol=1e-12
    )
    np.testing.assert_allclose(wishart.entropy().item(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(wishart.variance.numpy(), theirs.var(), rtol=1e-12)
