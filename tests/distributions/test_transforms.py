"""Transforms beside torch's: values, inverses, determinants against Jacobians, shapes, caches, composition."""

import pickle

import numpy as np
import pytest

import adjoint

from ..compare import VALUES, Bound, programs, same
from ..gradients import first_gradients

program, test_program = programs(bound={"float64": Bound(1e-12, 1e-13)})
NEAR = {"float64": Bound(1e-10, 1e-11)}

VECTOR = [[0.3, -1.2, 2.0], [0.1, 0.7, -0.4]]
POSITIVE = [[0.3, 1.2, 2.0], [0.1, 0.7, 4.0]]
TRANSFORMS = {
    "abs": (lambda D, t: D.AbsTransform(), VECTOR),
    "affine": (lambda D, t: D.AffineTransform(t([1.0, 2.0, 3.0]), t([2.0, -0.5, 1.5])), VECTOR),
    "affine of numbers": (lambda D, t: D.AffineTransform(1.0, -2.0), VECTOR),
    "affine of vectors": (lambda D, t: D.AffineTransform(t(1.0), t([2.0, -0.5, 1.5]), event_dim=1), VECTOR),
    "cat": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=-1, lengths=[1, 2]), VECTOR),
    "cat of rows": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=0), VECTOR),
    "cdf": (lambda D, t: D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))), VECTOR),
    "compose": (
        lambda D, t: D.ComposeTransform([D.TanhTransform(), D.AffineTransform(2.0, 1.5), D.ExpTransform()]),
        VECTOR,
    ),
    "compose of vectors": (
        lambda D, t: D.ComposeTransform([D.AffineTransform(0.2, t([1.0, 2.0, -1.0])), D.StickBreakingTransform()]),
        VECTOR,
    ),
    "corr_cholesky": (lambda D, t: D.CorrCholeskyTransform(), VECTOR),
    "exp": (lambda D, t: D.ExpTransform(), VECTOR),
    "identity": (lambda D, t: D.identity_transform, VECTOR),
    "independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), VECTOR),
    "inverse": (lambda D, t: D.ExpTransform().inv, POSITIVE),
    "inverse of compose": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.05, 1.5)]).inv,
        POSITIVE,
    ),
    "lower_cholesky": (lambda D, t: D.LowerCholeskyTransform(), [[0.3, 9.0], [1.2, -0.4]]),
    "positive_definite": (lambda D, t: D.PositiveDefiniteTransform(), [[0.3, 9.0], [1.2, -0.4]]),
    "power": (lambda D, t: D.PowerTransform(t([2.0, -0.5, 1.5])), POSITIVE),
    "reshape": (lambda D, t: D.ReshapeTransform((3,), (3, 1)), VECTOR),
    "sigmoid": (lambda D, t: D.SigmoidTransform(), VECTOR),
    "softmax": (lambda D, t: D.SoftmaxTransform(), VECTOR),
    "softplus": (lambda D, t: D.SoftplusTransform(), VECTOR),
    "stack": (lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform()]), VECTOR),
    "stick_breaking": (lambda D, t: D.StickBreakingTransform(), VECTOR),
    "tanh": (lambda D, t: D.TanhTransform(), VECTOR),
}
every_transform = pytest.mark.parametrize("name", TRANSFORMS)


def make(name, L):
    build, numbers = TRANSFORMS[name]
    leaves = []

    def t(values):
        leaves.append(L.tensor(values, dtype=L.float64, requires_grad=True))
        return leaves[-1]

    transform = build(L.distributions, t)
    return transform, t(numbers), leaves


def attempt(call):
    try:
        return call()
    except NotImplementedError:
        return "not implemented"


@every_transform
def test_values(name):
    def call(L):
        transform, x, leaves = make(name, L)
        y = transform(x)
        back = transform.inv(y)
        slope = attempt(lambda: transform.log_abs_det_jacobian(x, y))
        results = [y, back] if slope == "not implemented" else [y, back, slope]
        return results, first_gradients(L, results, leaves)[0], slope == "not implemented"

    same(call, VALUES, NEAR, warned=None)


ONE_WAY = {"abs", "softmax"}  # torch calls abs its own inverse's inverse, and softmax that of a logarithm


