"""Distributions in use, written once against a module called `torch` that is either library."""

from cases import Case


def leaves(torch, *numbers):
    return [torch.tensor(values, requires_grad=True) for values in numbers]


def make(torch):
    loc, scale = torch.rand(3), torch.rand(3) + 0.5
    return lambda: torch.distributions.Normal(loc, scale)


def log_prob_of(name, *numbers):
    """log_prob of a small distribution that is there already."""

    def case(torch):
        d = getattr(torch.distributions, name)(*leaves(torch, *numbers))
        value = d.sample()
        return lambda: d.log_prob(value)

    return case


def rsample_of(name, *numbers):
    """Draws of a small distribution that is there already."""

    def case(torch):
        d = getattr(torch.distributions, name)(*leaves(torch, *numbers))
        return d.rsample if d.has_rsample else d.sample

    return case


def policy_step(torch):
    """What a policy gradient does for one batch: actions drawn, their log-probabilities, entropies, a gradient."""
    logits = torch.rand(8, 4, requires_grad=True)

    def step():
        d = torch.distributions.Categorical(logits=logits)
        action = d.sample()
        (d.log_prob(action) + 0.01 * d.entropy()).sum().backward()

    return step


def variational_step(torch):
    """The two terms of a variational bound: a draw with gradients, and a divergence."""
    loc, scale = leaves(torch, [0.1] * 16, [0.5] * 16)
    prior = torch.distributions.Normal(torch.zeros(16), torch.ones(16))

    def step():
        d = torch.distributions.Normal(loc, scale)
        loss = torch.distributions.kl_divergence(d, prior).sum() - d.rsample().pow(2).sum()
        loss.backward()

    return step


def many_densities(torch):
    """A million normal densities, and their gradients."""
    value = torch.rand(1_000_000)
    loc, scale = leaves(torch, 0.1, 1.5)

    def step():
        torch.distributions.Normal(loc, scale).log_prob(value).sum().backward()

    return step


def many_gammas(torch):
    """A hundred thousand gamma numbers, with gradients by their shape."""
    shape = torch.full((100_000,), 2.5, requires_grad=True)
    return lambda: torch.distributions.Gamma(shape, 1.0).rsample().sum().backward()


THREE, SCALES, SHARES = [0.3, -1.0, 2.0], [0.5, 1.0, 2.0], [0.2, 0.3, 0.5]
IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
# Families that are made of tensors alone, with their parameters.
SMALL = [
    ("Bernoulli", SHARES),
    ("Beta", SCALES, SCALES),
    ("Categorical", SHARES),
    ("Cauchy", THREE, SCALES),
    ("Chi2", SCALES),
    ("ContinuousBernoulli", SHARES),
    ("Dirichlet", SCALES),
    ("Exponential", SCALES),
    ("FisherSnedecor", SCALES, SCALES),
    ("Gamma", SCALES, SCALES),
    ("Geometric", SHARES),
    ("Gumbel", THREE, SCALES),
    ("HalfCauchy", SCALES),
    ("HalfNormal", SCALES),
    ("InverseGamma", SCALES, SCALES),
    ("Kumaraswamy", SCALES, SCALES),
    ("Laplace", THREE, SCALES),
    ("LogNormal", THREE, SCALES),
    ("LogisticNormal", THREE, SCALES),
    ("LowRankMultivariateNormal", THREE, [[0.4], [0.2], [0.9]], SCALES),
    ("MultivariateNormal", THREE, IDENTITY),
    ("NegativeBinomial", SCALES, SHARES),
    ("Normal", THREE, SCALES),
    ("OneHotCategorical", SHARES),
    ("Pareto", SCALES, SCALES),
    ("Poisson", SCALES),
    ("RelaxedBernoulli", 0.7, SHARES),
    ("RelaxedOneHotCategorical", 0.7, SHARES),
    ("StudentT", SCALES, THREE, SCALES),
    ("Uniform", THREE, [2.0, 3.0, 4.0]),
    ("VonMises", THREE, SCALES),
    ("Weibull", SCALES, SCALES),
    ("Wishart", 4.5, IDENTITY),
]


def small(name, title, make):
    return Case(name, "small", title, make, "5")


CASES = [
    small("normal_made", "Normal(loc, scale) of 3 numbers", make),
    *(small(f"log_prob_{name}", f"log_prob of {name}, 3 numbers", log_prob_of(name, *given)) for name, *given in SMALL),
    *(small(f"draw_{name}", f"draws of {name}, 3 numbers", rsample_of(name, *given)) for name, *given in SMALL),
    small("policy_step", "policy gradient of 8 actions", policy_step),
    small("variational_step", "divergence and draw of 16 normals, with gradients", variational_step),
    Case("many_densities", "large", "a million normal densities, with gradients", many_densities, ""),
    Case("many_gammas", "large", "100,000 gamma draws, with gradients", many_gammas, ""),
]
