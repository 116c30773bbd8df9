"""Interpreter: a graph run node by node. Transformer: the same with proxies, which makes a new graph."""

import contextlib
import inspect

from . import traceback as fx_traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a GraphModule one node after the other; subclasses do more, or other things, at each.

    >>> import adjoint as torch
    >>> class Loud(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         print(target.__name__)
    ...         return super().call_function(target, args, kwargs)
    >>> Loud(torch.fx.symbolic_trace(lambda x: x + 1)).run(2)
    add
    3
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = _last_uses(self.graph) if garbage_collect_values else {}

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph gives for these arguments; `initial_env` has values of nodes that need not be run."""
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:  # given in initial_env
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    text = f"While executing {node.format_node()}"
                    text = f"{error.args[0]}\n\n{text}" if error.args else str(text)
                    text += f"\nOriginal traceback:\n{node.stack_trace}"
                    error.args = (text, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for gone in self.user_to_last_uses.get(node, ()):
                self.env.pop(gone, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """As `run`, with a list of the placeholders' values, which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n):
        """The value of one node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument of the call; the default if there is none."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """A function's result."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """A method's result; the first argument is its object."""
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """A submodule's result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target):
        """An attribute of the module, by its dotted name."""
        value = self.module
        parts = target.split(".")
        for place, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: place + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Nested arguments with values in the place of nodes."""

        def load(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, load)


def _last_uses(graph):
    """Which values each node is the last to need."""
    seen = set()
    uses = {}
    for user in reversed(graph.nodes):
        for node in user._input_nodes:
            if node not in seen:
                seen.add(node)
                uses.setdefault(user, []).append(node)
    return uses


class Transformer(Interpreter):
    """Runs a graph with proxies; `transform()` gives the module of the new graph.

    >>> import adjoint as torch
    >>> class Softer(torch.fx.Transformer):
    ...     def call_method(self, target, args, kwargs):
    ...         return super().call_method("tanh" if target == "relu" else target, args, kwargs)
    >>> gm = Softer(torch.fx.symbolic_trace(lambda x: x.relu())).transform()
    >>> print(gm.code.strip())
    def forward(self, x):
        tanh = x.tanh();  x = None
        return tanh
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class Transforming(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, _, __):
                return True

        self.tracer = Transforming(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """A new placeholder of the same name."""
        default = next(iter(args)) if args else inspect.Signature.empty
        given = () if default is inspect.Signature.empty else (default,)
        return Proxy(self.new_graph.create_node("placeholder", target, given), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A new node that gets the same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A new call of the same submodule."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected str target, got {type(target)}")
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A new call of the same function."""
        if not callable(target):
            raise AssertionError(f"Expected callable target, got {type(target)}")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The module of the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def strip(value):
                return value.node if isinstance(value, Proxy) else value

            new_output = self.new_graph.output(map_aggregate(result, strip))
            old_output = self.graph.output_node()
            new_output.meta.update(old_output.meta)
        return GraphModule(self.module, self.new_graph)
