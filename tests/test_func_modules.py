"""Function transforms of whole modules, beside torch's: gradients of each sample, ensembles, tangents, Hessians."""

import contextlib
import copy

import pytest
import torch
from torch.utils import _pytree as pytree

import adjoint
from tests.compare import Bound, assert_same, in_tensors, same, words
from tests.nn.compare import floats, integers

# What torch says of itself when forward mode is first used.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
EXACT = in_tensors(Bound(1e-9, 1e-9))
SAMPLES = 3


class Case:
    """A module as a function of the library, the inputs of SAMPLES calls of it, and how it is called.

    `looped`: torch has no vmap of it.
    """

    def __init__(self, make, inputs, call=lambda x: (x,), looped=False):
        self.make, self.inputs, self.call, self.looped = make, inputs, call, looped

    def vmap(self, library, function, in_dims=0):
        """vmap, or a loop."""
        if library is torch and self.looped:
            return looped(function, in_dims)
        return library.vmap(function, in_dims)

    def modules(self, library, count=1):
        """Modules of one kind, the same in both libraries."""
        made = []
        for seed in range(count):
            module = self.make(library).double()
            for place, (name, value) in enumerate(module.state_dict().items()):
                if value.is_floating_point():
                    numbers = floats(*value.shape, seed=100 * seed + place) * 0.5
                    value.copy_(library.from_numpy(abs(numbers) + 0.5 if name == "running_var" else numbers))
            made.append(module)
        return made

    def function(self, library, module):
        """(parameters, buffers, x) -> a number."""

        def loss(parameters, buffers, x):
            result = library.func.functional_call(module, (parameters, buffers), self.call(x))
            tensors = [result] if isinstance(result, library.Tensor) else flat(result)
            return sum((y.sin() * y).sum() for y in tensors)

        return loss


def looped(function, in_dims):
    """The results of calls one by one, stacked."""

    def mapped(*args):
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)

        def given(i):
            return [
                pytree.tree_map(lambda x: x[i], arg) if dim == 0 else arg for arg, dim in zip(args, dims, strict=True)
            ]

        return pytree.tree_map(lambda *each: torch.stack(each), *(function(*given(i)) for i in range(SAMPLES)))

    return mapped


def flat(results):
    """The tensors of nested tuples."""
    if isinstance(results, tuple | list):
        return [tensor for result in results for tensor in flat(result)]
    return [] if results is None else [results]


def state(module):
    """Parameters and buffers by name, without gradients."""
    parameters = {name: value.detach() for name, value in module.named_parameters()}
    return parameters, dict(module.named_buffers())


