"""Passes over graphs: shapes, parts, order, and the experimental ones."""

import sys

import pytest

import adjoint

from .programs import same


def test_shapes():
    same(
        """
        ShapeProp = module("fx.passes.shape_prop").ShapeProp
        class Net(nn.Module):
            def forward(self, x):
                a, b = x.max(dim=1)
                return torch.split(a, 1), {"q": b}
        gm = fx.symbolic_trace(Net())
        ShapeProp(gm).propagate(torch.ones(2, 3))
        for node in gm.graph.nodes:
            print(node.name, node.meta.get("tensor_meta"))
        conv = fx.symbolic_trace(nn.Conv2d(3, 4, 1).to(memory_format=torch.channels_last))
        ShapeProp(conv).propagate(torch.ones(1, 3, 4, 4).to(memory_format=torch.channels_last))
        print([node.meta["tensor_meta"].memory_format for node in conv.graph.nodes])
        """
    )


def test_shapes_without_memory():
    gm = adjoint.fx.symbolic_trace(adjoint.nn.Linear(3, 4, device="meta"))
    adjoint.fx.passes.shape_prop.ShapeProp(gm).propagate(adjoint.empty(10**9, 3, device="meta"))
    assert gm.graph.output_node().meta["tensor_meta"].shape == (10**9, 4)


def test_errors_of_shapes_name_the_node():
    gm = adjoint.fx.symbolic_trace(adjoint.nn.Sequential(adjoint.nn.Linear(3, 4)))
    with pytest.raises(RuntimeError, match=r"ShapeProp error for: node=%_0 : .*(?s:.)*While executing %_0"):
        adjoint.fx.passes.shape_prop.ShapeProp(gm).propagate(adjoint.ones(2, 2))


def test_split_in_parts():
    same(
        """
        split = module("fx.passes.split_module").split_module
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 2)
                self.p = nn.Parameter(torch.ones(2))
            def forward(self, x, y=2):
                u, v = self.a(x + self.p), self.b(x)
                return (u + v) * (u - v), v * y
        net = Net()
        gm = fx.symbolic_trace(net)
        parts = {"add": 0, "a_0": 0, "b": 0, "add_1": 1, "sub": 1}
        for options in ({}, {"tuple_return": True, "partition_affix": "z", "keep_original_node_name": True}):
            names = {}
            cut = split(gm, net, lambda node: parts.get(node.name, 2), names, **options)
            print(cut, names, [part.code for _, part in cut.named_children()], cut.print_readable(False))
            x = torch.ones(1, 2)
            print(all(torch.equal(one, other) for one, other in zip(cut(x), net(x))))
        attempt(lambda: split(gm, net, lambda node: int(node.name in ("b", "add_1"))))
        """
    )


def test_split_by_tags():
    text = same(
        """
        split = module("fx.passes.split_utils").split_by_tags
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            def forward(self, x, y):
                u = self.a(x)
                v = self.b(y)
                return (u + v).relu()
        net = Net()
        gm = fx.symbolic_trace(net)
        for node in gm.graph.nodes:
            node.tag = {"a": "first", "b": "second", "add": "last", "relu": "last"}.get(node.name)
        cut = split(gm, ["first", "second", "last"])
        print(cut.code, cut.first.code, cut.second.code, cut.last.code)
        x = torch.ones(1, 2)
        print(torch.equal(cut(x, x), net(x, x)))
        """
    )
    assert text.rstrip().endswith("True")


def test_order():
    same(
        """
        tools = module("fx.passes.tools_common")
        def trace():
            return fx.symbolic_trace(lambda x, y: y.e().h(x.a().c().g(x.b().d())))
        print(tools.stable_topological_sort(trace()).code, tools.legalize_graph(trace()).code)
        nodes = list(fx.symbolic_trace(lambda x: torch.relu(x).neg()).graph.nodes)
        print([tools.get_node_target({}, node) for node in nodes[1:3]])
        with suppress(AssertionError):
            print(tools.get_node_target({}, nodes[0]))
        """
    )


def test_managers_of_passes():
    same(
        """
        base, manager = module("fx.passes.infra.pass_base"), module("fx.passes.infra.pass_manager")
        def swap(old, new):
            def run(gm):
                found = gm.graph.find_nodes(op="call_function", target=old)
                for node in found:
                    node.target = new
                return base.PassResult(gm, bool(found))
            return run
        first, second = swap(operator.add, operator.mul), swap(operator.mul, operator.sub)
        passes = manager.PassManager([second, first], [manager.this_before_that_pass_constraint(first, second)])
        attempt(lambda: passes.solve_constraints())
        result = passes(fx.symbolic_trace(lambda x: x + 1))
        print(result.graph_module.code, result.modified)
        class Checked(base.PassBase):
            def call(self, gm):
                gm.graph.eliminate_dead_code()
            def requires(self, gm):
                gm.graph.lint()
        print(Checked()(fx.symbolic_trace(lambda x: x + 1)))
        print(manager.PassManager([manager.pass_result_wrapper(Checked())])(fx.symbolic_trace(lambda x: x)).modified)
        attempt(lambda: manager.PassManager([Checked()])(fx.symbolic_trace(lambda x: x)))
        """
    )


