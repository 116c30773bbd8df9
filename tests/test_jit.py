"""torch.jit: code marked for a compiler runs as Python, under the types that torch gives what it has compiled."""

import copy
import io
import pickle
import warnings

import pytest
import torch

import adjoint

from . import compare
from .compare import LIBRARIES

# torch says that torch.jit is deprecated; nothing is compiled here, and nobody is warned.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


def same(call):
    """compare.same, but for torch's warning."""

    def quiet(L):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*is deprecated", DeprecationWarning)
            return call(L)

    return compare.same(quiet)


class Net:
    """One network in either library."""

    def __new__(cls, L):
        class Module(L.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = L.nn.Linear(2, 3)
                self.drop = L.nn.Dropout(0.5)
                self.scale = 3
                self.register_buffer("shift", L.ones(3))
                with L.no_grad():
                    for p in self.parameters():
                        p.fill_(0.5)

            def forward(self, x):
                return self.drop(self.first(x)) * self.scale + self.shift

        class Net(Module):
            @L.jit.export
            def half(self, x):
                return self.forward(x) / 2

        Module.__name__ = Net.__name__ = "Net"
        return Net(), Module()


def names(module):
    return [name for name, _ in module.named_modules()], [name for name, _ in module.named_parameters()]


def scripted(L):
    return L.jit.script(Net(L)[0])


def traced(L, **options):
    return L.jit.trace(Net(L)[1].eval(), L.ones(2), **options)


@pytest.mark.parametrize("make", [scripted, traced])
def test_a_module_keeps_what_a_module_has(make):
    def seen(L):
        module = make(L).eval()
        return module(L.ones(4, 2)), module.state_dict(), names(module), repr(module), module.original_name

    same(seen)


@pytest.mark.parametrize("L", LIBRARIES, ids=lambda L: L.__name__)
def test_a_scripted_module_shares_tensors_and_has_modes_of_its_own(L):
    original, _ = Net(L)
    module = L.jit.script(original)
    assert module.first.weight is original.first.weight
    module.eval()
    assert (module.training, module.drop.training) == (False, False)
    assert (original.training, original.drop.training) == (True, True)
    module.scale = 5
    assert original.scale == 3
    assert isinstance(module, L.jit.ScriptModule)
    assert isinstance(module.first, L.jit.RecursiveScriptModule)
    assert L.jit.script(module) is module


def test_exported_methods_and_attributes():
    same(lambda L: (scripted(L).eval().half(L.ones(2)).detach(), scripted(L).scale, scripted(L).shift))


def test_training_a_scripted_module():
    def step(L):
        module = scripted(L).eval()
        optimizer = L.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            module(L.ones(4, 2)).pow(2).mean().backward()
            optimizer.step()
        return module.state_dict(), str(module.load_state_dict(module.state_dict()))

    same(step)


@pytest.mark.parametrize("make", [scripted, traced])
def test_deep_copies_are_apart(make):
    module = make(adjoint).eval()
    other = copy.deepcopy(module)
    assert type(other) is type(module)
    with adjoint.no_grad():
        other.first.weight.zero_()
    assert other(adjoint.ones(2)).tolist() == [2.5, 2.5, 2.5]
    assert module(adjoint.ones(2)).tolist() == [5.5, 5.5, 5.5]
    assert copy.copy(module).first is module.first


def test_tied_modules_stay_tied():
    layer = adjoint.nn.Linear(2, 2)
    module = adjoint.jit.script(adjoint.nn.Sequential(layer, layer))
    assert module[0] is module[1]
    assert len(list(module.parameters())) == 2


def test_methods_that_a_module_keeps_are_its_own():
    class Chosen(adjoint.nn.Module):
        def __init__(self):
            super().__init__()
            self.chosen = self.mode

        def mode(self):
            return self.training

        def forward(self):
            return self.chosen()

    original = Chosen()
    assert adjoint.jit.script(original).eval()() is False
    assert original() is True


def test_hooks_of_a_scripted_module():
    original, _ = Net(adjoint)
    seen = []
    original.first.register_forward_hook(lambda module, args, result: seen.append(type(module).__name__))
    adjoint.jit.script(original)(adjoint.ones(2))
    assert seen == ["RecursiveScriptModule"]


def test_functions():
    def run(L):
        function = L.jit.trace(lambda x, y: x * y + 1, (L.ones(2), L.ones(2)))
        return function(L.full((2,), 3.0), L.ones(2)), type(function).__name__

    same(run)

    @adjoint.jit.script
    def double(x, times: int = 2):
        """Times two."""
        return x * times

    assert isinstance(double, adjoint.jit.ScriptFunction)
    assert double(adjoint.ones(1), times=4).item() == 4
    assert (double.__doc__, double.name, double.qualified_name) == ("Times two.", "double", "__torch__.double")
    assert adjoint.jit.script(double) is double
    assert copy.deepcopy(double) is double
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        pickle.dumps(double)


@pytest.mark.parametrize("thing", [{"a": 1}, [1, 2]])
def test_containers_stay(thing):
    assert adjoint.jit.script(thing) == thing


def test_what_cannot_be_scripted():
    same(lambda L: L.jit.script(type("Net", (L.nn.Module,), {"__module__": "here"})))
    with pytest.raises(TypeError, match="<class 'int'> is a built-in class"):
        adjoint.jit.script(3)


@pytest.mark.parametrize("name", ["graph", "code", "inlined_graph"])
def test_there_is_no_compiled_code(name):
    for compiled in (scripted(adjoint), adjoint.jit.script(lambda x: x)):
        assert not hasattr(compiled, name)
        with pytest.raises(AttributeError, match=f"{name}: code is not compiled here"):
            getattr(compiled, name)
        with pytest.raises(AttributeError, match="has no attribute 'absent'"):
            _ = compiled.absent


def test_a_member_of_the_same_name_is_found():
    module = adjoint.nn.Module()
    module.graph = adjoint.nn.Linear(1, 1)
    assert adjoint.jit.script(module).graph.weight.shape == (1, 1)


def test_saving_refuses(tmp_path):
    module = scripted(adjoint)
    for save in (
        lambda: adjoint.jit.save(module, tmp_path / "a.pt"),
        lambda: module.save(tmp_path / "a.pt"),
        lambda: module.save_to_buffer(),
        lambda: pickle.dumps(module),
        lambda: adjoint.save(module, tmp_path / "a.pt", pickle_module=pickle),
        lambda: adjoint.jit.export_opnames(module),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match="code is not compiled here"):
            save()
    assert list(tmp_path.iterdir()) == []


def test_loading_refuses(tmp_path):
    path = tmp_path / "scripted.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 1)), path)
    with pytest.raises(RuntimeError, match="TorchScript file holds code"):
        adjoint.jit.load(path)
    with pytest.raises(RuntimeError, match="TorchScript file holds code"):
        adjoint.jit.load(io.BytesIO(path.read_bytes()))
    same(lambda L: L.jit.load("/not/there.pt"))


# ---- trace


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    tracer = [str(one.message) for one in found if one.category.__name__ == "TracerWarning"]
    return result, [text.split(" Detailed")[0] for text in tracer if not text.startswith("Trace had nondeterministic")]


@pytest.mark.parametrize(
    "function",
    [
        lambda L, x: x + L.rand(2),
        lambda L, x: (x, x + L.rand(2)),
        lambda L, x: x + (1 if L.jit.is_tracing() else 2),
        lambda L, x: x * 2,
    ],
)
def test_runs_that_differ_are_warned_of(function):
    found = []
    for L in LIBRARIES:
        L.manual_seed(0)
        found.append(caught(lambda L=L: L.jit.trace(lambda x: function(L, x), L.ones(2)))[1])
        assert caught(lambda L=L: L.jit.trace(lambda x: function(L, x), L.ones(2), check_trace=False))[1] == []
    assert found[0] == found[1]


def test_code_that_is_traced_sees_so():
    def run(L):
        function = L.jit.trace(lambda x: x + (1 if L.jit.is_tracing() else 2), L.ones(2), check_trace=False)
        return function(L.zeros(2)), L.jit.is_tracing()

    same(run)
    assert adjoint._C._get_tracing_state() is None
    adjoint.jit.trace(lambda x: x + bool(adjoint._C._get_tracing_state()), adjoint.ones(1), check_trace=False)


def test_the_check_runs_on_other_inputs():
    seen = []

    def function(x):
        seen.append(tuple(x.shape))
        return x * 2

    adjoint.jit.trace(function, adjoint.ones(2), check_inputs=[(adjoint.ones(3),), (adjoint.ones(4),)])
    assert seen == [(2,), (3,), (3,), (4,), (4,)]


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.jit.trace(lambda x: {"a": x}, L.ones(2)),
        lambda L: L.jit.trace(lambda x: None, L.ones(2)),
        lambda L: L.jit.trace(lambda x, y: x, (L.ones(2), 3)),
        lambda L: L.jit.trace_module(L.nn.Tanh(), 3),
        lambda L: L.jit.trace_module(3, {}),
        lambda L: L.jit.freeze(L.nn.Tanh()),
        lambda L: L.jit.freeze(L.jit.script(L.nn.Tanh())),
        lambda L: L.jit.interface(3),
        lambda L: L.jit.ignore(3),
        lambda L: L.jit.isinstance([1], list),
        lambda L: L.jit.isinstance({}, dict),
        lambda L: L.jit.fork(lambda: {}["absent"]),
    ],
)
def test_refusals(call):
    errors = []
    for L in LIBRARIES:
        with pytest.raises(Exception) as caught:  # noqa: PT011  # of which type, the next lines say
            call(L)
        errors.append((type(caught.value), str(caught.value)[:36]))
    assert errors[0] == errors[1]


