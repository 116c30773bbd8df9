"""adjoint.inspect: modules and leaves by their names; values and gradient norms; cells of notebooks; HTML."""

import copy
import gc
import sys
import threading
import types
import xml.etree.ElementTree as ET

import pytest

import adjoint as torch
from adjoint import nn
from adjoint.inspect import explain_grad, graph, saved_tensors, trace
from adjoint.inspect.facts import common_name
from adjoint.inspect.names import name_of
from adjoint.inspect.places import Place

from .documents import ROOT, blocks
from .processes import script


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x)) * 2


def modules(g):
    return [g.module(i) for i in range(g.inner_count)]


def labels(g):
    return [g.label(i) for i in range(len(g))]


# ---- modules


def test_nodes_are_named_by_the_path_of_their_module():
    model = Net()
    g = graph(model(torch.ones(2, 4)).mean())
    assert modules(g) == ["", "model", "model.head", "model.body.3", "model.body.2", "model.body.1", "model.body.0"]
    rows = str(g).splitlines()
    assert rows[1].split()[:4] == ["#", "node", "module", "output"]
    assert "AddmmBackward0            model.body.0" in str(g)
    texts = [text.text for text in ET.fromstring(g.svg()).iter("{http://www.w3.org/2000/svg}text")]
    assert "model.body.1" in texts
    assert "leaf model.body.0.weight" in texts
    assert "model.body.1" in g.dot()


def test_sequential_by_its_variable():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    g = graph(net(torch.ones(1, 2)).sum())
    assert modules(g) == ["", "net.1", "net.0"]
    assert labels(g)[3:] == ["leaf net.0.bias", "leaf net.0.weight"]


def test_modules_without_a_variable_go_by_their_class():
    g = graph([Net()][0](torch.ones(2, 4)).mean())
    assert set(modules(g)) == {""}  # the module is gone, and with it its name
    kept = {"key": (Net(),)}
    g = graph(kept["key"][0](torch.ones(2, 4)).mean())
    assert modules(g)[1:4] == ["Net", "Net.head", "Net.body.3"]


def test_modules_in_lists_dicts_and_objects():
    layers, table, box = [nn.Linear(2, 2)], {"a": nn.Linear(2, 2)}, types.SimpleNamespace(layer=nn.Linear(2, 2))
    x = torch.ones(1, 2)
    g = graph(box.layer(table["a"](layers[0](x))).sum())
    assert modules(g) == ["", "box.layer", "table['a']", "layers[0]"]
    assert labels(g)[-1] == "leaf layers[0].weight"


def test_a_module_that_is_called_twice_keeps_its_name_and_copies_have_theirs():
    layer = nn.Linear(2, 2)
    other = copy.deepcopy(layer)
    g = graph(other(layer(layer(torch.ones(1, 2)))).sum())
    assert modules(g) == ["", "other", "layer", "layer"]


def test_hooks_belong_to_the_module_and_errors_leave_nothing():
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, result: result * 2)
    assert modules(graph(layer(torch.ones(1, 2)).sum())) == ["", "layer", "layer"]
    with pytest.raises(RuntimeError):
        layer(torch.ones(1, 3))
    w = torch.ones(2, requires_grad=True)
    assert modules(graph((w * 2).sum())) == ["", ""]


def test_nodes_of_threads_that_run_at_once_are_not_mistaken():
    inside, leave = threading.Event(), threading.Event()

    class Waits(nn.Module):
        def forward(self, x):
            y = x * 2
            inside.set()
            leave.wait(10)
            return y + 1

    waits, layer, found = Waits(), nn.Linear(2, 2), []
    thread = threading.Thread(target=lambda: found.append(waits(torch.ones(2, requires_grad=True))))
    thread.start()
    inside.wait(10)
    mine = layer(torch.ones(1, 2))
    leave.set()
    thread.join()
    assert "waits" not in modules(graph(mine))
    assert "layer" not in modules(graph(found[0]))
    assert modules(graph(layer(torch.ones(1, 2)))) == ["layer"]


