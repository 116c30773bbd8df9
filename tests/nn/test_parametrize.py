"""Parametrizations, weight norm, spectral norm and orthogonal weights beside torch's."""

import copy
import pickle

import pytest

import adjoint
from tests.compare import same

from .compare import check, check_trajectory, floats


def modules(L):
    """Parametrizations of one library, by name."""

    class Symmetric(L.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, x):
            return x.triu()

    class Plus(L.nn.Module):
        def forward(self, x):
            return x + 1

    class Product(L.nn.Module):
        def forward(self, a, b):
            return a @ b

        def right_inverse(self, x):
            return x, L.eye(x.shape[1])

    def of(forward, right_inverse=None):
        own = {"forward": lambda self, x: forward(x)}
        if right_inverse is not None:
            own["right_inverse"] = lambda self, x: right_inverse(x)
        return type("Made", (L.nn.Module,), own)

    first_row, double = of(lambda x: x[:1]), of(lambda x: x.double())
    number, inverse_number = of(lambda x: 3), of(lambda x: x, lambda x: 3)
    inverse_row, inverse_double = of(lambda x: x, lambda x: x[:1]), of(lambda x: x, lambda x: x.double())
    half_tensors = of(lambda x: x, lambda x: (x, 3))
    return {name: value for name, value in locals().items() if isinstance(value, type)}


def parametrized(L, *names, tensor="weight", layer=None, **options):
    layer = L.nn.Linear(3, 3) if layer is None else layer
    for name in names:
        L.nn.utils.parametrize.register_parametrization(layer, tensor, modules(L)[name](), **options)
    return layer


@pytest.mark.parametrize("names", [["Symmetric"], ["Symmetric", "Plus"], ["Symmetric", "Symmetric"], ["Product"]])
def test_parametrized_layers(names):
    check(lambda L: parametrized(L, *names), floats(2, 3))