def test_outputs_that_are_no_tensors():
    for value in (3, (adjoint.ones(1), 3), "text"):
        with pytest.raises(RuntimeError, match="Only tensors, lists, tuples of tensors"):
            adjoint.jit.trace(lambda x, value=value: value, adjoint.ones(1))


def test_containers_at_the_output():
    same(lambda L: L.jit.trace(lambda x: {"a": x}, L.ones(2), strict=False)(L.zeros(2)))
    text = caught(lambda: adjoint.jit.trace(lambda x: [x], adjoint.ones(2)))[1]
    assert text[0].startswith("Encountering a list at the output of the tracer might cause the trace to be incorrect")


def test_ways_to_give_examples():
    same(lambda L: L.jit.trace(lambda x: x["a"] + 1, ({"a": L.ones(2)},))({"a": L.zeros(2)}))
    same(
        lambda L: L.jit.trace(lambda x, y: x - y, example_kwarg_inputs={"x": L.ones(2), "y": L.ones(2)})(
            x=L.ones(2), y=L.zeros(2)
        )
    )
    module = adjoint.jit.trace_module(Net(adjoint)[0].eval(), {"forward": adjoint.ones(2), "half": adjoint.ones(2)})
    assert module.half(adjoint.ones(2)).tolist() == [2.75, 2.75, 2.75]