CASES = {
    "Linear": Case(lambda L: L.nn.Linear(4, 3), floats(SAMPLES, 4)),
    "Linear of rows": Case(lambda L: L.nn.Linear(4, 3), floats(SAMPLES, 2, 4)),
    "Conv1d": Case(lambda L: L.nn.Conv1d(2, 4, 3, padding=1), floats(SAMPLES, 2, 5)),
    "Conv2d": Case(lambda L: L.nn.Conv2d(4, 6, 3, stride=2, groups=2), floats(SAMPLES, 4, 5, 6)),
    "Conv2d of a batch": Case(lambda L: L.nn.Conv2d(2, 3, 2, dilation=2), floats(SAMPLES, 2, 2, 4, 4)),
    "ConvTranspose2d": Case(
        lambda L: L.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        floats(SAMPLES, 4, 3, 3),
    ),
    "Conv3d": Case(lambda L: L.nn.Conv3d(2, 2, 2), floats(SAMPLES, 2, 3, 3, 3)),
    "ConvTranspose1d": Case(lambda L: L.nn.ConvTranspose1d(2, 3, 2, stride=2), floats(SAMPLES, 2, 3)),
    "a network": Case(
        lambda L: L.nn.Sequential(
            L.nn.Conv2d(1, 3, 3), L.nn.ReLU(), L.nn.MaxPool2d(2), L.nn.Flatten(0), L.nn.Linear(12, 2)
        ),
        floats(SAMPLES, 1, 6, 6),
    ),
    "LSTM": Case(lambda L: L.nn.LSTM(3, 2, 2), floats(SAMPLES, 4, 3), looped=True),
    "LSTM both ways": Case(
        lambda L: L.nn.LSTM(3, 2, batch_first=True, bidirectional=True), floats(SAMPLES, 2, 3, 3), looped=True
    ),
    "GRU": Case(lambda L: L.nn.GRU(3, 2), floats(SAMPLES, 4, 3), looped=True),
    "GRU both ways": Case(
        lambda L: L.nn.GRU(3, 2, 2, batch_first=True, bidirectional=True), floats(SAMPLES, 2, 4, 3), looped=True
    ),
    "RNN": Case(lambda L: L.nn.RNN(3, 2), floats(SAMPLES, 4, 2, 3), looped=True),
    "MultiheadAttention": Case(lambda L: L.nn.MultiheadAttention(4, 2), floats(SAMPLES, 3, 4), lambda x: (x, x, x)),
    "MultiheadAttention of a batch": Case(
        lambda L: L.nn.MultiheadAttention(4, 2, batch_first=True, add_bias_kv=True),
        floats(SAMPLES, 2, 3, 4),
        lambda x: (x, x, x.cos()),
    ),
    "TransformerEncoderLayer": Case(
        lambda L: L.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation="gelu"), floats(SAMPLES, 3, 4)
    ),
    "TransformerDecoderLayer": Case(
        lambda L: L.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, norm_first=True),
        floats(SAMPLES, 3, 4),
        lambda x: (x, x.cos()),
    ),
    "LayerNorm": Case(lambda L: L.nn.LayerNorm((2, 4)), floats(SAMPLES, 3, 2, 4)),
    "LayerNorm of a vector": Case(lambda L: L.nn.LayerNorm(4), floats(SAMPLES, 4)),
    "RMSNorm": Case(lambda L: L.nn.RMSNorm(4, eps=1e-3), floats(SAMPLES, 3, 4)),
    "GroupNorm": Case(lambda L: L.nn.GroupNorm(2, 4), floats(SAMPLES, 2, 4, 3)),
    "InstanceNorm": Case(lambda L: L.nn.InstanceNorm1d(2, affine=True), floats(SAMPLES, 2, 4)),
    "BatchNorm in training": Case(
        lambda L: L.nn.BatchNorm1d(3, track_running_stats=False), floats(SAMPLES, 4, 3)
    ),
    "InstanceNorm in eval": Case(
        lambda L: L.nn.InstanceNorm2d(2, affine=True, track_running_stats=True).eval(), floats(SAMPLES, 2, 2, 3, 3)
    ),
    "BatchNorm in eval": Case(lambda L: L.nn.BatchNorm2d(3).eval(), floats(SAMPLES, 2, 3, 2, 2)),
    "Dropout in eval": Case(
        lambda L: L.nn.Sequential(L.nn.Linear(4, 3), L.nn.Dropout(0.5), L.nn.PReLU()).eval(), floats(SAMPLES, 4)
    ),
    "Embedding": Case(lambda L: L.nn.Embedding(5, 3, padding_idx=1), integers(5, SAMPLES, 4)),
}  # fmt: skip
every_case = pytest.mark.parametrize("name", CASES)


def compared(scenario, name):
    """Asserts that scenario(library, case, inputs) gives the same in both libraries."""
    results = []
    for library in (adjoint, torch):
        plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
        with plain if library is torch else contextlib.nullcontext():
            results.append(scenario(library, CASES[name], library.from_numpy(CASES[name].inputs)))
    assert_same(*results, bound=EXACT)


def directions(library, tensors):
    """Tangents for a dictionary of tensors."""
    return {name: (value + 1).cos() * (1 + place) for place, (name, value) in enumerate(tensors.items())}


@every_case
def test_gradients_of_each_sample(name):
    def scenario(library, case, inputs):
        (module,) = case.modules(library)
        gradient = library.func.grad(case.function(library, module))
        return case.vmap(library, gradient, (None, None, 0))(*state(module), inputs)

    compared(scenario, name)


@every_case
def test_ensembles(name):
    def scenario(library, case, inputs):
        modules = case.modules(library, SAMPLES)
        parameters, buffers = library.func.stack_module_state(modules)
        loss = case.function(library, modules[0])
        losses = case.vmap(library, loss, (0, 0, None))(parameters, buffers, inputs[0])
        gradients = library.autograd.grad(losses.sum(), list(parameters.values()))
        each = case.vmap(library, library.func.grad(loss))(parameters, buffers, inputs)
        return losses, gradients, each

    compared(scenario, name)


@every_case
def test_tangents(name):
    def scenario(library, case, inputs):
        (module,) = case.modules(library)
        loss = case.function(library, module)
        parameters, buffers = state(module)
        along = directions(library, parameters)

        def of(parameters, x):
            return loss(parameters, buffers, x)

        if not inputs[0].is_floating_point():
            return library.func.jvp(lambda p: of(p, inputs[0]), (parameters,), (along,))
        one = library.func.jvp(of, (parameters, inputs[0]), (along, inputs[0].sin()))
        many = case.vmap(library, lambda x: library.func.jvp(lambda x: of(parameters, x), (x,), (x.sin(),)))(inputs)
        return one, many

    compared(scenario, name)