PROGRAMS = [
    lambda L: repr(parametrized(L, "Symmetric")),
    lambda L: repr(parametrized(L, "Symmetric", "Symmetric")),
    lambda L: repr(parametrized(L, "Plus", tensor="running_mean", layer=L.nn.BatchNorm1d(3))),
    lambda L: list(parametrized(L, "Plus", tensor="running_mean", layer=L.nn.BatchNorm1d(3)).state_dict()),
    lambda L: type(parametrized(L, "Symmetric")).__name__,
    lambda L: L.nn.utils.parametrize.type_before_parametrizations(parametrized(L, "Symmetric")) is L.nn.Linear,
    lambda L: [L.nn.utils.parametrize.is_parametrized(parametrized(L, "Plus"), n) for n in (None, "weight", "bias")],
    lambda L: L.nn.utils.parametrize.is_parametrized(L.nn.Linear(1, 1)),
    lambda L: repr(copy.deepcopy(parametrized(L, "Symmetric"))),
    lambda L: pickle.dumps(parametrized(L, "Symmetric")),
    lambda L: delattr(parametrized(L, "Symmetric"), "weight"),
    lambda L: parametrized(L, "Plus", tensor="other"),
    lambda L: parametrized(L, "first_row"),
    lambda L: parametrized(L, "first_row", unsafe=True).weight.shape,
    lambda L: parametrized(L, "double"),
    lambda L: parametrized(L, "number"),
    lambda L: parametrized(L, "Symmetric", "first_row"),
    lambda L: parametrized(L, "Symmetric", "double"),
    lambda L: parametrized(L, "Symmetric", "number"),
    lambda L: parametrized(L, "Symmetric", "inverse_number"),
    lambda L: parametrized(L, "Symmetric", "inverse_row"),
    lambda L: parametrized(L, "inverse_number"),
    lambda L: parametrized(L, "inverse_row"),
    lambda L: parametrized(L, "inverse_double"),
    lambda L: parametrized(L, "half_tensors"),
    lambda L: setattr(parametrized(L, "Plus"), "weight", L.ones(3, 3)),
    lambda L: L.nn.utils.parametrize.remove_parametrizations(L.nn.Linear(1, 1), "weight"),
    lambda L: L.nn.utils.parametrize.remove_parametrizations(parametrized(L, "Product"), "weight", False),
    lambda L: L.nn.utils.parametrize.ParametrizationList([], L.ones(1)),
    lambda L: parametrized(L, "Plus").eval().parametrizations.weight[0].training,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_parametrizations(program):
    same(program)


@pytest.mark.parametrize("names", [["Symmetric"], ["Product"], ["Plus"], ["Symmetric", "Plus"]])
def test_removal_leaves_the_value(names):
    def program(L):
        L.manual_seed(0)
        layer = parametrized(L, *names)
        before, class_before = layer.weight.detach().clone(), type(layer)
        L.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        same_value = L.equal(before, layer.weight)
        return (
            same_value,
            list(layer.state_dict()),
            repr(layer),
            type(layer) is class_before,
            layer.weight.requires_grad,
        )

    same(program)


def test_removal_of_one_of_two_and_return_to_the_original():
    def program(L):
        remove = L.nn.utils.parametrize.remove_parametrizations
        layer = parametrized(L, "Plus", tensor="bias", layer=parametrized(L, "Symmetric"))
        original = layer.parametrizations.weight.original
        remove(layer, "weight", leave_parametrized=False)
        one_left = type(layer).__name__
        remove(layer, "bias")
        return one_left, layer.weight is original, type(layer).__name__, list(layer._parameters)

    same(program)


def test_the_parameter_stays_the_same_object():
    """An optimizer made before goes on training it."""

    def program(L):
        layer = L.nn.Linear(3, 3)
        weight = layer.weight
        parametrized(L, "Symmetric", layer=layer)
        kept = layer.parametrizations.weight.original is weight
        return kept, L.nn.utils.parametrize.remove_parametrizations(layer, "weight").weight is weight

    same(program)


def test_assignment():
    def program(L):
        layer = parametrized(L, "Symmetric")
        layer.weight = L.tensor([[1.0, 2.0, 3.0], [2.0, 5.0, 6.0], [3.0, 6.0, 9.0]])
        product = parametrized(L, "Product")
        product.weight = L.ones(3, 3)
        return layer.weight, layer.parametrizations.weight.original, product.parametrizations.weight.original1

    same(program)


def test_cache():
    def program(L):
        layer = parametrized(L, "Symmetric")
        with L.nn.utils.parametrize.cached():
            inside = layer.weight is layer.weight
            with L.nn.utils.parametrize.cached():
                pass
            still = layer.weight is layer.weight
        return inside, still, layer.weight is layer.weight

    same(program)


def test_transfer():
    def program(L):
        L.manual_seed(0)
        first, second = parametrized(L, "Symmetric", "Plus"), L.nn.Linear(3, 3)
        L.nn.utils.parametrize.transfer_parametrizations_and_params(first, second)
        shared = second.parametrizations.weight.original is first.parametrizations.weight.original
        return repr(second), L.equal(first.weight, second.weight), shared

    same(program)


def old_weight_norm(L, layer, *args, **kwargs):
    with pytest.warns(FutureWarning, match="is deprecated in favor of"):
        return L.nn.utils.weight_norm(layer, *args, **kwargs)


# The layers are made in float64, in which the norms are computed before a test changes the type.


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_weight_norm(dim):
    x = floats(2, 3)
    check(lambda L: old_weight_norm(L, L.nn.Linear(3, 4).double(), dim=dim), x)
    check(lambda L: L.nn.utils.parametrizations.weight_norm(L.nn.Linear(3, 4).double(), dim=dim), x)


def test_weight_norm_of_other_layers():
    image = floats(2, 3, 5, 5)
    check(lambda L: L.nn.utils.parametrizations.weight_norm(L.nn.Conv2d(3, 4, 3).double()), image)
    check(lambda L: old_weight_norm(L, L.nn.Conv2d(3, 4, 3).double(), dim=1), image)
    check(lambda L: L.nn.utils.parametrizations.weight_norm(L.nn.Linear(3, 4).double(), "bias", dim=None), floats(2, 3))


def test_weight_norm_taken_back():
    def program(L):
        layer = old_weight_norm(L, L.nn.Linear(3, 2))
        before = layer.weight.detach().clone()
        L.nn.utils.remove_weight_norm(layer)
        return list(layer.state_dict()), L.equal(before, layer.weight), dict(layer._forward_pre_hooks)

    same(program)


def test_states_of_the_old_weight_norm_fit_the_new():
    def program(L):
        new = L.nn.utils.parametrizations.weight_norm(L.nn.Linear(3, 2))
        old = old_weight_norm(L, L.nn.Linear(3, 2))
        return str(new.load_state_dict(old.state_dict())), L.allclose(new.weight, old.weight)

    same(program)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda L, f: f(L.nn.Linear(3, 4).double()),
        lambda L, f: f(L.nn.Linear(3, 4).double(), n_power_iterations=3, eps=1e-3),
        lambda L, f: f(L.nn.Conv1d(3, 4, 2).double()),
        lambda L, f: f(L.nn.ConvTranspose1d(3, 4, 2).double()),
        lambda L, f: f(L.nn.Linear(3, 4).double(), dim=1),
    ],
)
def test_spectral_norm(make, training):
    x = floats(2, 3, 3)
    twice = lambda module, x: (module(x), module(x))
    check(lambda L: make(L, L.nn.utils.spectral_norm), x, dtypes=("float64",), call=twice, training=training)
    check(
        lambda L: make(L, L.nn.utils.parametrizations.spectral_norm),
        x,
        dtypes=("float64",),
        call=twice,
        training=training,
    )


