"""adjoint.inspect: graphs as text, DOT and SVG; memory held by saved values; why a gradient is missing."""

import gc
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import adjoint as torch
from adjoint.inspect import explain_grad, graph, saved_tensors

from .compare import same
from .processes import script

HERE = Path(__file__).name
SVG = "{http://www.w3.org/2000/svg}"


def leaf(*values):
    return torch.tensor(values or (1.5, 2.5, 3.5), requires_grad=True)


def test_imported_when_first_used():
    code = "import sys, adjoint; a = 'adjoint.inspect' in sys.modules; adjoint.inspect.graph; print(a)"
    assert script(code).stdout == "False\n"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = torch.nonsense


# ---- graph


def diamond():
    x = leaf()
    a = x * 2
    return x, (a.sin() + a).sum()


def test_graph_lists_each_node_once_with_its_facts():
    x, y = diamond()
    g = graph(y, names={"x": x})
    labels = [g.label(i) for i in range(len(g))]
    assert labels == ["SumBackward0", "AddBackward0", "SinBackward0", "MulBackward0", "leaf x"]
    assert [g.inputs(i) for i in range(5)] == [[1], [2, 3], [3], [4], []]
    assert len(g.leaves) == 1
    assert g.leaves[0] is x
    lines = str(g).splitlines()
    assert lines[0] == "graph: 5 nodes, 1 leaf, 12 B saved"
    sine = next(line for line in lines if "SinBackward0" in line)
    assert "float32 [3]" in sine
    assert "12 B" in sine
    assert f"{HERE}:{diamond.__code__.co_firstlineno + 3}" in sine
    assert "(a.sin() + a).sum()" in sine
    assert repr(g) == str(g)


def test_graph_of_a_leaf_a_node_and_several():
    x, y = diamond()
    assert [graph(x).label(i) for i in range(1)] == ["leaf x"]
    assert graph(leaf()).label(0) == "leaf"
    assert len(graph(y.grad_fn)) == 5
    both = graph([y, (x * x).sum()])
    assert len(both) == 7
    assert sum(both.is_root(i) for i in range(7)) == 2


@pytest.mark.parametrize("function", [graph, saved_tensors])
def test_graph_needs_a_graph(function):
    with pytest.raises(ValueError, match="expected a tensor that requires grad; got one without a graph"):
        function(torch.ones(2))
    with pytest.raises(TypeError, match="expected a tensor, a node or a sequence of them; got int"):
        function(3)


def test_graph_says_what_was_freed_and_shared():
    x = leaf()
    y = (x * x).sum()
    assert "12 B shared" in str(graph(y))
    y.backward()
    assert "freed" in str(graph(y))


def test_graph_of_several_outputs_views_and_functions():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    x = leaf(1.0, 2.0, 3.0, 4.0)
    a, b = Twice.apply(x)
    y = a.clone()
    y[:2] = b[2:]
    text = str(graph(y.unbind()[0]))
    assert "TwiceBackward" in text
    assert "float32 [4], float32 [4]" in text
    assert "CopySlices" in text
    assert "float32 [], float32 [] and 2 more" in text


def test_long_chain_is_cut_with_a_note():
    x = y = leaf()
    for _ in range(1_000_000):
        y = y + 1
    g = graph(y)
    assert len(g) == 1_000_001
    lines = g.text(fold=False).splitlines()
    assert len(lines) < 120
    assert lines[-1].startswith("... and 999,901 older nodes")
    assert "nearest to the result" in g.svg(limit=50, fold=False)
    assert "AddBackward0 x 20,000" in str(g)
    assert "... and 980,001 older nodes" in str(g)
    assert len(boxes(g.svg())) == 1
    assert saved_tensors(y).total == 0
    del g, y, x


def test_dot_names_every_node_and_edge():
    x, y = diamond()
    text = graph(y, names={'quote " \\': x}).dot()
    assert text.startswith("digraph {")
    assert text.count("->") == 5
    assert "n3 -> n1;" in text
    assert 'leaf quote \\" \\\\' in text


def boxes(document):
    """[(left, top, right, bottom)] of the drawn nodes."""
    found = []
    for rect in ET.fromstring(document).iter(f"{SVG}rect"):
        if rect.get("class") == "node":
            x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h))
    return found


def network(depth):
    x, w, b = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True), torch.zeros(8, requires_grad=True)
    h = x
    for _ in range(depth):
        h = torch.tanh(h @ w + b) + (h * b).sin()
    return (h * w[:1]).sum()


