"""Graph: the nodes of a traced program, in the order in which they run."""

import contextlib
import copy
import warnings

from . import _namespace
from ._codegen import CodeGen as CodeGen
from ._codegen import PythonCode as PythonCode
from ._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import _PyTreeInfo as _PyTreeInfo
from ._codegen import names_of_nodes
from ._lint import has_member, lint
from ._namespace import Namespace as _Namespace
from ._table import table
from .node import Node, map_arg, target_name

__all__ = ["CodeGen", "Graph", "PythonCode"]
_snake_case, _is_magic = _namespace.snake_case, _namespace.is_magic
_register_custom_builtin, _custom_builtins = _namespace.register_builtin, _namespace.custom_builtins
for _cls in (CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo):
    _cls.__module__ = __name__  # where programs know them, and pickles look for them


class _node_list:
    """The nodes of a graph, seen as a sequence that may change while one walks along it."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root, direction = self.graph._root, self.direction
        node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """Where new nodes go, for the length of a `with` block or until another place is set."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self.before, graph._insert = graph._insert, new_insert

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        self.graph._insert = self.before


class Graph:
    """A program as a list of nodes: placeholders for inputs, calls, and an output.

    >>> import adjoint as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> out = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._order = None  # places of nodes, while the order has not changed
        self._len = 0
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields = None  # where the traced function stands: its name, file and line

    # ---- Its nodes

    @property
    def owning_module(self):
        """The GraphModule that this graph belongs to; None when there is none, or more than one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        """The nodes, in order; `reversed(graph.nodes)` walks from the end."""
        return _node_list(self)

    def output_node(self):
        """The node that returns.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> out = graph.output(graph.placeholder("x"))
        >>> graph.output_node() is out
        True
        """
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"Expected output node, got op={node.op}")
        return node

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of one kind, those that call `target` if it is given.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> graph.find_nodes(op="placeholder")
        [x, y]
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies the nodes of another graph to here; `val_map` says which node stands for which, and is filled.

        The value that the other graph returns, in nodes of this one; no output node is made.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node, which may be another graph's; `arg_transform` maps the nodes among its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node at the insert point; the methods below are easier to call.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> graph.create_node("placeholder", "x", name="input_1")
        input_1
        """
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target):
        name = target_name(target)
        if not callable(target) and _namespace.is_magic(name):
            name = name[2:-2]
        return _namespace.snake_case(name)

    def erase_node(self, to_erase):
        """Takes a node out that nobody uses any more.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> graph.erase_node(x)
        >>> len(graph.nodes)
        0
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})

    def _clear_nodes(self):
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    def inserting_before(self, n=None):
        """New nodes go before this one, or, without one, to the beginning; for `with`, or from here on.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> y = graph.placeholder("y")
        >>> with graph.inserting_before(y):
        ...     x = graph.placeholder("x")
        >>> list(graph.nodes)
        [x, y]
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """New nodes go after this one, or, without one, to the end; for `with`, or from here on."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    # ---- Each kind of node

    def placeholder(self, name, type_expr=None, default_value=...):
        """An input of the function. Names that begin with stars stand for the rest of the arguments."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module, by its dotted name."""
        if self.owning_module is not None and not has_member(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule, by its dotted name."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method, whose object is the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The end of the function: what it returns, a node or a structure of nodes."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    # ---- Code

    def python_code(self, root_module, **options):
        """This graph as the text of a Python function of `root_module`, with the globals that it needs.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> out = graph.output(graph.placeholder("x"))
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            return x
        """
        namespace = _Namespace()
        with names_of_nodes(self, namespace):
            return self._python_code(root_module, namespace, **options)

    def _python_code(self, root_module, namespace, **options):
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def set_codegen(self, codegen):
        """Has code of this graph be written by another CodeGen."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Sets a function that changes the statements of generated code: `make_transformer(current)` gives it.

        What comes back restores the previous one at the end of a `with` block.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        codegen = self._codegen

        @contextlib.contextmanager
        def restore():
            try:
                yield
            finally:
                codegen._body_transformer = before

        return restore()

    def process_inputs(self, *args):
        """What the placeholders get, from the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """What a call gives, from what the output node has."""
        return self._codegen.process_outputs(out)

    # ---- How it is shown

    def __str__(self):
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self):
        """Prints the nodes as a table.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> out = graph.output(graph.placeholder("x"))
        >>> graph.print_tabular()
        opcode       name    target    args    kwargs
        -----------  ------  --------  ------  --------
        placeholder  x       x         ()      {}
        output       output  output    (x,)    {}
        """
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(table(rows, ["opcode", "name", "target", "args", "kwargs"]))

    # ---- Checks and cleaning

    def lint(self):
        """Raises if the graph is not in order: nodes used before they are there, of other graphs, missing targets.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> out = graph.output(graph.placeholder("x"))
        >>> graph.lint()
        """
        lint(self)

    def eliminate_dead_code(self, is_impure_node=None):
        """Erases nodes whose results nobody uses and that do nothing else; whether there were any.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> unused = graph.call_function(torch.relu, (x,))
        >>> out = graph.output(x)
        >>> graph.eliminate_dead_code(), len(graph.nodes)
        (True, 2)
        """
        self.lint()
        before = self._len
        for node in reversed(self.nodes):
            keep = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not node.users and not keep and node.op not in ("placeholder", "output"):
                self.erase_node(node)
        for module in getattr(self.owning_module, "_modules", {}).values():
            if isinstance(getattr(module, "graph", None), Graph):
                module.graph.eliminate_dead_code()
        return self._len < before

    # ---- Copies

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        result = Graph(tracer_cls=self._tracer_cls)
        memo[id(self)] = result
        val_map = {}
        copied = result.graph_copy(self, val_map, return_output_node=True)
        result._codegen, result._co_fields = copy.deepcopy(self._codegen), self._co_fields
        if copied is not None:
            value, old = copied
            new = result.output(value, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
        return result

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_order"] = None
        return state