def test_spectral_norm_of_a_vector():
    check(lambda L: L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(3, 4).double(), "bias"), floats(2, 3))


ERRORS = [
    lambda L: old_weight_norm(L, old_weight_norm(L, L.nn.Linear(2, 2))),
    lambda L: L.nn.utils.remove_weight_norm(L.nn.Linear(2, 2)),
    lambda L: L.nn.utils.spectral_norm(L.nn.utils.spectral_norm(L.nn.Linear(2, 2))),
    lambda L: L.nn.utils.remove_spectral_norm(L.nn.Linear(2, 2)),
    lambda L: L.nn.utils.spectral_norm(L.nn.Linear(2, 2), n_power_iterations=0),
    lambda L: L.nn.utils.spectral_norm(L.nn.Linear(2, 2, bias=False), "bias"),
    lambda L: L.nn.utils.spectral_norm(L.nn.LazyLinear(2)),
    lambda L: dict(L.nn.utils.spectral_norm(L.nn.Linear(2, 2)).state_dict()._metadata),
    lambda L: list(L.nn.utils.remove_spectral_norm(L.nn.utils.spectral_norm(L.nn.Linear(2, 2))).state_dict()),
    lambda L: L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(2, 2), n_power_iterations=0),
    lambda L: L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(2, 2), dim=5),
    lambda L: L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(2, 2), "other"),
    lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), orthogonal_map="other"),
    lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), "bias"),
    lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), "other"),
    lambda L: setattr(L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3)), "weight", L.ones(3, 2)),
    lambda L: setattr(
        L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), use_trivialization=False), "weight", L.eye(3)
    ),
]


@pytest.mark.parametrize("wrong", ERRORS)
def test_errors(wrong):
    same(wrong)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape, kind, trivial):
    def make(L):
        layer = L.nn.Linear(*shape, dtype=L.float64)
        return L.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=trivial)

    check(make, floats(5, shape[0]), dtypes=("float64",))
    weight = make(adjoint).weight.detach()
    tall = weight if shape[0] <= shape[1] else weight.T
    assert adjoint.allclose(tall.T @ tall, adjoint.eye(min(shape), dtype=adjoint.float64))


def test_assignment_of_an_orthogonal_weight():
    def program(L):
        layer = L.nn.utils.parametrizations.orthogonal(L.nn.Linear(2, 2))
        layer.weight = L.tensor([[0.0, 1.0], [1.0, 0.0]])
        return layer.weight

    same(program)


def loss(result):
    return (result.sin() - 0.5).square().mean()


def test_training():
    new = lambda L: L.nn.utils.parametrizations
    check_trajectory(lambda L: new(L).weight_norm(L.nn.Linear(3, 4).double()), floats(5, 3), loss=loss)
    check_trajectory(lambda L: old_weight_norm(L, L.nn.Linear(3, 4).double()), floats(5, 3), loss=loss)
    check_trajectory(lambda L: new(L).spectral_norm(L.nn.Linear(3, 4).double()), floats(5, 3), loss=loss)
    check_trajectory(lambda L: L.nn.utils.spectral_norm(L.nn.Linear(3, 4).double()), floats(5, 3), loss=loss)
