"""A module cut in several by tags on its nodes."""

import dataclasses
import typing

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj, name):
    """The attribute at a dotted name.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.split_utils import getattr_recursive
    >>> getattr_recursive(torch.nn.Sequential(torch.nn.ReLU()), "0.training")
    True
    """
    for part in name.split("."):
        if isinstance(obj, list | tuple):
            obj = obj[int(part)]
        elif hasattr(obj, part):
            obj = getattr(obj, part)
        else:
            return None
    return obj


def setattr_recursive(obj, attr, value):
    """Sets the attribute at a dotted name; modules on the way are there."""
    *path, name = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, name, value)


@dataclasses.dataclass
class Component:
    """One part of the cut: its graph, what comes in and goes out, and its module."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list = dataclasses.field(default_factory=list)
    orig_inputs: list = dataclasses.field(default_factory=list)
    orig_outputs: list = dataclasses.field(default_factory=list)
    getattr_maps: dict = dataclasses.field(default_factory=dict)
    constructor_args: list = dataclasses.field(default_factory=list)
    gm: typing.Any = None


def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=GraphModule):
    """A GraphModule with one submodule for each tag, in the order of `tags`; each node has its own as `node.tag`.

    With `return_fqn_mapping`, also the dotted names that parameters and modules had, by those that they have.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.split_utils import split_by_tags
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> for node in gm.graph.nodes:
    ...     node.tag = {"add": "first", "relu": "second"}.get(node.name)
    >>> print(split_by_tags(gm, ["first", "second"]).code.strip())
    def forward(self, x):
        first = self.first(x);  x = None
        second = self.second(first);  first = None
        return second
    """
    parts = {tag: Component(Graph(), order, str(tag)) for order, tag in enumerate(tags)}
    home, copies = {}, {}
    main = Graph()
    main_nodes = {}
    outputs = []
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            main_nodes[node] = main.node_copy(node)
        elif node.op == "output":
            outputs.append(node)
        elif node.op != "get_attr":
            home[node] = _put(node, parts, home, copies)
    for output in outputs:
        for value in output.all_input_nodes:
            if value in home and value not in home[value].orig_outputs:
                home[value].orig_outputs.append(value)
    modules, names = {}, {}
    for part in parts.values():
        _finish(gm, part, copies, main, main_nodes, modules, names, return_tuple, GraphModuleCls)
    for output in outputs:
        main.output(map_arg(output.args[0], lambda node: _in_main(gm, node, main, main_nodes, modules)))
    result = GraphModuleCls(HolderModule(modules), main)
    return (result, names) if return_fqn_mapping else result


def _put(node, parts, home, copies):
    """Copies a node to the part of its tag, and notes what it needs of others."""
    tag = getattr(node, "tag", None)
    if tag not in parts:
        raise RuntimeError(f"split_by_tags: node {node} has the tag {tag!r}; expected one of {list(parts)}")
    part = parts[tag]
    mine = copies.setdefault(part.name, {})

    def remap(value):
        if value in mine:
            return mine[value]
        if value.op == "get_attr":
            mine[value] = part.graph.get_attr(value.target, type_expr=value.type)
            return mine[value]
        owner = home.get(value)
        if owner is not None and owner.order > part.order:
            raise RuntimeError(f"split_by_tags: {value} of {owner.name} is used before, by {node} of {part.name}")
        if owner is not None and value not in owner.orig_outputs:
            owner.orig_outputs.append(value)
        part.orig_inputs.append(value)
        mine[value] = part.graph.placeholder(value.name, type_expr=value.type)
        mine[value].meta = value.meta.copy()
        part.input_placeholders.append(mine[value])
        return mine[value]

    # Placeholders come before all else in a graph.
    for value in node.all_input_nodes:
        first = next((n for n in part.graph.nodes if n.op != "placeholder"), None)
        if value not in mine and value.op != "get_attr" and first is not None:
            with part.graph.inserting_before(first):
                remap(value)
        else:
            remap(value)
    mine[node] = part.graph.node_copy(node, remap)
    return part


def _finish(gm, part, copies, main, main_nodes, modules, names, return_tuple, cls):
    mine = copies.get(part.name, {})
    values = tuple(mine[node] for node in part.orig_outputs)
    single = len(values) == 1 and not return_tuple
    part.graph.output(values[0] if single else values)
    part.gm, found = lift_subgraph_as_module(gm, part.graph, comp_name=part.name)
    names.update(found)
    modules[part.name] = part.gm
    args = tuple(_in_main(gm, node, main, main_nodes, modules) for node in part.orig_inputs)
    call = main.call_module(part.name, args)
    for index, node in enumerate(part.orig_outputs):
        main_nodes[node] = call if single else _item(main, call, index)


def _item(graph, call, index):
    import operator

    return graph.call_function(operator.getitem, (call, index))


def _in_main(gm, node, main, main_nodes, modules):
    if not isinstance(node, Node):
        return node
    if node not in main_nodes and node.op == "get_attr":
        raise RuntimeError(f"split_by_tags: the attribute {node.target} is returned by the module itself")
    return main_nodes[node]
