"""From a graph to the text of a Python function that computes it."""

import contextlib
import typing

from ..utils import _pytree
from ._writer import PythonCode as PythonCode
from ._writer import Writer


class CodeGen:
    """Writes a graph as a Python function. Subclasses write another head, or another return.

    >>> import adjoint as torch
    >>> graph = torch.fx.Graph()
    >>> out = graph.output(graph.call_function(torch.relu, (graph.placeholder("x"),)))
    >>> print(graph.python_code("self").src.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        return relu
    """

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The line that begins the function, from its parameters."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        if expanded_def:
            lines = "".join(f"    {var},\n" for var in free_vars)
            return f"def {self._func_name}(\n{lines}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        """The statement that ends the function."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args):
        """What the placeholders get, from the function's arguments."""
        return args

    def process_outputs(self, outputs):
        """What the function gives, from what the output node has."""
        return outputs

    def additional_globals(self):
        """More names for the code to find: pairs of a name and an object."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, **options):
        return Writer(self, nodes, root_module, namespace, **options).write()


class _PyTreeInfo(typing.NamedTuple):
    """How nested inputs and outputs are taken apart: the function's own parameters, and both structures."""

    orig_args: list
    in_spec: _pytree.TreeSpec
    out_spec: _pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Code of a function whose arguments or results are nested containers, of which the graph has the leaves."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return _pytree.tree_leaves(inputs)

    def process_outputs(self, outputs):
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return outputs
        if not isinstance(outputs, list | tuple):
            outputs = [outputs]
        return _pytree.tree_unflatten(outputs, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        own = self.pytree_info.orig_args
        has_self = bool(own) and own[0] == "self"
        text = super().gen_fn_def(own, maybe_return_annotation, expanded_def=expanded_def)
        if free_vars:
            names = [var.partition(":")[0].partition("=")[0].strip() for var in free_vars]
            taken = own[1:] if has_self else own
            left = f"self, {', '.join(names)}, " if has_self else f"{', '.join(names)}, "
            arguments = ", ".join(["self", *taken] if has_self else taken)
            text += f"\n    {left}= fx_pytree.tree_flatten_spec([{arguments}], self._in_spec)"
        return text

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        if self.pytree_info is not None and self.pytree_info.out_spec:
            return f"return pytree.tree_unflatten({(repr_fn or repr)(output_args)}, self._out_spec)"
        return super().generate_output(output_args, repr_fn=repr_fn)


@contextlib.contextmanager
def names_of_nodes(graph, namespace):
    """Nodes are shown by names that also leave alone those of the code's globals, while this lasts."""
    before = {}
    for node in graph.nodes:
        before[node] = node._repr_fn
        node._repr_fn = lambda node: namespace.create_name(node.name, node)
    try:
        yield
    finally:
        for node, show in before.items():
            node._repr_fn = show
