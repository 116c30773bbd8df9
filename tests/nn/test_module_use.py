"""Modules and parameters as programs use them, beside torch's: asked for signatures, copied, freed, overridden."""

import collections
import copy
import gc
import inspect
import operator
import pickle
import weakref

import pytest

import adjoint
from tests.compare import lines, programs, raised, same

program, test_program = programs()

Pair = collections.namedtuple("Pair", "first second")


# ---- Signatures and overriding


@program
def signatures(L):
    class Own(L.nn.Module):
        def __call__(self, x, scale=2):
            return x

    modules = [L.nn.Linear(2, 2), L.nn.ReLU(), L.nn.Sequential(), L.nn.LSTM(2, 2), Own()]
    shown = [str(inspect.signature(module)) for module in modules]
    classes = (L.nn.Linear, L.nn.Conv2d, L.nn.Module, L.nn.Sequential, L.nn.EmbeddingBag)
    return (
        shown,
        [list(inspect.signature(cls).parameters) for cls in classes],
        list(inspect.signature(modules[1].forward).parameters),
    )


@program
def apply_overridden_without_recurse(L):
    calls = []

    class Own(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = L.nn.Linear(1, 1)

        def _apply(self, fn):
            calls.append(type(fn).__name__)
            return super()._apply(fn)

    inner = Own()
    outer = L.nn.Sequential(inner)
    for move in (outer.double, outer.cpu, outer.share_memory, outer.half, inner.float):
        move()
    outer.to(L.float64).to_empty(device="cpu")
    return calls, inner.layer.weight.dtype is L.float64, raised(lambda: inner.to_empty(device="cpu"))


@program
def named_tuples_behind_backward_hooks(L):
    class Both(L.nn.Module):
        def forward(self, x):
            return Pair(x * 2, "text") if isinstance(x, L.Tensor) else Pair(x.first * 2, type(x).__name__)

    seen = []
    module = Both()
    module.register_full_backward_hook(lambda _, grads, outputs: seen.append((grads, outputs)))
    module.register_full_backward_pre_hook(lambda _, grads: seen.append(grads))
    x = L.ones(2, requires_grad=True)
    result, other = module(x), module(Pair(x, x))
    result.first.sum().backward()
    return type(result).__name__, result.second, type(other).__name__, other.second, seen


@program
def to_takes_what_torch_takes(L):
    def layer():
        return L.nn.Linear(1, 1)

    float64, tensor = L.float64, L.ones(1, dtype=L.float64)
    ways = [("cpu", float64, True), (float64, True), (tensor, True), (), (None,), ("cpu", None, True), (float,)]
    kept = [layer().to(*way).weight.dtype for way in ways] + [L.ones(1).to(*way).dtype for way in ways if way]
    wrong = [("cpu", True), (L.device("cpu"), True), ("cpu", True, True), (float64, 1)]
    refused = [raised(lambda way=way, thing=thing: thing.to(*way)) for way in wrong for thing in (layer(), L.ones(1))]
    for way in [(float64, True, True), ("cpu", float64, True, False), (tensor, True, True)]:
        refused.append(raised(lambda way=way: layer().to(*way)))
    refused.append(raised(lambda: layer().to("cpu", copy=True)))
    refused.append(raised(lambda: L.ones(1).to(float64, dtype=float64)))
    named = L.ones(1).to(tensor=tensor), L.ones(1).to(device="cpu", dtype=float64, non_blocking=True, copy=True)
    return [str(dtype) for dtype in kept], refused, named


# ---- Without a shape


def operator_results(L, u):
    """What becomes of all operators with a tensor that has no shape."""
    x, results = L.ones(1), []
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "eq", "lt", "ge"):
        function = getattr(operator, name)
        results.append(raised(lambda function=function: function(u, x)))
        results.append(raised(lambda function=function: function(x, u)))
    results += [raised(lambda: -u), raised(lambda: abs(u)), raised(lambda: u[0]), raised(lambda: len(u))]
    results += [raised(lambda: bool(u)), raised(lambda: float(u)), raised(lambda: list(u)), u in [u], {u: 1}[u]]
    results += [raised(lambda: operator.setitem(u, 0, 1)), raised(lambda: 2 * u), raised(lambda: operator.iadd(u, x))]
    return results


