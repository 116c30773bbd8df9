"""What `torch.overrides` offers to programs: names, lists, and how functions of one's own take part, against torch."""

import types

import pytest
import torch

import adjoint

from ..compare import LIBRARIES, programs, raised
from .told import answering, computing, telling_mode

program, test_program = programs()

PATHS = ["", "functional", "nn.functional", "linalg", "fft", "special", "Tensor"]
# Names of Python's own, and of what torch shows as something else.
OTHERS = {"Tensor", "mm", "__class__", "__dir__", "__init__", "__init_subclass__", "__new__", "__str__", "__weakref__"}
OTHERS |= {"__subclasshook__", "__torch_function__", "__abs__", "__neg__", "__pos__", "__div__", "_make_subclass"}
OTHERS |= {"__dict__", "LinAlgError", "const_data_ptr", "__long__", "__nonzero__", "from_dlpack", "set_default_dtype"}


def at(L, path):
    place = L
    for name in filter(None, path.split(".")):
        place = getattr(place, name)
    return place


def functions(path):
    """The functions that a namespace has in both libraries: (what for a failure, torch's, ours)."""
    theirs, ours = at(torch, path), at(adjoint, path)
    for name in sorted(set(dir(theirs)) & set(vars(ours)) - OTHERS):
        pair = getattr(theirs, name), getattr(ours, name)
        if isinstance(pair[0], types.ModuleType | type):
            continue
        if path == "Tensor" and not callable(pair[0]) and hasattr(pair[0], "__get__"):
            yield f"{name}.__get__", *(value.__get__ for value in pair)
            yield f"{name}.__set__", *(value.__set__ for value in pair)
        elif callable(pair[0]):
            yield name, *pair


@pytest.mark.parametrize("path", PATHS)
def test_names(path):
    ask = [L.overrides.resolve_name for L in LIBRARIES]
    names = {name: [ask[0](theirs), ask[1](ours)] for name, theirs, ours in functions(path)}
    wrong = {name: pair for name, pair in names.items() if pair[0] != pair[1]}
    assert len(names) > 15
    assert not wrong


@pytest.mark.parametrize("path", PATHS)
def test_methods_and_attributes_are_told_from_functions(path):
    ask = [L.overrides.is_tensor_method_or_property for L in LIBRARIES]
    assert {name for name, theirs, ours in functions(path) if ask[0](theirs) != ask[1](ours)} == set()


def listed(L):
    lists = L.overrides.get_overridable_functions()
    return {L.overrides.resolve_name(function) for functions in lists.values() for function in functions}


def test_lists_of_functions():
    theirs, ours = map(listed, LIBRARIES)
    assert len(theirs & ours) > 1200
    private = {name for name in ours - theirs if name.rpartition(".")[2].startswith("_")}
    # Layers that torch keeps out of its lists.
    layers = {"hardsigmoid", "hardswish", "upsample", "upsample_bilinear", "upsample_nearest", "sigmoid", "tanh"}
    layers = {f"torch.nn.functional.{name}" for name in layers}
    assert ours - theirs - private - layers <= {"torch.fft.fftfreq", "torch.fft.rfftfreq", "torch.mm"}


def test_overrides_for_tests_take_the_same_arguments():
    overrides = adjoint.overrides.get_testing_overrides()
    x = adjoint.ones(2)
    assert overrides[adjoint.add](x, 1) == overrides[adjoint.Tensor.add](x, 1) == -1
    assert overrides[adjoint.nn.functional.cross_entropy](x, x, reduction="sum") == -1
    assert overrides[adjoint.Tensor.shape.__get__](x) == -1
    with pytest.raises(TypeError):
        overrides[adjoint.exp]()
    assert set(overrides) == {f for fs in adjoint.overrides.get_overridable_functions().values() for f in fs}


def test_ignored_functions():
    for name in ["ones", "zeros", "tensor", "as_tensor", "arange", "rand", "is_tensor", "save", "load"]:
        assert all(getattr(L, name) in L.overrides.get_ignored_functions() for L in LIBRARIES), name
    for name in ["add", "exp", "matmul", "cat", "where"]:
        assert not any(getattr(L, name) in L.overrides.get_ignored_functions() for L in LIBRARIES), name