def second_derivatives(way):
    def scenario(library, case, inputs):
        (module,) = case.modules(library)
        loss = case.function(library, module)
        parameters, buffers = state(module)

        def gradient(parameters):
            return library.func.grad(loss)(parameters, buffers, inputs[0])

        return way(library, gradient, parameters, directions(library, parameters))

    return scenario


@every_case
def test_hessian_vector_products(name):
    compared(second_derivatives(lambda library, gradient, at, along: library.func.vjp(gradient, at)[1](along)), name)


@every_case
def test_hessian_vector_products_by_forward_mode(name):
    compared(second_derivatives(lambda library, gradient, at, along: library.func.jvp(gradient, (at,), (along,))), name)


@pytest.mark.parametrize("dim", [0, -1])
def test_running_statistics_of_an_ensemble(dim):
    """Those of each module follow its own inputs, in place; in torch only if they lie at the first dimension."""

    def run(library, dim):
        modules = Case(lambda L: L.nn.BatchNorm1d(2), None).modules(library, SAMPLES)
        parameters, buffers = library.func.stack_module_state(modules)
        buffers = {name: value.movedim(0, dim).contiguous() for name, value in buffers.items()}

        def call(parameters, buffers, x):
            return library.func.functional_call(modules[0], (parameters, buffers), (x,))

        inputs = library.from_numpy(floats(SAMPLES, 4, 2))
        results = library.vmap(call, (0, dim, 0))(parameters, buffers, inputs)
        return results.detach(), {name: value.movedim(dim, 0) for name, value in buffers.items()}

    assert_same(run(adjoint, dim), run(torch, 0), bound=EXACT)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode):
    """Of which torch has one derivative, by reverse mode."""

    def run(library):
        case = Case(lambda L: L.nn.EmbeddingBag(5, 3, mode=mode), None, looped=True)
        (module,) = case.modules(library)
        bags = library.from_numpy(integers(5, SAMPLES, 2, 4))
        loss = case.function(library, module)
        gradient = library.func.grad(loss)(*state(module), bags[0])
        return gradient, case.vmap(library, library.func.grad(loss), (None, None, 0))(*state(module), bags)

    assert_same(run(adjoint), run(torch), bound=EXACT)


def test_running_statistics_that_a_batch_would_share():
    """Refused: which sample's would they be?"""

    def run(library):
        module = library.nn.BatchNorm1d(2)
        return library.vmap(module)(library.ones(3, 4, 2))

    same(run, error=words(24))


HOOKS = {
    "register_forward_hook": lambda module, inputs, output: output * 2,
    "register_forward_pre_hook": lambda module, inputs: (inputs[0] * 2,),
    "register_full_backward_hook": lambda module, grad_inputs, grad_outputs: (grad_inputs[0] * 2,),
    "register_full_backward_pre_hook": lambda module, grad_outputs: (grad_outputs[0] * 2,),
}


@pytest.mark.parametrize("name", HOOKS)
def test_modules_with_hooks(name):
    """In torch those of backward allow forward mode alone; here they double gradients as they do without transforms."""

    def run(library, transform):
        (module,) = CASES["Linear"].modules(library)
        getattr(module, name)(HOOKS[name])
        x = library.from_numpy(CASES["Linear"].inputs)
        return transform(library, lambda x: module(x).sin(), x)

    def forward(library, f, x):
        return library.func.jvp(f, (x,), (x.cos(),)), library.func.jacfwd(f)(x[0])

    def reverse(library, f, x):
        recorded = x.clone().requires_grad_()
        return library.autograd.grad(f(recorded).sum(), recorded)[0]

    def by_func(library, f, x):
        return library.func.grad(lambda x: f(x).sum())(x)

    assert_same(run(adjoint, forward), run(torch, forward), bound=EXACT)
    assert_same(run(adjoint, by_func), run(torch, reverse), bound=EXACT)


def test_running_statistics_that_a_derivative_changes():
    """Captured, and changed by each run of the function: refused by torch."""
    layer = adjoint.nn.BatchNorm1d(3)
    x = adjoint.from_numpy(floats(4, 3)).float()
    expected = copy.deepcopy(layer)
    expected(x)
    adjoint.func.grad(lambda x: layer(x).sin().sum())(x)
    assert_same(layer.running_mean, expected.running_mean)
    adjoint.func.jvp(layer, (x,), (x,))
    expected(x)
    assert_same(dict(layer.named_buffers()), dict(expected.named_buffers()))
