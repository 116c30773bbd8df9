"""Graphs run node by node, with values and with proxies."""

from .programs import same


def test_nodes_are_run_one_by_one():
    same(
        """
        class Noting(fx.Interpreter):
            def run_node(self, n):
                result = super().run_node(n)
                print(n.op, n.name, type(result).__name__)
                return result
            def call_function(self, target, args, kwargs):
                return super().call_function(operator.mul if target is operator.add else target, args, kwargs)
            def call_method(self, target, args, kwargs):
                return super().call_method("tanh" if target == "relu" else target, args, kwargs)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w, self.act = nn.Parameter(torch.ones(1)), nn.ReLU()
            def forward(self, x, y=3):
                return self.act(x + y).relu() * self.w
        gm = fx.symbolic_trace(Net())
        print(Noting(gm).run(torch.ones(1)), gm(torch.ones(1)))
        """
    )


def test_values_are_let_go_or_kept():
    same(
        """
        gm = fx.symbolic_trace(lambda x, y=3: (x + y).relu())
        for keep in (True, False):
            runner = fx.Interpreter(gm, garbage_collect_values=keep)
            print(runner.run(torch.ones(1)), list(runner.env))
        given = [torch.ones(1), 1]
        print(fx.Interpreter(gm).boxed_run(given), given)
        known = {node: torch.ones(1) for node in gm.graph.nodes if node.name in ("x", "y", "add")}
        print(fx.Interpreter(gm).run(initial_env=known))
        print(fx.Interpreter(fx.symbolic_trace(lambda *a: a[0] + a[1])).run(1, 2))
        """
    )


def test_errors_name_the_node():
    same(
        """
        gm = fx.symbolic_trace(lambda x: x.nope())
        for args in ((), (torch.ones(1),)):
            try:
                fx.Interpreter(gm).run(*args)
            except Exception as error:
                print(type(error).__name__, str(error).partition("Use tlparse")[0].strip())
        """
    )


def test_transformers_make_new_graphs():
    same(
        """
        class Swap(fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.sub if target is torch.add else target, args, kwargs)
            def call_method(self, target, args, kwargs):
                return super().call_method("relu" if target == "neg" else target, args, kwargs)
            def call_module(self, target, args, kwargs):
                return args[0] if isinstance(self.fetch_attr(target), nn.Dropout) else (
                    super().call_module(target, args, kwargs))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.d, self.w = nn.Linear(1, 1), nn.Dropout(), nn.Parameter(torch.ones(1))
            def forward(self, x, y=2):
                return torch.add(self.d(self.a(x)), y).neg() + self.w, [x]
        gm = fx.symbolic_trace(Net())
        new = Swap(gm).transform()
        print(new.code, new.graph, fx.Transformer(gm).transform().code == gm.code, new(torch.zeros(1, 1))[1])
        """
    )
