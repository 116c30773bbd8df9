"""Programs for distributions: a draw under a seed, densities, and the parts that families of one's own are made of."""

import importlib

from .tensor import row


def family(name, *parameters):
    """A draw of a distribution, and its density there."""

    def program(L):
        d = getattr(L.distributions, name)(*(L.tensor(numbers) for numbers in parameters))
        L.manual_seed(3)
        value = d.sample((2,))
        return value, d.log_prob(value), repr(d)

    program.reads = name
    return program


def shapes(L):
    d = L.distributions.MultivariateNormal(L.zeros(4, 2), L.eye(2))
    return d.batch_shape, d.event_shape, isinstance(d, L.distributions.Distribution)


def categorical(L):
    d = L.distributions.Categorical(L.tensor([0.2, 0.8]))
    L.manual_seed(3)
    action = d.sample()
    return action, d.log_prob(action), d.entropy()


def independent(L):
    return L.distributions.Independent(L.distributions.Normal(L.zeros(3), 1.0), 1).log_prob(row(L)[:3])


def transformed(L):
    D = L.distributions
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform(), D.AffineTransform(1.0, 2.0)])
    return d.log_prob(L.tensor([1.5, 4.0]))


def constraints(L):
    C = L.distributions.constraints
    values = L.tensor([1.0, -1.0, float("nan")])
    return C.positive.check(values), C.real.check(values), C.positive_definite.check(L.eye(2)), repr(C.positive)


def divergence(L):
    D = L.distributions
    home = importlib.import_module(f"{L.__name__}.distributions.kl")
    p, q = D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)
    return D.kl_divergence(p, q), home.kl_divergence(p, q), home.kl_divergence is D.kl.kl_divergence


def own_divergence(L):
    D = L.distributions

    class Own(D.Normal):
        pass

    @D.kl.register_kl(Own, Own)
    def kl(p, q):
        return p.loc - q.loc

    found = D.kl_divergence(Own(3.0, 1.0), Own(1.0, 1.0))
    del D.kl._KL_REGISTRY[Own, Own]
    return found


def helpers(L):
    utils = L.distributions.utils

    class Circle:
        radius = 2.0

        @utils.lazy_property
        def area(self):
            return self.radius**2

    L.manual_seed(3)
    normal = utils._standard_normal((2, 3), dtype=L.float64, device=L.device("cpu"))
    return utils.broadcast_all(L.ones(2), 3), normal, Circle().area


PROGRAMS = {
    "distributions": shapes,
    "distributions.Bernoulli": family("Bernoulli", [0.2, 0.8]),
    "distributions.Beta": family("Beta", [0.5, 2.0], [1.0, 3.0]),
    "distributions.Binomial": family("Binomial", [3.0, 9.0], [0.5, 0.2]),
    "distributions.Categorical": categorical,
    "distributions.Categorical.log_prob": categorical,
    "distributions.Distribution": shapes,
    "distributions.Distribution.batch_shape": shapes,
    "distributions.Distribution.event_shape": shapes,
    "distributions.Gamma": family("Gamma", [0.5, 2.0], [1.0, 3.0]),
    "distributions.HalfCauchy": family("HalfCauchy", [0.5, 2.0]),
    "distributions.HalfNormal": family("HalfNormal", [0.5, 2.0]),
    "distributions.Independent": independent,
    "distributions.LKJCholesky": lambda L: L.distributions.LKJCholesky(3, 2.0).log_prob(L.eye(3)),
    "distributions.Laplace": family("Laplace", [0.5, 2.0], [1.0, 3.0]),
    "distributions.LogNormal": family("LogNormal", [0.5, 2.0], [1.0, 0.3]),
    "distributions.MultivariateNormal": family("MultivariateNormal", [0.5, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
    "distributions.MultivariateNormal.mean": lambda L: L.distributions.MultivariateNormal(row(L), L.eye(4)).mean,
    "distributions.NegativeBinomial": family("NegativeBinomial", [3.0, 9.0], [0.5, 0.2]),
    "distributions.Normal": family("Normal", [0.5, 2.0], [1.0, 3.0]),
    "distributions.Normal.cdf": lambda L: L.distributions.Normal(0.0, 2.0).cdf(row(L)),
    "distributions.Poisson": family("Poisson", [0.5, 20.0]),
    "distributions.StudentT": family("StudentT", [3.0, 9.0]),
    "distributions.TransformedDistribution": transformed,
    "distributions.Uniform": family("Uniform", [0.5, 2.0], [1.0, 3.0]),
    "distributions.constraints": constraints,
    "distributions.constraints.positive": constraints,
    "distributions.constraints.positive_definite": constraints,
    "distributions.constraints.real": constraints,
    "distributions.kl": divergence,
    "distributions.kl.kl_divergence": divergence,
    "distributions.kl.register_kl": own_divergence,
    "distributions.kl_divergence": divergence,
    "distributions.utils._standard_normal": helpers,
    "distributions.utils.broadcast_all": helpers,
    "distributions.utils.lazy_property": helpers,
}
