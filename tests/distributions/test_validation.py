"""What is refused, in torch's words: parameters, values, shapes; and how validation is turned off."""

import pytest
import torch

import adjoint

from ..compare import CLOSE, lines, opening, outcome, outcome_difference, programs
from .cases import CASES, Maker

program, test_program = programs()

CALLS = lines("""
    D.Normal(0.0, -1.0)
    D.Normal(T([0.0, nan]), 1.0)
    D.Normal(T([0.0, 1.0]), T([1.0, -2.0]))
    D.Normal("a", 1.0)
    D.Normal(None, 1.0)
    D.Normal(T([0.0, 1.0]), T([1.0, 2.0, 3.0]))
    D.Normal(0.0, 1.0).log_prob(T(nan))
    D.Normal(0.0, 1.0).log_prob(2.0)
    D.Normal(T([0.0, 1.0]), 1.0).log_prob(T([1.0, 2.0, 3.0]))
    D.Normal(T([0.0, 1.0]), 1.0).cdf(T([1.0, 2.0, 3.0]))
    D.Normal(T([0.0, 1.0]), 1.0).expand((3,))
    D.Normal(0.0, 1.0).enumerate_support()
    D.Normal(0.0, 1.0).sample(3)
    D.Normal(0.0, 1.0).mode
    D.Categorical()
    D.Categorical(T([0.3, 0.7]), T([0.3, 0.7]))
    D.Categorical(T(0.3))
    D.Categorical(logits=T(0.3))
    D.Categorical(T([0.3, -0.7]))
    D.Categorical(T([0.3, 0.7])).log_prob(T(2))
    D.Categorical(T([0.3, 0.7])).log_prob(T(0.5))
    D.Bernoulli(2.0)
    D.Bernoulli()
    D.Bernoulli(0.3).log_prob(T(0.5))
    D.Bernoulli(0.3).cdf(T(0.5))
    D.Bernoulli(0.3).rsample()
    D.Binomial(T([3.0, 4.0]), T(0.5)).enumerate_support()
    D.Binomial(T([3.0, 4.0]), T(0.5)).entropy()
    D.Binomial(-1, T(0.5))
    D.Binomial(3, T(0.5)).log_prob(T(4.0))
    D.Binomial(3)
    D.Independent(D.Normal(T([0.0, 1.0]), 1.0), 3)
    D.Independent(D.Bernoulli(T([0.5, 0.5])), 1).enumerate_support()
    D.TransformedDistribution(D.Normal(0.0, 1.0), 3)
    D.TransformedDistribution(D.Normal(0.0, 1.0), [3])
    D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
    D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(T(-1.0))
    D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).mean
    D.Uniform(1.0, 0.0)
    D.Uniform(0.0, 1.0).log_prob(T(2.0))
    D.MultivariateNormal(torch.zeros(2), -torch.eye(2))
    D.MultivariateNormal(torch.zeros(2))
    D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))
    D.MultivariateNormal(T(0.0), torch.eye(2))
    D.MultivariateNormal(torch.zeros(2), torch.ones(2))
    D.MultivariateNormal(torch.zeros(2), precision_matrix=torch.ones(2))
    D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))
    D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2, 2))
    D.MultivariateNormal(torch.zeros(2), T([[1.0, 2.0], [0.0, 1.0]]))
    D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(3))
    D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(T(1.0))
    D.LowRankMultivariateNormal(T(0.0), torch.eye(2), torch.ones(2))
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2), torch.ones(2))
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))
    D.LowRankMultivariateNormal(torch.zeros(3, 2), torch.ones(2, 2, 1), torch.ones(2))
    D.Wishart(T(1.0), torch.eye(2))
    D.Wishart(T(3.0))
    D.Wishart(T(3.0), torch.ones(2))
    D.Wishart(3.0, torch.eye(2)).log_prob(torch.ones(2, 2))
    D.LKJCholesky(1, 1.0)
    D.LKJCholesky(2, 1.0).log_prob(torch.ones(2, 2))
    D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(3), 1.0))
    D.MixtureSameFamily(D.Categorical(torch.ones(3)), 3)
    D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.zeros(4), 1.0))
    D.MixtureSameFamily(D.Categorical(torch.ones(2, 3)), D.Normal(torch.zeros(4, 3), 1.0))
    D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Uniform(torch.zeros(3), T([1.0, 2.0, 3.0]))).log_prob(T(2.5))
    D.Multinomial(T(3), T([0.2, 0.8]))
    D.Multinomial(3, T([0.2, 0.8])).log_prob(T([3.0, 1.0]))
    D.Dirichlet(T(0.2))
    D.Dirichlet(T([0.2, -0.8]))
    D.Dirichlet(T([0.2, 0.8])).log_prob(T([0.2, 0.9]))
    D.Geometric(0.0)
    D.Geometric(T([0.3, 0.0]))
    D.Geometric(T(0.2)).log_prob(T(-1.0))
    D.Poisson(T(-2.0))
    D.Poisson(T(2.0)).log_prob(T(1.5))
    D.NegativeBinomial(3, T(1.0))
    D.NegativeBinomial(-3, T(0.5))
    D.HalfNormal(1.0).log_prob(T(-1.0))
    D.VonMises(0.0, -1.0)
    D.VonMises(1.0, 1.0).cdf(T(0.2))
    D.OneHotCategorical(T([0.3, 0.7])).log_prob(T([1, 1]))
    D.RelaxedBernoulli(T(0.5), T(2.0))
    D.GeneralizedPareto(1.0, 2.0, -0.3).log_prob(T(20.0))
    D.ContinuousBernoulli(2.0, validate_args=True)
    D.Distribution().sample()
    D.Distribution().rsample()
    D.Distribution().mean
    D.Distribution().support
    D.Distribution().arg_constraints
    D.Distribution().log_prob(T(1.0))
    D.Distribution().entropy()
    D.Distribution().expand((2,))
    D.Distribution.set_default_validate_args(3)
    D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))
    D.register_kl(3, D.Normal)
    D.kl_divergence(D.Binomial(3, T(0.5)), D.Binomial(4, T(0.5)))
    D.Normal(0.0, 1.0).log_prob(T([1.0, 2.0]))
    D.Normal(0.0, 1.0).log_prob(T(1))
    D.Normal(0.0, 1.0, validate_args=False).log_prob(2.0)
    D.Normal(0.0, -1.0, validate_args=False)
    D.Uniform(0.0, 1.0, validate_args=False).log_prob(T([2.0, 0.5, 1.0, 0.0]))
    D.HalfNormal(1.0, validate_args=False).log_prob(T(-1.0))
    D.HalfCauchy(1.0, validate_args=False).log_prob(T(-1.0))
    D.Categorical(T([0.0, 1.0])).log_prob(T([0, 1]))
    D.Gamma(T(2.0), T(3.0)).log_prob(1)
    D.Normal(0, 1).loc
    D.Normal(torch.tensor(0), torch.tensor(1)).sample().dtype
""")


