"""Symbolic traces: code and graphs as torch prints them, values and gradients as without a trace."""

import pytest
import torch

import adjoint

from ..compare import VALUES, Bound, in_tensors
from ..compare import same as same_values
from .programs import output, same

F = adjoint.nn.functional
FUNCTIONS = [
    "lambda x, y=3, *, z=1: (x + y, 1 - x, x @ y, -x, ~x, x // y, x % 2, x << 1, x ** 2, 2 ** x, abs(x), +x, x / y)",
    "lambda x, y: (x == y, x != y, x < 1, x >= y, x & y, x | 1, x ^ y, 3 + x, 3 @ x, 3 // x, x >> 2)",
    "lambda x: x[0, 1:, ..., None]",
    "lambda x: x[x > 0]",
    "lambda x: x.view(x.shape[0], -1).sum((0, 1), keepdim=True).max(dim=-1)[0]",
    "lambda x: torch.cat([torch.relu(x), F.relu(x)], dim=1)",
    "lambda x, w, b: F.linear(x, w, b) + F.conv2d(x, w) + F.gelu(x)",
    "lambda x: F.max_pool2d(x, 2) + F.softmax(x, -1) + torch.softmax(x, -1) + F.dropout(x) + torch.flatten(x, 1)",
    "lambda x: torch.linalg.norm(x) + torch.einsum('ij->i', x) + torch.fft.fft(x)",
    "lambda x, y: torch.where(x > 0, x, y) * torch.stack((x, y)) - torch.add(x, 1, alpha=2)",
    "lambda x: torch.zeros(3) + x.to(torch.float32).to('cpu').to(dtype=torch.float64, device=torch.device('cpu'))",
    "lambda x: torch.clamp(x, min=0.0, max=float('inf')) + float('nan') - float('-inf')",
    "lambda x: F.interpolate(x, scale_factor=2) + F.layer_norm(x, (2,)) + F.cross_entropy(x, x)",
    "lambda x: F.batch_norm(x, x, x) + F.embedding(x, x) + F.pad(x, (1, 1)) + F.normalize(x)",
    "lambda x: F.sigmoid(x) + F.tanh(x) + F.log_softmax(x, 1) + F.logsigmoid(x) + F.silu(x, inplace=True)",
    "lambda x: torch.split(x, 2)[0] + torch.chunk(x, 2)[1] + torch.norm(x)",
    "lambda x: math.sin(x) + math.floor(x) + math.sqrt(4)",
    "lambda x: (x.dtype, x.device, x.T.H, x.a.b.c(1), getattr(x, 'foo', 3))",
    "lambda x: x(1, key=x)",
    "lambda *args, **kwargs: args[0] + kwargs['a']",
    "lambda x: {'a': x, 'b': (x, [x, None]), 'c': slice(x, 1, None)}",
    "lambda x: x.__setitem__(0, 1)",
    "lambda x: torch.ops.aten.add(x, 1) + torch.ops.aten.relu.default(x)",
    "lambda x: torch.ones(2).add(x) * torch.ones_like(x) + torch.ones(2)",
    "lambda x: torch.arange(x.shape[0]) + x.new_zeros(x.size(0), 3)",
    "lambda x: collections.namedtuple('Pair', 'a b')(x, 1)",
    "lambda x: operator.iadd(x, 1)",
    "lambda x: f'{x}'",
    "lambda: 3",
    "lambda x: ()",
    "lambda x: None",
    "lambda x: torch.empty_like(x, memory_format=torch.preserve_format, layout=torch.strided)",
    "lambda x: x.foo(range(3), 1j, b'x', ..., torch.Size([1]), torch.channels_last)",
]
REFUSED = [
    "lambda x: 1 if x else 0",
    "lambda x: x.sum() > 0 and x",
    "lambda x: list(x)",
    "lambda x: {**x}",
    "lambda x: torch.cat(*x)",
    "lambda x: 3 in x",
    "lambda x: len(x)",
    "lambda x: int(x)",
    "lambda x: range(x)",
    "lambda x: round(x)",
    "lambda x: {x: 1}",
    "lambda x: {x, 1}",
    "lambda x: x.foo(int)",
    "lambda x: x.foo(lambda: 1)",
    "lambda x: x.foo(object())",
    "lambda x: nn.ReLU()(x)",
    "lambda x: operator.setitem(x, 0, 1)",
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_are_printed_as_by_torch(function):
    same(f"show({function})")


@pytest.mark.parametrize("function", REFUSED)
def test_what_cannot_be_traced_is_refused_in_the_same_words(function):
    same(f"attempt(lambda: fx.symbolic_trace({function}))")


def test_unpacking_asks_for_as_many_items_as_there_are_names():
    same(
        """
        def two(x):
            a, b = x
            return a + b
        show(two)
        """
    )


def test_functions_that_are_wrapped_are_leaves():
    same(
        """
        fx.wrap("leaf")
        fx.wrap("len")
        def leaf(a, b):
            return a[0] + a[1] + b
        @fx.wrap
        def decorated(a):
            return a + 1
        def function(x):
            return leaf((4, x), 3) + leaf((3, 4), 5) + decorated(x) + len(x)
        show(function)
        gm = fx.symbolic_trace(lambda x: leaf((x, x), 1))
        print(gm(2), fx.symbolic_trace(gm).code, fx.Transformer(gm).transform().code, decorated(1))
        attempt(lambda: fx.wrap(3))
        attempt(lambda: fx.wrap("later"))
        """
    )


def test_roots_are_functions_and_modules():
    same(
        """
        class Thing:
            def method(self, x):
                return x + 1
            @staticmethod
            def plain(x):
                return x - 1
        show(Thing.plain)
        for root in (None, 3, Thing().method, Thing(), nn.ReLU, len):
            attempt(lambda: fx.symbolic_trace(root))
        """
    )
    assert "torch.nn.functional.relu(input_1, inplace = inplace)" in adjoint.fx.symbolic_trace(F.relu).code


MODELS = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(3)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
        self.pool = nn.AdaptiveAvgPool2d(1)
    def forward(self, x):
        identity = x
        out = self.relu(self.norm(self.conv(x)))
        if self.down is not None:
            identity = self.down(x)
        out += identity
        return torch.flatten(self.pool(self.relu(out)), 1)

class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))
        self.constant = torch.ones(2)
    def forward(self, x: torch.Tensor, times: int = 2) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        x = self.layers[-1](x) * self.scale + self.shift + self.constant
        return x * times + self.layers[0].weight.sum() + self.scale

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = nn.LayerNorm(4)
        self.feed = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    def forward(self, x):
        h, _ = self.attention(x, x, x, need_weights=False)
        x = self.norm(x + h)
        b, t, c = x.shape
        q = x.view(b, t, 2, c // 2).transpose(1, 2)
        weights = torch.softmax(q @ q.transpose(-2, -1) / math.sqrt(c), dim=-1)
        y = weights @ F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return self.feed(x) + y.transpose(1, 2).reshape(b, t, c)

INPUTS = {Block: (2, 3, 4, 4), Perceptron: (3, 4), Attention: (2, 3, 4)}
"""


def test_models_are_printed_as_by_torch():
    text = same(MODELS + "for kind in INPUTS:\n    print(fx.symbolic_trace(kind()))\n    show(kind())")
    assert 'getattr(self.down, "0")' in text


@pytest.mark.parametrize("name", ["Block", "Perceptron", "Attention"])
def test_traced_models_compute_what_the_models_do(name):
    def run(library):
        names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": __import__("math")}
        exec(MODELS, names)
        kind = names[name]
        model = kind()
        for number, parameter in enumerate(model.parameters()):
            values = library.arange(parameter.numel(), dtype=library.float32).reshape(parameter.shape)
            parameter.data = library.sin(values + number)
        traced = library.fx.symbolic_trace(model)
        x = library.arange(float(library.zeros(names["INPUTS"][kind]).numel())).reshape(names["INPUTS"][kind])
        x = library.cos(x).requires_grad_()
        y, expected = traced(x), model(x)
        assert library.allclose(y, expected)
        gradients = library.autograd.grad(y.sin().sum(), [x, *traced.parameters()], allow_unused=True)
        return [y, *(g for g in gradients if g is not None)]

    same_values(run, look=VALUES, bound=in_tensors(Bound(1e-4, 1e-4)))


def test_leaves_are_what_the_tracer_says():
    same(
        """
        class Through(fx.Tracer):
            def is_leaf_module(self, m, name):
                return isinstance(m, nn.ReLU)
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.LayerNorm(2), nn.Dropout(0.1))
        graph = Through().trace(net)
        print(graph)
        for node in graph.nodes:
            stack = node.meta.get("nn_module_stack", {})
            print(node.name, [(key, path, kind.__name__) for key, (path, kind) in stack.items()])
        """
    )


def test_arguments_with_values_are_checked_by_the_traced_code():
    same(
        """
        def choose(a, b, c=None):
            return a + 1 if b else a
        for value in (True, 2, 2.5, None, "text"):
            show(choose, concrete_args={"b": value})
        gm = fx.symbolic_trace(choose, concrete_args={"b": True})
        print(gm(1, True))
        attempt(lambda: gm(1, False))
        attempt(lambda: fx.symbolic_trace(choose, concrete_args=(fx.PH, True)))
        show(choose, concrete_args=(fx.PH, True, None))
        """
    )


def test_containers_are_taken_apart():
    same(
        """
        def function(x, d):
            return {"sum": x + d["a"] + d["b"][0]}
        gm = fx.symbolic_trace(function, concrete_args={"d": {"a": fx.PH, "b": [fx.PH, 3]}})
        print(gm.code, gm.graph, gm.print_readable(False), gm.graph._codegen.pytree_info)
        print(gm(1, {"a": 1, "b": [2, 3]}), fx.Interpreter(gm).run(1, {"a": 1, "b": [2, 3]}))
        attempt(lambda: gm(1, {"a": 1, "b": [2, 4]}))
        attempt(lambda: gm(1, {"a": 1}))
        again = pickle.loads(pickle.dumps(gm))
        print(again(1, {"a": 1, "b": [2, 3]}), copy.deepcopy(gm)(1, {"a": 1, "b": [2, 3]}))
        """
    )


def test_parameters_may_have_known_shapes():
    same(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.p = nn.Parameter(torch.ones(2, 3))
            def forward(self, x):
                return x + self.p if self.p.shape[0] == 2 and self.p.dim() == 2 and self.p.numel() == 6 else x
        print(fx.Tracer(param_shapes_constant=True).trace(Net()))
        attempt(lambda: fx.Tracer().trace(Net()))
        """
    )