@pytest.mark.parametrize("depth", [1, 5, 40])
def test_svg_is_well_formed_and_nothing_overlaps(depth):
    g = graph(network(depth))
    document = g.svg(fold=False)
    root = ET.fromstring(document)
    width, height = float(root.get("width")), float(root.get("height"))
    found = boxes(document)
    assert len(found) == len(g)
    for left, top, right, bottom in found:
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
    for i, a in enumerate(found):
        for b in found[:i]:
            assert a[2] <= b[0] + 0.2 or b[2] <= a[0] + 0.2 or a[3] <= b[1] or b[3] <= a[1]
    arrows = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(arrows) == sum(len(set(g.inputs(i))) for i in range(len(g)))
    assert g._repr_svg_() == g.svg()


def test_svg_escapes_text():
    x = leaf()
    document = graph(x * 2, names={'<b>&"\x01': x}).svg()
    texts = [text.text for text in ET.fromstring(document).iter(f"{SVG}text")]
    assert 'leaf <b>&"?' in texts


def test_svg_draws_the_nearest_nodes_of_a_large_graph_and_says_so():
    g = graph(network(100))
    assert len(g) > 400
    document = g.svg(fold=False)
    assert 300 < len(boxes(document)) <= 400
    assert "nodes nearest to the result" in document
    assert len(boxes(g.svg(limit=1, fold=False))) == len(boxes(g.svg(limit=1))) == 1
    with pytest.raises(ValueError, match="limit of at least 1"):
        g.svg(limit=0)


def test_svg_of_many_leaves_and_of_one():
    many = torch.stack([leaf(float(i)) for i in range(600)])
    assert len(boxes(graph(many).svg(fold=False))) <= 400
    assert "leaf x 600" in graph(many).svg()
    assert len(boxes(graph(leaf()).svg())) == 1


# ---- saved_tensors


def plain_network():
    x, w = torch.randn(20, 30), torch.randn(30, 10, requires_grad=True)
    return lambda: torch.softmax(torch.relu(x @ w).tanh(), -1).log().sum()


def saved_twice_and_views():
    x = torch.randn(50, requires_grad=True)

    def run():
        h = x.exp()
        return (h.sin() * h[10:20].sum() * h.reshape(5, 10).t().reshape(-1)).sum()

    return run


def in_place_and_slices():
    x = torch.randn(40, requires_grad=True)

    def run():
        h = x * 2
        h[:10].mul_(x[:10].exp())
        h[3] = 1.0
        return h.sigmoid().sum()

    return run


def lists_and_indices():
    x = torch.randn(6, 4, requires_grad=True)
    index = torch.tensor([1, 2])
    return lambda: (torch.cat([x.exp(), x.sin()])[index] * x[[0, 1]]).std()


def functions():
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x.exp()
            ctx.several = [x.sin(), x.cos()]
            out = x.tanh()
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx, g):
            return g * ctx.kept

    x = torch.randn(30, requires_grad=True)
    return lambda: Keeps.apply(x * 2).sum()


def own_leaves():
    def run():
        made_here = torch.randn(17, requires_grad=True)
        return (made_here * made_here.exp()).sum()

    return run


def foreign_memory():
    array = np.ones(25, dtype=np.float32)
    x = torch.randn(25, requires_grad=True)
    return lambda: (torch.from_numpy(array) * x).sum()


def data_with_its_own_version():
    x = torch.randn(25, requires_grad=True)
    return lambda: ((x.exp().data + 0).data * x).sum()


def nothing_saved():
    x = torch.randn(25, requires_grad=True)
    return lambda: (x + 1).sum()


def custom_second_derivative():
    x = torch.randn(25, requires_grad=True)
    return lambda: torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)[0].sum()


def packed():
    x = torch.randn(25, requires_grad=True)

    def run():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.clone(), "note"), lambda p: p[0]):
            return (x.exp() * x).sin().sum()

    return run


MEMORY = [packed, plain_network, saved_twice_and_views, in_place_and_slices, lists_and_indices, functions, own_leaves]
MEMORY += [foreign_memory, data_with_its_own_version, nothing_saved, custom_second_derivative]


def current():
    return torch.memory_stats()["current"]


@pytest.mark.parametrize("make", MEMORY, ids=lambda make: make.__name__)
def test_total_is_the_allocators_difference(make):
    run = make()
    run()  # what is made once and kept
    gc.collect()
    before = current()
    y = run()
    gc.collect()
    table = saved_tensors(y)
    assert table.total == current() - before - y.nbytes
    assert table.total == sum(row.bytes for row in table) == sum(table.by("op").values())
    held = current()
    y = y.detach()
    gc.collect()
    assert held - current() == table.total
    assert (table.total == 0) == (make in (foreign_memory, nothing_saved))