def result(library, text):
    names = {"torch": library, "D": library.distributions, "T": library.tensor, "nan": float("nan")}
    value = eval(text, names)
    return repr(value) if isinstance(value, library.distributions.Distribution) else value


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", CALLS)
def test_refusals(text):
    ours, theirs = (outcome(lambda library: result(library, text), library) for library in (adjoint, torch))
    reason = outcome_difference(ours, theirs, bound=CLOSE, error=opening(70), warned=None)
    assert reason is None, reason


def test_the_parameter_is_named_that_was_given():
    """torch names a parameter of a distribution inside, which the caller does not know."""
    D = adjoint.distributions
    with pytest.raises(ValueError, match=r"Expected parameter concentration0 .* of distribution Beta"):
        D.Beta(1.0, -2.0)
    with pytest.raises(ValueError, match=r"Expected parameter concentration .* of distribution LKJCholesky"):
        D.LKJCholesky(3, -1.0)


def spoiled():
    """(case, number of a parameter): each of the tensors that a case is made of, in its place something wrong."""
    for name in CASES:
        maker = Maker(adjoint, grad=False)
        CASES[name](adjoint.distributions, maker)
        yield from ((name, i) for i in range(len(maker.leaves)))


@pytest.mark.parametrize(("name", "place"), list(spoiled()))
def test_a_nan_is_named(name, place):
    """Whichever parameter it is in: its name, its values and what they should be are in the error."""

    class Spoiler(Maker):
        def __call__(self, numbers):
            leaf = super().__call__(numbers)
            if len(self.leaves) - 1 == place:
                leaf.view(-1)[0] = float("nan")
            return leaf

    def refused():
        # A transform's parameters, and a matrix, are looked at when they are used.
        d = CASES[name](adjoint.distributions, Spoiler(adjoint, grad=False))
        d.log_prob(d.sample())

    kinds = (ValueError, adjoint.linalg.LinAlgError)
    words = (
        r"Expected (parameter|value argument).*to (satisfy|be within)|The value argument|not positive-definite|nan|NaN"
    )
    with pytest.raises(kinds, match=words) as error:
        refused()
    if "Expected parameter" in str(error.value):
        assert "satisfy the constraint" in str(error.value)
        assert "nan" in str(error.value)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda D, T: D.Normal(0.0, T([1.0, -2.0])), ("scale", "GreaterThan(lower_bound=0.0)", "-2.")),
        (lambda D, T: D.Bernoulli(T([0.5, 1.5])), ("probs", "Interval(lower_bound=0.0, upper_bound=1.0)", "1.5")),
        (lambda D, T: D.Dirichlet(T([1.0, -3.0])), ("concentration", "GreaterThan(lower_bound=0.0)", "-3.")),
        (lambda D, T: D.Binomial(-1, T(0.5)), ("total_count", "IntegerGreaterThan(lower_bound=0)", "-1")),
        (lambda D, T: D.Poisson(T(-4.0)), ("rate", "GreaterThanEq(lower_bound=0.0)", "-4")),
        (lambda D, T: D.StudentT(T(-5.0)), ("df", "GreaterThan(lower_bound=0.0)", "-5.")),
    ],
)
def test_the_parameter_its_value_and_the_constraint_are_told(make, parts):
    with pytest.raises(ValueError, match="Expected parameter") as error:
        make(adjoint.distributions, adjoint.tensor)
    assert [part for part in parts if part not in str(error.value)] == []


