"""Graphs made and changed by hand."""

import pytest

import adjoint

from .programs import same

GRAPH = """
g = fx.Graph()
x, y = g.placeholder("x"), g.placeholder("y", type_expr=int, default_value=3)
add = g.call_function(torch.add, (x, y))
relu = g.call_method("relu", (add,))
lin = g.call_module("lin", (relu,), type_expr=torch.Tensor)
w = g.get_attr("w")
"""


def test_every_kind_of_node_is_printed():
    same(
        GRAPH
        + """
        g.call_function(operator.iadd, (lin, w))
        g.call_function(operator.setitem, (x, 0, lin))
        g.call_function(math.sqrt, (g.call_function(len, (x,)),))
        g.call_function(getattr, (x, "shape")), g.call_function(getattr, (x, "0"))
        g.call_function(F.relu, (x,), {"inplace": True})
        for name in ("my.name-1", "for", "0abc", "sum", "name_1_5", "name_1_5", ""):
            g.create_node("call_function", torch.sub, (x, y), name=name)
        g.create_node("call_method", "CamelCaseOp", (x,)), g.call_module("a.b.0", (x,)), g.get_attr("a.b.0.w")
        kwargs = {"q": None, "r": "s", "t": torch.float32, "d": torch.device("cpu"), "e": torch.Size([1, 2]), "u": 1j}
        last = g.call_function(torch.sub, ([x, (y, {"k": x})], slice(1, x)), {**kwargs, "v": range(3), "w": ...})
        g.output((lin, [last]), type_expr=tuple[torch.Tensor, list])
        print(g, g.python_code("self").src)
        print(last.args, type(last.args[0]).__name__, type(last.kwargs).__name__, last.all_input_nodes, last.users)
        print([node.format_node() for node in g.nodes], len(g.nodes), list(reversed(g.nodes))[:2])
        code = g.python_code("self")
        print(sorted(code.globals), code._lineno_map, code._prologue_start)
        """.replace("\n        ", "\n")
    )


def test_annotations_are_printed():
    same(
        """
        for kind in (int, typing.List[int], typing.Optional[torch.Tensor], "int", list[int], ..., typing.Any,
                     int | None, typing.Tuple[int, ...], typing.Dict[str, typing.List[torch.Tensor]], nn.Linear,
                     type(None)):
            g = fx.Graph()
            g.output(g.placeholder("x", type_expr=kind), type_expr=kind)
            print(g, g.python_code("self").src)
        """
    )


def test_wrong_nodes_are_refused():
    same(
        GRAPH
        + """
        g.output(lin)
        attempt(lambda: g.create_node("foo", "x"))
        attempt(lambda: g.create_node("call_method", "x", [x]))
        attempt(lambda: g.create_node("call_method", "x", (x,), [1]))
        attempt(lambda: g.call_function("abc", ()))
        attempt(lambda: g.erase_node(x))
        attempt(lambda: fx.Graph().inserting_before(x))
        attempt(lambda: x.prepend(fx.Graph().placeholder("z")))
        attempt(lambda: g.find_nodes(op="call_function"))
        attempt(lambda: fx.map_arg(x, 3))
        other = fx.Graph()
        other.call_function(torch.add, (x,))
        attempt(other.lint)
        attempt(other.output_node)
        """.replace("\n        ", "\n")
    )


def test_lint():
    same(
        """
        net = nn.Module()
        net.a = nn.Module()
        g = fx.Graph()
        x = g.placeholder("x")
        y = g.call_module("a", (x,))
        g.output(y)
        gm = fx.GraphModule(net, g)
        gm.graph.lint()
        call = list(gm.graph.nodes)[1]
        for target in ("a.missing", "a.training"):
            call.target = target
            attempt(gm.graph.lint)
        g = fx.Graph()
        x = g.placeholder("x")
        y = g.call_function(torch.relu, (x,))
        y.append(x)
        attempt(g.lint)
        y.name = "x"
        x.append(y)
        attempt(g.lint)
        """
    )


