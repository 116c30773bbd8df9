"""utils.swap_tensors, and the conversions of modules that use it (torch.__future__), against torch."""

import weakref

import pytest

import adjoint

from .compare import LIBRARIES, leaf, programs, raised

program, test_program = programs()


def two(L):
    return L.nn.Parameter(L.ones(2)), L.nn.Parameter(L.zeros(3))


@pytest.fixture(autouse=True)
def _as_before():
    yield
    for L in LIBRARIES:
        L.__future__.set_swap_module_params_on_conversion(False)
        L.__future__.set_overwrite_module_params_on_conversion(False)


@program
def everything_is_exchanged(L):
    a, b = two(L)
    a.name_of_mine, a.grad = 1, L.ones(2)
    c = b.detach() * 2
    L.utils.swap_tensors(a, b)
    plain, parameter = L.ones(2), L.nn.Parameter(L.zeros(2))
    L.utils.swap_tensors(plain, parameter)
    return a, b, vars(a), vars(b), a.grad, b.grad, c, type(plain).__name__, type(parameter).__name__, plain, parameter


@program
def histories_are_exchanged(L):
    x = leaf(L, 1.0)
    computed, plain = x * 2, L.zeros(1)
    L.utils.swap_tensors(computed, plain)
    plain.sum().backward()
    return computed.requires_grad, plain.is_leaf, x.grad, L.utils.swap_tensors(x, x)


@program
def graphs_of_before_cannot_go_on(L):
    a, b = two(L)
    before = (a * 2).sum()
    L.utils.swap_tensors(a, b)
    failed = raised(before.backward, 70)
    del before
    ((a * 2).sum() + (b * 3).sum()).backward()
    return failed, a.grad, b.grad


@program
def hooks_go_along(L):
    a, b = two(L)
    log = []
    a.register_hook(lambda g: log.append("hook"))
    a.register_post_accumulate_grad_hook(lambda p: log.append(p is b))
    L.utils.swap_tensors(a, b)
    (a * 1).sum().backward()
    before = list(log)
    (b * 1).sum().backward()
    return before, log


@program
def what_is_refused(L):
    class Slotted(L.Tensor):
        __slots__ = ("own",)

    results = []
    for place in (0, 1):
        pair = two(L)
        reference = weakref.ref(pair[place])
        results.append((raised(lambda pair=pair: L.utils.swap_tensors(*pair), 80), reference() is pair[place]))
        pair = two(L)
        view = pair[place].view(-1)
        results.append((raised(lambda pair=pair: L.utils.swap_tensors(*pair), 80), view.shape))
    return [*results, raised(lambda: L.utils.swap_tensors(L.ones(2), Slotted([1.0])), 80)]


@pytest.mark.parametrize("given", [(adjoint.ones(1), 3), ("a", adjoint.ones(1))])
def test_only_tensors(given):
    with pytest.raises(TypeError, match=r"t[12] must be a Tensor"):
        adjoint.utils.swap_tensors(*given)


def test_a_view_of_a_constant_is_refused():
    a, b = adjoint.ones(2), adjoint.zeros(2)
    view = a[0]
    with pytest.raises(RuntimeError, match="Expected use_count of t1"):
        adjoint.utils.swap_tensors(a, b)
    assert view.item() == 1.0
    assert a.tolist() == [1.0, 1.0]


def test_a_type_with_room_of_its_own_keeps_its_values():
    class Slotted(adjoint.Tensor):
        __slots__ = ("own",)

    a, b = Slotted([1.0]), Slotted([2.0])
    a.own = 1
    with pytest.raises(RuntimeError, match="different slots"):
        adjoint.utils.swap_tensors(a, b)


# ---- Modules


def converted(L, convert):
    """What becomes of the objects of a layer: (are they the same, their types, the gradient's)."""
    layer = L.nn.BatchNorm1d(2)
    weight, buffer = layer.weight, layer.running_mean
    weight.grad = L.ones(2)
    grad = weight.grad
    convert(layer)
    return (
        (layer.weight is weight, str(weight.dtype), type(layer.weight).__name__, layer.weight.requires_grad),
        (layer.weight.grad is grad, str(layer.weight.grad.dtype), str(layer.weight.dtype)),
        (layer.running_mean is buffer, str(layer.running_mean.dtype)),
    )