def test_backward_gives_back_the_total():
    run = plain_network()
    y = run()
    total, before = saved_tensors(y).total, current()
    grads = torch.autograd.grad(y, graph(y).leaves)
    assert before - current() == total - sum(g.nbytes for g in grads)
    assert saved_tensors(y).total == 0


def test_rows_name_op_and_line():
    x = torch.randn(100, requires_grad=True)
    h = x.exp()
    y = (h.sin() + x.tanh()).sum()
    table = saved_tensors(y)
    assert [(row.op, row.bytes, row.shared) for row in table] == [("TanhBackward0", 400, 0), ("ExpBackward0", 0, 400)]
    line = sys._getframe().f_lineno - 3
    assert table.rows[0].line == f"{HERE}:{line} in test_rows_name_op_and_line"
    assert table.shared == h.nbytes
    text = str(table).splitlines()
    assert text[0].split() == ["bytes", "shared", "storages", "op", "line"]
    assert text[-1].split() == ["400", "400", "2", "total"]
    assert "y = (h.sin() + x.tanh()).sum()" in text[1]
    assert list(table.by("file")) == [__file__]
    with pytest.raises(ValueError, match="expected one of op, line, module, function, file; got 'colour'"):
        table.by("colour")
    assert len(table) == 2
    assert str(saved_tensors(x + 1)) == "saved tensors: none"


def test_rows_name_the_module_that_a_node_says():
    x = torch.randn(100, requires_grad=True)
    h = x.exp()
    h.grad_fn.metadata["module"] = "model.0"
    table = saved_tensors(h.tanh().sum())
    del h
    assert [(row.op, row.module) for row in table] == [("TanhBackward0", ""), ("ExpBackward0", "model.0")]
    assert str(table).splitlines()[0].split() == ["bytes", "shared", "storages", "op", "module", "line"]
    y = x.exp().sum()
    assert saved_tensors(y).by("module") == {"": 400}


def test_inspecting_keeps_nothing_alive():
    run = plain_network()
    y = run()
    table, text, why = saved_tensors(y), str(graph(y)), explain_grad(y, graph(y).leaves[0])
    held = current()
    total, size = table.total, y.nbytes
    del y
    gc.collect()
    assert text
    assert why
    assert current() <= held - total - size


# ---- tensor([a, b]), float(a)


@pytest.mark.parametrize("cut", ["torch.tensor([a, a])", "float(a)", "'%.2f' % a"])
def test_taking_a_number_from_the_graph_warns_that_it_cuts_it(cut):
    code = f"import adjoint as torch\na = torch.tensor(1.0, requires_grad=True)\nb = {cut}\n"
    code += "int(a), a.item(), f'{a:.2f}', float(a)\n"  # no warning, or none a second time
    ours, theirs = (script(text).stderr for text in (code, code.replace("adjoint as torch", "torch")))
    opening = "<string>:3: UserWarning: Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
    assert ours.startswith(opening)
    assert theirs.startswith(opening)
    assert ours.count("UserWarning") == theirs.count("UserWarning") == 1
    assert "cuts the graph" in ours
    assert "torch.stack()" in ours


def test_numbers_taken_without_a_graph_do_not_warn():
    def program(L):
        a = L.tensor(1.0, requires_grad=True)
        with L.no_grad():
            return float(a), L.tensor([a, a]), float(a * 2)

    same(program)


def test_stack_keeps_the_graph_where_tensor_cuts_it():
    def program(L):
        a, b = L.tensor(1.0, requires_grad=True), L.tensor(2.0, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return L.tensor([a, b]), L.stack([a, b])

    same(program)


# ---- the native functions below


@pytest.mark.parametrize("name", ["_gradient_edge", "_reached_nodes", "_describe_node", "_saved_memory"])
@pytest.mark.parametrize("value", [None, 3, (1,), [1], [None]])
def test_native_functions_refuse_other_things(name, value):
    with pytest.raises(TypeError):
        getattr(torch._C, name)(value)


def test_native_functions_leak_nothing():
    x, y = diamond()
    z = functions()()

    def look():
        for result in (y, z):
            str(graph(result))
            str(saved_tensors(result))
        str(explain_grad(y, x))
        explain_grad((y * 0).sum(), x)

    look()
    gc.collect()
    before, references = current(), sys.getrefcount(y.grad_fn)
    objects = len(gc.get_objects())
    for _ in range(50):
        look()
    gc.collect()
    now = sys.getrefcount(y.grad_fn)
    assert current() == before
    assert now == references
    assert len(gc.get_objects()) < objects + 50