def test_the_log_is_bounded_and_keeps_no_module_alive():
    layer = nn.Linear(1, 1)
    x = torch.ones(1, 1)
    old = layer(x)
    for _ in range(5000):
        layer(x)
    assert len(torch._C._module_calls()) == 4096
    assert modules(graph(old)) == [""]
    gone = nn.Linear(1, 1)
    gone(x)
    seen = torch._C._module_calls()[-1][0]
    assert seen() is gone
    del gone
    gc.collect()
    assert seen() is None


def test_calls_that_record_nothing_are_not_logged():
    layer = nn.Linear(1, 1)
    layer(torch.ones(1, 1))
    before = torch._C._module_calls()[-1]
    with torch.no_grad():
        layer(torch.ones(1, 1))
    nn.Identity()(torch.ones(1))
    assert torch._C._module_calls()[-1] == before


def test_saved_tensors_and_traces_have_modules():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    with trace() as t:
        with torch.no_grad():
            net(torch.ones(1, 2))
        loss = net(torch.ones(1, 2)).sum()
        loss.backward(retain_graph=True)
    assert saved_tensors(loss).by("module")["net.1"] == 12
    found = {(event.op, event.module) for event in t.events}
    assert {("linear", "net.0"), ("relu", "net.1"), ("ReluBackward0", "net.1"), ("sum", "")} <= found
    rule = next(event for event in t.events if event.parent is not None and event.module == "net.2")
    assert t.events[rule.parent].op == "AddmmBackward0"
    rows = {row.op: row for row in t.table(limit=None)}
    assert rows["linear"].module == "net.0,2"
    assert rows["linear"].calls == 4
    by_module = {row.op: row.calls for row in t.table(by="module", limit=None)}
    assert by_module["net.1"] == 3
    assert str(t.table(by="module")).splitlines()[0].split()[0] == "module"
    assert any("test_inspect_modules.py" in row.op for row in t.table(by="line"))
    with pytest.raises(ValueError, match="expected by to be one of op, module, line; got 'colour'"):
        t.table(by="colour")


# ---- leaves


def test_leaves_by_variables_parameters_and_given_names():
    w, many = torch.ones(2, requires_grad=True), [torch.ones(2, requires_grad=True)]
    g = graph((w * many[0] * torch.ones(2, requires_grad=True)).sum(), names={"given": many[0]})
    assert sorted(labels(g)[-3:]) == ["leaf", "leaf given", "leaf w"]
    layer = nn.Linear(2, 2)
    for parameter in layer.parameters():  # the path says more than the variable of a loop
        assert name_of(parameter).startswith("layer.")
    assert name_of(torch.ones(1)) == ""


def test_looking_for_names_runs_no_code_of_the_program():
    class Loud(nn.Linear):
        def named_parameters(self, *args, **kwargs):
            raise AssertionError

        named_modules = named_parameters

    class Key:
        def __repr__(self):
            raise AssertionError

        __hash__ = object.__hash__

    loud, half_made, table = Loud(2, 2), Loud.__new__(Loud), {Key(): torch.ones(1)}
    g = graph(loud(torch.ones(1, 2)).sum())
    assert labels(g)[-1] == "leaf loud.weight"
    assert not hasattr(half_made, "weight")
    assert len(table) == 1


def test_names_of_one_for_several():
    assert common_name(["net.0.weight", "net.2.weight"]) == "net.0,2.weight"
    assert common_name(["a.0", "b.0"]) == "a.0, b.0"
    assert common_name([]) == ""


# ---- values and gradients