@pytest.mark.parametrize("name", sorted(set(TRANSFORMS) - ONE_WAY))
def test_inverses(name):
    """Back to where it came from, and the inverse's determinant is that of the transform, negated."""
    transform, x, _ = make(name, adjoint)
    with adjoint.no_grad():
        y = transform(x)
        back = transform.inv(y)
        if name in ("lower_cholesky", "positive_definite"):  # what is above the diagonal is lost
            x, back = x.tril(), back.tril()
        np.testing.assert_allclose(back.numpy(), x.numpy(), rtol=1e-9, atol=1e-11)
        slopes = [attempt(lambda: transform.log_abs_det_jacobian(x, y))]
        if not isinstance(slopes[0], str):
            slopes.append(transform.inv.log_abs_det_jacobian(y, x))
            np.testing.assert_allclose(slopes[1].numpy(), -slopes[0].numpy(), rtol=1e-12)


@every_transform
def test_facts(name):
    def call(L):
        transform, x, _ = make(name, L)
        facts = [repr(transform), transform.bijective, repr(transform.domain), repr(transform.codomain)]
        facts += [transform.domain.event_dim, transform.codomain.event_dim, attempt(lambda: transform.sign)]
        facts += [tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(transform(x).shape))]
        facts += [
            repr(transform.inv),
            transform.inv.inv is transform,
            repr(transform.with_cache(1)),
            transform == transform,
        ]
        return [*facts, transform.domain.check(x), transform.codomain.check(transform(x))]

    same(call, VALUES, NEAR, warned=None)


SQUARE = sorted(
    set(TRANSFORMS)
    - {
        "abs",
        "corr_cholesky",
        "lower_cholesky",
        "positive_definite",
        "softmax",
        "stick_breaking",
        "cat of rows",
        "stack",
        "compose of vectors",
    }
)


@pytest.mark.parametrize("name", SQUARE)
def test_determinants_are_those_of_jacobians(name):
    """Row by row, by autograd."""
    transform, x, _ = make(name, adjoint)
    slope = transform.log_abs_det_jacobian(x, transform(x)).detach()
    for row in range(len(x)):
        whole = adjoint.autograd.functional.jacobian(
            lambda one, row=row: transform(adjoint.stack([one] * 2))[row], x[row].detach()
        )
        expected = np.linalg.slogdet(whole.reshape(3, 3).numpy())[1]
        np.testing.assert_allclose(slope[row].sum().item(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["stick_breaking", "compose of vectors"])
def test_determinants_on_the_simplex(name):
    """All but the last element, which the others give."""
    transform, x, _ = make(name, adjoint)
    slope = transform.log_abs_det_jacobian(x, transform(x)).detach()
    for row in range(len(x)):
        whole = adjoint.autograd.functional.jacobian(lambda one: transform(one)[:-1], x[row].detach())
        np.testing.assert_allclose(slope[row].item(), np.linalg.slogdet(whole.numpy())[1], rtol=1e-9)


def test_determinant_of_correlations():
    transform = adjoint.distributions.CorrCholeskyTransform()
    x = adjoint.tensor(VECTOR[0], dtype=adjoint.float64)

    def lower(x):
        return adjoint.distributions.utils.tril_matrix_to_vec(transform(x), diag=-1)

    whole = adjoint.autograd.functional.jacobian(lower, x)
    slope = transform.log_abs_det_jacobian(x, transform(x))
    np.testing.assert_allclose(slope.item(), np.linalg.slogdet(whole.numpy())[1], rtol=1e-9)


@every_transform
def test_pickling(name):
    transform, x, _ = make(name, adjoint)
    with adjoint.no_grad():
        y = transform(x)
        again = pickle.loads(pickle.dumps(transform))
        assert repr(again) == repr(transform)
        assert (again(x) == y).all()
        assert again.inv(y).shape == x.shape


@program
def caches_give_the_argument_itself(L):
    D = L.distributions
    seen = []
    for transform in (
        D.ExpTransform(cache_size=1),
        D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1, 2)], cache_size=1),
    ):
        x = L.tensor([1.0, 2.0])
        y = transform(x)
        seen += [transform(x) is y, transform.inv(y) is x, transform.inv(y + 0) is x]
    plain = D.ExpTransform()
    return [*seen, plain.with_cache(0) is plain, plain.with_cache(1) is plain, plain.with_cache()._cache_size]


