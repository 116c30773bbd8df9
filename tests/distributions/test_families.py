"""Every distribution beside torch's: draws under a seed, densities, gradients of two orders, moments, expansion."""

import pickle
import warnings

import numpy as np
import pytest
import torch

import adjoint

from ..compare import LIBRARIES, VALUES, Bound, array, in_tensors
from ..compare import same as same_outcome
from ..gradients import first_gradients, second_gradients
from .cases import CASES, OF_GAMMA, WISHART, make

every_case = pytest.mark.parametrize("name", CASES)
# Draws of vectors are sums and quotients of several numbers, rounded in another order.
DRAWS = {"float64": Bound(1e-12, 1e-13), "float32": Bound(3e-6, 1e-5)}
NEAR = {"float64": Bound(1e-9, 1e-10), "float32": Bound(1e-5, 1e-5)}
MOMENTS = ("mean", "mode", "variance", "stddev")
# torch draws Wishart matrices twice, and says of the first that they are singular, which they are not.
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample detected")


def same(call, bound):
    """The same values, or an exception of the same class. Nodes have other names where one op does the work of many."""
    same_outcome(call, (*VALUES, "requires_grad"), bound, lambda ours, theirs: type(ours) is type(theirs), warned=None)


def draws(name, library, shape, dtype="float64"):
    """Draws under a seed, without gradients."""
    library.manual_seed(11)
    return make(name, library, dtype, grad=False)[0].sample(shape)


def values(name, library, shape=(4,)):
    """torch's draws, as leaves of a library."""
    numbers = draws(name, torch, shape).numpy()
    value = library.tensor(numbers)
    return value.requires_grad_() if value.is_floating_point() else value


@every_case
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(), (3,), (20, 2)], ids=str)
def test_draws(name, dtype, shape):
    # The diagonal of a correlation's factor is the root of what is left of 1.
    bound = {**DRAWS, "float32": Bound(3e-6, 5e-5)} if name == "LKJCholesky" else DRAWS
    same(lambda L: draws(name, L, shape, dtype), bound)


@pytest.mark.parametrize("name", sorted(set(CASES) - WISHART))
def test_draws_with_gradients(name):
    """Gamma numbers move by slopes that torch has to three digits; test_gamma.py has more of ours."""

    def call(L):
        d, leaves = make(name, L)
        L.manual_seed(11)
        value = d.rsample((5,))
        second = [] if name in OF_GAMMA else second_gradients(L, value, leaves)
        return value, first_gradients(L, value, leaves)[0], second

    same(call, bound=in_tensors(Bound(5e-3, 5e-3)) if name in OF_GAMMA else NEAR)


@pytest.mark.parametrize("name", sorted(WISHART))
def test_wishart_draws_with_gradients(name):
    """torch's rsample() changes what its own backward needs; the draw that it returns is its second one of these."""

    def call(L):
        d, leaves = make(name, L)
        L.manual_seed(11)
        value = d.rsample((5,)) if L is adjoint else [d._bartlett_sampling((5,)) for _ in range(2)][1]
        return value, first_gradients(L, value, leaves)[0]

    same(call, in_tensors(Bound(5e-3, 5e-3)))


@every_case
def test_log_prob(name):
    def call(L):
        d, leaves = make(name, L)
        value = values(name, L)
        result = d.log_prob(value)
        inputs = [*leaves, value] if value.requires_grad else leaves
        return result, first_gradients(L, result, inputs)[0], second_gradients(L, result, inputs)

    same(call, bound=VON_MISES if name == "VonMises" else NEAR)


# torch's Bessel functions are good to seven digits.
VON_MISES = in_tensors(Bound(1e-5, 1e-5))


@every_case
def test_log_prob_in_float32(name):
    same(lambda L: make(name, L, "float32")[0].log_prob(values(name, L).to(L.float32)), bound=SINGLE)


SINGLE = {"float32": Bound(2e-5, 2e-5)}