def test_arguments_are_changed_by_assignment():
    same(
        """
        g = fx.Graph()
        a, b = g.placeholder("a"), g.placeholder("b")
        n = g.call_function(torch.add, (a, b))
        n.args = (a, a)
        print(n.args, a.users, b.users)
        n.insert_arg(1, 5), n.update_arg(0, [b]), n.update_kwarg("k", b)
        print(n.args, n.kwargs, a.users, b.users)
        n.replace_input_with(b, a)
        print(n.args, n.kwargs, a.users, b.users)
        for change in (lambda: n.args[0].append(1), lambda: n.kwargs.update(a=1), lambda: n.kwargs.pop("k")):
            attempt(change)
        out = g.output((a, n))
        print(a.replace_all_uses_with(b, lambda user: user is out), g)
        with g.inserting_before(n):
            m = g.call_function(torch.neg, (b,))
        with g.inserting_after(n):
            k = g.call_function(torch.abs, (n,))
        print(list(g.nodes), sorted([out, n, a, m]), a.next, a.prev, m < n, k > n)
        attempt(lambda: a.replace_all_uses_with(b, propagate_meta=True))
        """
    )


def test_dead_code_goes_and_effects_stay():
    same(
        """
        def function(x):
            unused = x + 1
            unused.relu()
            torch._assert(x, "words")
            torch.rand(x)
            x.relu_()
            return x
        graph = fx.Tracer().trace(function)
        print(graph.eliminate_dead_code(), graph, graph.eliminate_dead_code())
        for function in (operator.setitem, print, torch.rand, torch.add, F.dropout, torch._assert, torch.bernoulli):
            print(fx.Graph().call_function(function, ()).is_impure())
        fx.has_side_effect(print)
        print(fx.Graph().call_function(print, ()).is_impure())
        fx.node._side_effectful_functions.discard(print)
        """
    )


def test_graphs_are_copied():
    same(
        """
        gm = fx.symbolic_trace(lambda x: (x.relu(), [x + 1]))
        new = fx.Graph()
        known = {}
        print(new.graph_copy(gm.graph, known), known)
        print(new, copy.deepcopy(gm.graph))
        """
    )


def test_statements_can_be_rewritten_and_codegens_replaced():
    same(
        """
        gm = fx.symbolic_trace(lambda a, b: a + b)
        with gm.graph.on_generate_code(lambda current: lambda body: ["import math\\n", *body]):
            gm.recompile()
            print(gm.code, gm(1, 2))
        gm.recompile()
        print(gm.code)
        class Listed(fx.CodeGen):
            def gen_fn_def(self, free_vars, maybe_return_annotation):
                head = f"def forward(self, given: List){maybe_return_annotation}:"
                return f"{head}\\n    {', '.join(free_vars)} = given"
            def additional_globals(self):
                return [("List", typing.List)]
            def process_inputs(self, *inputs):
                return inputs[0]
        gm.graph.set_codegen(Listed())
        gm.recompile()
        print(gm.code, gm([1, 2]), fx.Interpreter(gm).run([1, 2]), copy.deepcopy(gm)([3, 4]))
        """
    )


def test_lists_and_dicts_of_arguments():
    same(
        """
        collections_ = fx.immutable_collections
        items, names = collections_.immutable_list([1, 2]), collections_.immutable_dict(a=1)
        print(items, names, pickle.loads(pickle.dumps([items, names])), copy.deepcopy(items), hash(items) is not None)
        print(items + [3], names | {"b": 2}, type(items[:1]), module("utils._pytree").tree_flatten([items, names]))
        for change in (lambda: operator.iadd(items, [1]), lambda: operator.delitem(names, "a"), lambda: items.sort()):
            attempt(change)
        """
    )


def test_tables(capsys):
    """As the package tabulate lays them out, which torch uses and need not be installed here."""
    gm = adjoint.fx.symbolic_trace(adjoint.nn.Sequential(adjoint.nn.Linear(1, 1)))
    gm.graph.print_tabular()
    assert capsys.readouterr().out == (
        "opcode       name     target    args        kwargs\n"
        "-----------  -------  --------  ----------  --------\n"
        "placeholder  input_1  input     ()          {}\n"
        "call_module  _0       0         (input_1,)  {}\n"
        "output       output   output    (_0,)       {}\n"
    )


def test_erased_nodes_are_not_erased_again():
    graph = adjoint.fx.Graph()
    x = graph.placeholder("x")
    graph.erase_node(x)
    with pytest.warns(UserWarning, match="on an already erased node"):
        graph.erase_node(x)
    assert len(graph.nodes) == 0


def test_proxies_add_to_a_graph():
    same(
        """
        g = fx.Graph()
        x = fx.Proxy(g.placeholder("x"))
        y = (x + 1).relu().shape
        print(x, repr(y), type(y).__name__, g)
        g.output(torch.stack([x, x]).node)
        print(g, fx.GraphModule({}, g)(torch.ones(1)))
        """
    )