def test_values_and_gradient_norms_on_request():
    w = torch.tensor([3.0, -4.0], requires_grad=True)
    h = w * w
    loss = h.sum()
    loss.backward(retain_graph=True)
    g = graph(loss, values=True, gradients=True)
    assert [g.value(i) for i in range(3)] == ["25", "from 9 to 16", "from -4 to 3"]
    assert [g.gradient_norm(i) for i in range(3)] == [1.0, pytest.approx(2**0.5), 10.0]
    head = str(g).splitlines()[1]
    assert "value" in head
    assert "gradient norm" in head
    assert "value from -4 to 3" in g.svg()
    assert "|gradient| 10" in g.svg()
    assert w.grad.tolist() == [6.0, -8.0]
    assert not any(node._post_hooks for node in g.nodes)
    plain = graph(loss)
    assert plain.value(0) == ""
    assert plain.gradient_norm(0) is None
    assert "value" not in str(plain)
    with pytest.raises(TypeError, match="expected tensors, not nodes, with gradients=True"):
        graph(loss.grad_fn, gradients=True)


def test_gradient_norms_of_several_results_and_of_nan():
    w = torch.zeros(2, requires_grad=True)
    g = graph([w.sum(), (w * 2).sum()], gradients=True)
    assert g.gradient_norm(len(g) - 1) == pytest.approx(18**0.5)
    bad = graph((w.sqrt() * w).sum(), gradients=True)
    assert "nan" in str(bad)


def test_sparse_gradients_and_leaves():
    embedding = nn.Embedding(5, 3, sparse=True)
    loss = embedding(torch.tensor([1, 1])).sum()
    assert explain_grad(loss, embedding.weight).reason == "ok"
    assert graph(loss, values=True, gradients=True).gradient_norm(2) == pytest.approx(12**0.5)
    matrix = torch.eye(3).to_sparse().requires_grad_()
    g = graph(torch.sparse.mm(matrix, torch.ones(3, 1)).sum(), values=True, gradients=True)
    assert g.value(len(g) - 1) == "all 1"
    assert g.gradient_norm(len(g) - 1) == pytest.approx(3**0.5)


# ---- notebooks


def test_cells_of_notebooks(monkeypatch):
    assert Place("<ipython-input-3-0123abcd>", 2, "<module>").quoted() == "In [3] line 2"
    assert str(Place("<ipython-input-3-0123abcd>", 2, "f")) == "In [3] line 2 in f"

    class Compiler:
        @staticmethod
        def format_code_name(name):
            return ("Cell", "In[7]") if "kernel" in name else None

    shell = types.SimpleNamespace(compile=Compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert Place("/some/folder/kernel_12/34.py", 5, "<module>").short == "In [7] line 5"
    assert Place("/some/folder/plain.py", 5, "f").short == "plain.py:5"
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert Place("/some/folder/kernel_12/34.py", 5, "f").short == "34.py:5"


def test_html_for_notebooks():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    with trace() as t:
        loss = net(torch.ones(1, 2)).sum()
    for table in (saved_tensors(loss), t, t.table()):
        root = ET.fromstring(table._repr_html_())
        assert root.tag == "table"
        assert any(cell.text == "net.1" for cell in root.iter("td"))
    w = torch.ones(2, requires_grad=True)
    found = explain_grad((w.detach() * 2).sum(), w)._repr_html_()
    assert "<code>found = explain_grad" in found
    assert ET.fromstring(f"<div>{found}</div>").find("ul/li") is not None
    assert saved_tensors(w + 1)._repr_html_() == "<p>saved tensors: none</p>"


# ---- docs/inspect.md

PAGE = ROOT / "docs" / "inspect.md"


@pytest.mark.parametrize("name", ["model.py", "pendulum.py", "masked.py", "encoder.py"])
def test_programs_of_the_page_print_what_it_says(name, tmp_path):
    (program,), (printed,) = blocks(PAGE, "python", name), blocks(PAGE, "text", name)
    (tmp_path / name).write_text(program)
    done = script(f"import os, runpy; os.chdir({str(tmp_path)!r}); runpy.run_path({name!r})")
    assert done.stdout == printed
    for drawing in tmp_path.glob("*.svg"):
        assert drawing.read_text() == (PAGE.parent / "drawings" / drawing.name).read_text()