@program
def operators_of_parameters_without_a_shape(L):
    return operator_results(L, L.nn.parameter.UninitializedParameter())


@program
def operators_of_buffers_without_a_shape(L):
    return operator_results(L, L.nn.parameter.UninitializedBuffer())


# Functions of a tensor u without a shape and of an ordinary one: all are refused.
FUNCTIONS = lines("""
    torch.add(u, 1)
    torch.mul(x, u)
    torch.addmm(x, x, u)
    torch.sum(u)
    torch.where(x > 0, u, x)
    torch.stack([u])
    torch.cat((x, u))
    torch.einsum("i,i->", x, u)
    torch.sort(u)
    torch.unique(u)
    torch.equal(u, u)
    torch.isnan(u)
    torch.numel(u)
    torch.atleast_1d(u)
    torch.broadcast_tensors(u, x)
    torch.zeros_like(u)
    torch.rand_like(u)
    torch.full_like(u, 2)
    torch.clone(u)
    torch.linalg.norm(u)
    torch.fft.fft(u)
    torch.bernoulli(u)
    torch.add(x, x, out=u)
    torch.zeros(1, out=u)
    torch.sort(x, out=(u, u))
    torch.nn.functional.linear(x, u)
    torch.nn.functional.conv1d(torch.ones(1, 1, 3), u)
    torch.nn.functional.relu(u)
    torch.nn.functional.dropout(u, 0.0)
    torch.nn.functional.layer_norm(x, (1,), u)
    torch.nn.functional.batch_norm(torch.ones(2, 1), u, u)
    torch.nn.functional.embedding(torch.tensor([0]), u)
    torch.nn.functional.mse_loss(x, u)
    torch.nn.functional.scaled_dot_product_attention(u, u, u)
    torch.nn.Linear(2, 2)(u)
    torch.nn.init.normal_(u)
    torch.nn.Parameter(u)
    torch.Tensor.add(x, u)
    torch.Tensor.fill_(u, 1)
    x.add_(u)
    x.__iadd__(u)
    x.masked_fill_(u, 1.0)
    x.expand_as(u)
    x[u]
    x.__setitem__(0, u)
    x.__setitem__(u, 1)
    x.__setitem__(torch.tensor([0]), u)
""")


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions_without_a_shape(call, kind):
    def program(L):
        x = L.ones(1)
        found = raised(lambda: eval(call, {"torch": L, "x": x, "u": getattr(L.nn.parameter, kind)()}))
        return found, x

    assert same(program).value[0][0] == "ValueError"


@program
def what_can_be_asked_without_a_shape(L):
    found = []
    for kind in (L.nn.parameter.UninitializedParameter, L.nn.parameter.UninitializedBuffer):
        u = kind(dtype=L.float64)
        found += [str(u.dtype), str(u.device), u.is_meta, u.is_cpu, u.is_floating_point(), u.get_device(), u.size()]
        found += [u.to("cpu") is u, u.double() is u, str(u.half().dtype), str(u.long().dtype), str(u.data.dtype)]
        found += [repr(kind(device="meta")), str(kind(device="meta").device), L.tensor(u).shape]
        u.materialize((2,))
        found += [type(u).__name__, u.is_meta, u.shape, sorted(vars(u))]
    return found


# ---- NumPy


@program
def numpy_while_nothing_is_recorded(L):
    parameter = L.nn.Parameter(L.ones(2))
    computed = parameter * 2
    found = [raised(parameter.numpy), raised(computed.numpy)]
    with L.no_grad():
        found += [parameter.numpy().tolist(), computed.numpy().tolist(), parameter.__array__().tolist()]
    with L.inference_mode():
        found.append(parameter.numpy().tolist())
    return found


# ---- Copies