@pytest.mark.parametrize(
    "make", [lambda D: D.Distribution(validate_args=False), lambda D: D.Multinomial(3, adjoint.ones(2))]
)
def test_no_mode(make):
    d = make(adjoint.distributions)
    with pytest.raises(NotImplementedError, match=f"{type(d).__name__}'> does not implement mode"):
        d.mode  # noqa: B018 - it raises


def test_edges_of_the_support():
    """Logarithms at the ends: exact but for the last bits of single precision."""
    D, T = adjoint.distributions, adjoint.tensor
    for value in (
        D.Poisson(T([0.0, 2.0])).log_prob(T([0.0, 0.0])) - T([0.0, -2.0]),
        D.Bernoulli(T([0.0, 1.0])).log_prob(T([0.0, 1.0])),
    ):
        assert value.abs().max() < 2e-7


@program
def the_default_is_changed(L):
    D = L.distributions
    before = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        loose = D.Normal(0.0, -1.0)
        D.Distribution.set_default_validate_args(True)
        return repr(loose), before, loose._validate_args
    finally:
        D.Distribution.set_default_validate_args(before)


@program
def a_distribution_of_ones_own(L):
    D = L.distributions

    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    class Plain(D.Distribution):
        arg_constraints = {}  # noqa: RUF012 - as torch's have it

        def log_prob(self, value):
            self._validate_sample(value)
            return value

    class Bare(D.Distribution):
        def __init__(self):
            super().__init__()

    Bare()
    with pytest.raises(NotImplementedError, match="Subclass Shifted of Normal that defines a custom __init__"):
        Shifted(1.0).expand((2,))
    return Plain().log_prob(L.ones(2)), repr(Shifted(2.0)), repr(Plain())


@program
def old_names_warn(L):
    return L.distributions.Normal(0.0, 1.0).sample_n(3).shape


@program
def low_degrees_of_freedom_warn(L):
    return repr(L.distributions.Wishart(L.tensor(2.1), L.eye(3)))