@every_case
@pytest.mark.parametrize("method", ["cdf", "icdf"])
def test_cdf(name, method):
    def call(L):
        d, leaves = make(name, L)
        value = values(name, L).detach()
        if method == "icdf":
            value = L.linspace(0.05, 0.95, value.numel(), dtype=L.float64).reshape(value.shape)
        result = getattr(d, method)(value)
        return result, first_gradients(L, result, leaves)[0]

    if (name, method) == ("Gamma", "cdf") or (name, method) == ("Chi2", "cdf"):
        same(lambda L: make(name, L, grad=False)[0].cdf(values(name, L).detach()), bound=NEAR)
    else:
        same(call, SINGLE_INSIDE if name == "GeneralizedPareto" else NEAR)


# Parameters in single precision, values in double precision.
SINGLE_INSIDE = in_tensors(Bound(1e-6, 1e-6))


WHAT = [(name, what) for name in CASES for what in (*MOMENTS, "entropy", "perplexity")]
WHAT.remove(("Kumaraswamy", "mode"))  # nan in torch


@pytest.mark.parametrize(("name", "what"), WHAT)
def test_moments(name, what):
    def call(L):
        d, leaves = make(name, L)
        result = getattr(d, what)
        result = result() if callable(result) else result
        finite = L.where(L.isfinite(result), result, 0.0)
        return result, first_gradients(L, finite, leaves)[0]

    same(call, {"VonMises": VON_MISES, "Multinomial": MULTINOMIAL}.get(name.split()[0], MOMENT))


# torch's log(n!) is that of a float32; and exp() of an entropy is less exact than the entropy.
MULTINOMIAL = in_tensors(Bound(2e-7, 2e-7))
MOMENT = NEAR | {"float64": Bound(1e-8, 1e-9)}


def test_mode_of_kumaraswamy():
    """torch's is nan; this is where the density is greatest."""
    d = adjoint.distributions.Kumaraswamy(adjoint.tensor([2.0, 4.0, 0.5]), adjoint.tensor([3.0, 2.5, 2.0]))
    x = adjoint.linspace(0.001, 0.999, 999)[:, None]
    highest = x[d.log_prob(x).argmax(0), 0]
    np.testing.assert_allclose(d.mode[:2].numpy(), highest[:2].numpy(), atol=1e-3)
    assert d.mode[2].isnan()


@every_case
def test_facts(name):
    def call(L):
        d, _ = make(name, L)
        facts = [d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support, repr(d), repr(d.support)]
        facts += [repr(type(d).support), {key: repr(value) for key, value in d.arg_constraints.items()}]
        facts += [d.support.is_discrete, d.support.event_dim, d._extended_shape((2,))]
        return facts + [d.enumerate_support(expand) for expand in (True, False) if d.has_enumerate_support]

    same(call, NEAR)


@every_case
def test_expand(name):
    def call(L):
        d, leaves = make(name, L)
        d.log_prob(values(name, L))  # so that lazy parameters are there
        large = d.expand((5, *d.batch_shape))
        again = large.expand([2, *large.batch_shape])
        value = values(name, L)
        result = large.log_prob(value[:, None])
        seen = [repr(large), large.batch_shape, large.event_shape, again.batch_shape, again.event_shape, result]
        seen += first_gradients(L, result, leaves)[0]
        L.manual_seed(3)
        return [*seen, large.sample((2,)).detach(), large._validate_args]

    same(call, bound=VON_MISES if name == "VonMises" else NEAR)


@every_case
def test_subclasses_expand_to_themselves(name):
    d, _ = make(name, adjoint, grad=False)
    d.__class__ = type("Derived", (type(d),), {})
    large = d.expand((5, *d.batch_shape))
    assert type(large) is type(d)
    assert large.sample().shape == (5, *d.batch_shape, *d.event_shape)
    moments = [attempt(lambda what=what: (getattr(d, what), getattr(large, what))) for what in ("mean", "variance")]
    for small, expanded in filter(None, moments):
        np.testing.assert_array_equal(array(expanded)[3], array(small))