def test_fused_parts():
    same(
        """
        Partitioner = module("fx.passes.infra.partitioner").CapabilityBasedPartitioner
        support = module("fx.passes.operator_support")
        gm = fx.symbolic_trace(lambda x, y: ((x + y) * 2).relu() - y)
        wanted = support.create_op_support(lambda submodules, node: node.name in ("add", "mul"))
        fused = Partitioner(gm, wanted).partition_and_fuse()
        print(fused.code, fused.fused_0.code, fused(torch.ones(1), torch.ones(1)))
        """
    )


def test_folded_constants():
    same(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.l = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2)), nn.Linear(2, 2)
            def forward(self, x):
                return self.l(x) * (self.a + self.b) - self.a
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch makes nodes before what they get is there
            folded = module("fx.experimental.const_fold").split_const_subgraphs(net := Net())
        x = torch.ones(1, 2)
        print(folded.code, torch.equal(folded(x), net(x)), folded._FX_CONST_FOLDED_ATTRS)
        """
    )


def test_optimized_for_inference():
    same(
        """
        optimization = module("fx.experimental.optimization")
        net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Dropout(), nn.ReLU()).eval()
        x = torch.ones(1, 1, 2, 2)
        for change in (optimization.fuse, optimization.remove_dropout):
            changed = change(net)
            print(changed.code, torch.allclose(changed(x), net(x)))
        """
    )


def test_arguments_by_name():
    same(
        """
        NormalizeArgs = module("fx.experimental.normalize").NormalizeArgs
        net = nn.Sequential(nn.Dropout())
        print(NormalizeArgs(fx.symbolic_trace(net)).transform().code)
        print(NormalizeArgs(fx.symbolic_trace(lambda x: F.relu(x) + F.dropout(x, 0.1))).transform().code)
        schemas = module("fx.operator_schemas")
        print(schemas.normalize_function(F.relu, (1,), normalize_to_only_use_kwargs=True))
        print(schemas.normalize_module(net, "0", (1,), normalize_to_only_use_kwargs=True))
        print(schemas.create_type_hint([int, int]), schemas.type_matches(int, bool), schemas.type_matches(int, str))
        """
    )


def test_assertions_are_traced_by_the_rewriting_tracer():
    same(
        """
        class Net(nn.Module):
            def forward(self, x):
                assert x.sum() > 0, "words"
                return x + 1
        net = Net()
        gm = fx.GraphModule(net, module("fx.experimental.rewriter").RewritingTracer().trace(net))
        print(gm.code)
        attempt(lambda: gm(-torch.ones(1)))
        """
    )


def test_annotated_values_and_shapes_as_types():
    same(
        """
        annotate = module("fx.annotate").annotate
        print(fx.symbolic_trace(lambda x: annotate(x + 1, int)).code)
        types = module("fx.tensor_type")
        some, all_ = types.TensorType((1, types.Dyn)), types.TensorType((1, 2))
        print(some, types.is_consistent(some, all_))
        print(types.is_more_precise(types.Dyn, types.TensorType((1,))))
        """
    )


def test_drawings_need_pydot(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydot", None)
    gm = adjoint.fx.symbolic_trace(lambda x: x + 1)
    with pytest.raises(RuntimeError, match="requires the pydot package to be installed"):
        adjoint.fx.passes.graph_drawer.FxGraphDrawer(gm, "gm")


def test_drawings(monkeypatch):
    """What is drawn, with a stand-in for pydot that notes it."""
    drawn = []

    class Dot:
        def __init__(self, name, **options):
            self.name = name

        def add_node(self, node):
            drawn.append(node)

        add_edge = add_node

    pydot = type(sys)("pydot")
    pydot.Dot, pydot.Node, pydot.Edge = Dot, lambda name, **how: (name, how["label"]), lambda *ends: ends
    monkeypatch.setitem(sys.modules, "pydot", pydot)
    gm = adjoint.fx.symbolic_trace(adjoint.nn.Sequential(adjoint.nn.Linear(1, 1)))
    drawer = adjoint.fx.passes.graph_drawer.FxGraphDrawer(gm, "gm")
    assert drawer.get_dot_graph().name == "gm"
    assert ("input_1", "_0") in drawn
    assert ("_0", "output") in drawn
    assert ("_0.weight", "_0") in drawn
    assert any("torch.nn.modules.linear.Linear" in label for _, label in drawn)


def test_what_is_computed_twice():
    same(
        """
        CSEPass = module("fx.passes.dialect.common.cse_pass").CSEPass
        def function(x):
            a, b = x.cos(), x.cos()
            return (a + a) + (b + b) + x.sum(dim=0) + x.sum(0) + x.sum(dim=0)
        result = CSEPass()(fx.symbolic_trace(function))
        print(result.graph_module.code, result.modified, CSEPass()(result.graph_module).modified)
        """
    )


def test_random_numbers_are_drawn_as_often_as_before():
    gm = adjoint.fx.symbolic_trace(lambda x: adjoint.rand_like(x) + adjoint.rand_like(x))
    result = adjoint.fx.passes.dialect.common.cse_pass.CSEPass()(gm)
    assert not result.modified
    assert result.graph_module.code.count("torch.rand_like") == 2