def test_tracing_a_script_module_is_a_no_op():
    module = scripted(adjoint)
    with pytest.warns(UserWarning, match="already a ScriptModule, tracing it is a no-op"):
        assert adjoint.jit.trace(module, adjoint.ones(2)) is module


def test_check_error_words():
    same(lambda L: [str(L.jit.TracingCheckError(*args)) for args in (("g", "t", "x"), (None, "t"), ("g\nh", None))])


# ---- marks and settings


def test_marks_leave_functions_as_they_are():
    for mark in (
        adjoint.jit.export,
        adjoint.jit.unused,
        adjoint.jit.ignore,
        adjoint.jit.ignore(),
        adjoint.jit.script_method,
    ):
        assert mark(names) is names
    del names._torchscript_modifier
    with pytest.warns(FutureWarning, match=r"ignore\(True\) has been deprecated"):
        adjoint.jit.ignore(drop=True)
    assert adjoint.jit.script_if_tracing(lambda x: x + 1)(1) == 2


def test_types_of_values():
    def seen(L):
        cases = [
            ({"a": 1}, dict[str, int]),
            ((1, "a"), tuple[int, str]),
            ((1,), tuple[int, str]),
            ([1, None], list[int | None]),
            ([[1]], list[list[int]]),
            (1, (int, str)),
            (1, int | str),
            ([1.0], list[int]),
            ({1}, set[int]),
        ]
        return [L.jit.isinstance(value, kind) for value, kind in cases]

    same(seen)
    with pytest.warns(UserWarning, match="The inner type of a container is lost"):
        assert adjoint.jit.isinstance([], list[int])


def test_settings():
    def seen(L):
        before = L.jit.set_fusion_strategy([("STATIC", 3)])
        L.jit.enable_onednn_fusion(True)
        on = L.jit.onednn_fusion_enabled()
        L.jit.enable_onednn_fusion(False)
        with L.jit.fuser("fuser1"), L.jit.optimized_execution(True):
            return before, L.jit.set_fusion_strategy(before), on

    same(seen)
    with adjoint.jit.strict_fusion():
        pass
    module = scripted(adjoint).eval()
    assert adjoint.jit.freeze(module) is module is adjoint.jit.optimize_for_inference(module)


def test_old_style_modules():
    class Scale(adjoint.jit.ScriptModule):
        __constants__ = ("times",)

        def __init__(self):
            super().__init__()
            self.times = adjoint.jit.Attribute(3, int).value
            self.weight = adjoint.nn.Parameter(adjoint.ones(2))

        @adjoint.jit.script_method
        def forward(self, x):
            return self.weight * x * self.times

    assert Scale()(adjoint.ones(2)).tolist() == [3, 3]
    assert repr(Scale()) == "Scale()"
    assert pickle.loads(pickle.dumps(adjoint.jit.ScriptModule())).training


def test_every_name_of_torchs_page():
    assert [name for name in torch.jit.__all__ if not hasattr(adjoint.jit, name)] == []


def test_native_questions_about_tracing():
    def asked(L):
        answers = []

        def traced(x):
            answers.append([L._C._is_tracing(), bool(L._C._get_tracing_state())])
            return x + 1

        L.jit.trace(traced, L.ones(1), check_trace=False)
        return answers, L._C._is_tracing(), L._C._get_tracing_state()

    same(asked)