@every_case
def test_pickling(name):
    d, _ = make(name, adjoint, grad=False)
    value = values(name, adjoint).detach()
    d.log_prob(value)
    again = pickle.loads(pickle.dumps(d))
    assert repr(again) == repr(d)
    np.testing.assert_array_equal(again.log_prob(value).numpy(), d.log_prob(value).numpy())


def attempt(call):
    try:
        return call()
    except NotImplementedError:
        return None


def having(what):
    """The cases that have a property or, at draws of theirs, a method."""

    def ask(name):
        d, _ = make(name, adjoint, grad=False)
        found = getattr(d, what)
        return found(d.sample()) if callable(found) else found

    return [name for name in CASES if attempt(lambda name=name: ask(name)) is not None]


# Without those of angles, and of tails that few draws show.
MEANS = sorted(set(having("mean")) - {"VonMises", "LogNormal"})


@pytest.mark.parametrize("name", MEANS)
def test_draws_have_the_moments(name):
    """Means and variances of many draws, within six standard errors, where tails are light enough to have them."""
    d, _ = make(name, adjoint, grad=False)
    x, mean, variance = array(d.sample((4000,))), array(d.mean), array(d.variance)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = (x - mean) ** 2
        light = np.isfinite(mean) & np.isfinite(variance) & (squares.var(0) < 12 * variance**2 + 1e-9)
        assert (np.abs(x.mean(0) - mean) <= 6 * np.sqrt(variance / len(x)) + 1e-9)[light].all()
        error = np.sqrt(squares.var(0) / len(x))
        assert (np.abs(squares.mean(0) - variance) <= 6 * error + 1e-9)[light].all()


def test_angles_and_logarithms_have_the_moments():
    """Of von Mises numbers the mean direction and its length, of log-normal ones the moments of the logarithms."""
    angles, _ = make("VonMises", adjoint, grad=False)
    x = array(angles.sample((4000,)))
    turned = np.exp(1j * (x - array(angles.loc)))
    length = 1 - array(angles.variance)
    assert (np.abs(turned.mean(0) - length) < 6 / np.sqrt(len(x))).all()
    logs, _ = make("LogNormal", adjoint, grad=False)
    x = np.log(array(logs.sample((4000,))))
    assert (np.abs(x.mean(0) - array(logs.loc)) < 6 * array(logs.scale) / np.sqrt(len(x))).all()
    assert (np.abs(x.std(0) / array(logs.scale) - 1) < 6 / np.sqrt(2 * len(x))).all()


@pytest.mark.parametrize("name", having("cdf"))
def test_draws_follow_the_distribution(name):
    """The distribution of draws lies as near to cdf() as Kolmogorov's bound says for one of a million."""
    d, _ = make(name, adjoint, grad=False)
    x = d.sample((2000,))
    places = np.sort(array(d.cdf(x)).reshape(len(x), -1), 0)
    steps = (np.arange(len(x)) + 0.5)[:, None] / len(x)
    assert np.abs(places - steps).max() < 2.7 / np.sqrt(len(x))


def test_every_family_has_a_case():
    families = {name for name in torch.distributions.__all__ if isinstance(getattr(torch.distributions, name), type)}
    families = {
        name for name in families if issubclass(getattr(torch.distributions, name), torch.distributions.Distribution)
    }
    abstract = {"Distribution", "ExponentialFamily"}
    inside = {"ExpRelaxedCategorical", "LogitRelaxedBernoulli"}  # of RelaxedOneHotCategorical and RelaxedBernoulli
    assert families - abstract == {name.split()[0] for name in CASES} - inside


def test_the_same_names():
    for library in LIBRARIES:
        assert all(hasattr(library.distributions, name) for name in torch.distributions.__all__)
    assert sorted(adjoint.distributions.__all__) == sorted(torch.distributions.__all__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adjoint.distributions.Normal(0.0, 1.0).sample((2,)).shape == (2,)