@program
def copies_share_what_was_shared(L):
    a = L.arange(6.0)
    a.grad = L.ones(6)
    first, second, third, storage = copy.deepcopy((a, a.view(2, 3).t(), a[4:], a.untyped_storage()))
    first[4] = 9
    shared = first.data_ptr() == storage.data_ptr() != a.data_ptr()
    places = [(x.storage_offset(), x.stride(), x.untyped_storage().nbytes()) for x in (first, second, third)]
    return first, second, third, first.grad, shared, places, a, first._is_view(), third._is_view()


@program
def copies_of_parameters_stand_alone(L):
    a = L.arange(4.0)
    first, second, third = copy.deepcopy((a, L.nn.Parameter(a), L.nn.Parameter(a[1:])))
    first.fill_(7)
    return second, third, third.storage_offset()


@program
def copies_by_the_same_memo(L):
    a, memo = L.arange(4.0), {}
    first, again = copy.deepcopy(a, memo), copy.deepcopy(a, memo)
    view = copy.deepcopy(a[1:], memo)
    first[1] = 5
    return first is again, view, [len(memo["torch"])], pickle.loads(pickle.dumps((a, a[1:])))


@program
def generators_are_pickled_and_copied(L):
    generator = L.Generator().manual_seed(2**63 + 5)
    L.rand(3, generator=generator)
    copies = [pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), copy.copy(generator)]
    module = L.nn.Linear(1, 1)
    module.generator = generator
    copies += [copy.deepcopy(module).generator, pickle.loads(pickle.dumps([generator, generator]))[1]]
    drawn = [L.rand(2, generator=one) for one in (generator, *copies)]
    return drawn, [one.initial_seed() for one in copies], any(one is generator for one in copies)


@pytest.mark.parametrize("state", [None, (), (1, None), ("x", None, None), (1, None, 3)])
def test_a_generator_takes_no_other_state(state):
    with pytest.raises((TypeError, RuntimeError)):
        adjoint.Generator().__setstate__(state)


# ---- Freed at once: no cycle holds a module


def hooked(name):
    def make():
        module = adjoint.nn.Linear(2, 2)
        getattr(module, name)(lambda *_, **__: None)
        module.load_state_dict(module.state_dict())
        return module

    return make


def parametrized():
    module = adjoint.nn.utils.parametrizations.weight_norm(adjoint.nn.Linear(2, 2))
    module(adjoint.ones(1, 2)).sum().backward()
    return module


def lazy():
    module = adjoint.nn.LazyLinear(2)
    module(adjoint.ones(1, 2))
    return module


REGISTER = [name for name in dir(adjoint.nn.Module) if name.startswith(("register_", "_register_")) and "hook" in name]


@pytest.mark.parametrize(
    "make",
    [
        *map(hooked, REGISTER),
        parametrized,
        lazy,
        lambda: adjoint.nn.utils.spectral_norm(adjoint.nn.Linear(2, 2)),
        lambda: adjoint.nn.utils.weight_norm(adjoint.nn.Linear(2, 2)),
        lambda: adjoint.nn.utils.prune.l1_unstructured(adjoint.nn.Linear(2, 2), "weight", 1),
        lambda: copy.deepcopy(hooked("register_load_state_dict_pre_hook")()),
        lambda: pickle.loads(pickle.dumps(adjoint.nn.LSTM(2, 2))).double(),
    ],
    ids=[*REGISTER, "parametrized", "lazy", "spectral_norm", "weight_norm", "prune", "copied", "moved"],
)
# The older weight_norm is one of them.
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_modules_are_freed_at_once(make):
    gc.collect()
    gc.disable()
    try:
        module = make()
        alive = weakref.ref(module)
        del module
        assert alive() is None
    finally:
        gc.enable()


@program
def load_hooks_see_the_module_they_are_on(L):
    seen = []
    module = L.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, *rest: seen.append((m, len(rest))))
    module._register_load_state_dict_pre_hook(lambda *rest: seen.append((None, len(rest))))
    other = copy.deepcopy(module)
    for one in (module, other):
        one.load_state_dict(one.state_dict())
    return [(one is module, one is other, count) for one, count in seen]
