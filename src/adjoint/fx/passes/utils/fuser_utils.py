"""Nodes of a graph fused: taken out, and put in a submodule that is called in their place."""

import operator

from ...graph import Graph
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes):
    """The nodes, each after those that it uses.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.utils.fuser_utils import topo_sort
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> add, relu = list(gm.graph.nodes)[1:3]
    >>> topo_sort([relu, add])
    [add, relu]
    """
    chosen = set(nodes)
    waiting = {node: sum(used in chosen for used in node.all_input_nodes) for node in nodes}
    ready = [node for node in nodes if not waiting[node]]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if not waiting[user]:
                    ready.append(user)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition):
    """Whether nodes can be fused: nothing outside both uses them and is used by them."""
    chosen = set(partition)
    waiting = [user for node in partition for user in node.users if user not in chosen]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node in chosen:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.users
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """(a GraphModule of the nodes, the nodes that it gets values of, those whose values it gives)."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    chosen = set(nodes)
    graph = Graph()
    copies, inputs = {}, []
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in chosen and used not in copies and used.op != "get_attr":
                copies[used] = graph.placeholder(used.name, type_expr=used.type)
                copies[used].meta = used.meta.copy()
                inputs.append(used)

    def remap(used):
        if used not in copies:  # an attribute
            copies[used] = graph.node_copy(used)
        return copies[used]

    for node in nodes:
        copies[node] = graph.node_copy(node, remap)
    outputs = [node for node in nodes if any(user not in chosen for user in node.users)]
    values = tuple(copies[node] for node in outputs)
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), tuple(outputs)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """Calls a submodule, which is added under its class's name, and uses its results instead of `orig_outputs`."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    place = insertion_point or max(orig_inputs, default=None)
    point = gm.graph.inserting_after(place) if place is not None else gm.graph.inserting_before(None)
    with point:
        call = gm.graph.call_module(name, args=orig_inputs)
        result = sub_gm.graph.output_node().args[0]
        if not isinstance(result, tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        else:
            with gm.graph.inserting_after(call):
                for index, node in enumerate(orig_outputs):
                    item = gm.graph.call_function(operator.getitem, (call, index))
                    node.replace_all_uses_with(item, propagate_meta=True)
    return gm


def erase_nodes(gm, nodes):
    """Erases nodes, the last one first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Fuses each set of nodes to a submodule `fused_0` and so on; the module itself.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.utils.fuser_utils import fuse_by_partitions
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu() - 2)
    >>> print(fuse_by_partitions(gm, [list(gm.graph.nodes)[1:3]]).code.strip())
    def forward(self, x):
        fused_0 = self.fused_0(x);  x = None
        sub = fused_0 - 2;  fused_0 = None
        return sub
    """
    from ..tools_common import legalize_graph

    for number, nodes in enumerate(partitions):
        order = topo_sort(list(nodes))
        fused, inputs, outputs = fuse_as_graphmodule(
            gm, order, f"{prefix}{number}", always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, outputs, order[-1])
        erase_nodes(gm, order)
    legalize_graph(gm)
    return gm