def test_buffers_may_be_proxies():
    same(
        """
        class Buffers(fx.Tracer):
            proxy_buffer_attributes = True
        net = nn.Module()
        net.register_buffer("b", torch.ones(2))
        type(net).forward = lambda self, x: self.b.add(x)
        try:
            print(fx.Tracer().trace(net), Buffers().trace(net))
        finally:
            del type(net).forward
        """.replace("net = nn.Module()", "net = type('Net', (nn.Module,), {})()")
    )


def test_instances_of_proxyable_classes_become_nodes():
    same(
        """
        class Pair(metaclass=fx.ProxyableClassMeta):
            def __init__(self, left, right):
                self.left, self.right = left, right
        fixed = Pair(1, 2)
        def function(x):
            pair = Pair(x, fixed.right)
            return pair.left + pair.right
        print(fx.symbolic_trace(function).graph)
        print(fx.symbolic_trace(function)(3))
        """
    )


def test_tracers_see_attributes_and_nodes():
    same(
        """
        class Noting(fx.Tracer):
            def getattr(self, attr, attr_val, parameter_proxy_cache):
                print("attribute", attr, type(attr_val).__name__)
                return super().getattr(attr, attr_val, parameter_proxy_cache)
            def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
                node = super().create_node(kind, target, args, kwargs, name, type_expr)
                print("node", node)
                return node
            def to_bool(self, obj):
                return True
            def iter(self, obj):
                return iter([obj, obj])
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.w = nn.Sequential(nn.ReLU()), nn.Parameter(torch.ones(1))
            def forward(self, x):
                return [self.inner(y) for y in x] if self.w else x
        print(Noting().trace(Net()))
        """
    )