@program
def a_function_of_ones_own(L):
    def twice(x, *, scale=1):
        if L.overrides.has_torch_function((x,)):
            return L.overrides.handle_torch_function(twice, (x,), x, scale=scale)
        return x * 2 * scale

    Foreign, calls = answering(L, "foreign")
    Kept = type("Kept", (L.Tensor,), {})
    mode, seen = telling_mode(L)
    x = L.ones(1)
    with mode:
        under_mode = twice(x)
    kept = twice(x.as_subclass(Kept))
    return twice(x), twice(Foreign(), scale=3), under_mode, type(kept).__name__, calls, seen


@program
def wrapped_functions(L):
    @L.overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def total(a, b=None):
        """Adds."""
        return a if b is None else a + b

    Foreign, calls = answering(L, "foreign")
    answers = [total(1, 2), total(Foreign()), total(1, Foreign()), total(L.ones(1), b=Foreign())]
    return answers, calls, total.__name__, total.__doc__


@program
def handling_without_an_answer(L):
    Foreign, _ = answering(L, NotImplemented, name="Foreign")
    mode, _ = telling_mode(L, NotImplemented)
    handle = L.overrides.handle_torch_function
    seen = [raised(lambda: handle(len, (Foreign(),), 1), 76), raised(lambda: handle(len, (), 1), 76)]
    with mode:
        seen.append(raised(lambda: handle(len, (L.ones(1),), 1), 76))
    return seen


@program
def who_may_take_over(L):
    Foreign, _ = answering(L)
    Told, _ = computing(L)
    f, x, p = Foreign(), L.ones(1).as_subclass(Told), L.ones(1)
    has = L.overrides.has_torch_function
    mode, _ = telling_mode(L)
    facts = [has((p,)), has((f,)), has([f]), has([[f]]), has((1, None, "a")), has((p, x)), has(())]
    facts += [L.overrides.has_torch_function_unary(x), L.overrides.has_torch_function_variadic(p, 1, f)]
    facts += [L.overrides.is_tensor_like(v) for v in (p, x, f, 1, None, L.Tensor, L.nn.Parameter(p))]
    with mode:
        facts += [has(()), has((p,)), has((1,))]
    with L._C.DisableTorchFunctionSubclass():
        facts += [has((f,)), has((x,))]
    kinds = [type(v).__name__ for v in L.overrides._get_overloaded_args((p, f, x, f, 1, x))]
    return facts, kinds, raised(lambda: has(5), 19), raised(lambda: L.overrides.resolve_name([]), 15)


@program
def the_default_called_by_hand(L):
    Kept = type("Kept", (L.Tensor,), {})
    default = Kept.__torch_function__
    p = L.ones(2)
    values = [
        default(L.add, (Kept,), (p, 1)),
        default(L.exp, (), (p,), {}),
        default(L.sum, (L.Tensor,), (p,), {"dim": 0}),
    ]
    values.append(default(lambda a: (a, [a], 1), (), (p,)))
    declined = default(L.add, (type("Other", (L.Tensor,), {}),), (p, 1)) is NotImplemented
    kinds = [
        [type(v).__name__ for v in value] if isinstance(value, tuple) else type(value).__name__ for value in values
    ]
    return kinds, declined, type(L.Tensor.__torch_function__(L.exp, (), (p,))).__name__


@program
def unwrapped_attributes(L):
    kept = L.overrides.get_default_nowrap_functions()
    return [f in kept for f in (L.Tensor.grad.__get__, L.Tensor._base.__get__, L.Tensor.shape.__get__, L.add)]


def test_functions_print_as_what_they_are():
    shown = [adjoint.relu, adjoint.nn.functional.relu, adjoint.Tensor.relu, adjoint.special.expit, adjoint.Tensor.add_]
    assert list(map(repr, shown)) == [
        "<op relu>",
        "<op nn.functional.relu>",
        "<method 'relu' of 'torch.Tensor' objects>",
        "<op special.expit>",
        "<method 'add_' of 'torch.Tensor' objects>",
    ]