CONVERSIONS = [
    lambda m: m.double(),
    lambda m: m.to("cpu"),
    lambda m: m.half(),
    lambda m: m.requires_grad_(False).double(),
]


@program
def parameters_in_place(L):
    return [converted(L, convert) for convert in CONVERSIONS]


@program
def parameters_overwritten(L):
    L.__future__.set_overwrite_module_params_on_conversion(True)
    state = L.__future__.get_overwrite_module_params_on_conversion()
    return state, [converted(L, convert) for convert in CONVERSIONS]


@program
def parameters_swapped(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    state = L.__future__.get_swap_module_params_on_conversion()
    return state, [converted(L, convert) for convert in CONVERSIONS]


@program
def swapping_between_forward_and_backward(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    layer = L.nn.Linear(1, 1)
    out = layer(L.ones(1)).sum()
    layer.double()
    return raised(out.backward, 70)


@program
def parameters_that_cannot_be_swapped(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    layer = L.nn.Linear(1, 1)
    view = layer.bias.view(-1)
    return raised(layer.double, 80), str(layer.weight.dtype), str(layer.bias.dtype), view.shape


@program
def leaving_the_meta_device(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    layer = L.nn.Linear(1, 1, device="meta")
    weight = layer.weight
    layer.to_empty(device="cpu")
    return layer.weight is weight, str(weight.device)


@program
def loading_by_swapping(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    results = []
    for assign in (False, True):
        layer = L.nn.Linear(1, 1)
        weight = layer.weight
        state = {"weight": L.full((1, 1), 2.0, dtype=L.float64), "bias": L.nn.Parameter(L.ones(1), requires_grad=False)}
        keys = layer.load_state_dict(state, assign=assign)
        results.append((str(keys), layer.weight is weight, weight, layer.bias, type(layer.bias).__name__))
    return results


@program
def loading_what_cannot_be_swapped(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    layer = L.nn.Linear(1, 1)
    view = layer.weight.view(-1)
    return raised(lambda: layer.load_state_dict(L.nn.Linear(1, 1).state_dict()), 260), view.shape


@program
def module_load(L):
    class Scaled(L.Tensor):
        def module_load(self, other, assign=False):
            return (other * 10).detach() if not assign else other

    L.__future__.set_swap_module_params_on_conversion(True)
    layer = L.nn.Linear(1, 1, bias=False)
    layer.register_buffer("b", L.ones(1).as_subclass(Scaled))
    state = {"weight": L.ones(1, 1), "b": L.ones(1)}
    layer.load_state_dict(state)
    return (
        layer.b.tolist(),
        raised(lambda: layer.load_state_dict(state, assign=True), 44),
        L.zeros(2).module_load(L.ones(2)),
        L.zeros(2).module_load(L.ones(2), assign=True),
    )


def test_lazy_parameters_are_converted_as_ever():
    adjoint.__future__.set_swap_module_params_on_conversion(True)
    layer = adjoint.nn.LazyLinear(2).double()
    assert layer(adjoint.ones(1, 3, dtype=adjoint.float64)).dtype is adjoint.float64
    assert layer.weight.shape == (2, 3)


@program
def layers_after_a_swap(L):
    L.__future__.set_swap_module_params_on_conversion(True)
    tied = L.nn.Sequential(L.nn.Linear(2, 2), L.nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    tied.double()
    layer = L.nn.Linear(2, 2)
    optimizer = L.optim.SGD(layer.parameters(), 0.1)
    layer.weight.note = 3
    layer.double()
    layer(L.ones(2, dtype=L.float64)).sum().backward()
    optimizer.step()
    recurrent = L.nn.LSTM(2, 2).double()
    return (
        tied[1].weight is tied[0].weight,
        str(tied[0].weight.dtype),
        optimizer.param_groups[0]["params"][0] is layer.weight,
        getattr(layer.weight, "note", None),
        layer.weight.grad,
        recurrent(L.ones(1, 1, 2, dtype=L.float64))[0].shape,
    )