def test_modules_are_as_before_after_a_trace():
    """What a trace changes in the class of all modules is put back, also when it fails."""
    net = adjoint.nn.Sequential(adjoint.nn.Linear(1, 1))
    with pytest.raises(adjoint.fx.proxy.TraceError):
        adjoint.fx.symbolic_trace(lambda x: 1 if x else 0)
    adjoint.fx.symbolic_trace(net)
    assert "__call__" not in vars(adjoint.nn.Module)
    assert "__getattribute__" not in vars(adjoint.nn.Module)
    assert __import__("math").sin(0.0) == 0.0
    assert isinstance(net[0].weight, adjoint.nn.Parameter)
    assert not adjoint.fx._symbolic_trace.is_fx_tracing()


def test_traces_of_tensor_data_are_refused():
    """An object that answers every question about itself is no data."""
    with pytest.raises((TypeError, RuntimeError)):
        adjoint.fx.symbolic_trace(lambda x: adjoint.tensor(x))


def test_proxies_of_two_traces_do_not_meet():
    text = """
    one, other = (fx.Proxy(fx.Graph().placeholder(name)) for name in "ab")
    attempt(lambda: torch.add(one, other))
    """
    assert output(text, adjoint).startswith("RuntimeError Found multiple different tracers")
    assert output(text, torch).startswith("RuntimeError Found multiple different tracers")


def test_shapes_decide_in_traces_with_meta_tensors():
    same(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding, self.norm = nn.Embedding(42, 16), nn.LayerNorm(16)
            def forward(self, x):
                e = self.embedding(x)
                e = e + torch.arange(e.shape[-1], device=e.device)
                e = nn.Tanh()(e)
                return self.norm(e) if e.shape[0] > 2 and e.dim() == 3 else torch.sigmoid(e).view(e.shape[0], -1)
        trace = module("fx.experimental.meta_tracer").symbolic_trace
        for count in (2, 3):
            net, x = Net(), torch.arange(count * 4).reshape(count, 4)
            gm = trace(net, meta_args={"x": x.to("meta")})
            print(gm.code, torch.allclose(gm(x), net(x)), torch.allclose(pickle.loads(pickle.dumps(gm))(x), net(x)))
        attempt(lambda: trace(lambda x: 1 if x else 2, meta_args={"x": x.to("meta")}))
        """
    )