@program
def transforms_are_equal_by_what_they_do(L):
    D = L.distributions
    pairs = [
        (D.ExpTransform(), D.ExpTransform(cache_size=1)),
        (D.ExpTransform(), D.TanhTransform()),
        (D.AffineTransform(1.0, 2.0), D.AffineTransform(1, 2)),
        (D.AffineTransform(L.zeros(2), 2.0), D.AffineTransform(0.0, L.tensor(2.0))),
        (D.AffineTransform(1.0, 2.0), D.AffineTransform(1.0, 3.0)),
        (D.PowerTransform(2.0), D.PowerTransform(L.tensor(2.0))),
        (D.ComposeTransform([D.ExpTransform()]), D.ComposeTransform([D.ExpTransform()])),
        (D.ExpTransform().inv, D.ExpTransform().inv),
        (D.ExpTransform().inv, D.ExpTransform()),
        (D.IndependentTransform(D.ExpTransform(), 1), D.IndependentTransform(D.ExpTransform(), 1)),
        (D.StickBreakingTransform(), D.StickBreakingTransform()),
        (D.CorrCholeskyTransform(), D.CorrCholeskyTransform()),
    ]
    return [(a == b, a != b) for a, b in pairs]


def refusals(D, L):
    x = L.zeros(3)
    yield lambda: D.ExpTransform(cache_size=2)
    yield lambda: D.ReshapeTransform((4,), (2, 3))
    yield lambda: D.ReshapeTransform((4,), (2, 2)).forward_shape((3,))
    yield lambda: D.ReshapeTransform((4,), (2, 2)).forward_shape(())
    yield lambda: D.SoftmaxTransform().log_abs_det_jacobian(x, x)
    yield lambda: D.SoftmaxTransform().sign
    yield lambda: D.SoftmaxTransform().forward_shape(())
    yield lambda: D.StickBreakingTransform().forward_shape(())
    yield lambda: D.StickBreakingTransform().event_dim
    yield lambda: D.CorrCholeskyTransform().event_dim
    yield lambda: D.CorrCholeskyTransform().forward_shape((2,))
    yield lambda: D.CorrCholeskyTransform().inverse_shape((2, 3))
    yield lambda: D.CorrCholeskyTransform().inverse_shape((2,))
    yield lambda: D.IndependentTransform(D.ExpTransform(), 2)(x)
    yield lambda: D.IndependentTransform(D.ExpTransform(), 2).inv(x)
    yield lambda: D.Transform()(x)
    yield lambda: D.Transform().log_abs_det_jacobian(x, x)
    yield lambda: D.Transform().inv(x)
    yield lambda: hash(D.ExpTransform())
    yield lambda: D.AffineTransform(0, L.ones(2)).forward_shape((3,))
    yield lambda: D.CatTransform([3])
    yield lambda: D.CatTransform([D.ExpTransform()], lengths=[1, 2])
    yield lambda: D.CatTransform([D.ExpTransform()])(x)
    yield lambda: D.CatTransform([D.ExpTransform()], dim=3)(x)
    yield lambda: D.StackTransform([3])
    yield lambda: D.StackTransform([D.ExpTransform()])(x)
    yield lambda: D.StackTransform([D.ExpTransform()], dim=3)(x)


@pytest.mark.parametrize("number", range(27))
def test_refusals(number):
    same(lambda L: list(refusals(L.distributions, L))[number]())


@program
def registries_lead_to_constraints(L):
    D, C = L.distributions, L.distributions.constraints

    def T(numbers):
        return L.tensor(numbers, dtype=L.float64)

    kinds = [C.real, C.positive, C.nonnegative, C.greater_than(T([1.0, 2.0, 3.0])), C.less_than(2.0), C.unit_interval]
    kinds += [C.interval(1.0, 3.0), C.half_open_interval(-1.0, 2.0), C.simplex, C.real_vector, C.corr_cholesky]
    kinds += [C.independent(C.positive, 1), C.cat([C.positive, C.real], -1, [1, 2])]
    seen = []
    for registry in (D.biject_to, D.transform_to):
        for kind in kinds:
            transform = registry(kind)
            x = T([[0.3, -1.0, 2.0], [0.1, 0.2, 0.3]])
            y = transform(x)
            seen += [repr(transform), y, kind.check(y), transform.inv(y)]
    for kind in (C.lower_cholesky, C.positive_definite, C.positive_semidefinite, C.stack([C.positive, C.real])):
        y = D.transform_to(kind)(T([[0.3, -1.0], [0.1, 0.2]]))
        seen += [y, kind.check(y)]
    return seen


def test_registering():
    D, C = adjoint.distributions, adjoint.distributions.constraints

    class Even(C.Constraint):
        def check(self, value):
            return value % 2 == 0

    registry = D.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def to_even(constraint):
        return D.AffineTransform(0, 2)

    assert registry(Even())(adjoint.tensor(3)).item() == 6
    with pytest.raises(NotImplementedError, match="Cannot transform _Real constraints"):
        registry(C.real)
    with pytest.raises(
        TypeError, match="Expected constraint to be either a Constraint subclass or instance, but got 3"
    ):
        registry.register(3, to_even)
