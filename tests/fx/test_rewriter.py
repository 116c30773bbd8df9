"""Patterns found in graphs and replaced."""

import pytest

from .programs import same

REPLACED = [
    ("torch.neg(x) + torch.relu(x)", "torch.neg(x) + torch.relu(x)", "torch.relu(x)"),
    ("torch.add(x, torch.max(torch.neg(x) + 1))", "torch.neg(x) + 1", "torch.tanh(x)"),
    ("x.foo(x).bar(2)", "x.foo(x)", "x.baz()"),
    ("(x + 1, x - 1)", "(x + 1, x - 1)", "(x * 1, x / 1)"),
    ("torch.relu(x)", "torch.tanh(x)", "torch.sigmoid(x)"),
    ("x.a().a().a()", "x.a().a()", "x.b()"),
    ("x.a(1).a(2)", "x.a(1)", "x.b()"),
    ("F.dropout(x, 0.2) + F.dropout(x, 0.3)", "F.dropout(x, 0.2)", "x.b()"),
    ("torch.sigmoid(torch.sigmoid(x))", "torch.sigmoid(x)", "torch.exp(x)"),
    ("(lambda a: torch.neg(a) + a)(torch.relu(x))", "torch.neg(torch.relu(x))", "torch.tanh(x)"),
    ("torch.neg(x)", "torch.neg(x)", "x"),
    ("torch.split(x, 2)[0]", "torch.split(x, 2)", "torch.chunk(x, 2)"),
    ("torch.cat([x, x.t()]).sum()", "torch.cat([x, x.t()])", "torch.stack([x, x])"),
    ("x[0, 1:]", "x[0, 1:]", "x[1]"),
]


@pytest.mark.parametrize(("function", "pattern", "replacement"), REPLACED)
def test_replaced(function, pattern, replacement):
    same(
        f"""
        gm = fx.symbolic_trace(lambda x: {function})
        print(fx.replace_pattern(gm, lambda x: {pattern}, lambda x: {replacement}), gm.code)
        gm.graph.lint()
        """
    )


def test_several_inputs():
    same(
        """
        def function(x, w1, w2):
            return x + torch.max(torch.cat([w1, w2]).sum()) + torch.max(torch.cat([w2, w1]).sum())
        gm = fx.symbolic_trace(function)
        matches = fx.replace_pattern(gm, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
        print(matches, gm.code)
        """
    )


def test_filters_literals_and_callbacks():
    same(
        """
        replace = fx.subgraph_rewriter.replace_pattern_with_filters
        def trace():
            return fx.symbolic_trace(lambda x: x.a(3).a(4))
        pattern, new = lambda x, y: x.a(y), lambda x, y: x.b(y)
        for options in ({}, {"ignore_literals": True}, {"match_filters": [lambda *what: False]}):
            gm = trace()
            print(replace(gm, pattern, new, **options), gm.code)
        gm = trace()
        chosen = lambda match, graph, pattern: fx.symbolic_trace(lambda x, y: x.c(y)).graph
        print(replace(gm, pattern, ignore_literals=True, replacement_callback=chosen), gm.code)
        attempt(lambda: replace(trace(), pattern, ignore_literals=True))
        """
    )


def test_modules_come_from_the_replacement():
    same(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l, self.r = nn.Linear(1, 1), nn.ReLU()
            def forward(self, x):
                return self.r(self.l(x))
        class Pattern(nn.Module):
            def __init__(self):
                super().__init__()
                self.r = nn.ReLU()
            def forward(self, x):
                return self.r(x)
        class New(nn.Module):
            def __init__(self):
                super().__init__()
                self.g = nn.GELU()
                self.register_buffer("shift", torch.ones(1))
            def forward(self, x):
                return self.g(x) + self.shift
        gm = fx.symbolic_trace(Net())
        print(fx.replace_pattern(gm, Pattern(), New()), gm.code, [name for name, _ in gm.named_modules()])
        """
    )


def test_matches_can_be_asked_for():
    same(
        """
        Matcher = module("fx.passes.utils.matcher_utils").SubgraphMatcher
        pattern = fx.symbolic_trace(lambda x: (x + 1) * 2).graph
        graph = fx.symbolic_trace(lambda a, b: ((a - b) + 1) * 2 - (a + 1) * 2).graph
        for match in Matcher(pattern).match(graph):
            print(match.anchors, match.nodes_map, match.placeholder_nodes, match.returning_nodes)
        attempt(lambda: Matcher(fx.Graph()))
        compare = module("fx.passes.utils").compare_graphs
        print(compare(pattern, pattern), compare(pattern, graph))
        """
    )


def test_pattern_and_replacement_fit_together():
    for new, words in (("lambda x, y: x.b(y)", "Placeholder count mismatch: 1 vs 2"),
                       ("lambda x: (x.b(), x.c())", "Returning nodes count mismatch: 1 vs 2")):  # fmt: skip
        text = f"""
        try:
            fx.replace_pattern(fx.symbolic_trace(lambda x: x.a()), lambda x: x.a(), {new})
        except AssertionError as error:
            print(str(error)[:{len(words)}])
        """
        assert same(text) == words + "\n"
