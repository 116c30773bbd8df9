"""Modules made of graphs: their parts, copies, pickles and folders, and how they are shown."""

import importlib
import pickle
import sys

import pytest

import adjoint

from .programs import same

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.seq = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.p = nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.zeros(4))
        self.unused = nn.Linear(1, 1)
    def forward(self, x: torch.Tensor, y: int = 1) -> torch.Tensor:
        q = self.seq(self.l(x)) + self.p * self.b
        return torch.relu(q) + F.gelu(q) * math.sqrt(y)
gm = fx.symbolic_trace(Net())
x = torch.ones(2, 3)
"""


def test_shown():
    same(NET + "print(gm, repr(gm), gm.print_readable(False), gm.print_readable(False, colored=True))")


def test_shown_with_shapes():
    same(
        NET
        + """
module("fx.passes.shape_prop").ShapeProp(gm).propagate(x, 4)
print(gm.print_readable(False, include_stride=True, include_device=True))
for node in gm.graph.nodes:
    print(node.name, node.meta.get("tensor_meta"), node.meta["type"].__name__, node.meta.get("is_wrapped"))
"""
    )


def test_shown_with_notes():
    same(
        NET
        + """
for number, node in enumerate(gm.graph.nodes):
    node.meta["custom"], node.meta["part"] = {"stage": number // 4}, number // 3
print(gm.print_readable(False, additional_meta=["part"]), gm.print_readable(False, expanded_def=True))
"""
    )


def test_copies_and_pickles():
    same(
        NET
        + """
for other in (pickle.loads(pickle.dumps(gm)), copy.deepcopy(gm), copy.copy(gm)):
    print(other.code == gm.code, list(other.state_dict()) == list(gm.state_dict()), torch.equal(other(x), gm(x)))
    print(type(other) is type(gm), type(other).__bases__[0].__name__, type(other).__name__)
    print(other.graph._tracer_cls.__name__)
print(copy.deepcopy(gm).graph is gm.graph, copy.copy(gm).graph is gm.graph)
print(gm.__reduce__()[1][1])
"""
    )


def test_submodules():
    same(
        NET
        + """
print(gm.add_submodule("foo.bar.baz", nn.ReLU()), gm.add_submodule("l.x", nn.ReLU()))
attempt(lambda: gm.add_submodule("p", nn.ReLU()))
print([name for name, _ in gm.named_modules()])
print(gm.delete_submodule("foo.bar"), gm.delete_submodule("nope"), gm.delete_submodule("foo.nope"))
gm.delete_all_unused_submodules()
print([name for name, _ in gm.named_modules()])
"""
    )


def test_graphs_are_assigned_and_recompiled():
    same(
        NET
        + """
attempt(lambda: setattr(gm, "graph", "text"))
gm.graph = fx.Tracer().trace(lambda x: F.relu(x))
print(gm.code)
for node in gm.graph.nodes:
    if node.op == "call_function":
        node.target = torch.tanh
        node.kwargs = {}
gm.recompile()
print(gm.code, gm(torch.zeros(1)))
shared = fx.symbolic_trace(lambda x: x + 1)
other = fx.GraphModule(shared, shared.graph)
print(other.graph is shared.graph, other.code == shared.code)
"""
    )


def test_made_from_dicts():
    same(
        """
        g = fx.Graph()
        x = g.placeholder("x")
        g.output(g.call_function(torch.add, (g.call_module("a.b", (x,)), g.get_attr("w"))))
        gm = fx.GraphModule({"a.b": nn.ReLU(), "w": torch.ones(1)}, g, class_name="Mine")
        print(gm, gm(torch.tensor([-1.0])), type(gm).__name__)
        attempt(lambda: fx.GraphModule({"a.b": nn.ReLU()}, g))
        attempt(lambda: fx.GraphModule(3, g))
        attempt(lambda: fx.GraphModule(nn.Module(), g))
        attempt(lambda: fx.GraphModule(nn.Module(), fx.Graph()).graph.call_module("z"))
        print(fx.GraphModule({}, fx.Graph()).code)
        """
    )


def test_errors_show_the_generated_line(capsys):
    gm = adjoint.fx.symbolic_trace(lambda x: x.nope(1) + 1)
    with pytest.raises(AttributeError, match="nope"):
        gm(adjoint.ones(2))
    text = capsys.readouterr().err
    assert text[text.index("Call using") :] == (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function:\n"
        "def forward(self, x):\n    nope = x.nope(1);  x = None\n\n"
        "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n    add = nope + 1;  nope = None\n\n    return add\n\n"
    )


def test_hooks_run_and_subclasses_have_graphs():
    same(
        """
        class Mine(fx.GraphModule):
            def twice(self, x):
                return self(self(x))
        seen = []
        root = fx.symbolic_trace(lambda x: x + 1)
        mine = Mine(root, root.graph)
        mine.register_forward_hook(lambda module, given, result: seen.append(result))
        print(mine.twice(1), seen, isinstance(copy.deepcopy(mine), Mine), copy.deepcopy(mine).twice(2))
        made = []
        gm = fx.symbolic_trace(lambda x: x + 1)
        gm._register_create_node_hook(lambda node: made.append(node.name))
        gm.graph.inserting_before()
        gm.graph.call_function(len, ())
        print(made)
        """
    )


def test_parameters_are_trained_through_the_graph():
    gm = adjoint.fx.symbolic_trace(adjoint.nn.Linear(2, 1))
    assert {name for name, _ in gm.named_parameters()} == {"weight", "bias"}
    gm(adjoint.ones(1, 2)).sum().backward()
    assert gm.weight.grad.tolist() == [[1.0, 1.0]]


def test_folders(tmp_path, monkeypatch):
    class Net(adjoint.nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.seq = adjoint.nn.Linear(2, 2), adjoint.nn.Sequential(adjoint.nn.ReLU())
            self.p = adjoint.nn.Parameter(adjoint.ones(2))
            self.register_buffer("b", adjoint.zeros(2))

        def forward(self, x):
            return self.seq(self.l(x)) + self.p * self.b

    gm = adjoint.fx.symbolic_trace(Net())
    with pytest.warns(UserWarning, match="saved as pickled files instead: \\['seq'\\]"):
        gm.to_folder(tmp_path / "written", "Written")
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("written").Written()
    del sys.modules["written"], sys.modules["written.module"]
    x = adjoint.ones(1, 2)
    assert adjoint.equal(made(x), gm(x))


def test_archives_of_packages_are_refused():
    with pytest.raises(RuntimeError, match=r"torch\.package archive"):
        adjoint.fx.graph_module.reduce_package_graph_module(None, {}, "name")


def test_graphs_are_pickled_with_their_tracer():
    gm = pickle.loads(pickle.dumps(adjoint.fx.symbolic_trace(lambda x: adjoint.nn.functional.softmax(x, 0))))
    assert gm(adjoint.zeros(2)).tolist() == [0.5, 0.5]
    assert gm.graph._tracer_cls is adjoint.fx.Tracer
